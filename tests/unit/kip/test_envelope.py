"""Requests in all their forms: what they become, and what is refused before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.kip.errors import (
    REGISTRY,
    ConstraintViolation,
    InvalidRequestEnvelope,
    KipError,
    ResourceExhausted,
    TypeMismatch,
    UnsupportedCapability,
    UnsupportedIsolation,
    UnsupportedProtocolVersion,
)
from storage.kip.protocol.envelope import Request, parse
from storage.kip.protocol.normalise import normalise
from storage.kip.protocol.strict_json import decode

FIND = "FIND(?x) WHERE { ?x {} }"


def request(**members: Any) -> Request:
    return parse(normalise({"kip": "2.0", "operations": [{"command": FIND}], **members}))


@pytest.mark.parametrize(
    "form",
    [
        FIND,
        {"command": FIND},
        {"operations": [FIND]},
        {"commands": [FIND]},
        {"kip": "2.0", "operations": [{"command": FIND}]},
    ],
)
def test_every_form_of_one_command_is_the_same_request(form: Any) -> None:
    assert parse(normalise(form)) == request()


def test_the_older_commands_run_in_order_and_stop() -> None:
    known = parse(normalise({"commands": [FIND, {"command": FIND, "parameters": {"a": 1}}]}))
    assert (known.mode, known.on_error) == ("sequence", "stop")
    assert known.operations[1].parameters == {"a": 1}


def test_dry_run_may_be_said_at_the_top() -> None:
    assert parse(normalise({"command": FIND, "dry_run": True})).dry_run
    with pytest.raises(InvalidRequestEnvelope):
        normalise({"command": FIND, "dry_run": True, "options": {"dry_run": False}})


def test_parameters_of_an_operation_go_over_the_shared_ones_key_by_key() -> None:
    known = request(
        parameters={"a": {"deep": 1}, "b": 2},
        operations=[{"command": FIND, "parameters": {"a": {"other": 1}, "c": None}}],
    )
    assert known.operations[0].parameters == {"a": {"other": 1}, "b": 2, "c": None}


def test_several_operations_need_a_mode() -> None:
    with pytest.raises(InvalidRequestEnvelope):
        request(operations=[FIND, FIND])
    assert request(operations=[FIND, FIND], execution={"mode": "independent"}).mode == "independent"


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        7,
        [],
        {},
        [FIND],
        {"command": FIND, "operations": [FIND]},
        {"command": FIND, "commands": [FIND]},
        {"command": 7},
        {"command": ""},
        {"operations": {}},
        {"operations": []},
        {"operations": [7]},
        {"operations": [{}]},
        {"operations": [{"command": FIND, "ast": {}}]},
        {"operations": [{"command": FIND, "extra": 1}]},
        {"operations": [{"command": FIND, "language": "SQL"}]},
        {"operations": [{"command": FIND, "op_id": ""}]},
        {"operations": [{"command": FIND, "options": {"fast": True}}]},
        {"command": FIND, "extra": 1},
        {"command": FIND, "kip": 2},
        {"command": FIND, "request_id": 7},
        {"command": FIND, "space": {}},
        {"command": FIND, "space": {"name": "x"}},
        {"command": FIND, "parameters": []},
        {"command": FIND, "parameters": {"a b": 1}},
        {"command": FIND, "parameters": {":a": 1}},
        {"command": FIND, "execution": {"mode": "parallel"}},
        {"command": FIND, "execution": {"on_error": "stop"}},
        {"command": FIND, "execution": {"mode": "sequence", "on_error": "retry"}},
        {"command": FIND, "execution": {"mode": "atomic", "on_error": "continue"}},
        {"command": FIND, "preconditions": {"space_seq": -1}},
        {"command": FIND, "preconditions": {"space_seq": True}},
        {"command": FIND, "preconditions": {"seq": 1}},
        {"command": FIND, "options": {"dry_run": "yes"}},
        {"command": FIND, "options": {"deadline_ms": 0}},
        {"command": FIND, "context": {"who": "me"}},
        {"command": FIND, "requires": ["belief_slot"]},
        {"command": FIND, "requires": {"a b": True}},
        {"command": FIND, "extensions": {"plain": {}}},
        {"command": FIND, "extensions": {"a/b": 1}},
        {"command": FIND, "read": {"token": "x"}},
        {"command": FIND, "parameters": {"a": float("nan")}},
        {"command": FIND, "parameters": {"a": "\ud800"}},
        {"command": FIND, "parameters": {"a": {"\x00": 1}}},
        {"command": FIND, "parameters": {"a": {1, 2}}},
    ],
)
def test_what_is_no_request_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidRequestEnvelope):
        parse(normalise(wrong))


def entry(**members: Any) -> dict[str, Any]:
    base: dict[str, Any] = {"key": "m", "evidence_class": "message", "payload": "x", **members}
    return {
        "command": FIND,
        "ingest": {"evidence": [{k: v for k, v in base.items() if v is not ...}]},
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"command": FIND, "ingest": {}},
        {"command": FIND, "ingest": {"evidence": []}},
        entry(key="no name"),
        entry(key=...),
        entry(evidence_class=...),
        entry(payload=...),
        entry(payload_artifact="a"),
        entry(source_actor="alice"),
        entry(source_actor={"key": "alice"}),
        entry(source_actor={"id": "C-1", "key": "alice"}),
        entry(source_actor={"id": 1}),
        entry(facets=[]),
        entry(facets={"MemoryScope": 1}),
        entry(extra=1),
        {**entry(), "parameters": {"m": 1}},
        {"command": FIND, "ingest": {"evidence": 2 * entry()["ingest"]["evidence"]}},
    ],
)
def test_what_is_no_ingested_evidence_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidRequestEnvelope):
        parse(normalise(wrong))


def test_ingested_evidence_is_read() -> None:
    given = entry(source_actor={"type": "Person", "key": "a"}, payload=None, client_key="k")
    [known] = parse(normalise(given)).ingest
    assert known.payload is None
    assert known.source_actor == {"type": "Person", "key": "a"}
    assert known.client_key == "k"


def test_times_of_ingested_evidence_are_strict() -> None:
    with pytest.raises(ConstraintViolation):
        parse(normalise(entry(observed_at="2026-01-01T00:00:00Z")))
    with pytest.raises(TypeMismatch):
        parse(normalise(entry(observed_at=None)))


@pytest.mark.parametrize(
    ("members", "error"),
    [
        ({"kip": "1.0"}, UnsupportedProtocolVersion),
        ({"execution": {"mode": "independent", "isolation": "snapshot"}}, UnsupportedIsolation),
        ({"execution": {"mode": "atomic"}}, UnsupportedCapability),
        ({"extensions": {"a/b": {"critical": True}}}, UnsupportedCapability),
        (
            {"read": {"snapshot_token": "t", "extensions": {"a/b": {"critical": True}}}},
            UnsupportedCapability,
        ),
        ({"operations": [FIND] * 257, "execution": {"mode": "sequence"}}, ResourceExhausted),
        (
            {"operations": ["x" * 200_000] * 2, "execution": {"mode": "sequence"}},
            ResourceExhausted,
        ),
    ],
)
def test_what_is_not_offered_is_said_to_be_so(
    members: dict[str, Any], error: type[KipError]
) -> None:
    with pytest.raises(error):
        request(**members)


def test_a_request_may_not_nest_without_end() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = {"a": [deep]}
    with pytest.raises(ResourceExhausted):
        request(parameters={"a": deep})


def test_the_same_op_id_is_not_given_twice() -> None:
    with pytest.raises(InvalidRequestEnvelope):
        request(operations=[{"op_id": "a", "command": FIND}] * 2, execution={"mode": "sequence"})


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        "NaN",
        "1e999",
        "1e-999",
        "[1,]",
        '"a',
        "",
        "1" * 2000,
        b"\xff",
        "[" * 9000,
    ],
)
def test_json_is_read_strictly(text: str | bytes) -> None:
    with pytest.raises(InvalidRequestEnvelope):
        decode(text)


def test_numbers_are_read_as_they_are() -> None:
    assert decode("[1, 1.5, 0.0, -0, 12345678901234567890]") == [1, 1.5, 0, 0, 12345678901234567890]


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None, exclude_categories=()), max_size=6)
    | st.just(FIND),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
MEMBERS = st.dictionaries(
    st.sampled_from(
        [
            "kip",
            "request_id",
            "space",
            "execution",
            "read",
            "ingest",
            "preconditions",
            "operations",
            "command",
            "commands",
            "parameters",
            "context",
            "requires",
            "options",
            "extensions",
            "dry_run",
        ]
    ),
    ANYTHING
    | st.fixed_dictionaries({"mode": ANYTHING})
    | st.fixed_dictionaries({"evidence": st.lists(ANYTHING, max_size=2)})
    | st.lists(st.fixed_dictionaries({"command": ANYTHING}), max_size=2),
)


@given(ANYTHING | MEMBERS)
@settings(max_examples=500, deadline=None)
def test_anything_is_a_request_or_an_error(value: Any) -> None:
    told = answer(value)
    assert isinstance(told, Request) or told.code in REGISTRY


def answer(value: Any) -> Request | KipError:
    try:
        return parse(normalise(value))
    except KipError as error:
        return error


SCHEMA = (
    Path(__file__).resolve().parents[4] / "shared" / "kip" / "schemas" / "kip-request.schema.json"
)


@given(MEMBERS)
@settings(max_examples=300, deadline=None)
def test_what_is_accepted_is_a_request_by_the_schema(value: Any) -> None:
    if not SCHEMA.exists():
        pytest.skip("the shared KIP data is not beside this checkout")
    import jsonschema_rs

    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    if isinstance(answer(value), Request):
        strict = normalise(value)
        # the schema is of an older revision here: see contract kip-engine section 7
        strict.pop("ingest", None)
        jsonschema_rs.validate(schema, strict)
