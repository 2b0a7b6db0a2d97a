"""kill -9 at every place of an erasure: the same end, once, and nothing claimed before it is so."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.forget import run as forget
from tests.erasure import claim_often, where
from tests.services import Process, Services, wait_for
from tests.unit.api.calling import new_client

WORDS = ("zibbergnash", "quoxlemire")
SAID = f"My favourite colour is green, says the {WORDS[0]} to the {WORDS[1]}."
PLACES = ("after_claim", "before_commit", "inside_commit", "after_commit_before_ack")
#: Batches of a plan after which a run is killed; the first erases memory, the others copies.
BATCHES = (1, *(pytest.param(batch, marks=pytest.mark.slow) for batch in (2, 4)), 9)
#: Batches of a plan that takes memory away in three parts, and the first of the copies.
PARTS = (1, 2, *(pytest.param(part, marks=pytest.mark.slow) for part in (3, 5)))


class Talk:
    """One space, through an API in this process."""

    def __init__(self, space: str) -> None:
        self.space = space

    def call(self, method: str, path: str, body: Any = None) -> Any:
        response = new_client().open(f"/v1/{self.space}/{path}", method=method, json=body)
        assert response.status_code == 200, response.text
        return response.json

    def ask(self, operation: str, **given: Any) -> Any:
        return self.call(
            "POST",
            "memory",
            {
                "kip_memory": "2.0",
                "operation": operation,
                "idempotency_key": uuid.uuid4().hex,
                "input": given,
            },
        )

    def view(self, told: Any) -> Any:
        return self.call("GET", f"memory/receipts/{told['receipt']['receipt_ref']}")["result"]

    def plan(self, told: Any) -> Any:
        return self.call("GET", f"memory/plans/{told['result']['plan_ref']}")["result"]

    def wait(self, told: Any) -> Any:
        wait_for(
            lambda: self.view(told)["progress"]["phase"] != "recorded",
            seconds=60,
            what="the end of the work",
        )
        return self.view(told)


@pytest.fixture
def env(fast: dict[str, str]) -> dict[str, str]:
    return {**fast, "BRAINSTEM_EMBEDDER": "none"}


@pytest.fixture
def talk(bench: Any, worker: Callable[..., Process], env: dict[str, str]) -> Talk:
    """A space in which one source was observed, and no worker."""
    talk = Talk(bench.space)
    first = worker(queues="memory", env=env)
    messages = [{"role": "user", "content": SAID, "name": "Ada"}]
    body = {"messages": messages, "idempotency_key": "k"}
    talk.source = talk.call("POST", "memory/sources", body)["result"]["source_ref"]  # type: ignore
    told = talk.wait(talk.ask("observe", source_ref=talk.source))  # type: ignore[attr-defined]
    assert told["progress"]["phase"] == "available", told
    first.kill9()
    return talk


def check_end(talk: Talk, services: Services, bench: Any, told: Any) -> None:
    """It is done, it was done once, and nothing is left."""
    view = talk.wait(told)
    assert view["progress"]["disposition"] == "erased", view
    assert view["result"]["status"] == "completed"
    plan = talk.plan(told)
    assert {entry["state"] for entry in plan["plan"]["targets"]} == {"erased"}
    assert all(entry["verified_at"] for entry in plan["host_surfaces"])
    assert where(services, *WORDS) == []
    with bench.database.transaction(bench.scope) as tx:
        commits = tx.execute(
            "select count(*) from commit_record where space_id = %s and channel = 'forget'",
            (bench.space,),
        ).fetchone()
        ended = tx.execute(
            "select count(*) from job_event e join job j on j.id = e.job_id"
            " where j.space_id = %s and j.kind = 'forget' and e.event = 'succeeded'",
            (bench.space,),
        ).fetchone()
    assert commits == ended == (1,)


def check_open(talk: Talk, told: Any) -> None:
    """Nothing is said to be done."""
    view = talk.view(told)
    assert view["progress"]["phase"] == "recorded"
    assert view["result"]["status"] == "pending"
    plan = talk.plan(told)
    assert plan["plan"]["status"] == "pending"
    assert all(entry["verified_at"] is None for entry in plan["host_surfaces"])


@pytest.mark.parametrize("place", PLACES)
def test_an_erasure_whose_worker_is_killed_ends_as_if_it_had_not_been(
    talk: Talk,
    bench: Any,
    services: Services,
    worker: Callable[..., Process],
    scheduler: Callable[..., Process],
    env: dict[str, str],
    place: str,
) -> None:
    deadly = worker(queues="memory", env={**env, "BRAINSTEM_FAILPOINTS": f"{place}/forget=kill"})
    told = talk.ask("forget", target_ref=talk.source, mode="semantic")  # type: ignore[attr-defined]
    wait_for(lambda: not deadly.alive, seconds=40, what="the worker's death")
    if place != "after_commit_before_ack":
        check_open(talk, told)
    scheduler(env=env)
    worker(queues="memory", env=env)
    check_end(talk, services, bench, told)


@pytest.mark.parametrize("batch", BATCHES)
def test_an_erasure_that_is_killed_after_a_batch_goes_on_from_there(
    talk: Talk,
    bench: Any,
    services: Services,
    worker: Callable[..., Process],
    scheduler: Callable[..., Process],
    env: dict[str, str],
    tmp_path: Path,
    batch: int,
) -> None:
    held = tmp_path / "held"
    deadly = worker(
        queues="memory", env={**env, "BRAINSTEM_FAILPOINTS": f"after_batch/forget=hold:{held}"}
    )
    told = talk.ask("forget", target_ref=talk.source, mode="semantic")  # type: ignore[attr-defined]
    for _ in range(batch - 1):
        wait_for(held.exists, what="a batch")
        held.unlink()
    wait_for(held.exists, what="the batch")
    deadly.kill9()
    held.unlink()
    check_open(talk, told)
    scheduler(env=env)
    worker(queues="memory", env=env)
    check_end(talk, services, bench, told)


@pytest.mark.parametrize("batch", PARTS)
def test_a_plan_of_thousands_of_elements_that_is_killed_between_its_parts_goes_on_from_there(
    bench: Any,
    services: Services,
    worker: Callable[..., Process],
    scheduler: Callable[..., Process],
    env: dict[str, str],
    tmp_path: Path,
    batch: int,
) -> None:
    target = claim_often(bench.database, bench.scope, forget.BATCH + forget.BATCH // 10, WORDS[0])
    assert where(services, WORDS[0])
    talk, held = Talk(bench.space), tmp_path / "held"
    deadly = worker(
        queues="memory", env={**env, "BRAINSTEM_FAILPOINTS": f"after_batch/forget=hold:{held}"}
    )
    told = talk.ask("forget", target_ref=target, mode="semantic")
    for _ in range(batch - 1):
        wait_for(held.exists, seconds=60, what="a batch")
        held.unlink()
    wait_for(held.exists, seconds=60, what="the batch")
    deadly.kill9()
    held.unlink()
    check_open(talk, told)
    erased = _erased(bench)
    assert erased == min(batch, 3)
    scheduler(env=env)
    worker(queues="memory", env=env)
    view = talk.wait(told)
    assert view["result"]["status"] == "completed", view
    plan = talk.plan(told)
    assert {entry["state"] for entry in plan["plan"]["targets"]} == {"erased"}
    # each part was taken once, whoever took it
    assert _erased(bench) == plan["receipts_total"] == 3
    assert where(services, WORDS[0]) == []


def _erased(bench: Any) -> int:
    """The commits of plans that have erased."""
    with bench.database.transaction(bench.scope) as tx:
        row = tx.execute(
            "select count(*) from commit_record where space_id = %s and channel = 'forget'",
            (bench.space,),
        ).fetchone()
    return int(row[0])
