"""Pinned elements: kept whatever their retention would have said (seed 003, `memory/pin`)."""

from __future__ import annotations

from storage.database import Scope, Transaction
from storage.errors import NotFound
from storage.graph import state
from storage.graph.changes import ChangeSet, SetRetention
from storage.graph.commit import commit, lock

#: The retention class of what is pinned.
PINNED = "pinned"


def pin(tx: Transaction, scope: Scope, principal: str, entity: str, *, pinned: bool) -> int:
    """Pin the element, or let it go again; says how many retention records changed (0 or 1).

    Unpinning an element of another class leaves it as it is. Everything else that is said of its
    retention stays, too. Raises `NotFound` for an unknown space or element.
    """
    lock(tx, scope)
    found = state.load(tx, scope, [entity]).get(entity)
    if found is None:
        raise NotFound("There is no such element in this space.")
    if (found.doc.get("retention", {}).get("retention_class") == PINNED) == pinned:
        return 0
    change = SetRetention(entity, {"retention_class": PINNED if pinned else None})
    made = commit(tx, scope, principal, ChangeSet((change,)), tx_class="pin")
    return len(made.changes)
