"""Edges of the Memory Interface that its callers stumble upon: odd handles, repeats, lost bytes."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest

from tests import memory_interface
from tests.memory_interface import World

world = memory_interface.world


@pytest.mark.parametrize("operation", [[], {}, ["recall"], {"recall": 1}, 7, True, None])
def test_an_operation_of_any_type_is_answered_by_a_response(world: World, operation: Any) -> None:
    told = world.caller().ask({"kip_memory": "2.0", "operation": operation, "input": {}})
    assert (told["status"], told["error"]["code"]) == ("failed", "InvalidRequestEnvelope")


@pytest.mark.parametrize("kind", ["sources", "receipts", "plans"])
@pytest.mark.parametrize("handle", ["%00", "{prefix}-%00", "{prefix}-" + "0" * 31 + "%00", "é"])
def test_a_handle_that_no_handle_can_look_like_is_unknown(
    world: World, kind: str, handle: str
) -> None:
    prefix = {"sources": "src", "receipts": "rcp", "plans": "pln"}[kind]
    caller = world.caller()
    unknown = caller.call("GET", f"memory/{kind}/{prefix}-{'0' * 32}")
    odd = caller.call("GET", f"memory/{kind}/{handle.format(prefix=prefix)}")
    assert (odd.status_code, odd.json) == (unknown.status_code, unknown.json)
    assert odd.status_code == 404


@pytest.mark.parametrize("of", ["staged", "evidence"])
def test_a_revision_that_says_nothing_new_writes_nothing(world: World, of: str) -> None:
    caller = world.caller()
    source = caller.stage("I live in Utrecht.")
    caller.done("observe", source_ref=source)
    if of == "evidence":
        source = "E-1"
    before = world.head
    for _ in range(2):
        view = caller.done("revise", source_ref=source)
        assert view["progress"]["disposition"] == "skipped"
        assert view["result"] == {"summary": "Nothing was written.", "memory_refs": []}
    assert world.head == before


def test_a_conversation_that_is_read_again_is_one_event(world: World) -> None:
    caller = world.caller()
    source = caller.stage("I live in Utrecht.")
    first = caller.done("observe", source_ref=source)
    scoped = caller.done("observe", source_ref=source, scope={"task_ref": "task-A"})
    [event] = [ref for ref in first["result"]["memory_refs"] if ref.startswith("C-")]
    [other] = [ref for ref in scoped["result"]["memory_refs"] if ref.startswith("C-")]
    # what was told in a scope is of that scope alone
    assert event != other
    assert world.scope_of(event) is None
    assert world.scope_of(other) is not None


def test_no_warning_is_told_twice(world: World) -> None:
    caller = world.caller()
    source = caller.stage("I live in Utrecht.")
    caller.done("observe", source_ref=source)
    told = caller.do("revise", "rev-1", source_ref=source)
    world.work()
    assert len(caller.receipt(told["receipt"]["receipt_ref"])["warnings"]) == 2
    caller.done("forget", target_ref=source, mode="payload_only")
    # the words of the turn are gone, those of its warnings with them; `do` checks the shape
    again = caller.do("revise", "rev-1", source_ref=source)
    warnings = again["warnings"]
    assert len(set(warnings)) == len(warnings)
    view = caller.receipt(told["receipt"]["receipt_ref"])
    assert view["warnings"] == warnings


def test_an_empty_cursor_reads_from_the_start(world: World) -> None:
    told = world.caller().call("GET", "memory/attention?attention_cursor=").json["result"]
    assert told == {"items": [], "attention_cursor": "attention:start", "complete": True}


def test_an_evidence_is_told_of_once_in_every_scope(world: World) -> None:
    caller = world.caller()
    caller.done("observe", source_ref=caller.stage("I live in Utrecht."))
    for scope in ({}, {"task_ref": "task-A"}, {"task_ref": "task-A", "context_refs": ["work"]}):
        events = []
        for _ in range(2):
            view = caller.done("revise", source_ref="E-1", scope=scope)
            refs = view["result"]["memory_refs"]
            events += [ref for ref in refs if ref.startswith("C-")]
        assert [world.scope_of(event) is not None for event in events] == [True] * bool(scope)


WORDS = "My code name is Nightingale.\nI live in Zermatt, Café Zürich."


@pytest.mark.parametrize(
    "again",
    [
        {"name": "Zed", "content": [{"type": "text", "text": WORDS}]},
        {"name": "Zed", "content": [{"type": "Text", "text": WORDS}]},
        {"name": "Zed", "content": [WORDS]},
        {"name": "Zed", "content": WORDS.split("\n")},
        {"name": "Zed", "content": f"  {WORDS.replace(chr(10), '  ')}\n"},
        {"name": "Zed", "content": unicodedata.normalize("NFD", WORDS)},
        {"user": "Zed", "content": WORDS},
        {"name": " ", "user": "Zed", "content": WORDS},
        {"name": "Zed", "content": WORDS, "timestamp": 1789725600000},
        {"name": "Zed", "content": WORDS, "colour": "blue"},
    ],
)
def test_erased_words_are_refused_in_whatever_form_they_come(
    world: World, again: dict[str, Any]
) -> None:
    caller = world.caller()
    source = caller.stage({"role": "user", "name": "Zed", "content": WORDS})
    caller.done("observe", source_ref=source)
    view = caller.done("forget", target_ref=source, mode="semantic")
    assert view["progress"]["disposition"] == "erased"
    for messages in ([{"role": "user", **again}], [{"role": "user", "content": "Hi."}, again]):
        messages = [{"role": "user", **message} for message in messages]
        body = {"messages": messages, "idempotency_key": "again"}
        refused = caller.call("POST", "memory/sources", body)
        assert refused.status_code == 403, refused.text
        assert refused.json["data"]["details"]["reason"] == "source_suppressed"


@pytest.mark.parametrize(
    "other",
    [
        {"role": "assistant", "name": "Zed", "content": WORDS},
        {"role": "user", "name": "Yan", "content": WORDS},
        {"role": "user", "content": WORDS},
        {"role": "user", "name": "Zed", "content": WORDS.replace("Zermatt", "Zug")},
        {"role": "user", "name": "Zed", "content": [WORDS, {"type": "FileData", "uri": "x"}]},
    ],
)
def test_what_others_say_is_not_refused_with_what_one_had_erased(
    world: World, other: dict[str, Any]
) -> None:
    caller = world.caller()
    source = caller.stage({"role": "user", "name": "Zed", "content": WORDS})
    caller.done("observe", source_ref=source)
    caller.done("forget", target_ref=source, mode="semantic")
    assert caller.done("observe", source_ref=caller.stage(other))["progress"]["phase"] == (
        "available"
    )


def test_a_wrong_time_is_named_by_where_it_stands(world: World) -> None:
    caller = world.caller()
    staged = {
        "messages": [{"role": "user", "content": "I live in Utrecht."}],
        "observed_at": "yesterday",
        "idempotency_key": "k",
    }
    refused = caller.call("POST", "memory/sources", staged).json
    assert refused["data"]["field"] == "observed_at", refused
    told = caller.ask(
        {
            "kip_memory": "2.0",
            "operation": "recall",
            "input": {"query": "Where?", "time": {"valid_at": "2026-01-01"}},
        }
    )
    assert told["error"]["details"]["field"] == "time.valid_at", told
