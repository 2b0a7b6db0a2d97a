"""Spaces: the tenants. Table `space` (migration 0001)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import class_row

from storage.database import Scope, Transaction
from storage.errors import Conflict, InvalidInput, NotFound

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Space:
    """One tenant. `head_seq` is the sequence of its last commit, 0 while it is empty."""

    space_id: str
    name: str | None
    description: str | None
    owner: str
    public: bool
    tier: int
    tier_updated_at: datetime
    settings: dict[str, Any]
    head_seq: int
    created_at: datetime
    updated_at: datetime


def scope_of(space_id: str) -> Scope:
    """The scope of a caller's space id; raises `InvalidInput` for what can be none."""
    if _NAME.fullmatch(space_id) is None:
        raise InvalidInput(
            "A space id has 1 to 128 letters, digits, '_', '.' or '-', and starts with a letter "
            "or digit.",
            field="space_id",
        )
    return Scope(space_id)


def create(tx: Transaction, scope: Scope, *, owner: str, tier: int = 0) -> None:
    """Create the space; raises `Conflict` when it exists."""
    done = tx.execute(
        "insert into space (space_id, owner, tier) values (%s, %s, %s) on conflict do nothing",
        (scope.space_id, owner, tier),
    )
    if done.rowcount == 0:
        raise Conflict("A space with this id exists already.")


def find(tx: Transaction, scope: Scope) -> Space | None:
    """The space, or None."""
    cursor = tx.cursor(row_factory=class_row(Space))
    return cursor.execute(
        "select space_id, name, description, owner, public, tier, tier_updated_at, settings,"
        " head_seq, created_at, updated_at from space where space_id = %s",
        (scope.space_id,),
    ).fetchone()


def get(tx: Transaction, scope: Scope) -> Space:
    """The space; raises `NotFound`."""
    space = find(tx, scope)
    if space is None:
        raise NotFound("There is no such space.")
    return space
