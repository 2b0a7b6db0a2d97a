"""Erasing chosen elements for good: what goes with them, what keeps them, and how many that makes.

With an element goes what says nothing without it: with a concept the propositions that it stands
in, with a proposition the assertions about it, and so on. Whatever else refers to it keeps it
(`PurgeDenied`), unless that goes in the same request, and so does a legal hold on any part
(`LegalHoldConflict`). Activities keep nothing: they are the record of what was done, and point to
the stub that a purge leaves behind. One element that must stay keeps no other from going.

All happens in the caller's transaction; a trial is the same, rolled back.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storage.database import Scope, Transaction, sql
from storage.erasure.elements import unwind
from storage.graph import state
from storage.graph.changes import ChangeSet, Purge
from storage.graph.commit import commit, lock
from storage.graph.state import version

#: Elements that one request erases at most, with all that goes with them.
MAX_ERASED = 10_000
#: Referrers that a refusal names.
_NAMED = 3
_ID = re.compile(r"[CPAEX]-[1-9][0-9]{0,17}", re.ASCII)
_COUNTED = {
    "C": "deleted_concepts",
    "P": "deleted_propositions",
    "A": "deleted_assertions",
    "E": "deleted_evidence",
    "X": "deleted_activities",
}

# Laterals with a limit are index probes. A proposition is met from both of its ends, anything else
# once, so that twice `most` rows hold `most` parts or more.
_PARTS = sql(
    """
    select w.id, p.id from unnest(%(ids)s::text[]) as w(id) cross join lateral (
        select id from proposition where space_id = %(space)s and subject_id = w.id
         limit %(most)s) p
    union all
    select w.id, p.id from unnest(%(ids)s::text[]) as w(id) cross join lateral (
        select id from proposition where space_id = %(space)s and object_key = 'e:' || w.id
         limit %(most)s) p
    union all
    select w.id, a.id from unnest(%(ids)s::text[]) as w(id) cross join lateral (
        select id from assertion where space_id = %(space)s and proposition_id = w.id
         limit %(most)s) a
    limit 2 * %(most)s
    """
)
_HELD = sql(
    f"""
    select w.id from unnest(%(ids)s::text[]) as w(id)
      join {version("v", "w.id")} on (v.doc #>> '{{retention,legal_hold}}') = 'true'
    """
)
_EXISTING = sql(
    """
    select w.id from unnest(%(ids)s::text[]) as w(id)
      join lateral (select id from element e where e.space_id = %(space)s and e.id = w.id
             and e.purged_seq is null limit 1) e on true
    """
)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What became of a request: its elements in order, and the numbers of all that was erased.

    `existed` and `error` are by element; `seq` is the sequence of the commit, None when nothing
    was erased.
    """

    entities: tuple[str, ...]
    existed: frozenset[str]
    errors: Mapping[str, str]
    erased: frozenset[str]
    seq: int | None
    head_seq: int

    def as_json(self, *, dry_run: bool) -> dict[str, Any]:
        """`MemoryForgetReport` of seed 003."""
        count = Counter(element[0] for element in self.erased)
        entities: list[dict[str, Any]] = []
        for entity in self.entities:
            told: dict[str, Any] = {"entity": entity, "existed": entity in self.existed}
            if entity in self.errors:
                told["error"] = self.errors[entity]
            entities.append(told)
        return {
            "dry_run": dry_run,
            **{name: count[kind] for kind, name in _COUNTED.items()},
            "entities": entities,
        }


def forget(tx: Transaction, scope: Scope, principal: str, entities: Iterable[str]) -> Forgotten:
    """Erase the elements, and what goes with them, from the present and from history.

    An element that must stay is named with its error and hinders no other; one that does not
    exist (or no more) has not `existed`, and that is no error. Raises `NotFound` for an unknown
    space.
    """
    lock(tx, scope)
    asked = tuple(dict.fromkeys(entities))
    errors = {
        entity: "InvalidInput: this is no id of an element (C-…, P-…, A-…, E-… or X-…)."
        for entity in asked
        if _ID.fullmatch(entity) is None
    }
    existed = _existing(tx, scope, [entity for entity in asked if entity not in errors])
    with_parts = _with_parts(tx, scope, [entity for entity in asked if entity in existed])
    for entity in existed - with_parts.keys():
        errors[entity] = (
            f"ResultLimitExceeded: more than {MAX_ERASED} elements would go in one request."
        )
    erased = _erasable(tx, scope, with_parts, errors)
    unwind(tx, scope, [id for id in erased if id[0] == "E"])
    made = commit(
        tx,
        scope,
        principal,
        ChangeSet(tuple(Purge(id, policy="tombstone_reference") for id in sorted(erased))),
        tx_class="forget",
    )
    return Forgotten(asked, existed, errors, erased, made.seq, made.head_seq)


def _existing(tx: Transaction, scope: Scope, ids: Sequence[str]) -> frozenset[str]:
    rows = tx.execute(_EXISTING, {"space": scope.space_id, "ids": list(ids)})
    return frozenset(id for (id,) in rows)


def _with_parts(
    tx: Transaction, scope: Scope, entities: Sequence[str]
) -> dict[str, frozenset[str]]:
    """Each element with what says nothing without it.

    Those whose parts were not all seen within `MAX_ERASED` elements are left out.
    """
    parts: dict[str, set[str]] = {entity: set() for entity in entities}
    fresh = sorted(parts)
    unseen = set(fresh)
    most = MAX_ERASED + 1
    while fresh and len(parts) < most:
        rows = tx.execute(_PARTS, {"space": scope.space_id, "ids": fresh, "most": most}).fetchall()
        if len(rows) < 2 * most:
            unseen.difference_update(fresh)
        for whole, part in rows:
            parts[whole].add(part)
        fresh = sorted({part for _, part in rows} - parts.keys())
        unseen.update(fresh)
        parts.update((part, set()) for part in fresh)
    reached = {entity: _reached(parts, entity) for entity in entities}
    return {entity: found for entity, found in reached.items() if not found & unseen}


def _reached(parts: Mapping[str, Collection[str]], entity: str) -> frozenset[str]:
    found = {entity}
    ahead = [entity]
    while ahead:
        further = set(parts[ahead.pop()]) - found
        found |= further
        ahead += further
    return frozenset(found)


def _erasable(
    tx: Transaction,
    scope: Scope,
    with_parts: Mapping[str, frozenset[str]],
    errors: dict[str, str],
) -> frozenset[str]:
    """All that may go; notes in `errors` why the others stay.

    Who stays may be what refers to another, so that is asked again until nobody drops out.
    """
    going = dict(with_parts)
    held = _held(tx, scope, frozenset().union(*going.values()))
    for entity in [entity for entity, parts in going.items() if parts & held]:
        kept = sorted(going.pop(entity) & held)
        errors[entity] = f"LegalHoldConflict: a legal hold keeps {_list(kept)}."
    referrers = state.referrers(tx, scope, frozenset().union(*going.values())) if going else {}
    while going:
        together = frozenset().union(*going.values())
        kept_by = {
            entity: sorted(
                {
                    referrer
                    for part in parts
                    for referrer in referrers.get(part, set()) - together
                    if referrer[0] != "X"
                }
            )
            for entity, parts in going.items()
        }
        staying = [entity for entity, refs in kept_by.items() if refs]
        if not staying:
            return together
        for entity in staying:
            del going[entity]
            errors[entity] = (
                f"PurgeDenied: {_list(kept_by[entity])} still refer to it or to what would go "
                "with it; forget those in the same request, or first."
            )
    return frozenset()


def _held(tx: Transaction, scope: Scope, ids: Collection[str]) -> frozenset[str]:
    rows = tx.execute(_HELD, {"space": scope.space_id, "ids": sorted(ids)})
    return frozenset(id for (id,) in rows)


def _list(ids: Sequence[str]) -> str:
    named = ", ".join(ids[:_NAMED])
    return f"{named} and others" if len(ids) > _NAMED else named
