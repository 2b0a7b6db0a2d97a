"""The runtime's routes under odd formats, races, limits and credentials that are none (4.6)."""

from __future__ import annotations

import json
import threading
import time
import uuid
from typing import Any

import cbor2
import httpx2
import pytest

from storage.clock import now, to_text
from storage.credentials import cwt
from storage.database import database as process_database
from tests.integration import test_runtime_outcomes as outcomes
from tests.integration.test_runtime_inbox import SIGNING, token
from tests.integration.test_runtime_outcomes import OTHER, World

world = outcomes.world

LIMIT = 16 * 1024


def call(
    world: World,
    method: str,
    path: str,
    caller: str | None = "gauge",
    content: bytes = b"",
    kind: str = "application/json",
    accept: str = "application/json",
) -> httpx2.Response:
    headers = {"Accept": accept}
    if content:
        headers["Content-Type"] = kind
    if caller is not None:
        headers["Authorization"] = f"Bearer {world.tokens.get(caller, caller)}"
    url = f"/v1/{world.space}{path}"
    return world.api.client.request(method, url, headers=headers, content=content)


def statement(text: str, key: str | None = None) -> dict[str, Any]:
    return {
        "kind": "agent_statement",
        "event_key": key or uuid.uuid4().hex,
        "statement": text,
    }


def wake(world: World) -> str:
    page = call(world, "GET", "/attention?limit=1", "ana").json()
    return str(page["result"]["items"][0]["id"])


def test_bodies_and_answers_are_json_or_cbor_alike(world: World) -> None:
    body = world.body(world.act(), magnitude=0.5)
    packed = call(
        world, "POST", "/outcomes", content=cbor2.dumps(body), kind="application/cbor",
        accept="application/cbor",
    )  # fmt: skip
    assert packed.status_code == 200
    assert packed.headers["content-type"] == "application/cbor"
    told = cbor2.loads(packed.content)["result"]
    assert world.send(body).json()["result"] == told
    assert isinstance(told["received_at_ms"], int)
    path = f"/attention/{wake(world)}/responses"
    said = statement("Done.")
    packed = call(
        world, "POST", path, "ana", cbor2.dumps(said), "application/cbor", "application/cbor"
    )
    again = call(world, "POST", path, "ana", json.dumps(said).encode())
    assert again.json()["result"] == cbor2.loads(packed.content)["result"]
    for path in ("/attention", "/runtime/status"):
        packed = call(world, "GET", path, "ana", accept="application/cbor")
        plain = call(world, "GET", path, "ana").json()["result"]
        told = cbor2.loads(packed.content)["result"]
        # each cursor is sealed anew
        for one in (told, plain):
            one.pop("next_cursor", None)
        assert told == plain


@pytest.mark.parametrize("path", ["/attention", "/runtime/status"])
def test_answers_come_as_markdown_and_errors_never_do(world: World, path: str) -> None:
    text = call(world, "GET", path, "ana", accept="text/markdown")
    assert text.status_code == 200
    assert text.headers["content-type"].startswith("text/markdown")
    assert text.text.strip()
    refused = call(world, "GET", path, "stranger", accept="text/markdown")
    assert refused.status_code == 403
    assert refused.headers["content-type"].startswith("application/json")
    assert refused.json()["data"]["code"] == "not_authorized"


def test_a_page_in_markdown_says_where_to_go_on(world: World) -> None:
    text = call(world, "GET", "/attention?limit=1", "ana", accept="text/markdown").text
    cursor = json.loads(text)["next_cursor"]
    assert call(world, "GET", f"/attention?cursor={cursor}", "ana").status_code == 200


def test_a_receipt_comes_as_markdown_too(world: World) -> None:
    body = json.dumps(world.body(world.act())).encode()
    text = call(world, "POST", "/outcomes", content=body, accept="text/markdown")
    assert text.status_code == 200
    assert text.headers["content-type"].startswith("text/markdown")
    assert "obs-" in text.text


@pytest.mark.parametrize("kind", ["text/markdown", "text/plain"])
def test_what_is_no_structured_body_is_refused(world: World, kind: str) -> None:
    body = json.dumps(world.body(world.wakes[0])).encode()
    assert call(world, "POST", "/outcomes", content=body, kind=kind).status_code in (400, 415)
    said = json.dumps(statement("x")).encode()
    path = f"/attention/{wake(world)}/responses"
    assert call(world, "POST", path, "ana", said, kind).status_code in (400, 415)


def sized(body: dict[str, Any], member: dict[str, Any], name: str, size: int) -> bytes:
    """The body as JSON of exactly `size` bytes, by the length of one of its texts."""
    member[name] = ""
    member[name] = "x" * (size - len(json.dumps(body).encode()))
    made = json.dumps(body).encode()
    assert len(made) == size
    return made


def test_a_body_has_16_kib_and_not_a_byte_more(world: World) -> None:
    body = world.body(world.act(kind="external"), payload={})
    payload = body["observation"]["payload"]
    more = sized(body, payload, "text", LIMIT + 1)
    refused = call(world, "POST", "/outcomes", content=more)
    assert (refused.status_code, refused.json()["data"]["code"]) == (413, "too_large")
    whole = sized(body, payload, "text", LIMIT)
    assert call(world, "POST", "/outcomes", content=whole).status_code == 200
    said = statement("")
    path = f"/attention/{wake(world)}/responses"
    more = sized(said, said, "statement", LIMIT + 1)
    assert call(world, "POST", path, "ana", more).status_code == 413
    whole = sized(said, said, "statement", LIMIT)
    assert call(world, "POST", path, "ana", whole).status_code == 200


def test_an_event_key_has_256_bytes_however_few_characters(world: World) -> None:
    body = world.body(world.act())
    for key, status in (("é" * 128 + "x", 400), ("\x00", 400), ("", 400), ("é" * 128, 200)):
        assert world.send({**body, "event_key": key}).status_code == status, key
    assert world.send({**body, "correction_of": "é" * 129}).status_code == 400


def test_two_observers_share_an_event_key_and_nothing_else(world: World) -> None:
    attempt, before = world.act(), world.head()
    body = world.body(attempt)
    other = {**body, "observation": {**body["observation"], "outcome_status": "failure"}}
    answers: dict[str, list[httpx2.Response]] = {"gauge": [], "meter": []}
    threads = [
        threading.Thread(target=lambda c=caller, b=told: answers[c].append(world.send(b, c)))  # type: ignore[misc]
        for caller, told in (("gauge", body), ("meter", other)) * 3
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = {
        caller: {one.json()["result"]["receipt_id"] for one in given if one.status_code == 200}
        for caller, given in answers.items()
    }
    assert [len(told[caller]) for caller in ("gauge", "meter")] == [1, 1]
    assert told["gauge"] != told["meter"]
    assert world.head() == before + 2
    # whoever was first closed the dispatch, with what it saw
    item = world.item(attempt)
    first = next(
        one.json()["result"]
        for given in answers.values()
        for one in given
        if one.json()["result"]["outcome_ref"] == item["delivery"]["outcome_ref"]
    )
    assert item["reason"] == first["outcome_status"]
    # and neither can correct what the other saw
    mine = world.body(attempt)
    assert world.send(mine).status_code == 200
    theirs = world.body(attempt, correction_of=mine["event_key"])
    assert world.send(theirs, "meter").status_code == 409


def test_a_time_to_come_and_a_foreign_instance_are_refused_before_anything_is_kept(
    world: World,
) -> None:
    attempt, before = world.act(), world.head()
    for changed, status in (
        ({"observed_at": "2199-01-01T00:00:00.000Z"}, 400),
        ({"observed_at": "2026-09-17"}, 400),
        ({"observed_at": "yesterday"}, 400),
        ({"space_instance": OTHER}, 409),
        ({"space_instance": world.space}, 400),
    ):
        body = world.body(attempt, **changed)
        assert world.send(body).status_code == status, changed
        with process_database().transaction(world.scope) as tx:
            kept = tx.execute(
                "select 1 from runtime_outcome where space_id = %s and event_key = %s"
                " union all select 1 from runtime_conflict where space_id = %s and event_key = %s",
                (world.space, body["event_key"]) * 2,
            ).fetchall()
        assert kept == []
    assert world.head() == before


def test_credentials_of_elsewhere_or_of_before_measure_and_read_nothing(world: World) -> None:
    body = json.dumps(world.body(world.wakes[0])).encode()
    old = cwt.mint(
        SIGNING, subject="gauge", audience=world.space, scope="*", seconds=1, at=time.time() - 60
    )
    foreign, _ = cwt.new_key()
    forged = cwt.mint(
        foreign, subject="gauge", audience=world.space, scope="*", seconds=60, at=time.time()
    )
    for credential, status in (
        (old, 401),
        (forged, 401),
        (token("gauge", f"{world.space}x"), 403),
        (None, 401),
        ("ST" + "0" * 40, 401),
    ):
        assert call(world, "POST", "/outcomes", credential, body).status_code == status
        for path in ("/attention", "/runtime/status"):
            assert call(world, "GET", path, credential).status_code == status


def test_learning_is_refused_to_all_and_tells_observers_alone_why(world: World) -> None:
    body = world.body(world.wakes[0])
    body["observation"] = {"kind": "learning", "measurements": {"baseline": {}}}
    refused = world.send(body)
    assert refused.status_code == 400
    assert refused.json()["data"]["code"] == "UnsupportedCapability"
    assert world.send(body, "ana").status_code == 403


def test_the_same_event_is_the_same_in_another_spelling(world: World) -> None:
    body = world.body(world.act(), magnitude=1)
    told = world.send(body).json()["result"]
    at = body["observed_at"]
    again = {**body, "observed_at": at.replace("Z", "+00:00")}
    again["observation"] = {**body["observation"], "magnitude": 1.0}
    again.pop("correction_of")
    again.pop("safety_signal")
    assert world.send(again).json()["result"] == told
    other = {**body, "observed_at": to_text(now())}
    assert world.send(other).status_code == 409
