"""Promises that fell due, raised once each: a `commitment_review` Activity names them.

Raised is what is pending or blocked, whose `due_at` has come, and which no armed or fired Watch
stands for. The key `commitment_review:<id>:<due_at>` lets nothing raise it again but a new
`due_at`; its status stays as it is (profile, `Commitment`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from storage.database import Scope, Transaction, sql
from storage.graph import state
from storage.graph.changes import CreateActivity
from storage.graph.claims import OPEN_STATUSES
from storage.graph.commit import lock
from storage.graph.state import NOW, at_seq
from storage.settlement import watches
from storage.settlement.writing import commit_each

TYPE = "kip://profiles/cognitive-memory/Commitment"
_WATCHES = "kip://profiles/cognitive-memory/watches"
_PAGE = 100


def settle(
    tx: Transaction, scope: Scope, principal: str, at: datetime, told: dict[str, Any]
) -> tuple[dict[str, Any], bool]:
    """Raise the next page of due Commitments.

    Returns the counts so far (`due`, whether raised now or before, and `raised`) and whether that
    is all.
    """
    told = {"due": 0, "raised": 0, "after": "", **told}
    lock(tx, scope)
    page = _due(tx, scope, at, told["after"])
    watched = _watched(tx, scope, [id for id, _ in page])
    keys = {id: f"commitment_review:{id}:{due}" for id, due in page if id not in watched}
    known = state.by_client_key(tx, scope, [("X", key) for key in keys.values()])
    fresh = {id: key for id, key in keys.items() if ("X", key) not in known}
    made, refused = commit_each(
        tx,
        scope,
        principal,
        {id: (_review(id, key, at),) for id, key in fresh.items()},
    )
    told["due"] += len(keys)
    told["raised"] += len(made)
    if refused:
        told["error"] = f"{len(refused)} could not be raised: {sorted(set(refused.values()))[0]}"
    if page:
        told["after"] = page[-1][0]
    return told, len(page) < _PAGE


def next_due(tx: Transaction, scope: Scope, at: datetime) -> datetime | None:
    """When the next open Commitment falls due after `at`."""
    row = tx.execute(
        sql(
            f"""
            select min(kip_instant(v.doc #>> '{{attributes,due_at}}')) from element_ver v
             where v.space_id = %s and v.seq_to = {NOW} and v.state = 'active'
               and v.doing = any(%s) and kip_instant(v.doc #>> '{{attributes,due_at}}') > %s
            """
        ),
        (scope.space_id, list(OPEN_STATUSES), at),
    ).fetchone()
    return None if row is None else row[0]


def _review(commitment: str, key: str, at: datetime) -> CreateActivity:
    return CreateActivity(
        f"?review-{commitment}",
        "commitment_review",
        "completed",
        at,
        at,
        inputs=(commitment,),
        client_key=key,
    )


def _due(tx: Transaction, scope: Scope, at: datetime, after: str) -> list[tuple[str, str]]:
    """Open Commitments whose time has come, with that time as it is written, by id."""
    rows = tx.execute(
        sql(
            f"""
            select v.id, v.doc #>> '{{attributes,due_at}}' from element_ver v
              join lateral (select true from element e where e.space_id = %(space)s
                     and e.id = v.id and e.type_lineage = %(type)s limit 1) e on true
             where v.space_id = %(space)s and v.seq_to = {NOW} and v.state = 'active'
               and v.doing = any(%(open)s) and not v.quarantined and v.id > %(after)s
               and kip_instant(v.doc #>> '{{attributes,due_at}}') <= %(at)s
             order by v.id limit %(limit)s
            """
        ),
        {
            "space": scope.space_id,
            "type": TYPE,
            "open": list(OPEN_STATUSES),
            "at": at,
            "after": after,
            "limit": _PAGE,
        },
    )
    return rows.fetchall()


def _watched(tx: Transaction, scope: Scope, ids: Sequence[str]) -> frozenset[str]:
    """Those of the Commitments that an armed or fired Watch stands for.

    It `watches` them, its condition names them, or an Activity derived it from them.
    """
    if not ids:
        return frozenset()
    rows = tx.execute(
        sql(
            f"""
            with watch as (
                select v.id, v.doc #> '{{attributes,condition}}' as condition from element_ver v
                  join lateral (select true from element e where e.space_id = %(space)s
                         and e.id = v.id and e.type_lineage = %(watch)s limit 1) e on true
                 where v.space_id = %(space)s and v.seq_to = {NOW} and v.state = 'active'
                   and v.doing in ('armed', 'fired'))
            select d.target_id from watch w
              join edge d on d.space_id = %(space)s and d.source_id = w.id
               and d.field_lineage = %(watches)s and {at_seq("d", None)}
             where d.target_id = any(%(ids)s)
            union
            select coalesce(w.condition #>> '{{element,id}}', w.condition ->> 'element')
              from watch w where jsonb_typeof(w.condition) = 'object'
               and coalesce(w.condition #>> '{{element,id}}', w.condition ->> 'element')
                   = any(%(ids)s)
            union
            select i.target_id from watch w
              join edge o on o.space_id = %(space)s and o.target_id = w.id
               and o.field_lineage = 'outputs' and {at_seq("o", None)}
              join edge i on i.space_id = %(space)s and i.source_id = o.source_id
               and i.field_lineage = 'inputs' and {at_seq("i", None)}
             where i.target_id = any(%(ids)s)
            """
        ),
        {
            "space": scope.space_id,
            "watch": watches.TYPE,
            "watches": _WATCHES,
            "ids": list(ids),
        },
    )
    return frozenset(id for (id,) in rows)
