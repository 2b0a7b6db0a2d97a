"""What holds of every MUTATE: its order does not matter, it is whole, and keys make it once."""

from __future__ import annotations

import json
import random
import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage import spaces
from storage.database import Database, Scope
from storage.kip.errors import KipError
from storage.kip.language.command import read
from storage.kip.mutation.apply import Applied, apply
from storage.kip.mutation.authority import Authority

FEW = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

#: Statements that make up a whole; each is there once, and each but the first few may be missing.
BASE = (
    'CREATE CONCEPT ?ada {TYPE "Person" NAME "Ada" SET FIELDS {key: "ada"} CLIENT KEY "c:ada"}',
    'UPSERT CONCEPT ?ben {MATCH {type: "Person", key: "ben"} SET FIELDS {name: "Ben"}}',
    'CREATE CONCEPT ?riga {TYPE "Place" SET FIELDS {key: "riga"} CLIENT KEY "c:riga"}',
)
MORE = (
    'UPSERT CONCEPT ?tartu {MATCH {type: "Place", key: "tartu"}}',
    'ENSURE PROPOSITION ?knows (?ada, "knows", ?ben)',
    'ENSURE PROPOSITION (?ben, "knows", {type: "Person", key: "ada"})',
    'ASSERT ?said (?ada, "lives_in", ?riga)'
    ' {by: ?ada, mode: "stated", at: "2026-01-10T00:00:00.000Z", key: "a:said"}',
    'ASSERT ?zone (?ben, "timezone", "+02:00")'
    ' {by: ?ada, mode: "stated", at: "2026-01-11T00:00:00.000Z", key: "a:zone", context: ?ben}',
    'CREATE EVIDENCE ?note {CLIENT KEY "e:note" SET FIELDS {evidence_class: "message",'
    ' payload: "hello"} SET STRUCTURAL {("source", ?ben)}}',
    'CREATE ACTIVITY ?run {CLIENT KEY "x:run" SET FIELDS {activity_class: "extraction",'
    ' status: "completed"} SET STRUCTURAL {("inputs", ?ada) ("outputs", ?riga)}}',
    "UPDATE ?ada SET ATTRIBUTES {seen: 1}",
    'UPDATE ?ada SET FACET "MnemonicState" {salience: 0.5}',
    'UPDATE ?riga SET ATTRIBUTES {seen: 2} SET FIELDS {name: "Riga"}',
    'TRANSITION ?ben TO "archived"',
    'SET RETENTION ?riga {retention_class: "short"}',
)
#: Statements that cannot be, each for another reason and at another stage.
WRONG = (
    'CREATE CONCEPT ?bad {TYPE "Starship"}',
    'CREATE CONCEPT ?bad {TYPE "Person" SET FIELDS {key: "ada"}}',
    'CREATE CONCEPT ?bad {TYPE "Commitment" SET ATTRIBUTES {summary: "s", status: "odd"}}',
    'UPDATE "C-99" SET ATTRIBUTES {a: 1}',
    'ENSURE PROPOSITION ?bad (?ada, "lives_in", ?ben)',
    'ASSERT (?ada, "knows", ?ben) {by: ?ada, mode: "stated", valid: {from:'
    ' "2026-02-01T00:00:00.000Z", until: "2026-01-01T00:00:00.000Z"}}',
    'TRANSITION ?ada TO "retracted"',
    'UPDATE ?ada SET FIELDS {name: "Somebody else"} EXPECT VERSION 7',
    'MERGE CONCEPT "C-98" INTO ?ada',
    'CREATE ACTIVITY ?bad {SET FIELDS {activity_class: "x"} SET STRUCTURAL {("inputs", "C-97")}}',
)


class Space:
    """A new space that statements are run in."""

    def __init__(self, database: Database) -> None:
        self.database, self.scope = database, Scope(f"test_{uuid.uuid4().hex[:16]}")
        with database.transaction(self.scope) as tx:
            spaces.create(tx, self.scope, owner="anonymous")

    def run(self, clauses: tuple[str, ...] | list[str]) -> Applied:
        """One MUTATE of these clauses."""
        statement: Any = read(f"MUTATE {{ {' '.join(clauses)} }}").statement
        with self.database.transaction(self.scope) as tx:
            return apply(tx, self.scope, Authority("tester"), statement)

    def contents(self) -> list[str]:
        """Everything in the space, elements named by what their writer called them."""
        with self.database.transaction(self.scope, snapshot=True) as tx:
            elements = tx.execute(
                """
                select e.id, e.kind::text, coalesce(e.key, e.client_key), e.schema_ref, v.version,
                       v.state, v.status, v.name, v.doc, p.subject_id, p.predicate_ref, p.object_id,
                       p.object_lit, a.proposition_id, a.asserted_by, a.stance, a.asserted_at,
                       a.context_refs, d.payload, x.activity_class
                  from element e
                  join element_ver v on v.space_id = e.space_id and v.id = e.id
                       and v.seq_to = 9223372036854775807
                  left join proposition p on p.space_id = e.space_id and p.id = e.id
                  left join assertion a on a.space_id = e.space_id and a.id = e.id
                  left join evidence d on d.space_id = e.space_id and d.id = e.id
                  left join activity x on x.space_id = e.space_id and x.id = e.id
                 where e.space_id = %s
                """,
                (self.scope.space_id,),
            ).fetchall()
            edges = tx.execute(
                "select source_id, field_lineage, target_id, role, position from edge"
                " where space_id = %s and seq_to = 9223372036854775807",
                (self.scope.space_id,),
            ).fetchall()
        names = {row[0]: row[2] for row in elements if row[2] is not None}
        for row in elements:
            if row[1] == "P":
                ends = (names[row[9]], row[10], names.get(row[11], row[12]))
                names[row[0]] = f"({ends})"

        def named(value: Any) -> Any:
            if isinstance(value, dict):
                return {names.get(k, k): named(v) for k, v in value.items()}
            if isinstance(value, list | tuple):
                return [named(one) for one in value]
            return names.get(value, value) if isinstance(value, str) else str(value)

        return sorted(json.dumps(named(row), sort_keys=True) for row in [*elements, *edges])


@FEW
@given(st.sets(st.sampled_from(MORE)), st.randoms(use_true_random=False))
def test_the_order_of_clauses_does_not_matter(
    database: Database, chosen: set[str], shuffling: random.Random
) -> None:
    clauses = [*BASE, *(clause for clause in MORE if clause in chosen)]
    if any("tartu" in clause for clause in clauses):
        clauses.append(
            'ASSERT (?ada, "lives_in", ?tartu) {by: ?ada, mode: "stated", key: "a:t",'
            ' at: "2026-01-12T00:00:00.000Z"}'
        )
    written, shuffled = Space(database), Space(database)
    mixed = list(clauses)
    shuffling.shuffle(mixed)
    first, second = written.run(clauses), shuffled.run(mixed)
    assert set(first.handles) == set(second.handles)
    assert written.contents() == shuffled.contents()


@FEW
@given(
    st.sets(st.sampled_from(MORE)),
    st.sampled_from(WRONG),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_one_wrong_clause_leaves_nothing(
    database: Database, chosen: set[str], wrong: str, shuffling: random.Random, again: bool
) -> None:
    space = Space(database)
    if again:
        space.run(BASE)
    before = space.contents()
    clauses = [*BASE, *chosen, wrong]
    shuffling.shuffle(clauses)
    with pytest.raises(KipError):
        space.run(clauses)
    assert space.contents() == before
    assert space.run(BASE).no_effect == again


@FEW
@given(st.sets(st.sampled_from(MORE)), st.integers(1, 3))
def test_the_same_again_changes_nothing(database: Database, chosen: set[str], times: int) -> None:
    space = Space(database)
    clauses = [*BASE, *(clause for clause in MORE if clause in chosen)]
    first = space.run(clauses)
    contents = space.contents()
    for _ in range(times):
        again = space.run(clauses)
        assert again.handles == first.handles
        assert again.no_effect
    assert space.contents() == contents
