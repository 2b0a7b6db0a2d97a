"""Environments: packages of a space, drafts, promotion; each as it was at its sequence."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from storage.database import Database, Scope
from storage.errors import Conflict
from storage.graph import installation, promotion, transactions
from storage.graph.changes import (
    Change,
    ChangeSet,
    CreateConcept,
    CreateEvidence,
    DefineSymbol,
    EnsureProposition,
    Link,
    UpsertConcept,
    Value,
)
from storage.graph.commit import Commit, commit
from storage.graph.errors import (
    ConstraintViolation,
    IdentityConflict,
    SchemaPackageUnavailable,
    SchemaSymbolAmbiguous,
    SchemaSymbolConflict,
    SchemaSymbolNotFound,
    TypeMismatch,
)
from storage.graph.schema import builtin, environment

CORE_ONLY = ("kip://profiles/cognitive-memory@2.0.0",)
Write = Callable[..., Commit]
Run = Callable[..., Any]


def package(name: str, version: str = "1.0.0", **definitions: Any) -> dict[str, Any]:
    return {
        "format": "KIP-Schema-Package",
        "manifest": {"package_id": f"kip://test/{name}", "version": version},
        "definitions": definitions,
    }


TOOLS = package(
    "tools",
    concept_types={
        "Tool": {"kind": "ConceptType", "description": "Something used."},
        "Room": {
            "kind": "ConceptType",
            "attributes": {
                "open": False,
                "fields": {
                    "at": {"type": "timestamp"},
                    "said": {"type": "string", "format": "timestamp"},
                    "size": {"type": "object", "value_schema": {"required": ["width"]}},
                },
            },
        },
    },
    predicates={
        "kept_in": {
            "subject": {"concept_types": ["kip://test/tools@1.0.0/Tool"]},
            "object": {"concept_types": ["Room"]},
        },
        "engraved": {"subject": {"kinds": ["Concept"]}, "object": {"datatypes": ["kip:string"]}},
        "labelled": {"object": {"kinds": ["Concept"], "datatypes": ["kip:string"]}},
        "moment": {"object": {"literal_types": ["string"], "format": "timestamp"}},
        "status": {"kind": "PredicateType", "functional": True},
        "worth": {"object": {"literal_types": ["number"], "nullable": True}},
    },
    structural_fields={
        "kept_with": {
            "source": {"concept_types": ["kip://test/tools@1.0.0/Tool"]},
            "target": {"concept_types": ["kip://test/tools@1.0.0/Tool"]},
            "cardinality": {"min": 0, "max": 2},
        },
        "evidence": {
            "source": {"concept_types": ["Tool"]},
            "target": {"kinds": ["Concept"]},
            "ordered": True,
        },
        "reviewed": {
            "source": {"kinds": ["Evidence", "Activity"]},
            "target": {"kinds": ["Concept"]},
        },
    },
    facets={"Fit": {"fields": {"snug": {"type": "boolean"}}}},
)


@pytest.fixture
def run(database: Database, space: str) -> Run:
    """Run a writing function on the test's space."""

    def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        with database.transaction(Scope(space)) as tx:
            return function(tx, Scope(space), *arguments, **named)

    return call


@pytest.fixture
def write(run: Run) -> Write:
    """Commit some changes to the test's space."""

    def do(*changes: Change) -> Commit:
        made: Commit = run(commit, "tester", ChangeSet(changes), tx_class="test")
        return made

    return do


def test_a_space_starts_with_the_packages_that_are_chosen(run: Run, write: Write) -> None:
    assert run(environment) is builtin()
    run(installation.start_with, CORE_ONLY)
    schema = run(environment)
    assert [one.ref for one in schema.packages] == list(CORE_ONLY)
    assert [s.ref for s in schema.symbols("predicate")] == [
        f"{CORE_ONLY[0]}/{name}" for name in ("caused_by", "prefers", "same_as")
    ]
    run(installation.install, TOOLS)
    made = write(CreateConcept("?t", "Tool", facets={"Fit": {"snug": True}}))
    assert (made.seq, made.schema_env_version) == (1, 1)
    assert [one.ref for one in run(environment, seq=0).packages] == [
        CORE_ONLY[0],
        "kip://test/tools@1.0.0",
    ]
    with pytest.raises(Conflict):
        run(installation.start_with, CORE_ONLY)
    with pytest.raises(SchemaSymbolNotFound):
        write(CreateConcept("?p", "Place"))


def test_an_unknown_package_is_unavailable(run: Run) -> None:
    with pytest.raises(SchemaPackageUnavailable):
        run(installation.start_with, ("kip://nobody/knows@1.0.0",))


def test_an_installation_takes_a_sequence_and_the_past_keeps_its_words(
    run: Run, write: Write
) -> None:
    write(CreateConcept("?a", "Person", name="Ada"))
    made = run(installation.install, TOOLS)
    assert (made.seq, made.schema_env_version) == (2, 2)
    assert run(installation.install, TOOLS).seq is None
    assert run(environment, seq=1) is builtin()
    symbol = run(environment).symbol("concept_type", "Tool")
    assert (symbol.ref, symbol.package_ref, symbol.local_name, symbol.status) == (
        "kip://test/tools@1.0.0/Tool",
        "kip://test/tools@1.0.0",
        "Tool",
        "active",
    )
    assert symbol.definition["description"] == "Something used."
    record = run(transactions.by_seq, 2)
    assert (record.tx_class, record.changes) == ("schema", ())
    assert record.control == ({"kind": "schema", "version": "2"},)
    changed = package("tools", concept_types={"Tool": {}})
    with pytest.raises(SchemaSymbolConflict):
        run(installation.install, changed)
    newer = package("tools", "1.1.0", concept_types={"Tool": {"attributes": {"open": False}}})
    run(installation.install, newer)
    schema = run(environment)
    assert schema.type("Tool").ref == "kip://test/tools@1.1.0/Tool"
    assert schema.type("kip://test/tools@1.0.0/Tool").open
    assert schema.type("Room").ref == "kip://test/tools@1.0.0/Room"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {**TOOLS, "format": "zip"},
        {**TOOLS, "manifest": {"package_id": "kip://core", "version": "2.0.0"}},
        {**TOOLS, "manifest": {"package_id": "kip://local/draft", "version": "0.0.0"}},
        {**TOOLS, "manifest": {"package_id": "http://x", "version": "1.0.0"}},
        {**TOOLS, "manifest": {"package_id": "kip://test/x", "version": "latest"}},
        {**TOOLS, "definitions": []},
        package("x", concept_types={"A b": {}}),
        package("x", predicates={"p": {"object": {"concept_types": "Person"}}}),
        package("x", predicates={"p": {"functional": True, "functional_by": "object_type"}}),
        package("x", facets={"F": {"value_schema": {"$ref": "https://example.com/schema"}}}),
        package("x", facets={"F": {"fields": {"f": {"value_schema": {"type": "whatever"}}}}}),
    ],
)
def test_what_is_no_package_is_not_installed(run: Run, body: dict[str, Any]) -> None:
    with pytest.raises(ConstraintViolation):
        run(installation.install, body)


def test_a_package_must_be_what_it_says_and_find_what_it_needs(run: Run) -> None:
    for body in (
        {**TOOLS, "integrity": {"content_digest": "sha256:0"}},
        {**TOOLS, "dependencies": [{"package_ref": "kip://test/other@1.0.0", "required": True}]},
    ):
        with pytest.raises(SchemaPackageUnavailable):
            run(installation.install, body)
    with pytest.raises(SchemaSymbolNotFound):
        run(installation.install, package("x", predicates={"p": {"object": {
            "concept_types": ["kip://test/nowhere@1.0.0/Thing"]}}}))  # fmt: skip


def test_values_are_held_to_what_the_package_says(run: Run, write: Write) -> None:
    run(installation.install, TOOLS)
    ids = write(CreateConcept("?t", "Tool"), CreateConcept("?r", "Room")).ids
    t, r = ids["?t"], ids["?r"]
    when = "2024-02-29T12:34:56.123Z"
    write(
        EnsureProposition("?a", t, "kept_in", r),
        EnsureProposition("?b", t, "engraved", Value("MMXXVI")),
        EnsureProposition("?c", t, "labelled", r),
        EnsureProposition("?d", t, "labelled", Value("the good one")),
        EnsureProposition("?e", t, "moment", Value(when)),
        EnsureProposition("?f", t, "status", Value("well")),
        EnsureProposition("?g", t, "status", r),
        EnsureProposition("?h", t, "worth", Value(None)),
    )
    for error, predicate, value in (
        (ConstraintViolation, "kept_in", t),
        (ConstraintViolation, "kept_in", Value("shed")),
        (ConstraintViolation, "engraved", Value(2026)),
        (ConstraintViolation, "engraved", r),
        (ConstraintViolation, "moment", Value("2026-01-01T00:00:00Z")),
        (TypeMismatch, "moment", Value(0)),
        (ConstraintViolation, "status", Value(None)),
        (ConstraintViolation, "worth", Value("much")),
    ):
        with pytest.raises(error):
            write(EnsureProposition("?p", t, predicate, value))
    for refused, attributes in (
        (ConstraintViolation, {"at": "2026-01-01T00:00:00Z"}),
        (TypeMismatch, {"at": 0}),
        (ConstraintViolation, {"said": "2026-01-01T00:00:00Z"}),
        (TypeMismatch, {"said": 0}),
        (ConstraintViolation, {"size": {"height": 1}}),
    ):
        with pytest.raises(refused):
            write(CreateConcept("?x", "Room", attributes=attributes))
    write(CreateConcept("?x", "Room", attributes={"at": when, "said": when, "size": {"width": 1}}))


def test_structural_fields_are_held_to_their_ends_and_number(run: Run, write: Write) -> None:
    run(installation.install, TOOLS)
    ids = write(
        *(CreateConcept(f"?{n}", "Tool") for n in range(3)), CreateConcept("?r", "Room")
    ).ids

    def tool(*targets: str, field: str = "kept_with") -> CreateConcept:
        return CreateConcept("?x", "Tool", links=tuple(Link(field, ids[t]) for t in targets))

    write(tool("?0", "?0", "?1"))
    for wrong in (
        tool("?0", "?1", "?2"),
        tool("?r"),
        CreateConcept("?x", "Room", links=(Link("kept_with", ids["?0"]),)),
    ):
        with pytest.raises(ConstraintViolation):
            write(wrong)
    write(tool("?r", "?0", field="evidence"))
    write(CreateEvidence("?e", "message", "x", links=(Link("reviewed", ids["?r"]),)))
    schema = run(environment)
    assert schema.structural("evidence").ref == "evidence"
    assert schema.structural("evidence", "C").ref == "kip://test/tools@1.0.0/evidence"
    assert schema.lineages("structural_field", "evidence") == {
        "evidence",
        "kip://test/tools/evidence",
    }
    assert schema.lineages("structural_field", "inputs") == {"inputs"}


def test_a_promoted_draft_and_what_it_became_match_as_one(run: Run, write: Write) -> None:
    write(
        DefineSymbol("concept_type", "Gadget", {"description": "A tool."}),
        DefineSymbol("predicate", "holds", {"description": "Holds.", "functional": True}),
        CreateConcept("?g", "Gadget", key="g"),
        EnsureProposition("?p", "?g", "holds", Value("x")),
    )
    run(installation.install, package(
        "box",
        concept_types={"Gadget": {}, "Device": {}},
        predicates={"holds": {"subject": {"concept_types": ["Gadget"]}}},
    ))  # fmt: skip
    with pytest.raises(SchemaSymbolAmbiguous):
        write(CreateConcept("?x", "Gadget"))
    before = run(environment)
    draft = "kip://local/draft@0.0.0/Gadget"
    made = run(promotion.promote, "root", "concept_type", "Gadget", "kip://test/box@1.0.0/Gadget")
    assert (made.promoted, made.to, made.schema_env_version) == (
        draft,
        "kip://test/box@1.0.0/Gadget",
        4,
    )
    run(promotion.promote, "root", "predicate", "kip://local/draft@0.0.0/holds", "holds")
    schema = run(environment)
    both = {"kip://local/draft/Gadget", "kip://test/box/Gadget"}
    assert schema.lineages("concept_type", "Gadget") == both
    assert schema.lineages("concept_type", draft) == both
    assert schema.type("Gadget").ref == "kip://test/box@1.0.0/Gadget"
    assert [(d.name, d.kind, d.promoted_to) for d in promotion.drafts(schema)] == [
        ("Gadget", "concept_type", "kip://test/box/Gadget"),
        ("holds", "predicate", "kip://test/box/holds"),
    ]
    assert [d.promoted_to for d in promotion.drafts(before)] == [None, None]
    assert run(environment, seq=2) is not schema
    assert run(environment, seq=2).maps == ()
    again = write(
        UpsertConcept("?g", type="Gadget", key="g"),
        EnsureProposition("?p", "?g", "holds", Value("x")),
    )
    assert (again.effect, again.ids) == ("no_effect", {"?g": "C-1", "?p": "P-1"})
    with pytest.raises(IdentityConflict):
        write(CreateConcept("?g", "kip://test/box/Gadget", key="g"))
    with pytest.raises(SchemaSymbolConflict):
        run(promotion.promote, "root", "concept_type", "Gadget", "Device")
    for kind, name, to in (
        ("concept_type", "Nothing", "Device"),
        ("predicate", "Gadget", "Device"),
        ("concept_type", "Gadget", "holds"),
    ):
        with pytest.raises((SchemaSymbolNotFound, SchemaSymbolConflict)):
            run(promotion.promote, "root", kind, name, to)


def test_a_draft_may_name_drafts_by_their_local_names(run: Run, write: Write) -> None:
    write(
        DefineSymbol("concept_type", "Instrument", {"description": "An instrument."}),
        DefineSymbol("predicate", "Instrument", {"description": "Uses as an instrument."}),
        DefineSymbol(
            "predicate",
            "plays",
            {
                "description": "Plays.",
                "subject": {"concept_types": ["Person"]},
                "object": {"concept_types": ["Instrument"]},
            },
        ),
    )
    ids = write(CreateConcept("?a", "Person"), CreateConcept("?i", "Instrument")).ids
    write(EnsureProposition("?p", ids["?a"], "plays", ids["?i"]))
    with pytest.raises(ConstraintViolation):
        write(EnsureProposition("?p", ids["?i"], "plays", ids["?i"]))
    (shown,) = [d for d in promotion.drafts(run(environment)) if d.name == "plays"]
    assert shown.definition["object"] == {"concept_types": ["kip://local/draft@0.0.0/Instrument"]}


def test_environments_of_the_earlier_form_are_read(
    run: Run, write: Write, database: Database, space: str
) -> None:
    write(DefineSymbol("concept_type", "Drink", {"description": "A drink."}))
    old = {
        "packages": ["kip://core@2.0.0", "cognitive-memory-2.0.0", "general-1.0.0"],
        "drafts": ["Drink"],
    }
    with database.transaction(Scope(space)) as tx:
        tx.execute(
            "update schema_env set digest = null, lock = %s where space_id = %s",
            (json.dumps(old), space),
        )
    schema = run(environment)
    assert [one.ref for one in schema.packages] == [one.ref for one in builtin().packages]
    assert schema.knows_type("Drink")
    write(DefineSymbol("concept_type", "Meal", {"description": "A meal."}))
    assert run(environment).knows_type("Meal")
    assert not run(environment, seq=1).knows_type("Meal")
