"""Scopes of the Memory Interface: exact handles that stand for Concepts (seed 003 section 3).

A handle is the id of an active Concept of the space, or a string of the host's own, which stands
for the `Event` of class `memory_scope` with the key `memory_scope:<handle>`. Names and topics never
select a scope. The Event is made by the first change that names the handle; a recall makes none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storage.database import Scope, Transaction, sql
from storage.graph import state
from storage.graph.changes import UpsertConcept
from storage.graph.errors import NotFoundOrNotVisible
from storage.graph.schema import environment, lineage_of

EVENT_CLASS = "memory_scope"
#: The facet that carries the scope of evidence, events, insights, experiences and commitments.
FACET = "MemoryScope"
_LINEAGE = "kip://profiles/cognitive-memory/MemoryScope"
_ID = re.compile(r"C-[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class MemoryScope:
    """A request's scope. Handles are kept as they were given; `elements` has those that exist.

    No task and no context is the scope of everything that carries none.
    """

    task: str | None = None
    contexts: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: dict[str, Any] | None) -> MemoryScope:
        """The scope of a request, its contexts sorted and each once."""
        given = given or {}
        return cls(given.get("task_ref"), tuple(sorted(set(given.get("context_refs") or ()))))

    @property
    def handles(self) -> tuple[str, ...]:
        """Every handle, the task's first, each once."""
        task = () if self.task is None else (self.task,)
        return tuple(dict.fromkeys((*task, *self.contexts)))

    def as_json(self) -> dict[str, Any]:
        """The wire form, without members that say nothing."""
        told: dict[str, Any] = {}
        if self.task is not None:
            told["task_ref"] = self.task
        if self.contexts:
            told["context_refs"] = list(self.contexts)
        return told


#: The scope of everything that carries none.
UNSCOPED = MemoryScope()


def elements(tx: Transaction, scope: Scope, wanted: MemoryScope) -> dict[str, str]:
    """The Concepts that handles stand for; a string that no change has named yet is left out.

    Whatever became of a scope's Event short of its erasure, it is still that scope; a merged one
    is the one it was merged into. Raises `NotFoundOrNotVisible` for an id that is no active
    Concept here.
    """
    ids = [handle for handle in wanted.handles if _ID.fullmatch(handle)]
    stored = state.load(tx, scope, ids)
    for handle in ids:
        found = stored.get(handle)
        if found is None or found.kind != "C" or found.state != "active":
            raise NotFoundOrNotVisible(f"There is no element {handle!r} here.")
    strings = [handle for handle in wanted.handles if handle not in stored]
    lineage = environment(tx, scope).type("Event").lineage
    known = state.concepts_by_key(tx, scope, [(lineage, key_of(handle)) for handle in strings])
    named = {handle: known.get((lineage, key_of(handle))) for handle in strings}
    canonical = _canonical(tx, scope, [found for found in named.values() if found is not None])
    return {
        **{handle: handle for handle in ids},
        **{handle: canonical.get(i, i) for handle, i in named.items() if i is not None},
    }


def contexts_of(wanted: MemoryScope, found: Mapping[str, str]) -> frozenset[str] | None:
    """The canonical context set: the task's Concept and each context's.

    None when a handle stands for nothing yet, so that nothing can be of that scope.
    """
    if any(handle not in found for handle in wanted.handles):
        return None
    return frozenset(found[handle] for handle in wanted.handles)


def facet(wanted: MemoryScope, found: Mapping[str, str]) -> dict[str, Any]:
    """What the facet says of a record of this scope; every handle must stand for a Concept."""
    return {
        "task_ref": None if wanted.task is None else found[wanted.task],
        "context_refs": sorted({found[handle] for handle in wanted.contexts}),
    }


def of_record(doc: Mapping[str, Any]) -> frozenset[str]:
    """The context set that an element's facet gives it; empty for one without a scope."""
    for ref, values in (doc.get("facets") or {}).items():
        if lineage_of(ref) == _LINEAGE:
            task = values.get("task_ref")
            return frozenset([*([task] if task else []), *values.get("context_refs", ())])
    return frozenset()


def of_elements(tx: Transaction, scope: Scope, ids: Collection[str]) -> dict[str, frozenset[str]]:
    """The context sets that their facets give to elements, at present; unknown ids are left out."""
    rows = tx.execute(
        sql(
            "select w.id, v.doc -> 'facets' from unnest(%(ids)s::text[]) as w(id)"
            f" join {state.version('v', 'w.id')} on true"
        ),
        {"space": scope.space_id, "ids": sorted(ids)},
    )
    return {element: of_record({"facets": facets}) for element, facets in rows}


def key_of(handle: str) -> str:
    """The key of the Event that stands for a host's handle."""
    return f"memory_scope:{handle}"


def upsert(handle: str, reference: str) -> UpsertConcept:
    """The change that makes the Event of a handle where there is none, under a reference."""
    return UpsertConcept(
        reference,
        type="Event",
        key=key_of(handle),
        initial_attributes={"summary": f"Memory scope {handle}"[:500], "event_class": EVENT_CLASS},
    )


def is_handle(handle: str) -> bool:
    """Whether it is a host's own string rather than the id of a Concept."""
    return _ID.fullmatch(handle) is None


def _canonical(tx: Transaction, scope: Scope, ids: Sequence[str]) -> dict[str, str]:
    rows = tx.execute(
        "select w.id, m.target_id from unnest(%s::text[]) as w(id)"
        " join lateral (select target_id from merge_link m where m.space_id = %s"
        " and m.source_id = w.id limit 1) m on true",
        (list(ids), scope.space_id),
    )
    return dict(rows.fetchall())
