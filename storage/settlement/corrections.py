"""Corrections found in the change stream: claims superseded, evidence corrected.

The cursor is durable and moves in the transaction that counts what it has passed, so that every
correction is counted once; it may stand within a transaction of many changes. A scan that fails
moves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from storage import maintenance_runs
from storage.database import Scope, Transaction, sql
from storage.graph import state, transactions
from storage.graph.changes import Change, UpsertConcept
from storage.graph.commit import lock
from storage.graph.state import at_seq
from storage.settlement.tasks import task
from storage.settlement.writing import commit_each

#: Entries of envelopes that one step reads, and that one run reads at most.
_PAGE, MOST = 10_000, 200_000
#: Corrected roots that a report lists, and dependents of one.
ROOTS, DEPENDENTS = 50, 20
_CORRECTED = {"assertion": "superseded", "evidence": "corrected"}
_BY = ("superseded_by", "corrected_by")


def scan(
    tx: Transaction, scope: Scope, principal: str, told: dict[str, Any]
) -> tuple[dict[str, Any], bool]:
    """Read the next page of the stream.

    Returns what was found so far (`new_corrections`; `revised_roots` with what rests on each;
    `through`, the last transaction read whole; `incomplete`, whether there is more) and whether
    this run is done with it. What rests on a root gets a task to be looked at again.
    """
    told = {"new_corrections": 0, "revised_roots": [], "read": 0, **told}
    head = lock(tx, scope).head_seq
    upkeep = maintenance_runs.read(tx, scope)
    through, skip = upkeep.corrections_seq, upkeep.corrections_entry
    left = _PAGE
    roots: dict[str, int] = {}
    for record in _records(tx, scope, through):
        entries = record.changes[skip : skip + left]
        roots.update((entry["id"], record.seq) for entry in entries if _corrects(entry))
        left -= max(1, len(entries))
        told["read"] += max(1, len(entries))
        if skip + len(entries) < len(record.changes):
            skip += len(entries)
            break
        through, skip = record.seq, 0
        if left <= 0:
            break
    revised = _revised(tx, scope, roots)
    told["new_corrections"] += len(roots)
    told["revised_roots"] = [*told["revised_roots"], *revised][:ROOTS]
    commit_each(tx, scope, principal, {root["id"]: _reviews(root) for root in revised})
    maintenance_runs.advance(tx, scope, corrections_seq=through, corrections_entry=skip)
    maintenance_runs.add(tx, scope, corrections=len(roots))
    told["through"] = through
    # the tasks that were just made are no corrections
    told["incomplete"] = through < head
    return told, through >= head or told["read"] >= MOST


def _records(tx: Transaction, scope: Scope, after: int) -> Iterator[transactions.Record]:
    """The stream after a sequence, fetched in growing portions: one record may be of any size."""
    portion = 8
    while records := transactions.between(tx, scope, after=after, limit=portion):
        yield from records
        after, portion = records[-1].seq, min(_PAGE, portion * 2)


def _corrects(entry: Mapping[str, Any]) -> bool:
    wanted = _CORRECTED.get(entry["kind"])
    return wanted is not None and entry.get("state", {}).get("to") == wanted


def _revised(tx: Transaction, scope: Scope, roots: Mapping[str, int]) -> list[dict[str, Any]]:
    """Corrected elements, what took their place, and what an Activity made of them."""
    if not roots:
        return []
    stored = state.load(tx, scope, roots.keys())
    dependents: dict[str, list[str]] = {}
    rows = tx.execute(
        sql(
            f"""
            select w.id, o.target_id from unnest(%(ids)s::text[]) as w(id)
              cross join lateral (
                select distinct o.target_id from edge i
                  join edge o on o.space_id = %(space)s and o.source_id = i.source_id
                   and o.field_lineage = 'outputs' and {at_seq("o", None)}
                 where i.space_id = %(space)s and i.target_id = w.id
                   and i.field_lineage = 'inputs' and {at_seq("i", None)}
                 order by o.target_id limit %(limit)s) o
            """
        ),
        {"space": scope.space_id, "ids": sorted(roots), "limit": DEPENDENTS},
    )
    for root, dependent in rows:
        dependents.setdefault(root, []).append(dependent)
    told = []
    for root, seq in roots.items():
        found = stored.get(root)
        by = [found.doc[name] for name in _BY if found and name in found.doc]
        told.append(
            {
                "id": root,
                "seq": seq,
                **({"by": by[0]} if by else {}),
                "dependents": dependents.get(root, []),
            }
        )
    return told


def _reviews(root: Mapping[str, Any]) -> tuple[Change, ...]:
    """A task to look again at what rests on a corrected root; none where nothing does."""
    dependents: Sequence[str] = [id for id in root["dependents"] if id != root.get("by")]
    if not dependents:
        return ()
    made: UpsertConcept = task(
        "review_derived",
        root["id"],
        f"Look again at what was made of {root['id']}, which was corrected.",
        {"root": root["id"], "dependents": list(dependents)},
    )
    return (made,)
