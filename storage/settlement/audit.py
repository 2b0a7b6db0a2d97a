"""The schema in use: how often each predicate is, and drafts that nobody has reviewed yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any

from storage.clock import to_millis
from storage.database import Scope, Transaction
from storage.graph.changes import Change, DefineSymbol, UpsertConcept
from storage.graph.commit import lock
from storage.graph.schema import environment, local_name
from storage.graph.symbols import DRAFT
from storage.settlement.tasks import known
from storage.settlement.writing import commit_each

#: Makes the task that reviews a drafted symbol, under a handle.
Review = Callable[[DefineSymbol, str, datetime], UpsertConcept]


def audit(
    tx: Transaction,
    scope: Scope,
    principal: str,
    at: datetime,
    told: dict[str, Any],
    *,
    review: Review,
) -> tuple[dict[str, Any], bool]:
    """Count propositions by predicate; give every unpromoted draft a `review`, where it has none.

    Returns the audit's report; `reviews` counts the tasks that were made.
    """
    lock(tx, scope)
    rows = tx.execute(
        "select predicate_lineage, count(*) from proposition where space_id = %s group by 1",
        (scope.space_id,),
    ).fetchall()
    names = Counter(local_name(lineage) for lineage, _ in rows)
    used = {
        (local_name(lineage) if names[local_name(lineage)] == 1 else lineage): count
        for lineage, count in sorted(rows)
    }
    reviews = _unreviewed(tx, scope, at, review)
    made, _ = commit_each(tx, scope, principal, reviews)
    told = {
        **told,
        "audited_at": to_millis(at),
        "predicates": used,
        "predicate_types": len(rows),
        "reviews": len(made),
    }
    return told, True


def _unreviewed(
    tx: Transaction, scope: Scope, at: datetime, review: Review
) -> dict[str, tuple[Change, ...]]:
    """A review for each draft that is neither promoted nor under review, by its key."""
    rows = tx.execute(
        "select symbol_kind, name, definition from draft_symbol where space_id = %s order by 1, 2",
        (scope.space_id,),
    ).fetchall()
    promoted = {one.from_lineage for one in environment(tx, scope).maps}
    reviews = [
        review(DefineSymbol(kind, name, definition), f"?draft-{number}", at)
        for number, (kind, name, definition) in enumerate(rows)
        if f"{DRAFT}/{name}".replace("@0.0.0", "") not in promoted
    ]
    wanted = {one.key: one for one in reviews if one.key is not None}
    have = known(tx, scope, list(wanted))
    return {key: (one,) for key, one in wanted.items() if key not in have}
