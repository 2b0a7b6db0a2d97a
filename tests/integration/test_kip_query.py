"""KQL on PostgreSQL: patterns, scopes, expressions, projections, order, aggregates, history."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from storage.database import Database, Scope
from storage.graph.changes import (
    ChangeSet,
    Citation,
    CreateActivity,
    CreateAssertion,
    CreateConcept,
    CreateEvidence,
    DefineSymbol,
    EnsureProposition,
    MergeConcept,
    Transition,
    UpdateConcept,
    Value,
)
from storage.graph.commit import commit
from storage.kip.binding import bind
from storage.kip.errors import KipError
from storage.kip.language.ast_kql import Find
from storage.kip.language.command import read
from storage.kip.query import paths
from storage.kip.query.facets import STRENGTH_POLICY
from storage.kip.query.fields import FIELDS
from storage.kip.query.find import Found, find
from storage.kip.snapshot import open_snapshot

Ask = Callable[..., Any]
AT = datetime(2026, 3, 1, tzinfo=UTC)


def write(database: Database, space: str, *changes: Any) -> dict[str, str]:
    """Commit changes; returns what their handles stand for."""
    with database.transaction(Scope(space)) as tx:
        made = commit(tx, Scope(space), "tester", ChangeSet(tuple(changes)), tx_class="kml", at=AT)
    return dict(made.ids)


def run(
    database: Database,
    space: str,
    text: str,
    *,
    caller: str = "tester",
    millis: int = 0,
    **parameters: Any,
) -> Found:
    """Run one query in a snapshot transaction of its own, bounded to `millis` if that is given."""
    statement = bind(read(text).statement, parameters)
    assert isinstance(statement, Find)
    with database.transaction(Scope(space), snapshot=True) as tx:
        snapshot = open_snapshot(tx, Scope(space))
        tx.execute("select set_config('statement_timeout', %s, true)", (str(millis),))
        return find(snapshot, statement, caller=caller)


@pytest.fixture
def ask(database: Database, space: str) -> Ask:
    """Ask a question of the space and get its rows."""

    def asked(text: str, **parameters: Any) -> list[Any]:
        return run(database, space, text, **parameters).rows

    return asked


@pytest.fixture
def people(database: Database, space: str) -> dict[str, str]:
    """Alice likes tea and coffee, says so, and lives in Paris; Bob likes nothing."""
    return write(
        database,
        space,
        DefineSymbol("concept_type", "Option", {"description": "An option."}),
        CreateConcept(
            "?alice", "Person", name="Alice", key="alice", attributes={"display_name": "Alice A"}
        ),
        CreateConcept("?bob", "Person", name="Bob", key="bob", aliases=("Bobby",)),
        CreateConcept("?tea", "Option", name="Tea"),
        CreateConcept("?coffee", "Option", name="Coffee"),
        CreateConcept("?paris", "Place", name="Paris"),
        CreateConcept("?france", "Place", name="France"),
        CreateConcept("?europe", "Place", name="Europe"),
        EnsureProposition("?t", "?alice", "prefers", "?tea"),
        EnsureProposition("?c", "?alice", "prefers", "?coffee"),
        EnsureProposition("?z", "?alice", "timezone", Value("+01:00")),
        EnsureProposition("?l", "?alice", "lives_in", "?paris"),
        EnsureProposition("?in", "?paris", "located_in", "?france"),
        EnsureProposition("?in2", "?france", "located_in", "?europe"),
        CreateEvidence("?e", "user_statement", "I like tea", media_type="text/plain"),
        CreateAssertion(
            "?a",
            "?t",
            "?alice",
            "stated",
            confidence=0.9,
            asserted_at=AT,
            citations=(Citation("?e"),),
        ),
        CreateActivity("?x", "reflection", status="completed", inputs=("?e",), outputs=("?tea",)),
    )


CASES: list[tuple[str, str, list[Any]]] = [
    (
        "by type",
        'FIND(?c.name) WHERE { ?c CONCEPT {type: "Person"} } ORDER BY ?c.name',
        ["Alice", "Bob"],
    ),
    ("by name", 'FIND(?c.key) WHERE { ?c {name: "Bob"} }', ["bob"]),
    ("by key", 'FIND(?c.name) WHERE { ?c {key: "bob"} }', ["Bob"]),
    (
        "tuples join on both ends",
        'FIND(?p.name, ?t.name) WHERE { (?p, "prefers", ?t) } ORDER BY ?t.name',
        [["Alice", "Coffee"], ["Alice", "Tea"]],
    ),
    (
        "NOT keeps what cannot be extended",
        'FIND(?p.name) WHERE { ?p {type:"Person"} NOT { (?p,"prefers",?t) } }',
        ["Bob"],
    ),
    (
        "OPTIONAL keeps Bob",
        'FIND(?p.name, ?t.name) WHERE { ?p {type:"Person"} OPTIONAL { FILTER(?p.name == "Alice")'
        ' (?p,"prefers",?t) } } ORDER BY ?p.name, ?t.name',
        [["Alice", "Coffee"], ["Alice", "Tea"], ["Bob", None]],
    ),
    (
        "an unmatched optional variable is bound later",
        'FIND(?p.name,?t.name) WHERE { ?p {name:"Bob"} OPTIONAL { (?p,"prefers",?t) } ?t'
        ' {name:"Tea"} }',
        [["Bob", "Tea"]],
    ),
    (
        "UNION widens",
        'FIND(?c.name) WHERE { ?c {name: "Alice"} UNION { ?c {name: "Tea"} } } ORDER BY ?c.name',
        ["Alice", "Tea"],
    ),
    (
        "branch-only variables are null",
        'FIND(?p.name,?t.name) WHERE { ?p {name:"Alice"} UNION { ?t {name:"Tea"} } } ORDER BY'
        " ?p.name",
        [["Alice", None], [None, "Tea"]],
    ),
    (
        "a nested UNION cannot overwrite",
        'FIND(?p.name,?t.name) WHERE { ?p {name:"Alice"} OPTIONAL { ?t {name:"Nobody"} UNION'
        ' { ?p {name:"Bob"} ?t {name:"Tea"} } } }',
        [["Alice", None]],
    ),
    (
        "a nested UNION extends",
        'FIND(?p.name,?t.name) WHERE { ?p {name:"Alice"} OPTIONAL { ?t {name:"Nobody"} UNION'
        ' { ?t {name:"Tea"} } } }',
        [["Alice", "Tea"]],
    ),
    (
        "identical solutions count once",
        'FIND(COUNT(?p)) WHERE { ?p {name:"Alice"} UNION { ?p {name:"Alice"} } }',
        [1],
    ),
    (
        "complete solutions stay distinct",
        'FIND(COUNT(?p),COUNT(DISTINCT ?p)) WHERE { ?p {name:"Alice"} ?link (?p,"prefers",?t) }',
        [[2, 1]],
    ),
    (
        "an empty group",
        'FIND(COUNT(?p),SUM(?p.attributes.x),MIN(?p.name)) WHERE { ?p {name:"Nobody"} }',
        [[0, None, None]],
    ),
    ("no groups", 'FIND(?p.name,COUNT(?p)) WHERE { ?p {name:"Nobody"} }', []),
    (
        "unknown stays unknown",
        'FIND(?p.name) WHERE { ?p {name:"Bob"} OPTIONAL { (?p,"prefers",?t) }'
        ' FILTER(!CONTAINS(?t.name,"Tea")) }',
        [],
    ),
    (
        "unknown or true",
        'FIND(?p.name) WHERE { ?p {name:"Bob"} OPTIONAL { (?p,"prefers",?t) }'
        ' FILTER(?t.name == "Tea" || ?p.name == "Bob") }',
        ["Bob"],
    ),
    ("unlike types", 'FIND(?c.name) WHERE { ?c {type: "Person"} FILTER(?c.name > 5) }', []),
    (
        "nulls last",
        'FIND(?c.name) WHERE { ?c {type: "Person"} } ORDER BY ?c.attributes.display_name DESC',
        ["Alice", "Bob"],
    ),
    ("literal objects", 'FIND(?v) WHERE { (?p, "timezone", ?v) }', ["+01:00"]),
    ("literal terms", 'FIND(?p.name) WHERE { (?p, "timezone", "+01:00") }', ["Alice"]),
    (
        "kinds and literals",
        "FIND(?v) WHERE { (?p, ?r, ?v) FILTER(IS_LITERAL(?v)) FILTER(LITERAL_TYPE(?v) =="
        ' "string") }',
        ["+01:00"],
    ),
    (
        "predicate variables",
        'FIND(?r, COUNT(?v)) WHERE { ?p {name: "Alice"} (?p, ?r, ?v) FILTER(IS_ELEMENT(?v)) }'
        " ORDER BY ?r",
        [
            ["kip://domains/general@1.0.0/lives_in", 1],
            ["kip://profiles/cognitive-memory@2.0.0/prefers", 2],
        ],
    ),
    (
        "assertions",
        'FIND(?a.stance, ?a.confidence, ?p.id) WHERE { ?p (?s, "prefers", {name: "Tea"})'
        " ?a ASSERTION {proposition: ?p, asserted_by: ?s} }",
        [["support", 0.9, "P-1"]],
    ),
    (
        "citations both ways",
        "FIND(?e.evidence_class, ?a.evidence) WHERE { ?a ASSERTION {} STRUCTURAL (?a,"
        ' "evidence", ?e) }',
        [["user_statement", [{"id": "E-1", "role": "support"}]]],
    ),
    (
        "edges",
        'FIND(?edge.field, ?edge.index) WHERE { ?edge STRUCTURAL ("A-1", "evidence", ?e) }',
        [["evidence", None]],
    ),
    (
        "computed fields",
        'FIND(?c.name, ?e.id) WHERE { STRUCTURAL (?c, "derived_from", ?e) }',
        [["Tea", "E-1"]],
    ),
    (
        "paths of any length",
        'FIND(?o.name) WHERE { ({name: "Paris"}, "located_in"{1,}, ?o) } ORDER BY ?o.name',
        ["Europe", "France"],
    ),
    (
        "paths begin with no hop",
        'FIND(?o.name) WHERE { ?s {name: "Paris"} (?s, "located_in"{0,1}, ?o) } ORDER BY ?o.name',
        ["France", "Paris"],
    ),
    (
        "paths backwards",
        'FIND(?s.name) WHERE { ?o {name: "Europe"} (?s, "located_in"{2}, ?o) }',
        ["Paris"],
    ),
    (
        "alternatives",
        'FIND(?o.name) WHERE { ({name: "Alice"}, "lives_in" | "prefers", ?o) } ORDER BY ?o.name',
        ["Coffee", "Paris", "Tea"],
    ),
    (
        "alternatives of paths",
        'FIND(?s.name, ?o.name) WHERE { (?s, "lives_in" | "located_in"{2}, ?o) } ORDER BY ?s.name',
        [["Alice", "Paris"], ["Paris", "Europe"]],
    ),
    (
        "regex",
        'FIND(?c.name) WHERE { ?c {type: "Person"} FILTER(REGEX(?c.name, "^B.b$")) }',
        ["Bob"],
    ),
    (
        "IN",
        'FIND(?c.name) WHERE { ?c {type: "Person"} FILTER(IN(?c.name, ["Bob", "Carl", 5])) }',
        ["Bob"],
    ),
    (
        "IS_KIND",
        'FIND(COUNT(?x)) WHERE { STRUCTURAL (?x, "inputs", ?e) FILTER(IS_KIND(?e, "EVIDENCE")) }',
        [1],
    ),
    (
        "nested matches bind",
        'FIND(?n) WHERE { ?c {type: "Person", attributes: {display_name: ?n}} }',
        ["Alice A"],
    ),
    ("arrays match whole", 'FIND(?c.name) WHERE { ?c {aliases: ["Bobby"]} }', ["Bob"]),
    (
        "nested tuples",
        'FIND(?a.id) WHERE { ?a ASSERTION {proposition: (?s, "prefers", {name: "Tea"})} }',
        ["A-1"],
    ),
    (
        "payload",
        "FIND(?e.payload) WHERE { ?e EVIDENCE {} }",
        [{"mode": "inline", "inline": "I like tea"}],
    ),
    (
        "activities",
        'FIND(?x.inputs, ?x.status) WHERE { ?x ACTIVITY {activity_class: "reflection"} }',
        [[[{"id": "E-1"}], "completed"]],
    ),
    (
        "sums of numbers",
        "FIND(SUM(?a.confidence), AVG(?a.confidence), MAX(?a.confidence)) WHERE { ?a ASSERTION"
        " {} }",
        [[0.9, 0.9, 0.9]],
    ),
    (
        "id references",
        'FIND(?p.subject, ?p.object) WHERE { ?p (id: "P-3") }',
        [[{"id": "C-1"}, "+01:00"]],
    ),
    (
        "filters wait for their variables",
        'FIND(?c.name) WHERE { FILTER(?c.name == "Bob") ?c {type: "Person"} }',
        ["Bob"],
    ),
]


@pytest.mark.parametrize(("text", "rows"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_queries_answer(ask: Ask, people: dict[str, str], text: str, rows: list[Any]) -> None:
    assert ask(text) == rows


def test_whole_elements_are_documents(ask: Ask, people: dict[str, str]) -> None:
    (alice,) = ask('FIND(?c) WHERE { ?c {key: "alice"} }')
    assert alice["id"] == people["?alice"]
    assert alice["kind"] == "concept"
    assert alice["attributes"] == {"display_name": "Alice A"}
    assert alice["_system"]["version"] == 1
    assert alice["governance"]["authority_class"] == "descriptive"
    (claim,) = ask("FIND(?a) WHERE { ?a ASSERTION {} }")
    assert claim["proposition"] == {"id": people["?t"]}
    assert claim["asserted_at"] == "2026-03-01T00:00:00.000Z"
    assert claim["lifecycle"]["status"] == "active"
    assert claim["governance"]["authority_lineage"] == [people["?e"]]


def test_every_field_of_every_kind_reads_alone_as_in_the_document(
    ask: Ask, people: dict[str, str]
) -> None:
    patterns = {
        "C": '?x {key: "alice"}',
        "P": '?x (id: "P-3")',
        "A": "?x ASSERTION {}",
        "E": "?x EVIDENCE {}",
        "X": "?x ACTIVITY {}",
    }
    for kind, fields in FIELDS.items():
        (document,) = ask(f"FIND(?x) WHERE {{ {patterns[kind]} }}")
        for name in fields:
            (value,) = ask(f"FIND(?x.{name}) WHERE {{ {patterns[kind]} }}")
            held = document
            for step in name.split("."):
                held = held[step]
            assert value == held, name


def test_archived_and_retracted(database: Database, space: str, ask: Ask, people: Any) -> None:
    write(
        database,
        space,
        Transition(people["?bob"], "archived"),
        Transition(people["?a"], "retracted"),
    )
    assert ask('FIND(?c.name) WHERE { ?c {type: "Person"} }') == ["Alice"]
    assert ask('FIND(?c.name) WHERE { ?c {type: "Person", state: "archived"} }') == ["Bob"]
    assert ask("FIND(?a.lifecycle.status) WHERE { ?a ASSERTION {} }") == ["retracted"]
    assert ask("FIND(?a.lifecycle.status) WHERE { ?a ASSERTION {} } AS OF SEQ 1") == ["active"]
    assert ask('FIND(COUNT(?c)) WHERE { ?c {type: "Person"} } AS OF SEQ 1') == [2]
    assert ask("FIND(COUNT(?c)) WHERE { ?c {} } AS OF SEQ 0") == [0]


def test_history_reads_names_of_then(database: Database, space: str, ask: Ask, people: Any) -> None:
    write(database, space, UpdateConcept(people["?bob"], name="Robert"))
    assert ask('FIND(?c.name) WHERE { ?c {name: "Bob"} }') == []
    assert ask('FIND(?c.key) WHERE { ?c {name: "Bob"} } AS OF SEQ 1') == ["bob"]
    assert ask('FIND(?c.name) WHERE { ?c {key: "bob"} }') == ["Robert"]


def test_pages_are_pinned_to_the_first_one(
    database: Database, space: str, people: dict[str, str]
) -> None:
    text = "FIND(?c.name) WHERE { ?c CONCEPT {} } ORDER BY ?c.name DESC LIMIT 3"
    names, cursor = [], None
    while True:
        asked = text if cursor is None else f"{text} CURSOR :cursor"
        given: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
        page = run(database, space, asked, **given)
        names += page.rows
        if cursor is None:
            write(database, space, CreateConcept("?new", "Person", name="Aaa"))
        cursor = page.next_cursor
        if cursor is None:
            break
    assert names == ["Tea", "Paris", "France", "Europe", "Coffee", "Bob", "Alice"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"caller": "other"}, "CursorInvalid"),
        ({"cursor": "not-a-cursor"}, "CursorInvalid"),
        ({"text": "FIND(?c.key) WHERE { ?c {} } LIMIT 1 CURSOR :cursor"}, "CursorMismatch"),
    ],
)
def test_cursors_are_bound(
    database: Database, space: str, people: Any, change: dict[str, Any], code: str
) -> None:
    text = "FIND(?c.name) WHERE { ?c CONCEPT {} } LIMIT 1"
    first = run(database, space, text)
    assert first.next_cursor is not None
    given = {"text": f"{text} CURSOR :cursor", "cursor": first.next_cursor, **change}
    with pytest.raises(KipError) as refused:
        run(database, space, given.pop("text"), **given)
    assert refused.value.code == code


REFUSED = [
    ('FIND(?c) WHERE { ?c {type: "Spaceship"} }', "SchemaSymbolNotFound"),
    ('FIND(?c) WHERE { STRUCTURAL (?x, "not_a_field", ?c) }', "SchemaSymbolNotFound"),
    ('FIND(SUM(?p.name)) WHERE { ?p {name:"Alice"} }', "TypeMismatch"),
    ('FIND(?p.name) WHERE { ?p {name:"Nobody"} FILTER(REGEX(?p.name,"[")) }', "InvalidSyntax"),
    ('FIND(?p.name) WHERE { ?p {} FILTER(REGEX(?p.name,"(a)\\\\1")) }', "InvalidSyntax"),
    ('FIND(?p.name) WHERE { ?p {} FILTER(REGEX(?p.name,"(?=a)")) }', "InvalidSyntax"),
    ('FIND(?p) WHERE { (?p, "located_in"{1,1000}, ?o) }', "ResourceExhausted"),
    ('FIND(?p) WHERE { ?p {} FILTER(IS_KIND(?p, "THING")) }', "ConstraintViolation"),
    ('FIND(?slot) WHERE { ?slot BELIEF SLOT (?anything, "prefers") }', "ProjectionTargetUnbounded"),
    ('FIND(?x) WHERE { ?x SEARCH CONCEPT "a" LIMIT 100000 }', "ResourceExhausted"),
    ('FIND(?x.facets["Nothing"]) WHERE { ?x {} }', "SchemaSymbolNotFound"),
    ("FIND(?x) WHERE { ?x {} } AS OF SEQ 99", "HistoricalSnapshotUnavailable"),
]


@pytest.mark.parametrize(("text", "code"), REFUSED)
def test_what_is_refused(ask: Ask, people: Any, text: str, code: str) -> None:
    with pytest.raises(KipError) as refused:
        ask(text)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            'FIND(?p.id) WHERE { ?p {type: "Person", nmae: "Ana"} }',
            "A concept has no member nmae, so it matches nothing. Did you mean name?",
        ),
        (
            "FIND(?p.id) WHERE { ?p {} NOT { ?p {goal: 1} } }",
            "A concept has no member goal, so it matches nothing."
            " An attribute is written attributes: {goal: …} or .attributes.goal.",
        ),
        (
            "FIND(?a.id) WHERE { ?a ASSERTION {stanc: 1} }",
            "An assertion has no member stanc, so it matches nothing. Did you mean stance?",
        ),
    ],
)
def test_a_member_that_no_element_has_is_told(
    database: Database, space: str, people: Any, text: str, told: str
) -> None:
    found = run(database, space, text)
    assert [warning["message"] for warning in found.warnings] == [told]


def test_members_that_elements_have_are_not_told(
    database: Database, space: str, people: Any
) -> None:
    text = """FIND(?p.name, ?p.attributes.any, ?x.retrieval.score) WHERE {
        ?p {state: "archived", attributes: {nothing: 1}} ?x SEARCH CONCEPT "ana" LIMIT 2 }"""
    assert run(database, space, text).warnings == []


BELIEFS: list[tuple[str, list[Any]]] = [
    (
        'FIND(?b.status) WHERE { ?s {name: "Alice"} ?o {name: "Tea"} ?b BELIEF (?s, "prefers",'
        " ?o) }",
        ["accepted"],
    ),
    (
        'FIND(?o.name, ?b.status) WHERE { ?s {name: "Alice"} ?b BELIEF (?s, "prefers", ?o) }'
        " ORDER BY ?o.name",
        [["Coffee", "insufficient"], ["Tea", "accepted"]],
    ),
    (
        'FIND(?o.name) WHERE { ?b BELIEF ({key: "alice"}, "prefers", ?o)'
        ' FILTER(?b.status == "accepted") }',
        ["Tea"],
    ),
    (
        'FIND(?s.name, ?slot.status) WHERE { ?s {type: "Person"} ?slot BELIEF SLOT (?s,'
        ' "prefers") }'
        " ORDER BY ?s.name",
        [["Alice", "accepted"], ["Bob", "insufficient"]],
    ),
    (
        'FIND(?s.name) WHERE { ?s {type: "Person"} NOT { ?b BELIEF (?s, "prefers", ?o)'
        ' FILTER(?b.status == "accepted") } }',
        ["Bob"],
    ),
    (
        'FIND(?s.name, ?o.name) WHERE { ?s {type: "Person"} OPTIONAL { ?b BELIEF (?s, "prefers",'
        " ?o)"
        ' FILTER(?b.status == "accepted") } } ORDER BY ?s.name',
        [["Alice", "Tea"], ["Bob", None]],
    ),
    (
        'FIND(?b.status, COUNT(?p)) WHERE { ?p (?s, "prefers", ?o) ?b BELIEF (?p) }'
        " ORDER BY ?b.status",
        [["accepted", 1], ["insufficient", 1]],
    ),
    ('FIND(?b.status) WHERE { ?b BELIEF (id: "P-1") } LIMIT 1', ["accepted"]),
    (
        'FIND(?b.status, ?b.proposition_id) WHERE { ?b BELIEF ({id: "C-2"}, "prefers", {id:'
        ' "C-3"}) }',
        [["insufficient", None]],
    ),
    (
        'FIND(?n, ?slot.status) WHERE { ?c {type: "Person", name: ?n} FILTER(?n == "Bob")'
        ' ?slot BELIEF SLOT (?n, "prefers") }',
        [["Bob", "insufficient"]],
    ),
    (
        'FIND(?x.name) WHERE { ?x SEARCH CONCEPT "Alice" WITH TYPE "Person" LIMIT 5'
        " FILTER(?x.retrieval.score > 0) } ORDER BY ?x.retrieval.score DESC",
        ["Alice"],
    ),
]


@pytest.mark.parametrize(("text", "rows"), BELIEFS)
def test_beliefs_and_searches(ask: Ask, people: Any, text: str, rows: list[Any]) -> None:
    assert ask(text) == rows


def test_merges_are_read_both_ways(database: Database, space: str, ask: Ask, people: Any) -> None:
    write(
        database,
        space,
        CreateConcept("?al", "Person", name="Al", key="al"),
        CreateConcept("?cocoa", "Option", name="Cocoa"),
        EnsureProposition("?q", "?al", "prefers", "?cocoa"),
        EnsureProposition("?k", "?al", "knows", people["?bob"]),
        EnsureProposition("?m", people["?bob"], "knows", "?al"),
        CreateAssertion("?b", "?q", "?al", "stated", asserted_at=AT),
    )
    (al,) = ask('FIND(?c.id) WHERE { ?c {key: "al"} }')
    write(database, space, MergeConcept(al, people["?alice"]))
    assert ask('FIND(?c.name) WHERE { ?c {key: "al"} }') == []
    assert ask('FIND(?c.merged_into) WHERE { ?c {key: "al", state: "merged"} }') == [
        people["?alice"]
    ]
    options = ["Cocoa", "Coffee", "Tea"]
    for named in (f'{{id: "{al}"}}', '{key: "alice"}', f'{{id: "{people["?alice"]}"}}'):
        text = f'FIND(?o.name) WHERE {{ ({named}, "prefers", ?o) }} ORDER BY ?o.name'
        assert ask(text) == options, named
    bound = (
        'FIND(?o.name) WHERE { ?s {key: "al", state: ?any} (?s, "prefers", ?o) } ORDER BY ?o.name'
    )
    assert ask(bound) == options
    assert ask('FIND(?s.name, ?o.name) WHERE { (?s, "knows", ?o) } ORDER BY ?s.name') == [
        ["Alice", "Bob"],
        ["Bob", "Alice"],
    ]
    assert ask('FIND(?s.name) WHERE { (?s, "knows"{2}, {key: "alice"}) }') == ["Alice"]
    assert ask('FIND(COUNT(?a)) WHERE { ?a ASSERTION {asserted_by: {key: "alice"}} }') == [2]
    assert ask(
        'FIND(?p.subject.id, ?p.canonical_subject.id) WHERE { ?p (?s, "prefers", {name: "Cocoa"}) }'
    ) == [[al, people["?alice"]]]
    then = 'FIND(?o.name) WHERE { ({key: "alice"}, "prefers", ?o) } AS OF SEQ 2 ORDER BY ?o.name'
    assert ask(then.replace(" AS OF SEQ 2 ORDER BY ?o.name", " AS OF SEQ 2")) == ["Tea", "Coffee"]


def code_of(ask: Ask, text: str, given: Any) -> str | None:
    """The code of the error that a question ends in, if it does."""
    try:
        ask(text, **({"x": given} if ":x" in text else {}))
    except KipError as error:
        return error.code
    return None


ODD = [
    "FIND(?c) WHERE { ?c {name: :x} }",
    "FIND(?c) WHERE { ?c {attributes: {a: :x}} }",
    'FIND(?c) WHERE { ?c {key: "alice"} FILTER(CONTAINS(?c.name, :x)) }',
    'FIND(?c) WHERE { ?c {key: "alice"} FILTER(IN(?c.name, [:x])) }',
    'FIND(?c) WHERE { ?c {key: "alice"} FILTER(REGEX(?c.name, :x)) }',
    'FIND(?c) WHERE { (?c, "timezone", :x) }',
    'FIND(?c) WHERE { ?c {key: "alice"} FILTER(?c.attributes > :x || ?c == :x || -?c.name < :x) }',
    'FIND(?c.a.b.c["d"]["0"]) WHERE { ?c {key: "alice"} } ORDER BY ?c.aliases',
    'FIND(?c) WHERE { ?c {type: "Person", aliases: [:x, ?y], attributes: {a: {b: [:x]}}} }',
    'FIND(MIN(?c.attributes), COUNT(DISTINCT ?c.attributes)) WHERE { ?c {key: "alice", name: :x} }',
]


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize(
    "given", ["\x00", "%s %(x)s $it {} \\", 1e300, -0.0, True, None, "", [], {}, {"id": "C-1"}]
)
def test_odd_values_end_in_an_answer_or_an_error(
    ask: Ask, people: Any, text: str, given: Any
) -> None:
    refusals = ("ConstraintViolation", "TypeMismatch", "InvalidSyntax")
    assert code_of(ask, text, given) in (None, *refusals)


def test_large_queries_are_refused_or_answered(ask: Ask, people: Any) -> None:
    names = ", ".join(f'"n{index}"' for index in range(5000))
    assert ask(f'FIND(?c) WHERE {{ ?c {{type: "Person"}} FILTER(IN(?c.name, [{names}])) }}') == []
    nested = "?c.a < ?c.b"
    for _ in range(12):
        nested = f"({nested}) < ?c.a"
    with pytest.raises(KipError) as refused:
        ask(f'FIND(?c) WHERE {{ ?c {{type: "Person"}} FILTER({nested}) }}')
    assert refused.value.code == "ResourceExhausted"
    many = " ".join(f'(?x{index}, "knows", ?x{index + 1})' for index in range(80))
    with pytest.raises(KipError) as refused:
        ask(f"FIND(?x0) WHERE {{ {many} }}")
    assert refused.value.code == "ResourceExhausted"


def test_strength_decays_under_its_pinned_policy(database: Database, space: str, ask: Ask) -> None:
    def pinned(**members: Any) -> dict[str, Any]:
        return {"MnemonicState": {"memory_strength": 0.8, **members}}

    old = {"last_metabolized_at": "2000-01-01T00:00:00.000Z", "strength_policy": STRENGTH_POLICY}
    ahead = {**old, "last_metabolized_at": "2999-01-01T00:00:00.000Z"}
    write(
        database,
        space,
        CreateConcept("?old", "Person", name="Old", facets=pinned(**old)),
        CreateConcept("?ahead", "Person", name="Ahead", facets=pinned(**ahead)),
        CreateConcept("?loose", "Person", name="Loose", facets=pinned()),
    )
    path = '?c.facets["MnemonicState"].effective_strength'
    assert ask(f'FIND({path}) WHERE {{ ?c {{name: "Ahead"}} }}') == [0.8]
    assert ask(f'FIND({path}) WHERE {{ ?c {{name: "Loose"}} }}') == [None]
    assert ask(f"FIND(?c.name) WHERE {{ ?c {{}} FILTER({path} < 0.001) }}") == ["Old"]
    (facets,) = ask('FIND(?c.facets) WHERE { ?c {name: "Ahead"} }')
    assert [facet["effective_strength"] for facet in facets.values()] == [0.8]


def test_what_takes_too_long_is_ended(database: Database, space: str, people: Any) -> None:
    wide = "FIND(COUNT(?a)) WHERE { ?a {} ?b {} ?c {} ?d {} ?e {} ?f {} ?g {} ?h {} }"
    with pytest.raises(KipError) as refused:
        run(database, space, wide, millis=20)
    assert refused.value.code == "ExecutionTimeout"


def test_a_path_that_reaches_too_far_is_refused(
    monkeypatch: pytest.MonkeyPatch, ask: Ask, people: Any
) -> None:
    text = 'FIND(?o.name) WHERE { ({name: "Paris"}, "located_in"{1,}, ?o) }'
    assert len(ask(text)) == 2
    monkeypatch.setattr(paths, "MAX_REACHED", 1)
    with pytest.raises(KipError) as refused:
        ask(text)
    assert refused.value.code == "ResourceExhausted"


def test_cycles_end(database: Database, space: str, ask: Ask, people: Any) -> None:
    write(database, space, EnsureProposition("?r", people["?europe"], "located_in", "C-5"))
    for hops in ("{1,}", "{3,}", "{0,8}"):
        text = f'FIND(?o.name) WHERE {{ ({{name: "Paris"}}, "located_in"{hops}, ?o) }}'
        assert sorted(ask(text)) == ["Europe", "France", "Paris"], hops
    assert ask('FIND(?o.name) WHERE { ({name: "Paris"}, "located_in"{3}, ?o) }') == ["Paris"]


def test_pages_go_through_ties_nulls_and_mixed_types(database: Database, space: str) -> None:
    values: list[Any] = [3, 1, 1, "b", "a", True, None, [1], 1.5, "a", -2]
    write(
        database,
        space,
        *(
            CreateConcept(f"?c{index}", "Person", attributes={} if v is None else {"v": v})
            for index, v in enumerate(values)
        ),
    )
    for direction in ("ASC", "DESC"):
        text = f"FIND(?c.id) WHERE {{ ?c {{}} }} ORDER BY ?c.attributes.v {direction}"
        whole = run(database, space, text).rows
        assert whole[-1] == "C-7"
        paged: list[Any] = []
        page = run(database, space, f"{text} LIMIT 2")
        while True:
            paged += page.rows
            if page.next_cursor is None:
                break
            page = run(database, space, f"{text} LIMIT 2 CURSOR :c", c=page.next_cursor)
        assert paged == whole
