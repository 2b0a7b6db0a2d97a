"""Staging sources: kept once, their stager's alone, and never what was erased."""

from __future__ import annotations

import uuid
from typing import Any

import httpx2
import pytest

from storage.database import Database, Scope
from storage.source_digests import message_digest, source_digest
from tests.services import Api

SAID = {"role": "user", "content": "Bob here: I am on UTC+7.", "timestamp": 1789725600000}


def stage(api: Api, space: str, **changed: Any) -> httpx2.Response:
    body = {"messages": [SAID], "idempotency_key": "k", **changed}
    return api.client.post(f"/v1/{space}/memory/sources", json=body)


def test_a_source_is_kept_verbatim_and_read_back(shared_api: Api, space: str) -> None:
    order = {"stream_ref": "s", "event_ref": "e", "ordinal": 3}
    made = stage(
        shared_api, space, observed_at="2026-09-18T12:00:00+02:00", kind="message", order=order
    ).json()["result"]
    assert made["source_ref"].startswith("src-")
    assert made["source_digest"] == source_digest("message", [SAID])
    read = shared_api.client.get(f"/v1/{space}/memory/sources/{made['source_ref']}").json()[
        "result"
    ]
    assert read == {
        **made,
        "observed_at": "2026-09-18T10:00:00.000Z",
        "kind": "message",
        "state": "staged",
        "evidence_refs": [],
        "messages": [SAID],
        "order": order,
    }


def test_the_same_bytes_under_the_same_key_are_the_same_handle(shared_api: Api, space: str) -> None:
    first = stage(shared_api, space, observed_at="2026-09-18T10:00:00Z").json()
    assert stage(shared_api, space).json() == first
    assert stage(shared_api, space, observed_at="2026-09-18T12:00:00+02:00").json() == first


@pytest.mark.parametrize(
    "changed",
    [
        {"messages": [{"role": "user", "content": "Something else."}]},
        {"kind": "tool_trace"},
        {"observed_at": "2026-09-18T10:00:01Z"},
        {"order": {"stream_ref": "s", "event_ref": "e", "ordinal": 0}},
    ],
)
def test_other_bytes_under_the_same_key_are_a_conflict(
    shared_api: Api, space: str, changed: dict[str, Any]
) -> None:
    stage(shared_api, space, observed_at="2026-09-18T10:00:00Z")
    answer = stage(shared_api, space, **changed)
    assert answer.status_code == 409
    assert answer.json()["data"]["code"] == "IdempotencyConflict"


@pytest.mark.parametrize(
    "changed",
    [
        {"messages": []},
        {"messages": [SAID] * 17},
        {"messages": [{"role": "instrument", "content": "x"}]},
        {"messages": [{"role": "user", "content": "  "}]},
        {"evidence_class": "outcome"},
        {"idempotency_key": ""},
        {"observed_at": "yesterday"},
        {"observed_at": "2026-09-18T10:00:00.0001Z"},
        {"kind": "outcome"},
        {"order": {"stream_ref": "s", "event_ref": "e", "ordinal": -1}},
    ],
)
def test_what_is_no_source_is_refused(shared_api: Api, space: str, changed: dict[str, Any]) -> None:
    assert stage(shared_api, space, **changed).status_code == 400


def test_predecessors_must_be_the_callers_own(shared_api: Api, space: str) -> None:
    order = {"stream_ref": "s", "event_ref": "e", "ordinal": 0}
    order["predecessor_receipts"] = [f"rcp-{uuid.UUID(int=0).hex}"]
    answer = stage(shared_api, space, order=order)
    assert answer.status_code == 404
    assert answer.json()["data"]["code"] == "NotFoundOrNotVisible"
    assert stage(shared_api, space).status_code == 200


def test_an_unknown_handle_and_that_of_another_space_look_the_same(
    shared_api: Api, space: str, database: Database
) -> None:
    ref = stage(shared_api, space).json()["result"]["source_ref"]
    other = f"other_{uuid.uuid4().hex[:8]}"
    shared_api.client.post("/admin/create_space", json={"user": "x", "space_id": other, "tier": 0})
    foreign = shared_api.client.get(f"/v1/{other}/memory/sources/{ref}")
    unknown = shared_api.client.get(f"/v1/{space}/memory/sources/src-{uuid.UUID(int=0).hex}")
    assert foreign.status_code == unknown.status_code == 404
    assert foreign.content == unknown.content


def test_what_was_erased_is_refused_in_any_batch_and_binds_no_key(
    shared_api: Api, space: str, database: Database
) -> None:
    scope = Scope(space)
    with database.transaction(scope) as tx:
        tx.execute(
            "insert into source_suppression (space_id, source_digest, plan_ref, created_at)"
            " values (%s, %s, 'pln-1', now())",
            (space, message_digest(SAID)),
        )
    later = {**SAID, "timestamp": 1789725700000}
    answer = stage(shared_api, space, messages=[{"role": "user", "content": "Hello."}, later])
    assert answer.status_code == 403
    assert answer.json()["data"]["details"] == {"reason": "source_suppressed"}
    assert (
        stage(shared_api, space, messages=[{"role": "user", "content": "Hello."}]).status_code
        == 200
    )
