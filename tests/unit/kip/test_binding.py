"""Parameters become parts of the tree, of the shape that their place takes, or are refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.kip.binding import bind
from storage.kip.errors import (
    REGISTRY,
    ConstraintViolation,
    DanglingReference,
    InvalidSyntax,
    KipError,
    ResourceExhausted,
    SearchModeUnsupported,
    TypeMismatch,
)
from storage.kip.language import ast_terms as t
from storage.kip.language.ast_kml import Assert, Update
from storage.kip.language.ast_kql import Find
from storage.kip.language.ast_patterns import ConceptPattern, PropositionPattern
from storage.kip.language.command import Statement, check, parse, read
from storage.kip.language.printer import printed
from storage.kip.language.walking import parameters
from tests.unit.kip.commands import VALID


def bound(text: str, **given: Any) -> Statement:
    return bind(read(text).statement, given)


def test_a_statement_without_parameters_is_left_alone() -> None:
    statement = read("FIND(?x) WHERE { ?x {} }").statement
    assert bind(statement, {"unused": 1}) is statement


def test_a_value_takes_the_place_of_its_parameter() -> None:
    given = bound("FIND(?x) WHERE { ?x {key: :k} } LIMIT :n", k="a", n=3)
    assert given == read('FIND(?x) WHERE { ?x {key: "a"} } LIMIT 3').statement


def test_a_whole_float_is_a_whole_number() -> None:
    given = bound("FIND(?x) WHERE { ?x {} } LIMIT :n", n=3.0)
    assert given == read("FIND(?x) WHERE { ?x {} } LIMIT 3").statement


def test_an_object_in_a_match_is_matched_against() -> None:
    given = bound("FIND(?x) WHERE { ?x {attributes: :a} }", a={"tags": ["x"], "n": 1.5})
    assert given == read('FIND(?x) WHERE { ?x {attributes: {tags: ["x"], n: 1.5}} }').statement


def test_an_object_names_an_element_at_either_end_of_a_triple() -> None:
    given = bound('FIND(?p) WHERE { ?p (:s, "prefers", :o) }', s={"id": "C-1"}, o={"key": "k"})
    assert isinstance(given, Find)
    [pattern] = given.where.clauses
    assert isinstance(pattern, PropositionPattern)
    assert isinstance(pattern.proposition, t.Triple)
    assert pattern.proposition.subject == t.ObjectMatch((t.Member("id", t.Literal("C-1")),))
    assert pattern.proposition.object == t.ObjectMatch((t.Member("key", t.Literal("k")),))


def test_a_string_is_an_id_at_the_start_of_a_triple_and_a_literal_at_its_end() -> None:
    given = bound('ENSURE PROPOSITION (:s, "timezone", :o)', s="C-1", o="+08:00")
    assert given == bound('ENSURE PROPOSITION ({id: :s}, "timezone", "+08:00")', s="C-1")


def test_an_id_may_come_as_an_object() -> None:
    given = bound("UPDATE :x SET ATTRIBUTES {note: :n}", x={"id": "C-1"}, n={"id": "C-1"})
    assert isinstance(given, Update)
    assert given.target == t.Literal("C-1")
    found = bound("FIND(?x) WHERE { ?x {id: :x} }", x={"id": "C-1"})
    assert isinstance(found, Find)
    assert isinstance(found.where.clauses[0], ConceptPattern)
    assert found == read('FIND(?x) WHERE { ?x {id: "C-1"} }').statement


def test_a_value_may_be_anything() -> None:
    text = "CREATE CONCEPT ?c {TYPE :t SET ATTRIBUTES {a: :a}}"
    for value in (None, True, 1, "x", [], {}, [{"deep": [None]}], {"id": "C-1"}):
        given = bound(text, t="Person", a=value)
        assert parameters(given) == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        "FIND(?x) WHERE { ?x {key: :k} }",
        'FIND(?x) WHERE { ?x {type: "Nobody"} FILTER(?x.name == :k) } LIMIT 0',
        "UPDATE ?x SET ATTRIBUTES {a: :k} WHERE { ?x {} }",
        "LIST TYPES LIMIT :k",
    ],
)
def test_a_missing_parameter_is_refused_wherever_it_stands(text: str) -> None:
    with pytest.raises(DanglingReference) as refused:
        bound(text, other=1)
    assert refused.value.code == "ReferenceError"
    assert ":k" in refused.value.message
    assert refused.value.data["offset"] == text.index(":k")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("FIND(?x) WHERE { ?x {} } LIMIT :v", [1]),
        ("FIND(?x) WHERE { ?x {} } LIMIT :v", -1),
        ("FIND(?x) WHERE { ?x {} } LIMIT :v", True),
        ("FIND(?x) WHERE { ?x {} } LIMIT :v", None),
        ("FIND(?x) WHERE { ?x {} } AS OF SEQ :v", 1.5),
        ("FIND(?x) WHERE { ?x {} } FOR TIME :v", 0),
        ('LIST DEPENDENTS "C-1" DEPTH :v', "deep"),
        ("LIST DEPENDENTS :v", 1),
        ("CREATE CONCEPT ?c {TYPE :v}", {"id": "C-1"}),
        ("CREATE CONCEPT ?c {TYPE :v}", 3),
        ("FIND(?x) WHERE { (?x, :v, ?y) }", None),
        ('FIND(?x) WHERE { (:v, "knows", ?x) }', 7),
        ('FIND(?x) WHERE { (?x, "knows", :v) }', ["C-1"]),
        ('PURGE :v CONFIRM "PURGE"', {"key": "k"}),
        ("UPDATE :v SET ATTRIBUTES {a: 1}", 5),
        ("FIND(?p) WHERE { ?p (id: :v) }", ["P-1"]),
        ("DESCRIBE PRIMER MODE :v", 1),
    ],
)
def test_a_value_of_the_wrong_shape_is_a_type_mismatch(text: str, value: Any) -> None:
    with pytest.raises(TypeMismatch):
        bound(text, v=value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("FIND(?x) WHERE { ?x {} } FOR TIME :v", "2026-01-01T00:00:00Z"),
        ('ASSERT ("C-1", "p", 1) {by: "C-1", mode: :v}'.replace('"C-1", "p"', ':s, "p"'), "maybe"),
        ('DEFINE PREDICATE "p" {description: "d", open_world: :v}', False),
        ('TRANSITION "A-1" TO :v', "asleep"),
        ("DESCRIBE PRIMER MODE :v", "long"),
        ("FIND(?x) WHERE { ?x {key: :v} }", 2**53),
        ("FIND(?x) WHERE { ?x {key: :v} }", float("nan")),
        ("FIND(?x) WHERE { ?x {key: :v} }", float("inf")),
        ("FIND(?x) WHERE { ?x {key: :v} }", "a\x00b"),
        ("FIND(?x) WHERE { ?x {key: :v} }", {"\ud800": 1}),
        ("CREATE CONCEPT ?c {TYPE :v}", ""),
    ],
)
def test_a_parameter_smuggles_nothing_in(text: str, value: Any) -> None:
    with pytest.raises(ConstraintViolation):
        bound(text, v=value, s={"id": "C-1"})


def test_a_way_of_searching_is_one_of_those_that_there_are() -> None:
    with pytest.raises(SearchModeUnsupported):
        bound('SEARCH CONCEPT "x" MODE :m', m="telepathy")


def test_a_bound_move_is_checked_like_a_written_one() -> None:
    with pytest.raises(InvalidSyntax):
        bound('TRANSITION "A-1" TO :v', v="superseded")


def test_a_value_may_not_nest_without_end() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ResourceExhausted):
        bound("FIND(?x) WHERE { ?x {key: :v} }", v=deep)


def test_a_long_chain_of_conditions_is_bound() -> None:
    chain = " || ".join(["?x.key == :v"] * 5000)
    given = bound(f"FIND(?x) WHERE {{ ?x {{}} FILTER({chain}) }}", v="a")
    assert parameters(given) == frozenset()


def test_ingested_evidence_stands_for_its_handle() -> None:
    statement = read('ASSERT (:s, "p", 1) {by: :s, mode: "stated", evidence: [:msg]}').statement
    given = bind(statement, {"s": {"id": "C-1"}}, minted={"msg": "ingest#msg"})
    assert isinstance(given, Assert)
    cited = next(member.value for member in given.members if member.name == "evidence")
    assert cited == t.ArrayValue((t.Variable("ingest#msg"),))


def test_ingested_evidence_is_no_text() -> None:
    statement = read("CREATE CONCEPT ?c {TYPE :msg}").statement
    with pytest.raises(TypeMismatch):
        bind(statement, {}, minted={"msg": "ingest#msg"})


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None, exclude_categories=()), max_size=8)
    | st.sampled_from(
        ["C-1", "Person", "stated", "support", "2026-01-01T00:00:00.000Z", 0, 1, 0.5]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "type", "key", "from"]) | st.text(max_size=4), inner
        )
    ),
    max_leaves=6,
)


@given(st.sampled_from(VALID), st.data())
@settings(max_examples=400, deadline=None)
def test_any_values_give_what_could_have_been_written_or_an_error(
    text: str, data: st.DataObject
) -> None:
    command = read(text)
    values = {name: data.draw(JSON, name) for name in sorted(command.parameters)}
    given = answer(command.statement, values)
    if isinstance(given, KipError):
        assert given.code in REGISTRY
        assert 0 <= given.data["offset"] <= len(text)
        return
    assert parameters(given) == frozenset()
    written = parse(printed(given))
    check(written)
    assert written == given


def answer(statement: Statement, values: dict[str, Any]) -> Statement | KipError:
    try:
        return bind(statement, values)
    except KipError as error:
        return error
