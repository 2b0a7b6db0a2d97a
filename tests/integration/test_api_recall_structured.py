"""`POST /v1/{space}/recall_structured`, and budgets over HTTP: real runs, real answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import cbor2
import pytest

from api.memory.recall_structured import RecallOutput
from jobs.actors import PIPELINES
from jobs.runner import Runner
from pipelines.formation.alone import form
from pipelines.formation.builtin import BuiltinEncoder
from pipelines.ports.tokens import count
from storage import memory_policy
from storage.database import Database, Scope
from storage.memory_policy import MemoryPolicy, RecallBudget
from tests.services import Api, Process
from tests.unit.api.calling import claim, finish, new_client

TALK: list[dict[str, Any]] = [
    {"role": "user", "name": "Ana", "content": "I live in Lisbon.", "timestamp": 1_780_000_000_000},
    {"role": "user", "name": "Bob", "content": "I am allergic to peanuts."},
    {"role": "user", "name": "Eve", "content": "Bob is not allergic to peanuts."},
    {"role": "user", "name": "Bob", "content": "I'll send you the budget report by Friday."},
]
BUDGET = {"tokenizer": "o200k_base@tiktoken-rs-0.12.0", "max_tokens": 900}


@pytest.fixture
def known(database: Database, space: str) -> str:
    form(database, Scope(space), TALK, BuiltinEncoder())
    return space


@pytest.fixture
def runner(database: Database) -> Any:
    started = Runner(PIPELINES, queues=("interactive",))
    started.start()
    yield started
    started.stop()


@pytest.fixture
def ask(known: str, runner: Runner) -> Callable[..., Any]:
    """Accept a recall, run its job, and ask for its answer under the same key."""
    client: Any = new_client()
    keys = iter(range(1000))

    def ask(
        body: dict[str, Any], route: str = "recall_structured", accept: str = "application/json"
    ) -> Any:
        path, key = f"/v1/{known}/{route}", f"k{next(keys)}"
        headers = {"Idempotency-Key": key, "Prefer": "respond-async"}
        accepted = client.post(path, json=body, headers=headers)
        assert accepted.status_code == 202, accepted.json
        runner.run([accepted.json["result"]["job"]])
        return client.post(path, json=body, headers={"Idempotency-Key": key, "Accept": accept})

    return ask


def test_an_answer_comes_with_what_it_stands_on(ask: Callable[..., Any]) -> None:
    response = ask({"query": "Where does Ana live?"})
    assert response.status_code == 200
    result = response.json["result"]
    RecallOutput.model_validate(result)
    assert result["answer"].startswith("Ana lives in Lisbon")
    assert result["found"] is True
    assert result["uncertainty"] == 0
    cited = {memory["type"]: memory for memory in result["memories"]}
    assert cited["lives_in"]["source"] == "Ana"
    assert cited["lives_in"]["entity"].startswith("A-")
    assert cited["user_statement"]["entity"].startswith("E-")
    assert isinstance(result["conversation"], int)
    assert result["usage"]["requests"] == 0
    assert "memory_budget" not in result
    plain = ask({"query": "Where does Ana live?"}, route="recall").json["result"]
    assert plain["content"] == result["answer"]
    assert "memories" not in plain


def test_uncertainty_is_the_share_of_cited_claims_that_are_contested_or_uncertain(
    ask: Callable[..., Any],
) -> None:
    result = ask({"query": "What is Bob allergic to?"}).json["result"]
    claims = [m for m in result["memories"] if m["entity"].startswith("A-")]
    assert claims
    assert result["answer"].startswith("Contested")
    assert result["uncertainty"] == 1


def test_what_cites_no_claim_has_no_uncertainty(ask: Callable[..., Any]) -> None:
    nothing = ask({"query": "What is the capital of Mongolia?"}).json["result"]
    assert nothing["found"] is False
    assert nothing["memories"] == []
    assert "uncertainty" not in nothing
    promise = ask({"query": "What did Bob promise to do?"}).json["result"]
    assert promise["found"] is True
    assert "Commitment" in [memory["type"] for memory in promise["memories"]]
    assert "uncertainty" not in promise


def test_the_text_is_the_answer_in_markdown(ask: Callable[..., Any]) -> None:
    text = ask({"query": "Where does Ana live?"}, accept="text/markdown")
    assert text.content_type == "text/markdown; charset=utf-8"
    assert text.data.decode().startswith("Ana lives in Lisbon")
    packed = ask({"query": "Where does Ana live?", "budget": BUDGET}, accept="text/markdown")
    assert json.loads(packed.data)["status"] == "bounded"


def test_a_packet_is_told_alike_by_both_routes_and_with_nothing_beside(
    ask: Callable[..., Any],
) -> None:
    body = {"query": "Where does Ana live?", "budget": BUDGET}
    structured = ask(body).json["result"]
    RecallOutput.model_validate(structured)
    packet = json.loads(structured["answer"])
    assert structured["memory_budget"] == {
        "tokenizer": "o200k_base@tiktoken-rs-0.12",
        "token_limit": 900,
        "tokens": count(structured["answer"]),
        "context_token_limit": 49152,
    }
    assert structured["found"] is True
    follow = {"job", "state", "receipt", "conversation"}
    told = {"answer", "found", "usage", "memory_budget", "recall_receipt"}
    assert set(structured) == follow | told
    plain = ask(body, route="recall").json["result"]
    assert set(plain) == follow | {"content", "usage"}
    assert json.loads(plain["content"]) == packet
    in_cbor = cbor2.loads(ask(body, accept="application/cbor").data)["result"]
    assert in_cbor["answer"] == structured["answer"]


def test_a_budget_too_small_for_anything_is_null_with_its_reason(ask: Callable[..., Any]) -> None:
    body = {"query": "Where does Ana live?", "budget": {"max_tokens": 1}}
    structured = ask(body).json["result"]
    assert structured["answer"] == "null"
    assert structured["found"] is False
    assert structured["failed_reason"] == "recall_output_budget_exhausted"
    assert structured["memory_budget"]["tokens"] == 1
    plain = ask(body, route="recall").json["result"]
    assert plain["content"] == "null"
    assert plain["failed_reason"] == "recall_output_budget_exhausted"


def test_the_policy_of_the_space_holds_for_questions_without_a_budget(
    database: Database, known: str, ask: Callable[..., Any]
) -> None:
    with database.transaction(Scope(known)) as tx:
        policy = MemoryPolicy(recall_budget=RecallBudget(max_tokens=800))
        memory_policy.write(tx, Scope(known), policy)
    plain = ask({"query": "Where does Ana live?"}, route="recall").json["result"]
    assert json.loads(plain["content"])["token_limit"] == 800
    wider = ask({"query": "Where does Ana live?", "budget": {"max_tokens": 9000}}).json["result"]
    assert wider["memory_budget"]["token_limit"] == 800
    off = ask({"query": "Where does Ana live?", "budget": None}).json["result"]
    assert off["memory_budget"]["token_limit"] == 800


@pytest.mark.parametrize("route", ["recall", "recall_structured"])
@pytest.mark.parametrize(
    "budget",
    [
        {"max_tokens": 0},
        {"max_tokens": 65537},
        {"max_tokens": None},
        {"max_tokens": 100.0},
        {"max_tokens": "100"},
        {"max_tokens": True},
        {"context_tokens": 0},
        {"context_tokens": 131073},
        {"tokenizer": "cl100k_base"},
        {"tokenizer": "o200k_base"},
        {"tokens": 100},
        [],
        "4096",
    ],
)
def test_a_budget_that_is_none_is_refused(
    database: Database, space: str, route: str, budget: Any
) -> None:
    body = {"query": "x", "budget": budget}
    client: Any = new_client()
    response = client.post(f"/v1/{space}/{route}", json=body)
    assert response.status_code == 400
    assert response.json["data"]["code"] == "invalid_input"
    assert response.json["data"]["field"].startswith("budget")


@pytest.mark.parametrize("budget", [{"max_tokens": 65536}, {"context_tokens": 131072}, {}])
def test_the_bounds_of_a_budget_are_allowed(database: Database, space: str, budget: Any) -> None:
    client: Any = new_client()
    response = client.post(
        f"/v1/{space}/recall_structured",
        json={"query": "x", "budget": budget},
        headers={"Prefer": "respond-async"},
    )
    assert response.status_code == 202
    assert response.json["result"]["answer"] == ""


def test_a_key_is_good_for_one_route_and_one_budget(database: Database, space: str) -> None:
    client: Any = new_client()
    headers = {"Idempotency-Key": "q", "Prefer": "respond-async"}

    def send(route: str, **more: Any) -> Any:
        body = {"query": "Where?", **more}
        return client.post(f"/v1/{space}/{route}", json=body, headers=headers)

    first = send("recall", budget=BUDGET)
    assert first.status_code == 202
    canonical = {**BUDGET, "tokenizer": "o200k_base@tiktoken-rs-0.12", "context_tokens": 49152}
    assert send("recall", budget=canonical).json == first.json
    assert send("recall").status_code == 409
    assert send("recall_structured", budget=BUDGET).status_code == 409


def test_a_failed_run_says_why_as_recall_does(database: Database, space: str) -> None:
    client: Any = new_client()
    headers = {"Idempotency-Key": "q", "Prefer": "respond-async"}
    path = f"/v1/{space}/recall_structured"
    job = client.post(path, json={"query": "Where?"}, headers=headers).json["result"]["job"]
    claim(space, job)
    finish(space, job, error={"code": "model_rejected", "message": "Refused."})
    result = client.post(path, json={"query": "Where?"}, headers=headers).json["result"]
    assert (result["answer"], result["found"]) == ("", False)
    assert result["failed_reason"] == "Refused."
    text = client.post(
        path, json={"query": "Where?"}, headers={**headers, "Accept": "text/markdown"}
    )
    assert text.status_code == 500
    assert text.json["data"]["reason"] == "model_rejected"


def test_a_server_and_a_worker_answer_in_one_request(
    shared_api: Api, worker: Callable[..., Process], known: str
) -> None:
    worker(queues="interactive", threads=1)
    response = shared_api.client.post(
        f"/v1/{known}/recall_structured",
        json={"query": "Where does Ana live?", "budget": BUDGET},
    )
    assert response.status_code == 200
    result = response.json()["result"]
    assert result["state"] == "succeeded"
    assert json.loads(result["answer"])["status"] == "bounded"
