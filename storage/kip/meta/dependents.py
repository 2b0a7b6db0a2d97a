"""LIST DEPENDENTS: what was made of an element, along the activities that used it.

Reachability is topology, no verdict: a dependent may rest on much else. Only what an activity
recorded is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from storage.database import Scope, Transaction, sql
from storage.graph.finding import number
from storage.graph.state import at_seq, version
from storage.graph.symbols import KIND_NAMES
from storage.kip.errors import ResourceExhausted
from storage.kip.language.ast_meta import List
from storage.kip.meta.answered import Answered, Asking, Cursors, limit_of, needed, whole

#: Steps that one walk may take, and dependents that it may meet; beyond, it says `truncated`.
MAX_DEPTH = 32
MAX_REACHED = 10_000
EXTENSION = "brainstem/dependents"


@dataclass(frozen=True, slots=True)
class Dependent:
    """An element that was made, in `distance` steps; the last of them was `activity`."""

    id: str
    distance: int
    activity: str


def dependents(asking: Asking, statement: List) -> Answered:
    """A page of dependents, the nearest first; pages go on in the state that the first was of.

    Raises `ResourceExhausted` for a DEPTH beyond `MAX_DEPTH`.
    """
    snapshot = asking.snapshot
    root, depth = needed(statement.value), whole(statement.depth) or 1
    if depth > MAX_DEPTH:
        raise ResourceExhausted(f"DEPTH goes up to {MAX_DEPTH}.")
    cursors = Cursors(asking, "LIST DEPENDENTS", [root, depth], pinned=None)
    begin, seq = cursors.read(statement.cursor) or (0, snapshot.seq)
    limit = limit_of(statement.limit)
    found, truncated = reached(snapshot.tx, snapshot.scope, root, depth, seq)
    chosen = found[begin : begin + limit]
    more = limit > 0 and begin + limit < len(found)
    return Answered(
        [
            {
                "id": one.id,
                "kind": KIND_NAMES[one.id[0]].lower(),
                "distance": one.distance,
                "via": {"activity": one.activity},
            }
            for one in chosen
        ],
        cursors.make([begin + limit, seq]) if more else None,
        {
            "extensions": {
                EXTENSION: {
                    "coverage_scope": "recorded_activity_lineage",
                    "snapshot_seq": seq,
                    "truncated": truncated,
                }
            }
        },
    )


def reached(
    tx: Transaction, scope: Scope, root: str, depth: int, seq: int
) -> tuple[list[Dependent], bool]:
    """Everything that `root` went into within `depth` steps at `seq`, and whether it was cut."""
    seen = {root}
    found: list[Dependent] = []
    frontier = [root]
    for distance in range(1, depth + 1):
        step = _step(tx, scope, frontier, seq, MAX_REACHED - len(found) + 1)
        fresh: dict[str, str] = {}
        for element, activity in step:
            if element not in seen:
                fresh.setdefault(element, activity)
        seen.update(fresh)
        nearest = sorted(fresh, key=lambda id: (id[0], number(id)))
        found += [Dependent(id, distance, fresh[id]) for id in nearest]
        if len(found) > MAX_REACHED or len(step) > MAX_REACHED:
            return found[:MAX_REACHED], True
        frontier = nearest
        if not frontier:
            break
    return found, False


def _step(
    tx: Transaction, scope: Scope, sources: Sequence[str], seq: int, limit: int
) -> list[tuple[Any, ...]]:
    """(output, activity) of the activities that used one of `sources`, the oldest first.

    What was erased or tombstoned is passed over. A merged concept also counts as what it became.
    """
    return tx.execute(
        sql(
            f"""
            select o.target_id, i.source_id
              from (select w.id from unnest(%(ids)s::text[]) as w(id)
                    union
                    select m.source_id from unnest(%(ids)s::text[]) as w(id)
                      join lateral (select * from merge_link m where m.space_id = %(space)s
                             and m.target_id = w.id and m.seq_from <= %(seq)s offset 0) m on true
                    union
                    select m.target_id from unnest(%(ids)s::text[]) as w(id)
                      join lateral (select * from merge_link m where m.space_id = %(space)s
                             and m.source_id = w.id and m.seq_from <= %(seq)s offset 0) m on true
                   ) s
              join lateral (select * from edge i where i.space_id = %(space)s
                     and i.target_id = s.id and i.field_lineage = 'inputs'
                     and {at_seq("i", seq)} offset 0) i on true
              join lateral (select * from edge o where o.space_id = %(space)s
                     and o.source_id = i.source_id and o.field_lineage = 'outputs'
                     and {at_seq("o", seq)} offset 0) o on true
              join {version("v", "o.target_id", seq)} on v.state not in ('tombstoned', 'purged')
             order by length(i.source_id), i.source_id, length(o.target_id), o.target_id
             limit %(limit)s
            """
        ),
        {"space": scope.space_id, "ids": list(sources), "seq": seq, "limit": limit},
    ).fetchall()
