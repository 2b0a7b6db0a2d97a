"""Every shape of query is answered by indexes, behind row-level security, now and in history.

With sequential scans priced out, a plan that still has one says that no index can serve it.
"""

from __future__ import annotations

import pytest

from storage.database import Database, Scope, sql
from storage.graph.changes import CreateConcept
from storage.kip.binding import bind
from storage.kip.language.ast_kql import Find
from storage.kip.language.command import read
from storage.kip.query import compile as compiling
from storage.kip.snapshot import open_snapshot
from tests.integration.test_kip_query import people as people
from tests.integration.test_kip_query import write

SHAPES = {
    "id": 'FIND(?c.name) WHERE { ?c {id: "C-1"} }',
    "key": 'FIND(?c.name) WHERE { ?c {type: "Person", key: "alice"} }',
    "bare key": 'FIND(?c.name) WHERE { ?c {key: "alice"} }',
    "name": 'FIND(?c.key) WHERE { ?c {name: "Alice"} }',
    "type": 'FIND(?c.name) WHERE { ?c {type: "Person"} }',
    "attribute column": 'FIND(?c.name) WHERE { ?c {attributes: {status: "pending"}} }',
    "tuple": 'FIND(?o.name) WHERE { ({id: "C-1"}, "prefers", ?o) }',
    "tuple from behind": 'FIND(?s.name) WHERE { (?s, "prefers", {id: "C-3"}) }',
    "tuple of a literal": 'FIND(?s.name) WHERE { (?s, "timezone", "+01:00") }',
    "predicate alone": 'FIND(?s) WHERE { (?s, "timezone", ?v) }',
    "joined": 'FIND(?b.name) WHERE { ?a {key: "alice"} (?a, "lives_in", ?c) (?b, "lives_in", ?c) }',
    "inline": 'FIND(?s.name) WHERE { (?s, "prefers", {name: "Tea"}) }',
    "claims": 'FIND(?a.stance) WHERE { ?p (id: "P-1") ?a ASSERTION {proposition: ?p} }',
    "claims by": 'FIND(?a.stance) WHERE { ?a ASSERTION {asserted_by: "C-1"} }',
    "evidence": 'FIND(?e.payload) WHERE { ?e EVIDENCE {evidence_class: "message"} }',
    "activities": 'FIND(?x.inputs) WHERE { ?x ACTIVITY {activity_class: "reflection"} }',
    "citations": 'FIND(?e.id) WHERE { STRUCTURAL ({id: "A-1"}, "evidence", ?e) }',
    "cited": 'FIND(?a.id) WHERE { STRUCTURAL (?a, "evidence", {id: "E-1"}) }',
    "derived": 'FIND(?e.id) WHERE { STRUCTURAL ({id: "C-3"}, "derived_from", ?e) }',
    "path": 'FIND(?o.name) WHERE { ({id: "C-5"}, "located_in"{1,4}, ?o) }',
    "path to": 'FIND(?o.name) WHERE { (?o, "located_in"{1,}, {id: "C-7"}) }',
    "not": 'FIND(?c.name) WHERE { ?c {key: "bob"} NOT { (?c, "prefers", ?o) } }',
    "optional": 'FIND(?c.name, ?o.name) WHERE { ?c {key: "bob"} OPTIONAL { (?c, "prefers", ?o) } }',
    "union": 'FIND(?c.name) WHERE { ?c {key: "bob"} UNION { ?c {name: "Tea"} } }',
    "whole": 'FIND(?c.structural, ?c._system, ?c.facets) WHERE { ?c {id: "C-1"} }',
    "lifecycle": 'FIND(?a.lifecycle, ?a.evidence) WHERE { ?a ASSERTION {proposition: "P-1"} }',
    "purged": 'FIND(?c.governance) WHERE { ?c {state: "purged"} }',
}


@pytest.mark.parametrize("merges", [False, True], ids=["", "merged"])
@pytest.mark.parametrize("seq", [None, 1], ids=["now", "then"])
def test_every_shape_uses_indexes_only(
    database: Database, space: str, people: dict[str, str], seq: int | None, merges: bool
) -> None:
    write(database, space, CreateConcept("?later", "Person", name="Later"))
    with database.transaction(Scope(space), snapshot=True) as tx:
        tx.execute("set local enable_seqscan = off")
        for name, text in SHAPES.items():
            query = bind(read(text).statement, {})
            assert isinstance(query, Find)
            snapshot = open_snapshot(tx, Scope(space), as_of=seq)
            made = compiling.query(snapshot, query, merges=merges, hits={}, limit=10, after=None)
            rows = tx.execute(sql("explain " + made.sql), made.parameters).fetchall()
            plan = "\n".join(line for (line,) in rows)
            assert "Seq Scan" not in plan, f"{name}: {text}\n{made.sql}\n{plan}"
            tx.execute(sql(made.sql), made.parameters)


def test_a_value_of_the_caller_is_never_in_the_statement(database: Database, space: str) -> None:
    odd = "x' or 1=1 -- %s \\ \" {} $it"
    text = (
        "FIND(?c.attributes, ?c) WHERE { ?c {name: :odd, attributes: {a: :odd}}"
        ' (?c, ?r, :odd) FILTER(CONTAINS(?c.name, :odd) || IN(?r, [:odd]) || ?c["$it"] == :odd) }'
    )
    query = bind(read(text).statement, {"odd": odd})
    assert isinstance(query, Find)
    with database.transaction(Scope(space), snapshot=True) as tx:
        snapshot = open_snapshot(tx, Scope(space))
        made = compiling.query(snapshot, query, merges=False, hits={}, limit=10, after=None)
        assert "1=1" not in made.sql
        assert tx.execute(sql(made.sql), made.parameters).fetchall() == []
