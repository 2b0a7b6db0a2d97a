"""Committing many small changes: together where that works, each by itself where it does not."""

from __future__ import annotations

from collections.abc import Mapping

from storage.database import Scope, Transaction
from storage.graph.changes import Change, ChangeSet
from storage.graph.commit import commit
from storage.graph.errors import KipError

#: The path that writes, in the origin of elements and the channel of commits.
CHANNEL = "maintenance"


def commit_each(
    tx: Transaction, scope: Scope, principal: str, changes: Mapping[str, tuple[Change, ...]]
) -> tuple[list[str], dict[str, str]]:
    """Commit named groups of changes; says which were made and why others were refused (code).

    One group that is refused hinders no other. Handles must differ between groups.
    """
    if not changes:
        return [], {}
    try:
        with tx.transaction():
            together = tuple(change for group in changes.values() for change in group)
            commit(tx, scope, principal, ChangeSet(together), tx_class=CHANNEL)
        return list(changes), {}
    except KipError:
        pass
    made: list[str] = []
    refused: dict[str, str] = {}
    for name, group in changes.items():
        try:
            with tx.transaction():
                commit(tx, scope, principal, ChangeSet(group), tx_class=CHANNEL)
            made.append(name)
        except KipError as error:
            refused[name] = error.code
    return made, refused
