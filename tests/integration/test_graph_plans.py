"""Every read of the graph is answered by indexes, also behind row-level security.

Under a policy an index serves leakproof operators only. With sequential scans priced out, a plan
that still has one says that no index can serve that condition.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from storage.database import Database, Scope
from storage.graph import claims, slots, state
from storage.graph.belief import Question

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
