"""Keys that this installation makes for itself, shared by all of its processes."""

from __future__ import annotations

import secrets

from storage.database import Scope, Transaction


def get_or_make(tx: Transaction, scope: Scope, purpose: str, *, size: int = 32) -> bytes:
    """The key of `purpose`, made by whoever asks first and the same for everyone after."""
    tx.execute(
        "insert into secret_key (space_id, purpose, key) values (%s, %s, %s)"
        " on conflict do nothing",
        (scope.space_id, purpose, secrets.token_bytes(size)),
    )
    row = tx.execute(
        "select key from secret_key where space_id = %s and purpose = %s",
        (scope.space_id, purpose),
    ).fetchone()
    assert row is not None
    return bytes(row[0])
