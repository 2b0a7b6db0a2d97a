"""SleepTasks: what waits for a later, closer look. One a key, whoever finds the reason again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from storage.clock import now, to_text
from storage.database import Scope, Transaction, sql
from storage.graph import state
from storage.graph.changes import Change, Guard, UpdateConcept, UpsertConcept
from storage.graph.commit import lock
from storage.graph.schema import environment
from storage.graph.state import NOW, at_seq
from storage.settlement.writing import commit_each

TYPE = "kip://profiles/cognitive-memory/SleepTask"
OPEN = ("pending", "running", "blocked")
#: Classes of Activities that consolidate what they take in.
CONSOLIDATING = (
    "semantic_consolidation",
    "procedural_consolidation",
    "reflection",
    "experience_formation",
)
_PAGE = 200


def task(
    task_class: str, about: str, summary: str, facts: Mapping[str, Any] | None = None
) -> UpsertConcept:
    """A task about an element, found again by `<class>:<element>`; one that exists stays as is."""
    return UpsertConcept(
        f"?{task_class}-{about}",
        type="SleepTask",
        key=key_of(task_class, about),
        initial_attributes={
            "summary": summary,
            "task_class": task_class,
            "status": "pending",
            "created_at": to_text(now()),
            **(facts or {}),
        },
    )


def key_of(task_class: str, about: str) -> str:
    """The key of the task of a class about an element."""
    return f"{task_class}:{about}"


def known(tx: Transaction, scope: Scope, keys: list[str]) -> frozenset[str]:
    """Those of the keys that a task has, whatever became of it."""
    found = state.concepts_by_key(tx, scope, [(TYPE, key) for key in keys])
    return frozenset(key for _, key in found)


def consolidated(tx: Transaction, scope: Scope, ids: Sequence[str]) -> frozenset[str]:
    """Those of the elements that an Activity of consolidation has taken in."""
    if not ids:
        return frozenset()
    rows = tx.execute(
        sql(
            f"""
            select distinct w.id from unnest(%(ids)s::text[]) as w(id)
              join lateral (select source_id from edge d where d.space_id = %(space)s
                     and d.target_id = w.id and d.field_lineage = 'inputs'
                     and {at_seq("d", None)} offset 0) d on true
              join lateral (select activity_class from activity a where a.space_id = %(space)s
                     and a.id = d.source_id limit 1) a on a.activity_class = any(%(classes)s)
            """
        ),
        {"space": scope.space_id, "ids": sorted(ids), "classes": list(CONSOLIDATING)},
    )
    return frozenset(id for (id,) in rows)


def settle(
    tx: Transaction, scope: Scope, principal: str, at: datetime, told: dict[str, Any]
) -> tuple[dict[str, Any], bool]:
    """Bring the next page of open tasks up to date.

    A task whose lease has run out waits again (`released`); one about a draft that was promoted, or
    an Event that was consolidated, is done (`completed`); one whose element is gone is dropped
    (`cancelled`). `open` counts the tasks that stay, by class. Returns the counts so far and
    whether that is all.
    """
    told = {"open": {}, "released": 0, "completed": 0, "cancelled": 0, "after": "", **told}
    lock(tx, scope)
    page = _open(tx, scope, told["after"])
    promoted = {one.from_lineage for one in environment(tx, scope).maps}
    given = [attributes.get("element") for _, _, attributes, _ in page]
    elements = sorted({element for element in given if isinstance(element, str)})
    there = state.load(tx, scope, elements)
    done = consolidated(tx, scope, elements)
    changes: dict[str, tuple[Change, ...]] = {}
    ends: dict[str, str] = {}
    for task_id, version, attributes, facets in page:
        end = _end(attributes, facets, promoted, there, done, at)
        if end is None:
            continue
        ends[task_id] = end
        lease = {ref: () for ref in facets if ref.endswith("/LeaseState")}
        status = {"released": "pending"}.get(end, end)
        changes[task_id] = (
            UpdateConcept(
                task_id,
                attributes={"status": status},
                unset_facets=lease,
                guards=(Guard(version),),
            ),
        )
    made, _ = commit_each(tx, scope, principal, changes)
    for task_id in made:
        told[ends[task_id]] += 1
    closed = {task_id for task_id in made if ends[task_id] != "released"}
    still = Counter(told["open"])
    still.update(
        str(attributes.get("task_class")) for id, _, attributes, _ in page if id not in closed
    )
    told["open"] = dict(sorted(still.items()))
    if page:
        told["after"] = page[-1][0]
    return told, len(page) < _PAGE


def _end(
    attributes: Mapping[str, Any],
    facets: Mapping[str, Any],
    promoted: set[str],
    there: Mapping[str, state.Stored],
    done: Collection[str],
    at: datetime,
) -> str | None:
    if attributes.get("task_class") == "review_schema":
        ref = str(attributes.get("symbol_ref", ""))
        if ref.replace("@0.0.0", "") in promoted:
            return "completed"
    element = attributes.get("element")
    if isinstance(element, str) and (element not in there or there[element].state != "active"):
        return "cancelled"
    if attributes.get("task_class") == "consolidate" and element in done:
        return "completed"
    leases = [values for ref, values in facets.items() if ref.endswith("/LeaseState")]
    running = attributes.get("status") == "running"
    if running and leases and all(str(lease.get("expires_at")) < to_text(at) for lease in leases):
        return "released"
    return None


def _open(
    tx: Transaction, scope: Scope, after: str
) -> list[tuple[str, int, dict[str, Any], dict[str, Any]]]:
    return tx.execute(
        sql(
            f"""
            select v.id, v.version, v.doc -> 'attributes', coalesce(v.doc -> 'facets', '{{}}')
              from element_ver v
              join lateral (select true from element e where e.space_id = %(space)s
                     and e.id = v.id and e.type_lineage = %(type)s limit 1) e on true
             where v.space_id = %(space)s and v.seq_to = {NOW} and v.state = 'active'
               and v.doing = any(%(open)s) and v.id > %(after)s
             order by v.id limit %(limit)s
            """
        ),
        {
            "space": scope.space_id,
            "type": TYPE,
            "open": list(OPEN),
            "after": after,
            "limit": _PAGE,
        },
    ).fetchall()
