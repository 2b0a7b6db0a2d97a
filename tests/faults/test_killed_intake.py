"""kill -9 of the worker wherever an intent stands: the same end, and nobody sees half of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from jobs import ledger
from jobs.actors import PIPELINES
from jobs.failpoints import NAMES
from jobs.runner import Runner
from storage.clock import to_millis
from storage.principals import anonymous
from storage.settings import reload
from tests import providers
from tests.faults.conftest import Bench
from tests.memory_interface import matches, scenario
from tests.providers import Answer, Provider, Silence
from tests.services import wait_for
from tests.unit.api.calling import new_client

provider = providers.provider

PLACES = [name for name in NAMES if name not in ("after_batch", "before_tick_commit")]
THREE = "three facts: I live in Oslo, I own a boat, I speak Portuguese."


def claim(predicate: str, object_: str, quote: str, **more: Any) -> Any:
    told = {"message": 0, "quote": quote, "subject": "user", "predicate": predicate}
    return {**told, "object": object_, **more}


FACTS = Answer(
    {
        "claims": [
            claim("lives_in", "Oslo", "I live in Oslo"),
            claim("owns", "a boat", "I own a boat"),
            claim("speaks", "pt", "I speak Portuguese"),
        ]
    }
)


class Intents:
    """Stages and asks in one space, and reads what it holds."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.space = bench, bench.space

    def post(self, path: str, body: Any) -> Any:
        response = new_client().post(f"/v1/{self.space}/{path}", json=body)
        assert response.status_code == 200, response.text
        return response.json

    def ask(self, operation: str, text: str, at: datetime, **given: Any) -> str:
        message = {"role": "user", "content": text, "timestamp": to_millis(at)}
        staged = self.post("memory/sources", {"messages": [message], "idempotency_key": text})
        told = self.post(
            "memory",
            {
                "kip_memory": "2.0",
                "operation": operation,
                "idempotency_key": text,
                "input": {"source_ref": staged["result"]["source_ref"], **given},
            },
        )
        assert told["status"] == "pending", told
        return str(told["receipt"]["receipt_ref"])

    def job(self, ref: str) -> Any:
        with self.bench.database.transaction(self.bench.scope) as tx:
            return ledger.by_receipt(tx, anonymous(self.space), ref)

    def form(self, ref: str) -> None:
        """Run the job of a receipt in this process."""
        runner = Runner(PIPELINES)
        runner.start()
        runner.run([self.job(ref).id])
        runner.stop()
        assert self.job(ref).state == "succeeded"

    def ended(self, ref: str) -> Any:
        self.bench.wait_ended([self.job(ref)], seconds=60)
        return new_client().get(f"/v1/{self.space}/memory/receipts/{ref}").json

    def count(self, table: str) -> int:
        with self.bench.database.transaction(self.bench.scope) as tx:
            row = tx.execute(
                f"select count(*) from {table} where space_id = %s", (self.space,)
            ).fetchone()
        assert row is not None
        return int(row[0])

    def statuses(self) -> list[str]:
        with self.bench.database.transaction(self.bench.scope) as tx:
            rows = tx.execute(
                "select v.status, v.recording from assertion a join element_ver v"
                " on v.space_id = a.space_id and v.id = a.id"
                " and v.seq_to = 9223372036854775807"
                " where a.space_id = %s order by length(a.id), a.id",
                (self.space,),
            ).fetchall()
        return [f"{status} {recording}" for status, recording in rows]


@pytest.fixture
def intents(bench: Bench) -> Intents:
    return Intents(bench)


@pytest.fixture
def plain(fast: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """No vectors, here and in the processes that a test starts."""
    monkeypatch.setenv("BRAINSTEM_EMBEDDER", "none")
    reload()
    return {**fast, "BRAINSTEM_EMBEDDER": "none"}


def modelled(provider: Provider, plain: dict[str, str]) -> dict[str, str]:
    config = provider.config()
    return {
        **plain,
        "BRAINSTEM_MODEL_FAMILY": config.family,
        "BRAINSTEM_MODEL_NAME": config.model,
        "BRAINSTEM_MODEL_API_BASE": config.api_base,
        "BRAINSTEM_MODEL_API_KEY": config.api_key,
    }


def kill(env: dict[str, str], place: str) -> dict[str, str]:
    return {**env, "BRAINSTEM_FAILPOINTS": f"{place}/formation=kill"}


@pytest.mark.parametrize("place", PLACES)
def test_mis_09_killed_in_the_middle_of_forming(
    intents: Intents, worker: Any, scheduler: Any, plain: Any, provider: Provider, place: str
) -> None:
    provider.otherwise = FACTS
    env = modelled(provider, plain)
    first = worker(env=kill(env, place))
    scheduler(env=plain)
    ref = intents.ask("observe", THREE, datetime(2026, 4, 1, tzinfo=UTC))
    wait_for(lambda: not first.alive, what="the worker's death")
    # before its commit nothing of it is there, and after it all of it
    assert intents.count("assertion") == (3 if place == "after_commit_before_ack" else 0)
    worker(env=env)
    told = intents.ended(ref)
    matches(scenario("MIS-09")["response"][0], told)
    assert intents.count("assertion") == 3
    assert intents.count("commit_record") == 1
    assert told["result"]["progress"]["resolved_seq"] == 1
    history = intents.bench.history(intents.job(ref))
    assert history.count("claimed") == (1 if place == "after_commit_before_ack" else 2)


def test_mis_09_killed_while_the_model_is_silent(
    intents: Intents, worker: Any, scheduler: Any, plain: Any, provider: Provider
) -> None:
    provider.script(Silence())
    provider.otherwise = FACTS
    env = modelled(provider, plain)
    first = worker(env=env)
    scheduler(env=plain)
    ref = intents.ask("observe", THREE, datetime(2026, 4, 1, tzinfo=UTC))
    provider.wait_for_requests(1)
    first.kill9()
    worker(env=env)
    told = intents.ended(ref)
    matches(scenario("MIS-09")["response"][0], told)
    assert (intents.count("assertion"), intents.count("commit_record")) == (3, 1)
    assert intents.bench.history(intents.job(ref)).count("claimed") == 2


#: Every place for one kind of revision; for the others where their commits could come apart.
REVISIONS = [
    ("inside_commit", "correction"),
    ("after_commit_before_ack", "misrecorded"),
    *(
        pytest.param(place, kind, marks=pytest.mark.slow)
        for place, kind in (
            ("after_claim", "correction"),
            ("before_commit", "correction"),
            ("after_commit_before_ack", "correction"),
            ("inside_commit", "misrecorded"),
            ("inside_commit", "world_change"),
        )
    ),
]


@pytest.mark.parametrize(("place", "kind"), REVISIONS)
def test_a_revision_ends_the_same_wherever_its_worker_dies(
    intents: Intents, worker: Any, scheduler: Any, plain: Any, place: str, kind: str
) -> None:
    spring, autumn = datetime(2026, 4, 1, tzinfo=UTC), datetime(2026, 9, 1, tzinfo=UTC)
    intents.form(intents.ask("observe", "I live in Oslo.", spring))
    deadly = worker(env=kill(plain, place))
    scheduler(env=plain)
    ref = intents.ask("revise", "I live in Bergen.", autumn, target_ref="A-1", change_kind=kind)
    wait_for(lambda: not deadly.alive, what="the worker's death")
    worker(env=plain)
    told = intents.ended(ref)["result"]
    assert told["progress"]["disposition"] == "formed"
    assert (
        intents.statuses()
        == {
            "correction": ["superseded valid", "active valid"],
            "world_change": ["active valid", "active valid"],
            "misrecorded": ["active invalidated"],
        }[kind]
    )
    # a repair is a commit of its own in the transaction of its turn
    commits = 3 if kind == "misrecorded" else 2
    assert intents.count("commit_record") == commits
    assert told["progress"]["resolved_seq"] == commits
    assert intents.bench.history(intents.job(ref)).count("succeeded") == 1
