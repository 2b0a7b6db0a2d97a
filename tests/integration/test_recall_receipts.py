"""Receipts of recalls: the reference that a caller gets, and what the host keeps (seed 4.6)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from api.memory.recall_structured import RecallOutput
from jobs.actors import PIPELINES
from jobs.runner import Runner
from pipelines.formation.alone import Alone, form
from pipelines.formation.builtin import BuiltinEncoder
from pipelines.recall.run import run
from storage import conversations, recall_receipts, spaces
from storage.canonical import digest, digest_bytes
from storage.database import Database, Scope
from storage.erasure import elements
from storage.graph import state
from storage.graph.changes import ChangeSet, UpdateConcept
from storage.graph.commit import commit
from storage.recall_receipts import RecallReceipt
from storage.runtime import callers
from tests.integration.test_memory_forget import Talk
from tests.services import Api, Process
from tests.unit.api.calling import new_client

QUESTION = "Where does Ana live?"
BUDGET = {"max_tokens": 900}
TALK: list[dict[str, Any]] = [
    {"role": "user", "name": "Ana", "content": "I live in Lisbon.", "timestamp": 1_780_000_000_000},
    {"role": "user", "name": "Bob", "content": "I'll send you the budget report by Friday."},
]


@pytest.fixture
def known(database: Database, space: str) -> str:
    form(database, Scope(space), TALK, BuiltinEncoder())
    return space


@pytest.fixture
def ask(known: str) -> Any:
    """Accept a recall, run its job, and ask for its answer under the same key."""
    client: Any = new_client()
    keys = iter(range(1000))
    runner = Runner(PIPELINES, queues=("interactive",))
    runner.start()

    def ask(route: str = "recall_structured", **body: Any) -> dict[str, Any]:
        path, key = f"/v1/{known}/{route}", f"k{next(keys)}"
        body = {"query": QUESTION, **body}
        headers = {"Idempotency-Key": key, "Prefer": "respond-async"}
        accepted = client.post(path, json=body, headers=headers)
        assert accepted.status_code == 202, accepted.json
        assert "recall_receipt" not in accepted.json["result"]
        runner.run([accepted.json["result"]["job"]])
        answer = client.post(path, json=body, headers={"Idempotency-Key": key})
        assert answer.status_code == 200, answer.json
        return dict(answer.json["result"])

    yield ask
    runner.stop()


def kept(database: Database, space: str, told: dict[str, Any]) -> RecallReceipt:
    with database.transaction(Scope(space)) as tx:
        found = recall_receipts.for_conversation(tx, Scope(space), told["conversation"])
    assert found is not None
    return found


@pytest.mark.parametrize("budget", [None, BUDGET])
def test_a_structured_recall_names_the_receipt_that_the_host_finds_by_its_conversation(
    database: Database, known: str, ask: Callable[..., Any], budget: dict[str, Any] | None
) -> None:
    told = ask(budget=budget)
    RecallOutput.model_validate(told)
    with database.transaction(Scope(known)) as tx:
        instance = callers.instance_of(spaces.get(tx, Scope(known)))
    receipt = kept(database, known, told)
    assert told["recall_receipt"] == {
        "id": receipt.id,
        "digest": receipt.digest,
        "scope": {"space_id": known, "space_instance": instance},
    }
    body = receipt.body
    assert receipt.digest == digest(body)
    assert body["content_digest"] == digest_bytes(told["answer"].encode())
    assert (body["semantic_complete"], body["action_ready"]) == (False, False)
    assert body["budget"] == told.get("memory_budget")
    # what was told, in the versions in which it was read
    assert body["items"]
    with database.transaction(Scope(known)) as tx:
        stored = state.load(tx, Scope(known), [item["id"] for item in body["items"]])
    assert {item["id"]: item["version"] for item in body["items"]} == {
        id: one.version for id, one in stored.items()
    }
    # and no word of it
    assert "Lisbon" in told["answer"]
    assert "Lisbon" not in json.dumps(dict(body))


def test_a_receipt_says_whether_its_items_were_delivered_or_only_traced(
    database: Database, known: str, ask: Callable[..., Any]
) -> None:
    free = ask()
    assert kept(database, known, free).body["delivery"] == "legacy_trace_only"
    assert {m["entity"] for m in free["memories"]} == {
        item["id"] for item in kept(database, known, free).body["items"]
    }
    packet = ask(budget=BUDGET)
    assert kept(database, known, packet).body["delivery"] == "packet"
    shown = {item["id"] for item in json.loads(packet["answer"])["items"] if item["version"]}
    assert shown <= {item["id"] for item in kept(database, known, packet).body["items"]}
    nothing = ask(budget={"max_tokens": 1})
    assert nothing["answer"] == "null"
    assert kept(database, known, nothing).body["delivery"] == "nothing"
    assert kept(database, known, nothing).body["items"] == []


@pytest.mark.parametrize("budget", [None, BUDGET])
def test_a_plain_recall_has_a_receipt_and_does_not_tell_of_it(
    database: Database, known: str, ask: Callable[..., Any], budget: dict[str, Any] | None
) -> None:
    told = ask("recall", budget=budget)
    assert "recall_receipt" not in told
    assert kept(database, known, told).body["conversation"] == told["conversation"]
    client: Any = new_client()
    path = f"/v1/{known}/conversations/{told['conversation']}?collection=recall"
    assert "recall_receipt" not in json.dumps(client.get(path).json["result"]["extra"])


def test_the_receipt_of_another_space_or_run_is_not_found(
    database: Database, known: str, ask: Callable[..., Any]
) -> None:
    told = ask()
    for space, number in ((f"{known}x", told["conversation"]), (known, told["conversation"] + 1)):
        with database.transaction(Scope(space)) as tx:
            assert recall_receipts.for_conversation(tx, Scope(space), number) is None


def test_the_receipt_goes_with_the_record_when_what_was_told_is_forgotten(
    database: Database, shared_api: Api, worker: Callable[..., Process], known: str
) -> None:
    talk = Talk(shared_api, known)
    worker(queues="interactive,memory,purge", env={"BRAINSTEM_EMBEDDER": "none"})
    asked = {"query": QUESTION, "budget": BUDGET}
    key = {"Idempotency-Key": "once"}
    packet = talk.post("recall_structured", asked, **key)["result"]
    free = talk.post("recall_structured", {"query": QUESTION})["result"]
    other = talk.post("recall_structured", {"query": "What did Bob promise to do?"})["result"]
    (claim,) = [m["entity"] for m in free["memories"] if m["entity"].startswith("A-")]
    told = talk.ask("forget", target_ref=claim, mode="semantic")
    assert told["result"]["status"] == "completed", told
    with database.transaction(Scope(known)) as tx:
        for gone in (packet, free):
            number = gone["conversation"]
            assert recall_receipts.for_conversation(tx, Scope(known), number) is None
    assert kept(database, known, other).digest == other["recall_receipt"]["digest"]
    # the job's reference is a handle of nothing, and says no more than it did
    again = talk.post("recall_structured", asked, **key)["result"]
    assert again["answer"] != packet["answer"]
    assert again["recall_receipt"] == packet["recall_receipt"]


def test_what_was_erased_between_reading_and_telling_is_not_pinned(
    database: Database, known: str
) -> None:
    scope = Scope(known)
    with database.transaction(scope) as tx:
        number = conversations.next_id(tx, scope)
        asked = [{"role": "user", "content": QUESTION}]
        conversations.create(
            tx, scope, number, "recall", job_id="", principal="anonymous", messages=asked
        )
    effect = run(Alone(database, scope, {"conversation": number}, kind="recall"))
    with database.transaction(scope) as tx:
        (claim,) = [element for (element,) in tx.execute("select id from assertion").fetchall()]
        elements.erase(tx, scope, "test", elements=(claim,), payloads=())
    with database.transaction(scope) as tx:
        told = effect.apply(tx).result
        assert claim in {ref for s in told["answer"] for ref in s["elements"]}
        receipt = recall_receipts.for_conversation(tx, scope, number)
    assert receipt is not None
    pinned = {item["id"] for item in receipt.body["items"]}
    assert pinned
    assert claim not in pinned


def test_a_pin_is_of_one_version_of_its_element(
    database: Database, known: str, ask: Callable[..., Any]
) -> None:
    scope = Scope(known)

    def pinned() -> dict[str, Any]:
        body = kept(database, known, ask(query="What did Bob promise to do?")).body
        (item,) = [item for item in body["items"] if item["id"].startswith("C-")]
        return dict(item)

    first = pinned()
    assert pinned() == first
    with database.transaction(scope) as tx:
        change = UpdateConcept(first["id"], attributes={"importance": "high"})
        commit(tx, scope, "test", ChangeSet((change,)), tx_class="test")
    second = pinned()
    assert (second["id"], second["version"]) == (first["id"], first["version"] + 1)
    assert second["content_digest"] != first["content_digest"]
