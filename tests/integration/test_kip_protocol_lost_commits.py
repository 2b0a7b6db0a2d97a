"""A connection that is lost while committing: the truth is told, or that it is not known."""

from __future__ import annotations

import contextlib
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

import storage.database
from storage import settings
from storage.database import Database
from storage.kip.protocol.caller import Caller, trusted
from storage.kip.protocol.execute import execute
from tests.services import Services

PERSON = 'CREATE CONCEPT ?c { TYPE "Person" NAME "Ada" }'
NAMES = 'FIND(?c.name) WHERE { ?c {type: "Person"} }'


class Wire:
    """A relay to PostgreSQL that can cut the next COMMIT off, before or after it is carried out.

    `cut` is "before", "after" or "after and for good" (then nobody connects any more).
    """

    def __init__(self, server: Path, folder: Path) -> None:
        self.cut = ""
        self._server = server
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / server.name))
        self._listening.listen(16)
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._server))
                self._open += [client, server]
                lost = threading.Event()
                for work in ((self._requests, client, server), (self._answers, server, client)):
                    threading.Thread(target=work[0], args=(*work[1:], lost), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket, lost: Any) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                if self.cut and b"COMMIT" in data:
                    if self.cut == "before":
                        self.cut = ""
                        break
                    lost.set()
                server.sendall(data)
        self._end(client, server)

    def _answers(self, server: socket.socket, client: socket.socket, lost: Any) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                if lost.is_set():
                    if self.cut == "after and for good":
                        self._end(self._listening, *self._open)
                    self.cut = ""
                    break
                client.sendall(data)
        self._end(client, server)

    def _end(self, *sockets: socket.socket) -> None:
        for one in sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def close(self) -> None:
        self._end(self._listening, *self._open)


@pytest.fixture
def wire(services: Services, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    """This process's database, reached over a relay."""
    known = conninfo_to_dict(services.database_url)
    server = Path(str(known["host"])) / f".s.PGSQL.{known.get('port', 5432)}"
    with tempfile.TemporaryDirectory() as folder:
        wire = Wire(server, Path(folder))
        monkeypatch.setenv("DATABASE_URL", make_conninfo(services.database_url, host=folder))
        settings.reload()
        over_the_wire = Database(size=2)
        monkeypatch.setattr(storage.database, "_database", over_the_wire)
        yield wire
        over_the_wire.close()
        wire.close()
    monkeypatch.undo()
    settings.reload()


@pytest.fixture
def caller(space: str) -> Caller:
    return trusted(space, "tester")


def ask(caller: Caller, **request: Any) -> dict[str, Any]:
    return execute({"command": PERSON, **request}, caller, readonly=False)


def names(services: Services, caller: Caller) -> list[str]:
    with psycopg.connect(services.admin_url) as tx:
        rows = tx.execute(
            "select name from element_ver where space_id = %s", (caller.scope.space_id,)
        ).fetchall()
    return [name for (name,) in rows]


def test_a_commit_whose_answer_was_lost_is_found(
    caller: Caller, services: Services, wire: Wire
) -> None:
    execute(NAMES, caller, readonly=True)
    wire.cut = "after"
    answer = ask(caller)
    assert answer["status"] == "succeeded", answer
    assert answer["results"][0]["receipt"]["space_seq"] == 1
    assert names(services, caller) == ["Ada"]


def test_a_commit_that_never_arrived_is_no_success(
    caller: Caller, services: Services, wire: Wire
) -> None:
    execute(NAMES, caller, readonly=True)
    wire.cut = "before"
    with pytest.raises(storage.database.DatabaseUnavailable):
        ask(caller)
    assert names(services, caller) == []
    assert ask(caller)["status"] == "succeeded"


def test_an_outcome_that_cannot_be_looked_up_is_unknown_and_its_key_tells_it_later(
    caller: Caller, services: Services, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(NAMES, caller, readonly=True)
    keyed = {"execution": {"mode": "independent", "idempotency_key": "k"}}
    wire.cut = "after and for good"
    answer = ask(caller, **keyed)
    assert answer["status"] == "outcome_unknown"
    error = answer["results"][0]["error"]
    assert (error["code"], error["retry"]["class"]) == ("OutcomeUnknown", "outcome_lookup_required")
    assert names(services, caller) == ["Ada"]
    monkeypatch.setenv("DATABASE_URL", services.database_url)
    settings.reload()
    straight = Database(size=2)
    monkeypatch.setattr(storage.database, "_database", straight)
    again = ask(caller, **keyed)
    straight.close()
    assert again["status"] == "succeeded"
    assert again["results"][0]["receipt"]["space_seq"] == 1
    assert names(services, caller) == ["Ada"]
