"""`POST /v1/{space}/formation`: what is accepted, how it is answered, and what is kept."""

from __future__ import annotations

import json
import threading

import cbor2
import pytest

from storage import settings
from tests.unit.api.calling import MESSAGE, new_client, traces


@pytest.fixture
def client(database):
    return new_client()


def form(client, space, body, **headers):
    return client.post(f"/v1/{space}/formation", json=body, headers=headers)


def conversation(client, space, number, collection="formation"):
    response = client.get(f"/v1/{space}/conversations/{number}?collection={collection}")
    assert response.status_code == 200
    return response.json["result"]


def test_a_formation_is_answered_at_once_with_conversation_job_and_receipt(client, space):
    response = form(client, space, {"messages": [MESSAGE]})
    assert response.status_code == 200
    result = response.json["result"]
    assert result["content"] == "Accepted 1 message for formation."
    assert result["receipt"]["operation"] == "formation"
    assert result["receipt"]["space_id"] == space
    assert response.headers["Location"] == f"/v1/{space}/jobs/{result['job']}"
    job = client.get(response.headers["Location"]).json["result"]
    assert job["state"] == "accepted"
    assert job["payload"] == {"conversation": result["conversation"]}
    assert job["receipt"] == result["receipt"]
    assert job["request_id"] == response.headers["X-Request-Id"]
    kept = conversation(client, space, result["conversation"])
    assert kept["status"] == "submitted"
    assert kept["messages"] == [MESSAGE]


def test_messages_are_kept_as_given_with_all_their_parts(client, space):
    messages = [
        {
            "role": "assistant",
            "content": [
                "plain",
                {"type": "text", "text": "lower"},
                {"type": "Text", "text": "upper"},
                {"type": "InlineData", "mime_type": "image/png", "data": "AAAA", "n": 2**60},
                {"type": "ToolCall", "name": "search", "args": {"deep": [1, {"x": None}]}},
            ],
            "name": "Lena",
            "user": "u-1",
            "timestamp": 1772438700000,
            "custom": {"kept": True},
        },
        {"role": "tool", "content": "", "name": None},
    ]
    number = form(client, space, {"messages": messages}).json["result"]["conversation"]
    assert conversation(client, space, number)["messages"] == [
        messages[0],
        {"role": "tool", "content": ""},
    ]


def test_context_and_time_are_normalised_and_kept(client, space):
    body = {
        "messages": [MESSAGE],
        "context": {"counterparty": "ada", "agent": None, "source": "thread-7", "other": 1},
        "timestamp": "2026-03-29T08:00:00.5+09:00",
        "unknown": "ignored",
    }
    number = form(client, space, body).json["result"]["conversation"]
    kept = conversation(client, space, number)
    assert kept["extra"] == {
        "context": {"counterparty": "ada", "source": "thread-7"},
        "timestamp": "2026-03-28T23:00:00.500Z",
    }
    assert kept["thread"] == "thread-7"


def test_markdown_is_one_user_message_and_answers_text(client, space):
    response = client.post(
        f"/v1/{space}/formation",
        data="# Diary\n\nI moved to Antwerp. 你好".encode(),
        headers={"Content-Type": "text/markdown; charset=utf-8", "Accept": "text/markdown"},
    )
    assert response.status_code == 200
    assert response.content_type == "text/markdown; charset=utf-8"
    assert response.data == b"Accepted 1 message for formation."
    number = client.get(f"/v1/{space}/conversations").json["result"][0]["_id"]
    assert conversation(client, space, number)["messages"] == [
        {"role": "user", "content": "# Diary\n\nI moved to Antwerp. 你好"}
    ]


def test_cbor_comes_in_and_goes_out(client, space):
    message = {**MESSAGE, "timestamp": 1772438700000}
    response = client.post(
        f"/v1/{space}/formation",
        data=cbor2.dumps({"messages": [message]}),
        headers={"Content-Type": "application/cbor", "Accept": "application/cbor"},
    )
    assert response.status_code == 200
    assert response.content_type == "application/cbor"
    result = cbor2.loads(response.data)["result"]
    assert conversation(client, space, result["conversation"])["messages"] == [message]


def test_the_same_key_and_meaning_is_accepted_once(client, space, services):
    body = {"messages": [MESSAGE], "timestamp": "2026-01-01T00:00:00Z"}
    same = {
        "timestamp": "2026-01-01T01:00:00.000+01:00",
        "context": {"topic": None},
        "messages": [{**MESSAGE, "name": None}],
    }
    first = form(client, space, body, **{"Idempotency-Key": "k 1", "X-Request-Id": "a"})
    before = traces(services)
    again = form(client, space, same, **{"Idempotency-Key": "k 1", "X-Request-Id": "b"})
    assert again.status_code == 200
    assert again.json == first.json
    assert traces(services) == before


@pytest.mark.parametrize(
    "other",
    [
        {"messages": [{**MESSAGE, "content": "I live in Ghent."}]},
        {"messages": [{**MESSAGE, "name": "Lena"}]},
        {"messages": [MESSAGE, MESSAGE]},
        {"messages": [MESSAGE], "context": {"topic": "homes"}},
        {"messages": [MESSAGE], "timestamp": "2026-01-01T00:00:00Z"},
    ],
)
def test_the_same_key_with_another_meaning_is_a_conflict(client, space, services, other):
    first = form(client, space, {"messages": [MESSAGE]}, **{"Idempotency-Key": "k"})
    before = traces(services)
    response = form(client, space, other, **{"Idempotency-Key": "k"})
    assert response.status_code == 409
    assert response.json["data"] == {
        "code": "IdempotencyConflict",
        "receipt_ref": first.json["result"]["receipt"]["receipt_ref"],
    }
    assert traces(services) == before


def test_a_key_of_one_operation_is_not_one_of_another(client, space):
    key = {"Idempotency-Key": "shared"}
    assert form(client, space, {"messages": [MESSAGE]}, **key).status_code == 200
    response = client.post(
        f"/v1/{space}/recall", json={"query": "where?"}, headers={**key, "Prefer": "wait=0"}
    )
    assert response.status_code == 202


@pytest.mark.parametrize("key", ["", "x" * 256, "tab\there", "naïve"])
def test_a_key_of_another_shape_is_refused(client, space, services, key):
    before = traces(services)
    response = form(client, space, {"messages": [MESSAGE]}, **{"Idempotency-Key": key})
    assert response.status_code == 400
    assert response.json["data"]["field"] == "Idempotency-Key"
    assert traces(services) == before


def test_the_longest_key_is_taken(client, space):
    response = form(client, space, {"messages": [MESSAGE]}, **{"Idempotency-Key": "~" * 255})
    assert response.status_code == 200


def test_many_at_once_with_one_key_make_one_job(client, space, services):
    answers = []
    barrier = threading.Barrier(12)

    def send():
        mine = new_client()
        barrier.wait()
        answers.append(form(mine, space, {"messages": [MESSAGE]}, **{"Idempotency-Key": "once"}))

    threads = [threading.Thread(target=send) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status_code for answer in answers} == {200}
    assert len({json.dumps(answer.json, sort_keys=True) for answer in answers}) == 1
    assert len(client.get(f"/v1/{space}/jobs").json["result"]) == 1
    assert len(client.get(f"/v1/{space}/conversations").json["result"]) == 1


def test_an_unknown_space_is_made_where_the_operator_allows_it(client, monkeypatch):
    monkeypatch.setenv("BRAINSTEM_AUTO_CREATE_SPACE", "true")
    settings.reload()
    try:
        assert form(client, "made_by_itself", {"messages": [MESSAGE]}).status_code == 200
        assert client.get("/v1/made_by_itself/info").json["result"]["owner"] == "anonymous"
    finally:
        monkeypatch.undo()
        settings.reload()


def test_maintenance_joins_a_waiting_run_of_the_same_scope_and_parameters(client, space):
    def run(body):
        response = client.post(f"/v1/{space}/maintenance", json=body)
        assert response.status_code == 200
        return response.json["result"]

    first = run({})
    assert run({"trigger": "threshold", "scope": "daydream"})["job"] == first["job"]
    full = run({"scope": "full", "parameters": {"orphan_max_count": 5}})
    assert full["job"] != first["job"]
    assert run({"scope": "full", "parameters": {"orphan_max_count": 5}})["job"] == full["job"]
    assert run({"scope": "full", "parameters": {"orphan_max_count": 6}})["job"] != full["job"]
    kept = conversation(client, space, full["conversation"], "maintenance")
    assert kept["extra"]["parameters"] == {"orphan_max_count": 5}


@pytest.mark.parametrize(
    "parameters",
    [
        {"stale_event_threshold_days": 0},
        {"stale_event_threshold_days": 366},
        {"memory_strength_decay_factor": 0},
        {"confidence_decay_factor": 1.1},
        {"unconsolidated_max_backlog": 10_001},
        {"unsorted_max_backlog": 0},
        {"orphan_max_count": "5"},
    ],
)
def test_maintenance_parameters_out_of_range_are_refused(client, space, services, parameters):
    before = traces(services)
    response = client.post(f"/v1/{space}/maintenance", json={"parameters": parameters})
    assert response.status_code == 400
    assert response.json["data"]["field"] == f"parameters.{next(iter(parameters))}"
    assert traces(services) == before


def test_maintenance_parameters_at_their_edges_and_old_names_are_taken(client, space):
    parameters = {
        "stale_event_threshold_days": 365,
        "confidence_decay_factor": 1,
        "unsorted_max_backlog": 10_000,
        "orphan_max_count": 1,
    }
    response = client.post(f"/v1/{space}/maintenance", json={"parameters": parameters})
    number = response.json["result"]["conversation"]
    assert conversation(client, space, number, "maintenance")["extra"]["parameters"] == {
        "stale_event_threshold_days": 365,
        "unconsolidated_max_backlog": 10_000,
        "orphan_max_count": 1,
    }
