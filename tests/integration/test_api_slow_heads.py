"""Requests whose head never ends: they end, and hold up nobody for longer."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import httpx2

from tests.services import Services, running_api

THREADS = 4


def half_a_head(base_url: str) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", int(base_url.rsplit(":", 1)[1])), timeout=60.0)
    sock.sendall(b"GET /info HTTP/1.1\r\nHost: localhost\r\nX-Half: ")
    return sock


def test_half_heads_in_every_thread_do_not_stop_the_server(services: Services) -> None:
    env = {
        "BRAINSTEM_API_PROCESSES": "1",
        "BRAINSTEM_API_THREADS": str(THREADS),
        "BRAINSTEM_BODY_SECONDS": "0.25",
    }
    with running_api(services, env) as api, ExitStack() as open_:
        halves = [open_.enter_context(half_a_head(api.base_url)) for _ in range(2 * THREADS)]
        assert httpx2.get(f"{api.base_url}/healthz", timeout=60.0).status_code == 200
        for half in halves:
            assert half.recv(1) == b""
