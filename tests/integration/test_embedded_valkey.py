"""The embedded Valkey: persistent, private, and disposable."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from deploy.embedded.folder import DataFolder
from deploy.embedded.valkey import ValkeyServer
from deploy.services import valkey_of


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ValkeyServer]:
    folder = DataFolder(tmp_path / "data")
    folder.make()
    server = valkey_of(folder)
    yield server
    server.stop()
    server.socket.unlink(missing_ok=True)
    folder.sockets().rmdir()


def kill(server: ValkeyServer) -> None:
    assert server.process is not None
    server.process.kill()
    server.process.wait()


def test_what_was_acknowledged_survives_kill_9(server: ValkeyServer) -> None:
    server.start()
    with server.client() as client:
        for number in range(200):
            client.rpush("queue", number)
    kill(server)
    server.start()
    with server.client() as client:
        assert client.llen("queue") == 200


def test_it_never_evicts_and_opens_no_port(server: ValkeyServer) -> None:
    server.start()
    with server.client() as client:
        for name, value in (
            ("maxmemory-policy", "noeviction"),
            ("appendonly", "yes"),
            ("appendfsync", "everysec"),
            ("port", "0"),
        ):
            assert client.config_get(name) == {name: value} or client.config_get(name) == {
                name.encode(): value.encode()
            }
    assert stat.S_IMODE(server.socket.stat().st_mode) == 0o700


def test_an_unreadable_file_is_set_aside_and_it_starts_empty(server: ValkeyServer) -> None:
    server.start()
    with server.client() as client:
        client.set("key", "value")
    kill(server)
    parts = [path for path in (server.folder / "appendonlydir").iterdir() if ".incr." in path.name]
    for part in parts:
        part.write_bytes(b"*9\r\nnot an append-only file at all\r\n" * 10)
    server.start()
    with server.client() as client:
        assert client.get("key") is None
        client.set("key", "again")
    aside = list(server.folder.parent.glob("valkey.unreadable-*"))
    assert len(aside) == 1
    assert list(aside[0].rglob("*.incr.*"))


def test_a_client_of_a_stopped_server_fails_at_once(server: ValkeyServer) -> None:
    server.start()
    server.stop()
    with server.client() as client, pytest.raises(redis.ConnectionError):
        client.ping()
    assert not server.is_ready()
