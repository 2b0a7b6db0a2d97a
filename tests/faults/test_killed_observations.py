"""kill -9 of the API around the two steps of a measurement: its evidence, then its dispatch (4.6).

The second step waits for a lock that the test holds, so that the API dies exactly between them, or
within the first.
"""

from __future__ import annotations

import contextlib
import json
import threading
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from storage import spaces
from storage.clock import now, to_text
from storage.database import Database, Scope
from storage.runtime import attempts, callers, configuration, gates
from storage.runtime.attempts import Plan
from storage.runtime.gates import Decision
from tests.integration.test_runtime_inbox import PUBLIC, fired, token
from tests.services import Services, running_api, wait_for

METHOD, OTHER, SENT = (f"sha256:{letter * 64}" for letter in "abd")


@dataclass
class Sent:
    """A request on its way."""

    thread: threading.Thread
    answers: list[httpx2.Response]

    def died(self) -> bool:
        """Whether it came to its end without an answer."""
        self.thread.join()
        return not self.answers


class Instrument:
    """An observer of one attempt."""

    def __init__(self, database: Database, space: str, folder: Path) -> None:
        self.database, self.scope = database, Scope(space)
        fired(database, self.scope, 1)
        with database.transaction(self.scope) as tx:
            self.instance = callers.instance_of(spaces.get(tx, self.scope))
            row = tx.execute("select id from runtime_wake where space_id = %s", (space,)).fetchone()
            assert row is not None
            gate = gates.decide(tx, self.scope, "gate", row[0], Decision("act"))
            pin = {"artifact_ref": "policy:one", "content_digest": OTHER}
            plan = Plan("inbox", SENT, "brain", "reminders", OTHER, pin)
            self.attempt, _ = attempts.dispatch(tx, self.scope, "dispatcher", gate, plan)
        gauge = {"principal": "gauge", "cwt_subject": "gauge", "audience": []}
        contract = {
            "principal": "gauge",
            "configuration_digest": METHOD,
            "control_domain": "instruments",
            "task_family": "reminders",
            "metric": "delivery",
            "window": "durable_inbox_v1",
            "lateness_seconds": 3600,
        }
        config = {"callers": [{**gauge, "roles": ["record_outcome"]}], "observers": [contract]}
        file = folder / "runtime.json"
        file.write_text(json.dumps({"format": configuration.FORMAT, "spaces": {space: config}}))
        self.env = {"ED25519_PUBKEYS": PUBLIC, "BRAIN_RUNTIME_CONFIG": str(file)}
        self.headers = {"Authorization": f"Bearer {token('gauge', space)}"}
        self.body = {
            "space_instance": self.instance,
            "attempt_ref": self.attempt,
            "observer_configuration_digest": METHOD,
            "event_key": "event-1",
            "observed_at": to_text(now()),
            "metric": "delivery",
            "window": "durable_inbox_v1",
            "observation": {
                "kind": "measurement",
                "terminal": True,
                "outcome_status": "success",
                "payload": {"delivery_digest": SENT},
            },
        }

    def send(self, client: httpx2.Client) -> httpx2.Response:
        path = f"/v1/{self.scope.space_id}/outcomes"
        return client.post(path, headers=self.headers, json=self.body)

    def send_into_death(self, client: httpx2.Client) -> Sent:
        """Send, and expect no answer."""
        answers: list[httpx2.Response] = []

        def send() -> None:
            with contextlib.suppress(httpx2.TransportError):
                answers.append(self.send(client))

        thread = threading.Thread(target=send)
        thread.start()
        return Sent(thread, answers)

    def receipts(self) -> list[tuple[Any, ...]]:
        return self._rows("select receipt_id, outcome_ref from runtime_outcome")

    def outcomes(self) -> list[tuple[Any, ...]]:
        return self._rows("select id from evidence where evidence_class = 'outcome'")

    def dispatch(self) -> tuple[Any, ...]:
        (row,) = self._rows("select reconciled_at is null, outcome_ref from runtime_dispatch")
        return row

    def _rows(self, text: str) -> list[tuple[Any, ...]]:
        with self.database.transaction(self.scope) as tx:
            return tx.execute(text).fetchall()  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def instrument(database: Database, tmp_path: Path) -> Instrument:
    return Instrument(database, f"rt_{uuid.uuid4().hex[:12]}", tmp_path)


def waiting(services: Services) -> bool:
    """Whether some backend waits for a lock."""
    with psycopg.connect(services.admin_url, autocommit=True) as conn:
        row = conn.execute(
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
        ).fetchone()
    return row is not None and row[0] > 0


def check_end(instrument: Instrument, services: Services, kept: list[tuple[Any, ...]]) -> None:
    """The same event, sent to a new API, ends as if nothing had happened; sent again, too."""
    with running_api(services, instrument.env) as api:
        answers = [instrument.send(api.client) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    first, again = (answer.json()["result"] for answer in answers)
    assert first == again
    receipt = (first["receipt_id"], first["outcome_ref"])
    assert instrument.receipts() == [receipt]
    if kept:
        assert kept == [receipt]
    assert instrument.outcomes() == [(first["outcome_ref"],)]
    assert instrument.dispatch() == (False, first["outcome_ref"])


def test_an_api_that_dies_between_the_two_steps_loses_neither(
    instrument: Instrument, services: Services
) -> None:
    with running_api(services, instrument.env) as api:
        with psycopg.connect(services.admin_url) as conn:
            conn.execute(
                "select from runtime_dispatch where space_id = %s for update",
                (instrument.scope.space_id,),
            )
            sent = instrument.send_into_death(api.client)
            wait_for(lambda: waiting(services), what="the second step")
            kept = instrument.receipts()
            # the evidence is there, and the dispatch open
            assert len(kept) == len(instrument.outcomes()) == 1
            assert instrument.dispatch() == (True, None)
            api.process.kill9()
            conn.rollback()
        assert sent.died()
    check_end(instrument, services, kept)


def test_an_api_that_dies_within_the_first_step_has_done_nothing(
    instrument: Instrument, services: Services
) -> None:
    with running_api(services, instrument.env) as api:
        with psycopg.connect(services.admin_url) as conn:
            conn.execute("lock table runtime_outcome in share row exclusive mode")
            sent = instrument.send_into_death(api.client)
            wait_for(lambda: waiting(services), what="the insert of the receipt")
            api.process.kill9()
            conn.rollback()
        assert sent.died()
    assert instrument.receipts() == instrument.outcomes() == []
    assert instrument.dispatch() == (True, None)
    check_end(instrument, services, [])
