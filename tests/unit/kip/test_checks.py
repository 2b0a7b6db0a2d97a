"""Rules that need no schema, beyond those of the parser cases."""

from __future__ import annotations

import pytest

from storage.kip.errors import KipError
from storage.kip.language.command import read
from tests.unit.kip.commands import VALID


def code_of(text: str) -> str | None:
    try:
        read(text)
    except KipError as error:
        return error.code
    return None


@pytest.mark.parametrize("text", VALID)
def test_valid_commands_pass(text: str) -> None:
    read(text)


@pytest.mark.parametrize(
    ("where", "code"),
    [
        ("NOT { FILTER(?x.a) } ?x {}", None),
        ("?x {} NOT { OPTIONAL { FILTER(?x.a == 1) } }", None),
        ("?x {} NOT { UNION { FILTER(?x.a == 1) } }", "InvalidSyntax"),
        ("?x {} OPTIONAL { ?y {} } FILTER(?y.a)", None),
        ("?x {} UNION { ?y {} } FILTER(?y.a)", None),
        ("?x {} NOT { ?y {} } FILTER(?y.a)", "InvalidSyntax"),
        ("?x {} NOT { ?y {} NOT { FILTER(?y.a == ?x.a) } }", None),
        ("?x {} NOT { UNION { ?x SEARCH CONCEPT :q LIMIT 3 } }", "InvalidSyntax"),
        ("?x BELIEF (?p)", "ProjectionTargetUnbound"),
        ("?x BELIEF (?p) NOT { ?p (:a, :b, :c) }", "ProjectionTargetUnbound"),
        ("?x BELIEF (?p) ?p (:a, :b, :c)", None),
        ("?x BELIEF (?s, ?p, ?o) FILTER(?o == 1)", None),
        ('?x {} (?x, ("a", "p", 1), ?y)', "InvalidSyntax"),
        ('?x {} (?x, "says", ("a", "p", 1))', "InvalidSyntax"),
        ('?x {} (?x, "p"{0,0}, ?y)', None),
        ("?x {} (?x, ?p{1}, ?y)", "InvalidSyntax"),
        ("?x {} FILTER(SHOUT(?x.a))", "InvalidSyntax"),
        ("?x {} FILTER(?x.a == COUNT(?x))", "InvalidSyntax"),
    ],
)
def test_scopes_of_blocks(where: str, code: str | None) -> None:
    assert code_of(f"FIND(?x) WHERE {{ {where} }}") == code


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("FIND(?x.n, COUNT(?x)) WHERE { ?x {} } ORDER BY ?x.n", None),
        ("FIND(?x, COUNT(?y)) WHERE { ?x {} ?y {} } ORDER BY ?x.name", None),
        ("FIND(?x.n, COUNT(?x)) WHERE { ?x {} } ORDER BY ?x.n.first", None),
        ("FIND(?x.n, COUNT(?x)) WHERE { ?x {} } ORDER BY ?x.m", "InvalidSyntax"),
        ("FIND(?x.n) WHERE { ?x {} } ORDER BY COUNT(?x)", "InvalidSyntax"),
        ("FIND(COUNT(?x)) WHERE { ?x {} } ORDER BY ?x.n", None),
        ("FIND(?x) WHERE { ?x {} } LIMIT -1", "TypeMismatch"),
        ("FIND(?x) WHERE { ?x {} } LIMIT true", "TypeMismatch"),
        ("FIND(?x) WHERE { ?x {} } LIMIT 1.0", None),
        ("FIND(?x) WHERE { ?x {} } CURSOR 3", "CursorInvalid"),
        ('FIND(?x) WHERE { ?x {} } FOR TIME "2026-02-30T00:00:00.000Z"', "ConstraintViolation"),
        ("FIND(?x) WHERE { ?x {} } WITH EPISTEMIC {risk: ?x}", "InvalidSyntax"),
    ],
)
def test_modifiers_of_queries(query: str, code: str | None) -> None:
    assert code_of(query) == code


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("CREATE CONCEPT ?c { }", "InvalidSyntax"),
        ('CREATE CONCEPT ?c { TYPE "A" TYPE "B" }', "InvalidSyntax"),
        ('CREATE CONCEPT ?c { TYPE "A" SET FIELDS {} SET FIELDS {} }', "InvalidSyntax"),
        ('CREATE CONCEPT ?c { TYPE "A" SET ATTRIBUTES {a: ADD(1, 2)} }', "InvalidSyntax"),
        ('CREATE CONCEPT ?c { TYPE "A" SET ATTRIBUTES {a: ?c.name} }', "InvalidSyntax"),
        ("UPSERT CONCEPT ?p { MATCH {name: :n} }", "InvalidSyntax"),
        ("UPSERT CONCEPT ?p { MATCH {key: [1]} }", "IdentitySelectorRequired"),
        ("UPSERT CONCEPT ?p { MATCH {type: 4, key: :k} }", "TypeMismatch"),
        ('ENSURE PROPOSITION (id: "P-1")', "InvalidSyntax"),
        ('ASSERT (:a, "p", 1) {by: :a, mode: "stated", who: :b}', "InvalidSyntax"),
        ('ASSERT (:a, "p", 1) {by: :a, mode: 3}', "TypeMismatch"),
        ('ASSERT (:a, "p", 1) {by: :a, mode: "stated", confidence: 2}', "ConstraintViolation"),
        ('ASSERT (:a, "p", 1) {by: :a, mode: "stated", valid: {begin: :t}}', "ConstraintViolation"),
        (
            'ASSERT (:a, "p", 1) {by: :a, mode: "stated", valid: {from: '
            '"2026-01-02T00:00:00.000Z", until: "2026-01-01T00:00:00.000Z"}}',
            "ConstraintViolation",
        ),
        (
            'ASSERT (:a, "p", 1) {by: :a, mode: "stated", valid: {from: {earliest: :t, '
            'latest: "2026"}}}',
            "ConstraintViolation",
        ),
        ("UPDATE ?x SET ATTRIBUTES {a: MUL(?y.a, 2)} WHERE { ?x {} ?y {} }", "InvalidSyntax"),
        ("UPDATE ?x SET ATTRIBUTES {a: POW(?x.a, 2)} WHERE { ?x {} }", "InvalidSyntax"),
        (
            "UPDATE ?x SET ATTRIBUTES {a: 1} SET ATTRIBUTES {a: 2} WHERE { ?x {} }",
            "DuplicateMutationTarget",
        ),
        ("UPDATE ?x SET FIELDS {name: :n} WHERE { ?x ASSERTION {} }", "EpistemicRevisionRequired"),
        ("UPDATE ?x SET ATTRIBUTES {a: 1} WHERE { ?x (:a, :b, ?c) }", "ImmutableField"),
        (
            "MUTATE { CREATE EVIDENCE ?e { } UPDATE ?e SET FIELDS {payload: 1} }",
            "EvidenceCorrectionRequired",
        ),
        ('UPDATE ?x SET FACET "MemoryScope" {task_ref: null} WHERE { ?x ASSERTION {} }', None),
        ("UPDATE ?x SET FIELDS {_system: 1} WHERE { ?x {} }", "InvalidSyntax"),
        ('TRANSITION :x TO "archived" BY :y', "InvalidSyntax"),
        ('TRANSITION :x TO "archived" SET FIELDS {ended_at: :t}', "InvalidSyntax"),
        ("TRANSITION :x TO :state BY :y", None),
        ("SET RETENTION :x {retention_class: 7}", "TypeMismatch"),
        ('SET RETENTION :x {expires_at: "soon"}', "ConstraintViolation"),
        ('PURGE ?x CONFIRM "PURGE"', "ReferenceError"),
        ("MERGE CONCEPT ?a INTO ?b WHERE { ?a {} }", "ReferenceError"),
        ("MERGE CONCEPT :a INTO :b LIMIT 3", "InvalidSyntax"),
        ("UPDATE :x SET ATTRIBUTES {a: 1} EXPECT VERSION -1", "TypeMismatch"),
        (
            'UPDATE :x SET ATTRIBUTES {a: 1} EXPECT VERSION 1 OF FACET "A" '
            'EXPECT VERSION 1 OF FACET "B"',
            None,
        ),
        ('DEFINE PREDICATE "p" {description: 3}', "TypeMismatch"),
        ('DEFINE PREDICATE "p" {description: ""}', "ConstraintViolation"),
        ('DEFINE PREDICATE "p" {description: "d", open_world: false}', "ConstraintViolation"),
        ('DEFINE PREDICATE "p" {description: "d", open_world: :o}', None),
        (
            'DEFINE CONCEPT TYPE "T" {description: "d", '
            "attributes: {fields: {a: {required: true}}}}",
            "ConstraintViolation",
        ),
        (
            "MUTATE { ASSERT ?a (:a, :p, 1) {by: :a, mode: :m} ENSURE PROPOSITION ?a (:a, :p, 1) }",
            "DuplicateLocalHandle",
        ),
    ],
)
def test_rules_of_mutations(statement: str, code: str | None) -> None:
    assert code_of(statement) == code


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("LIST DEPENDENTS :x DEPTH 0", "ConstraintViolation"),
        ("LIST DEPENDENTS :x DEPTH -1", "TypeMismatch"),
        ("LIST DEPENDENTS 3", "TypeMismatch"),
        ("SEARCH CONCEPT :q THRESHOLD 1.5", "ConstraintViolation"),
        ("DESCRIBE SNAPSHOT AT TIME 3", "TypeMismatch"),
        ('CHANGES SINCE ""', "CursorInvalid"),
        ("EXPORT CAPSULE ?r WHERE { ?x {} }", "ReferenceError"),
        ("EXPORT CAPSULE ?r WHERE { ?r {} FILTER(?x.a) }", "InvalidSyntax"),
    ],
)
def test_rules_of_meta(command: str, code: str | None) -> None:
    assert code_of(command) == code
