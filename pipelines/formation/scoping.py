"""The scope of a turn, put on everything that it writes, in the transaction that writes it.

A claim carries the canonical context set; evidence, events, insights, experiences and commitments
carry the facet `MemoryScope`. The Event of a handle that no change has named yet is made in the
same commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from storage.database import Scope, Transaction
from storage.graph.changes import (
    Change,
    ChangeSet,
    CreateAssertion,
    CreateEvidence,
    UpsertConcept,
)
from storage.graph.commit import lock, preview
from storage.graph.errors import IdentityConflict
from storage.memory_scopes import FACET, MemoryScope, elements, facet, is_handle, upsert

#: The types whose concepts belong to the scope that they were formed in.
SCOPED_TYPES = frozenset({"Event", "Insight", "Experience", "Commitment"})


@dataclass(frozen=True, slots=True)
class Scoped:
    """A turn's changes in their scope. `made` are the handles' Events that come with them.

    `expected` has the ids that those Events must get, which the changes name already.
    """

    changes: ChangeSet
    contexts: frozenset[str]
    facet: Mapping[str, Any] | None
    expected: Mapping[str, str]


def scoped(tx: Transaction, scope: Scope, changes: ChangeSet, wanted: MemoryScope) -> Scoped:
    """Put a turn into its scope; takes the space's lock, which the commit then holds.

    Raises `NotFoundOrNotVisible` for an id that is no active Concept any more.
    """
    if not wanted.handles:
        return Scoped(changes, frozenset(), None, {})
    lock(tx, scope)
    found = dict(elements(tx, scope, wanted))
    missing = [handle for handle in wanted.handles if handle not in found and is_handle(handle)]
    makers = tuple(upsert(handle, f"?scope{n}") for n, handle in enumerate(missing))
    expected: dict[str, str] = {}
    if makers:
        # facets name elements by id, so the ids are asked for before the commit gives them out
        expected = dict(preview(tx, scope, ChangeSet(makers)).ids)
        found |= {h: expected[m.handle] for h, m in zip(missing, makers, strict=True)}
    contexts = frozenset(found[handle] for handle in wanted.handles)
    # contexts are references: to an Event of this very commit by its handle
    named = {element: handle for handle, element in expected.items()}
    references = tuple(named.get(element, element) for element in sorted(contexts))
    said = facet(wanted, found)
    put = tuple(_put(change, references, said) for change in changes.changes)
    return Scoped(
        ChangeSet((*makers, *put), changes.wording), frozenset(references), said, expected
    )


def verify(made: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """Raises `IdentityConflict` when a scope's Event got another id than the changes name."""
    if any(made.get(handle) != element for handle, element in expected.items()):
        raise IdentityConflict("The scope's Event was made under another id; try again.")


def _put(change: Change, contexts: tuple[str, ...], said: Mapping[str, Any]) -> Change:
    match change:
        case CreateAssertion():
            return replace(change, contexts=contexts)
        case CreateEvidence():
            return replace(change, facets={**change.facets, FACET: said})
        case UpsertConcept(type=type_name) if type_name in SCOPED_TYPES:
            return replace(change, facets={**change.facets, FACET: said})
    return change
