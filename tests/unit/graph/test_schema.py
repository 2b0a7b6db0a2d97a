"""The words of memory: built-in packages, lookup, drafts, values."""

from __future__ import annotations

from typing import Any

import pytest

from storage.graph.changes import DefineSymbol
from storage.graph.errors import (
    ConstraintViolation,
    KipError,
    SchemaFieldNotFound,
    SchemaSymbolConflict,
    SchemaSymbolNotFound,
    TypeMismatch,
)
from storage.graph.keys import concept_key, person_key
from storage.graph.schema import builtin, check_json, check_values, lineage_of


def test_a_lineage_is_the_ref_without_its_version() -> None:
    ref = "kip://domains/general@1.0.0/lives_in"
    assert lineage_of(ref) == "kip://domains/general/lives_in"
    assert lineage_of(lineage_of(ref)) == lineage_of(ref)


def test_a_symbol_is_found_by_name_lineage_and_ref() -> None:
    schema = builtin()
    lives_in = schema.predicate("lives_in")
    assert schema.predicate(lives_in.ref) is lives_in is schema.predicate(lives_in.lineage)
    with pytest.raises(SchemaSymbolNotFound):
        schema.predicate("kip://domains/general@9.9.9/lives_in")
    with pytest.raises(SchemaSymbolNotFound):
        schema.type("Spaceship")


def test_slots_behave_as_the_packages_say() -> None:
    schema = builtin()
    assert schema.predicate("lives_in").functional
    assert schema.predicate("timezone").functional
    assert not schema.predicate("works_for").functional
    assert schema.predicate("prefers").functional_by_type
    assert schema.predicate("speaks").object.takes_literal("fi")
    assert not schema.predicate("speaks").object.takes_literal(None)
    assert schema.structural("committed_to").max == 1
    assert [
        f.lineage.rpartition("/")[2] for f in schema.required_fields(schema.type("Skill").lineage)
    ] == ["current_revision"]


def test_a_draft_is_known_in_the_grown_schema_alone() -> None:
    grown = builtin().with_draft(DefineSymbol("concept_type", "Drink", {"description": "A drink."}))
    assert grown.knows_type("Drink")
    assert not builtin().knows_type("Drink")
    with pytest.raises(SchemaSymbolConflict):
        grown.with_draft(DefineSymbol("concept_type", "Drink", {"description": "A drink."}))


@pytest.mark.parametrize(
    ("kind", "name", "definition"),
    [
        ("concept_type", "a drink", {"description": "x"}),
        ("concept_type", "Drink", {}),
        ("concept_type", "Drink", {"description": " "}),
        ("concept_type", "Drink", {"description": "x", "functional": True}),
        ("predicate", "1st", {"description": "x"}),
        ("predicate", "likes", {"description": "x", "subject": {"literal_types": ["string"]}}),
        ("predicate", "likes", {"description": "x", "temporal_conflict": "sometimes"}),
        ("concept_type", "Drink", {"description": "x", "facets": {}}),
        (
            "concept_type",
            "Drink",
            {"description": "x", "attributes": {"fields": {"a": {"required": True}}}},
        ),
        ("predicate", "a" * 65, {"description": "x"}),
        ("predicate", "likes", {"description": "x", "open_world": False}),
        ("predicate", "likes", {"description": "x", "complete": True}),
        ("predicate", "likes", {"description": "x", "colour": "red"}),
        (
            "predicate",
            "likes",
            {"description": "x", "functional": True, "functional_by": "object_type"},
        ),
        ("predicate", "likes", {"description": "x", "object": {"concept_types": ["kip://a@1/B"]}}),
    ],
)
def test_a_draft_that_may_not_be_is_refused(kind: Any, name: str, definition: Any) -> None:
    with pytest.raises(KipError):
        builtin().with_draft(DefineSymbol(kind, name, definition))


def test_values_are_checked_against_their_definition() -> None:
    fields = builtin().type("Experience").fields
    good = {"goal": "x", "outcome_status": "success", "step_count": 3, "surprise": 0.5}
    check_values("t", good, fields, open=True, complete=True)
    check_values("t", {**good, "free": [1, {"a": None}]}, fields, open=True, complete=True)
    for error, wrong in (
        (SchemaFieldNotFound, {"free": 1}),
        (TypeMismatch, {"goal": 3}),
        (TypeMismatch, {"step_count": 1.5}),
        (TypeMismatch, {"step_count": True}),
        (ConstraintViolation, {"step_count": -1}),
        (ConstraintViolation, {"surprise": 1.1}),
        (ConstraintViolation, {"outcome_status": "splendid"}),
    ):
        with pytest.raises(error):
            check_values("t", {**good, **wrong}, fields, open=False, complete=True)
    with pytest.raises(ConstraintViolation):
        check_values("t", {"goal": "x"}, fields, open=True, complete=True)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 2**53, "a\x00b", {1: 2}, {"a": {3}}])
def test_what_is_no_portable_json_is_refused(wrong: Any) -> None:
    with pytest.raises(KipError):
        check_json(wrong, "value")


def test_keys_fold_case_width_and_spacing() -> None:
    assert person_key("  Ada   LOVELACE ") == "person:ada lovelace" == person_key("Ａda Lovelace")
    assert concept_key("ColorScheme", "Dark") == "color_scheme:dark"
    assert len(concept_key("Thing", "x" * 9000)) < 100
