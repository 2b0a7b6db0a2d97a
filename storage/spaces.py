"""Spaces: the tenants. Table `space` (migration 0001)."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import class_row
from psycopg.sql import SQL, Identifier

from storage.database import Scope, Transaction
from storage.errors import Conflict, InvalidInput, NotFound
from storage.principals import SUBJECT_PREFIX, Principal

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


@dataclass(frozen=True, slots=True)
class Counts:
    """How much a space holds, and how far its work has come (seed 003, `SpaceInfo`).

    `formation_processed_id` and `maintenance_processed_id` are the last conversations that ended,
    0 when none has.
    """

    concepts: int
    propositions: int
    conversations: int
    formation_processed_id: int
    maintenance_processed_id: int
    formation_processing: bool
    maintenance_processing: bool


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


def ensure(tx: Transaction, scope: Scope, caller: Principal) -> None:
    """Make the space where there is none and the caller may write there; the caller owns it.

    The owner of a signed token's space is its subject, as for a space that a manager makes.
    """
    if not caller.scopes.isdisjoint(("write", "*")) and find(tx, scope) is None:
        # another request may make it in the same instant
        with contextlib.suppress(Conflict):
            create(tx, scope, owner=caller.subject.removeprefix(SUBJECT_PREFIX))


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


def update(
    tx: Transaction,
    scope: Scope,
    *,
    name: str | None = None,
    description: str | None = None,
    public: bool | None = None,
) -> None:
    """Change what is said of a space; None leaves a member as it is. Raises `NotFound`."""
    done = tx.execute(
        """
        update space set name = coalesce(%s, name), description = coalesce(%s, description),
               public = coalesce(%s, public), updated_at = now()
         where space_id = %s
        """,
        (name, description, public, scope.space_id),
    )
    if done.rowcount == 0:
        raise NotFound("There is no such space.")


def set_tier(tx: Transaction, scope: Scope, tier: int) -> None:
    """Set the tier; raises `NotFound`."""
    done = tx.execute(
        "update space set tier = %s, tier_updated_at = now(), updated_at = now()"
        " where space_id = %s",
        (tier, scope.space_id),
    )
    if done.rowcount == 0:
        raise NotFound("There is no such space.")


def counts(tx: Transaction, scope: Scope) -> Counts:
    """Count a space's contents without reading them; `NotFound` when there is no such space.

    Elements are counted from the counters that number them, less those that were purged.
    """
    row = tx.execute(
        """
        select coalesce((s.next_no->>'C')::bigint, 0) - (
                 select count(*) from element e where e.space_id = s.space_id and e.kind = 'C'
                    and e.purged_seq is not null),
               coalesce((s.next_no->>'P')::bigint, 0) - (
                 select count(*) from element e where e.space_id = s.space_id and e.kind = 'P'
                    and e.purged_seq is not null),
               (select count(*) from conversation c where c.space_id = s.space_id),
               (select coalesce(max(c.id), 0) from conversation c where c.space_id = s.space_id
                   and c.collection = 'formation' and c.final_status is not null),
               (select coalesce(max(c.id), 0) from conversation c where c.space_id = s.space_id
                   and c.collection = 'maintenance' and c.final_status is not null),
               exists (select from job j where j.space_id = s.space_id and j.kind = 'formation'
                   and j.state = 'running'),
               exists (select from job j where j.space_id = s.space_id and j.kind = 'maintenance'
                   and j.state = 'running')
          from space s where s.space_id = %s
        """,
        (scope.space_id,),
    ).fetchone()
    if row is None:
        raise NotFound("There is no such space.")
    return Counts(*row)


def delete(tx: Transaction, scope: Scope) -> None:
    """Delete a space and every row that carries its id, for throwaway spaces.

    Tables are found in the catalogue, so that none added later is forgotten. Not the way to forget
    content of a space that goes on: that is an erasure, which verifies itself.
    """
    tables = tx.execute(
        """
        select c.relname from pg_class c
          join pg_attribute a on a.attrelid = c.oid and a.attname = 'space_id' and a.attnum > 0
         where c.relkind in ('r', 'p') and not c.relispartition and c.relrowsecurity
           and c.relnamespace = current_schema()::regnamespace
           and has_table_privilege(c.oid, 'delete')
         order by c.relname = 'space', c.relname
        """
    ).fetchall()
    for (table,) in tables:
        tx.execute(
            SQL("delete from {} where space_id = %s").format(Identifier(table)), (scope.space_id,)
        )
