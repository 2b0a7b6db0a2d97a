"""Every read of the graph is answered by indexes, also behind row-level security.

Under a policy an index serves leakproof operators only. With sequential scans priced out, a plan
that still has one says that no index can serve that condition.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from storage import scoped_memory
from storage.database import Database, Scope
from storage.erasure import closure
from storage.graph import claims, slots, state
from storage.graph.belief import Question
from storage.graph.changes import (
    ChangeSet,
    CreateAssertion,
    CreateConcept,
    EnsureProposition,
    Value,
)
from storage.graph.commit import commit

ASK = Question(datetime(2026, 1, 1, tzinfo=UTC))
READS: dict[str, Callable[[Any, Scope], Any]] = {
    "claims of assertions": lambda tx, scope: claims.claims_for(tx, scope, ASK, assertions=["A-1"]),
    "claims of propositions": lambda tx, scope: claims.claims_for(
        tx, scope, ASK, propositions=["P-1"]
    ),
    "claims of the past": lambda tx, scope: claims.claims_for(
        tx, scope, ASK, assertions=["A-1"], seq=1
    ),
    "claims by people": lambda tx, scope: claims.claims_by(tx, scope, ["C-1"]),
    "a slot": lambda tx, scope: slots.slot_of(tx, scope, "C-1", "lives_in", ASK, object_id="C-2"),
    "beliefs": lambda tx, scope: slots.beliefs(tx, scope, ["P-1"], ASK),
    "commitments": lambda tx, scope: claims.commitments(tx, scope, people=["C-1"]),
    "constraints": claims.constraints,
    "evidence": lambda tx, scope: claims.evidence(tx, scope, ["E-1"]),
    "people": lambda tx, scope: claims.people(tx, scope, ["person:ada"]),
    "elements": lambda tx, scope: state.load(tx, scope, ["C-1"]),
    "client keys": lambda tx, scope: state.by_client_key(tx, scope, [("C", "k")]),
    "bare keys": lambda tx, scope: state.concepts_by_bare_key(tx, scope, ["k"]),
    "digests": lambda tx, scope: state.evidence_by_digest(tx, scope, ["d"]),
    "tuples": lambda tx, scope: state.propositions_by_tuple(tx, scope, [("C-1", "l", "e:C-2")]),
    "testimony": lambda tx, scope: state.assertions_like(tx, scope, ["P-1"]),
    "references": lambda tx, scope: state.edges_from(tx, scope, ["C-1"], ["evidence"]),
    "concepts of types": lambda tx, scope: scoped_memory.of_types(tx, scope, ["Event"], None, 500),
    "standing instructions": lambda tx, scope: scoped_memory.rules(tx, scope, None, 500),
}


class Explaining:
    """A transaction that explains each statement before it runs it."""

    def __init__(self, tx: Any) -> None:
        self.tx = tx
        self.plans: list[str] = []

    def execute(self, query: Any, parameters: Any = None) -> Any:
        lines = self.tx.execute("explain " + query, parameters).fetchall()
        self.plans.append("\n".join(line for (line,) in lines))
        return self.tx.execute(query, parameters)


@pytest.mark.parametrize("name", READS)
def test_a_read_uses_indexes_only(database: Database, space: str, name: str) -> None:
    with database.transaction(Scope(space)) as tx:
        tx.execute("set local enable_seqscan = off")
        explaining = Explaining(tx)
        READS[name](explaining, Scope(space))
    assert explaining.plans
    for plan in explaining.plans:
        assert "Seq Scan" not in plan, plan


def test_a_look_for_whether_there_are_concepts_of_a_sort_reads_nothing_that_they_were_made_of(
    database: Database, space: str
) -> None:
    with database.transaction(Scope(space)) as tx:
        tx.execute("set local enable_seqscan = off")
        explaining = Explaining(tx)
        scoped_memory.of_types(explaining, Scope(space), ["Experience", "Event"], None, 500)
    # of each of 500 conversations it would be every message
    assert [plan for plan in explaining.plans if "on element " in plan]
    assert not [plan for plan in explaining.plans if "on edge " in plan]


def test_what_goes_or_stays_with_a_forgotten_claim_is_not_looked_for_in_every_row(
    database: Database, space: str
) -> None:
    scope = Scope(space)
    told = ChangeSet(
        (
            CreateConcept("?ann", "Person", "Ann"),
            EnsureProposition("?p", "?ann", "timezone", Value("+07:00")),
            CreateAssertion("?a", "?p", "?ann", "stated", asserted_at=ASK.valid_at),
        )
    )
    with database.transaction(scope) as tx:
        claim = commit(tx, scope, "tester", told, tx_class="test").ids["?a"]
    with database.transaction(scope) as tx:
        tx.execute("set local enable_seqscan = off")
        explaining = Explaining(tx)
        closure.compute(explaining, scope, "tester", claim, "semantic")
        state.referrers(explaining, scope, ["C-1", "A-1", "E-1"])
    # the keys of these tables would serve as well, by reading all that the space holds
    for index in ("element_ver_basis", "assertion_in_contexts", "element_ver_successor"):
        assert [plan for plan in explaining.plans if index in plan], index
