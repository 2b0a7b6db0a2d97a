"""Recall of the Memory Interface over HTTP, with a worker process of its own."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest

from storage.database import Database
from tests.integration.memory_recall_world import World
from tests.services import Api, Process


def _recall(api: Api, space: str, **given: object) -> httpx2.Response:
    body = {"kip_memory": "2.0", "operation": "recall", "request_id": "r-1", "input": given}
    return api.client.post(f"/v1/{space}/memory", json=body)


def test_a_recall_is_answered_by_a_worker(
    shared_api: Api, worker: Callable[..., Process], database: Database, space: str
) -> None:
    world = World(database, space)
    world.claim("Bob", "timezone", "+07:00")
    world.promise("send the report")
    worker(queues="interactive")
    answer = _recall(shared_api, space, query="Which time zone is Bob in?").json()
    assert answer["status"] == "succeeded"
    assert answer["request_id"] == "r-1"
    assert [item["role"] for item in answer["result"]["items"]] == ["warning", "fact"]
    ref = answer["result"]["basis_ref"]
    expanded = _recall(shared_api, space, target_ref=ref, detail="evidence").json()
    assert expanded["status"] == "succeeded"
    attention = _recall(shared_api, space, mode="attention").json()
    assert attention["result"]["attention_cursor"] == "attention:start"
    listed = shared_api.client.get(f"/v1/{space}/memory/attention").json()["result"]
    assert listed == {"items": [], "attention_cursor": "attention:start", "complete": True}


def test_what_is_observed_is_recalled_once_its_receipt_is_available(
    shared_api: Api, worker: Callable[..., Process], space: str
) -> None:
    worker(queues="interactive,memory")
    said = {"role": "user", "name": "Bob", "content": "I live in Lisbon."}
    staged = shared_api.client.post(
        f"/v1/{space}/memory/sources", json={"messages": [said], "idempotency_key": "s"}
    ).json()["result"]
    observed = shared_api.client.post(
        f"/v1/{space}/memory",
        json={
            "kip_memory": "2.0",
            "operation": "observe",
            "idempotency_key": "o",
            "scope": {"task_ref": "task-A"},
            "input": {"source_ref": staged["source_ref"]},
        },
    ).json()
    receipt = observed["receipt"]["receipt_ref"]
    body = {
        "kip_memory": "2.0",
        "operation": "recall",
        "scope": {"task_ref": "task-A"},
        "input": {"query": "Where does Bob live?", "after": [receipt]},
    }
    answer = shared_api.client.post(f"/v1/{space}/memory", json=body).json()
    assert answer["status"] == "succeeded", answer
    [after] = answer["result"]["after"]
    assert (after["phase"], after["disposition"]) == ("available", "formed")
    [fact] = [item for item in answer["result"]["items"] if item["role"] == "fact"]
    assert "Lisbon" in fact["text"]
    assert fact["epistemic_status"] == "accepted"
    assert fact["evidence_refs"]
    unscoped = _recall(shared_api, space, query="Where does Bob live?").json()
    assert unscoped["result"]["items"] == []
    assert "Lisbon" not in unscoped["result"]["summary"]


def test_without_a_worker_a_recall_says_that_it_took_too_long_and_leaves_no_work(
    start_api: Callable[..., Api], database: Database, space: str
) -> None:
    api = start_api(env={"BRAINSTEM_WAIT_SECONDS": "0.2"})
    body = {
        "kip_memory": "2.0",
        "operation": "recall",
        "budget": {"deadline_ms": 100},
        "input": {"query": "anything"},
    }
    answer = api.client.post(f"/v1/{space}/memory", json=body).json()
    assert answer["status"] == "failed"
    assert answer["error"]["code"] == "ExecutionTimeout"
    with database.transaction(World(database, space).scope) as tx:
        states = tx.execute("select state from job where space_id = %s", (space,)).fetchall()
    assert states == [("cancelled",)]


@pytest.mark.parametrize("limit", ["0", "51", "many"])
def test_a_wrong_limit_is_told_as_such(shared_api: Api, space: str, limit: str) -> None:
    response = shared_api.client.get(f"/v1/{space}/memory/attention?limit={limit}")
    assert response.status_code == 400
    assert response.json()["data"]["field"] == "limit"
