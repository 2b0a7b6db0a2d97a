"""Space tokens: opaque credentials of one space, kept as a hash only. Table `space_token`."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.errors import UniqueViolation
from psycopg.rows import class_row

from storage.database import Scope, Transaction
from storage.errors import Conflict

#: What every space token begins with (seed 003 section 2).
PREFIX = "ST"
_SHOWN = 8
_COLUMNS = "name, shown, scope, labels, usage, created_at, updated_at, expires_at"


@dataclass(frozen=True, slots=True)
class SpaceToken:
    """A token as it may be shown: `shown` is its beginning. `labels` None: not limited."""

    name: str
    shown: str
    scope: str
    labels: list[str] | None
    usage: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None


def add(
    tx: Transaction,
    scope: Scope,
    *,
    name: str,
    token_scope: str,
    labels: Sequence[str] | None = None,
    expires_at: datetime | None = None,
) -> tuple[str, SpaceToken]:
    """Make a token; its full value is returned here and nowhere else.

    Raises `Conflict` for a name that is taken; the caller's transaction is then to be rolled back.
    """
    value = PREFIX + secrets.token_urlsafe(32)
    try:
        tx.execute(
            "insert into space_token (space_id, name, hash, shown, scope, labels, expires_at)"
            " values (%s, %s, %s, %s, %s, %s, %s)",
            (
                scope.space_id,
                name,
                _hash(value),
                value[:_SHOWN],
                token_scope,
                None if labels is None else sorted(set(labels)),
                expires_at,
            ),
        )
    except UniqueViolation:
        raise Conflict("A token of this name exists already; revoke it first.") from None
    found = _find(tx, scope, name)
    assert found is not None
    return value, found


def listed(tx: Transaction, scope: Scope) -> list[SpaceToken]:
    """Every token of the space, the oldest first; expired ones too."""
    return (
        tx.cursor(row_factory=class_row(SpaceToken))
        .execute(
            f"select {_COLUMNS} from space_token where space_id = %s order by created_at, name",
            (scope.space_id,),
        )
        .fetchall()
    )


def revoke(
    tx: Transaction, scope: Scope, *, name: str | None = None, value: str | None = None
) -> bool:
    """Remove the token of that name, or of that full value; whether there was one.

    Where both are said, it is the token that has both. Saying neither names none.
    """
    if name is None and value is None:
        return False
    done = tx.execute(
        "delete from space_token where space_id = %(space)s"
        " and name = coalesce(%(name)s, name) and hash = coalesce(%(hash)s, hash)",
        {
            "space": scope.space_id,
            "name": name,
            "hash": None if value is None else _hash(value),
        },
    )
    return done.rowcount > 0


def used(tx: Transaction, scope: Scope, value: str) -> SpaceToken | None:
    """The valid token of that value, its use counted; None for any other."""
    row = (
        tx.cursor(row_factory=class_row(SpaceToken))
        .execute(
            f"""
            update space_token set usage = usage + 1, updated_at = now()
             where space_id = %s and hash = %s and (expires_at is null or expires_at > now())
            returning {_COLUMNS}
            """,
            (scope.space_id, _hash(value)),
        )
        .fetchone()
    )
    return row


def is_valid(tx: Transaction, scope: Scope, value: str) -> bool:
    """Whether the token of that value would be let in now; looking is no use of it."""
    row = tx.execute(
        "select from space_token where space_id = %s and hash = %s"
        " and (expires_at is null or expires_at > now())",
        (scope.space_id, _hash(value)),
    ).fetchone()
    return row is not None


def _find(tx: Transaction, scope: Scope, name: str) -> SpaceToken | None:
    return (
        tx.cursor(row_factory=class_row(SpaceToken))
        .execute(
            f"select {_COLUMNS} from space_token where space_id = %s and name = %s",
            (scope.space_id, name),
        )
        .fetchone()
    )


def _hash(value: str) -> bytes:
    """A token has 256 bits of chance, so that a plain hash cannot be guessed back."""
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).digest()
