"""Elements whose time of retention is over are archived: out of sight, still in history.

A legal hold keeps an element, and so does being pinned. How long a claim is true is not asked
here: `valid_time` is judged when it is read.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from storage.database import Scope, Transaction, sql
from storage.graph.changes import Transition
from storage.graph.commit import lock
from storage.graph.state import NOW
from storage.pinning import PINNED
from storage.settlement.writing import commit_each

#: Elements that one step looks at, and that one run archives at most.
_PAGE, MOST = 200, 2_000
_EXPIRED = sql(
    f"""
    from element_ver v
     where v.space_id = %(space)s and v.seq_to = {NOW}
       and (v.doc #>> '{{retention,expires_at}}') is not null and v.state = 'active'
       and kip_instant(v.doc #>> '{{retention,expires_at}}') <= %(at)s and v.id > %(after)s
    """
)


def settle(
    tx: Transaction, scope: Scope, principal: str, at: datetime, told: dict[str, Any]
) -> tuple[dict[str, Any], bool]:
    """Archive the next page of elements whose retention is over.

    Returns the counts so far (`archived`, `held` by a hold or a pin, `refused` by the graph,
    `remaining` for another run) and whether this run is done with it.
    """
    told = {"archived": 0, "held": 0, "refused": 0, "remaining": 0, "after": "", **told}
    lock(tx, scope)
    values = {"space": scope.space_id, "at": at, "after": told["after"]}
    page = tx.execute(
        sql(
            "select v.id, coalesce(v.doc #>> '{retention,retention_class}' = %(pinned)s, false)"
            " or coalesce((v.doc #>> '{retention,legal_hold}') = 'true', false)"
            f" {_EXPIRED} order by v.id limit %(limit)s"
        ),
        {**values, "pinned": PINNED, "limit": _PAGE},
    ).fetchall()
    going = [id for id, held in page if not held]
    made, refused = commit_each(
        tx, scope, principal, {id: (Transition(id, "archived"),) for id in going}
    )
    told["archived"] += len(made)
    told["held"] += len(page) - len(going)
    told["refused"] += len(refused)
    if page:
        told["after"] = page[-1][0]
    done = len(page) < _PAGE or told["archived"] >= MOST
    if done and len(page) == _PAGE:
        row = tx.execute(
            sql(f"select count(*) {_EXPIRED}"), {**values, "after": told["after"]}
        ).fetchone()
        told["remaining"] = row[0] if row else 0
    return told, done


def next_due(tx: Transaction, scope: Scope, at: datetime) -> datetime | None:
    """When the next retention is over after `at`."""
    row = tx.execute(
        sql(
            f"""
            select min(kip_instant(v.doc #>> '{{retention,expires_at}}')) from element_ver v
             where v.space_id = %s and v.seq_to = {NOW} and v.state = 'active'
               and (v.doc #>> '{{retention,expires_at}}') is not null
               and kip_instant(v.doc #>> '{{retention,expires_at}}') > %s
            """
        ),
        (scope.space_id, at),
    ).fetchone()
    return None if row is None else row[0]
