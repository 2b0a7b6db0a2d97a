"""What waits to be consolidated, and what hangs together with nothing.

An Event is consolidated once an Activity of consolidation, reflection or experience formation has
taken it as an input. An orphan is a concept of a domain (a person, a place, a topic, …) that
stands in no proposition and no structural reference and has claimed nothing; the records that
memory keeps of itself are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from storage.database import Scope, Transaction, sql
from storage.graph.commit import lock
from storage.graph.state import at_seq, version
from storage.memory_scopes import EVENT_CLASS
from storage.settlement.tasks import CONSOLIDATING, key_of, known, task
from storage.settlement.writing import commit_each

_PROFILE = "kip://profiles/cognitive-memory"
_EVENT = f"{_PROFILE}/Event"
#: Tasks that one run makes at most, of each sort.
TASKS = 20
#: Concepts that one step looks at.
_PAGE = 5_000
_WAITING = f"""
      from element e
      join {version("v", "e.id")} on v.state = 'active'
     where e.space_id = %(space)s and e.kind = 'C' and e.type_lineage = %(event)s
       and coalesce(v.doc #>> '{{attributes,event_class}}', '') <> %(scope_class)s
       and not exists (
             select from edge d
               join lateral (select activity_class from activity a where a.space_id = %(space)s
                      and a.id = d.source_id limit 1) a on a.activity_class = any(%(classes)s)
              where d.space_id = %(space)s and d.target_id = e.id and d.field_lineage = 'inputs'
                and {at_seq("d", None)})
"""
_HAPPENED = """coalesce(kip_instant(v.doc #>> '{attributes,ended_at}'),
    kip_instant(v.doc #>> '{attributes,started_at}'), e.created_at)"""


def events(
    tx: Transaction,
    scope: Scope,
    principal: str,
    at: datetime,
    told: dict[str, Any],
    *,
    stale_days: int,
    most: int,
) -> tuple[dict[str, Any], bool]:
    """Count Events that wait (`unconsolidated`), and those older than `stale_days` (`stale`).

    The oldest that are stale or beyond `most` get a task to be consolidated, up to `TASKS` a run
    (`tasks`).
    """
    lock(tx, scope)
    limit = at - timedelta(days=stale_days)
    values = _values(scope)
    row = tx.execute(
        sql(f"select count(*), count(*) filter (where {_HAPPENED} < %(limit)s) {_WAITING}"),
        {**values, "limit": limit},
    ).fetchone()
    waiting, stale = row if row is not None else (0, 0)
    wanted = max(stale, waiting - most)
    oldest = tx.execute(
        sql(f"select e.id {_WAITING} order by {_HAPPENED}, e.created_seq, e.id limit %(n)s"),
        {**values, "n": wanted},
    ).fetchall()
    ids = [id for (id,) in oldest]
    made = _tasks(tx, scope, principal, "consolidate", ids, "Consolidate the Event {}.")
    return {**told, "unconsolidated": waiting, "stale": stale, "tasks": made}, True


def waiting_events(tx: Transaction, scope: Scope, limit: int) -> list[str]:
    """The oldest Events that wait to be consolidated."""
    rows = tx.execute(
        sql(f"select e.id {_WAITING} order by {_HAPPENED}, e.created_seq, e.id limit %(n)s"),
        {**_values(scope), "n": limit},
    )
    return [id for (id,) in rows]


def orphans(
    tx: Transaction, scope: Scope, principal: str, told: dict[str, Any], *, most: int
) -> tuple[dict[str, Any], bool]:
    """Look at the next page of concepts; counts `orphans` so far.

    Of those beyond `most`, the first get a task to be reviewed, up to `TASKS` a run (`tasks`).
    """
    told = {"orphans": 0, "tasks": 0, "after": "C-", **told}
    lock(tx, scope)
    rows = tx.execute(
        sql(
            f"""
            select p.id, p.plain and not exists (
                select from proposition q where q.space_id = %(space)s and q.subject_id = p.id)
              and not exists (
                select from proposition q where q.space_id = %(space)s
                   and q.object_key = 'e:' || p.id)
              and not exists (
                select from edge d where d.space_id = %(space)s and d.target_id = p.id
                   and {at_seq("d", None)})
              and not exists (
                select from edge d where d.space_id = %(space)s and d.source_id = p.id
                   and {at_seq("d", None)})
              and not exists (
                select from assertion a where a.space_id = %(space)s and a.asserted_by = p.id)
              from (
                select e.id, (e.type_lineage = %(person)s
                              or e.type_lineage not like %(profile)s)
                         and coalesce(v.name, '') not like '$%%' as plain
                  from element e
                  join {version("v", "e.id")} on v.state = 'active'
                 where e.space_id = %(space)s and e.kind = 'C' and e.id > %(after)s
                 order by e.id limit %(limit)s) p
             order by p.id
            """
        ),
        {
            "space": scope.space_id,
            "person": f"{_PROFILE}/Person",
            "profile": f"{_PROFILE}/%",
            "after": told["after"],
            "limit": _PAGE,
        },
    ).fetchall()
    found = [id for id, orphan in rows if orphan]
    excess = found[max(0, most - told["orphans"]) :]
    told["orphans"] += len(found)
    left = TASKS - told["tasks"]
    said = "Nothing is tied to {}: see whether it is to be kept."
    told["tasks"] += _tasks(tx, scope, principal, "review_retention", excess, said, most=left)
    if rows:
        told["after"] = rows[-1][0]
    return told, len(rows) < _PAGE


def _values(scope: Scope) -> dict[str, Any]:
    return {
        "space": scope.space_id,
        "event": _EVENT,
        "scope_class": EVENT_CLASS,
        "classes": list(CONSOLIDATING),
    }


def _tasks(
    tx: Transaction,
    scope: Scope,
    principal: str,
    task_class: str,
    ids: Sequence[str],
    summary: str,
    *,
    most: int = TASKS,
) -> int:
    """Make a task about each of the first elements that have none yet; says how many."""
    have = known(tx, scope, [key_of(task_class, id) for id in ids])
    fresh = [id for id in ids if key_of(task_class, id) not in have][: max(0, most)]
    made, _ = commit_each(
        tx,
        scope,
        principal,
        {id: (task(task_class, id, summary.format(id), {"element": id}),) for id in fresh},
    )
    return len(made)
