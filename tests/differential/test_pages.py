"""Pages of a cursor are the rows of one answer, whatever is written between them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from storage.database import Database, Scope
from storage.graph.changes import (
    Change,
    ChangeSet,
    CreateConcept,
    EnsureProposition,
    Transition,
    UpdateConcept,
    Value,
)
from storage.graph.commit import commit
from storage.kip.language.ast_kql import Find
from storage.kip.language.ast_terms import Literal
from storage.kip.language.command import read
from storage.kip.query.find import find
from storage.kip.snapshot import open_snapshot

QUERIES = (
    "FIND(?x.name) WHERE { ?x {} }",
    "FIND(?x.name, ?x.attributes.n) WHERE { ?x {} } ORDER BY ?x.attributes.n",
    "FIND(?x.name) WHERE { ?x {} } ORDER BY ?x.attributes.n DESC, ?x.name",
    "FIND(?x.attributes.s, ?x.name) WHERE { ?x {} } ORDER BY ?x.attributes.s DESC",
    'FIND(?x.name, ?o) WHERE { ?x {} OPTIONAL { (?x, "speaks", ?o) } } ORDER BY ?o',
    "FIND(?x.attributes.n, COUNT(?x)) WHERE { ?x {} } ORDER BY COUNT(?x) DESC",
    "FIND(?x.attributes.n, COUNT(?x)) WHERE { ?x {} }",
    'FIND(?x.name) WHERE { ?x {attributes: {s: "a"}} UNION { ?x {attributes: {n: 1}} } }',
    'FIND(?x.name, ?y.name) WHERE { ?x {name: "n1"} ?y {} } ORDER BY ?y.attributes.n',
)


def _write(database: Database, scope: Scope, *changes: Change) -> dict[str, str]:
    with database.transaction(scope) as tx:
        done = commit(tx, scope, "tester", ChangeSet(changes), tx_class="test")
    return dict(done.ids)


@pytest.fixture
def people(database: Database, space: str) -> list[str]:
    """Twelve people with values that repeat, and some without any."""
    changes: list[Change] = []
    for number in range(12):
        attributes: dict[str, Any] = {}
        if number % 4:
            attributes["n"] = number % 4
        if number % 3:
            attributes["s"] = "ab"[number % 2]
        changes.append(CreateConcept(f"?c{number}", "Person", f"n{number}", attributes=attributes))
        if number % 2:
            changes.append(EnsureProposition(f"?p{number}", f"?c{number}", "speaks", Value("en")))
    ids = _write(database, Scope(space), *changes)
    return [ids[f"?c{number}"] for number in range(12)]


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("size", [1, 5])
def test_pages_are_the_rows_of_one_answer_while_others_write(
    database: Database, space: str, people: list[str], text: str, size: int
) -> None:
    scope, query = Scope(space), read(text).statement
    assert isinstance(query, Find)

    def page(asked: Find) -> tuple[list[Any], str | None]:
        with database.transaction(scope, snapshot=True) as tx:
            found = find(open_snapshot(tx, scope), asked, caller="tester")
        return found.rows, found.next_cursor

    whole, after = page(query)
    assert after is None
    rows: list[Any] = []
    cursor: str | None = None
    for number in range(len(whole) + 2):
        given = None if cursor is None else Literal(cursor)
        some, cursor = page(replace(query, limit=Literal(size), cursor=given))
        assert len(some) <= size
        rows += some
        if cursor is None:
            break
        # before and after what was seen, something comes, goes and changes
        _write(
            database,
            scope,
            CreateConcept("?new", "Person", f"n1{number}", attributes={"n": 1, "s": "a"}),
            UpdateConcept(people[number % 6], attributes={"n": 3, "s": f"z{number}"}),
            *([Transition(people[6], "archived")] if number == 0 else []),
        )
    assert cursor is None
    assert rows == whole
