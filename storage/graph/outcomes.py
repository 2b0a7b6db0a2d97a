"""Outcomes of keyed requests: the same key and request give the same answer, once and for all.

A key belongs to a principal, a space and a class of endpoints. Looked up under the lock of the
space, two requests with one key take turns, and the second finds what the first came to, also when
that was nothing (contract kip-engine section 7). Aborted attempts keep nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from storage.database import Scope, Transaction
from storage.graph.errors import IdempotencyConflict

#: How long an outcome is kept at least; `forget` removes older ones.
RETENTION = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a keyed request came to. `tx_id` is None when it changed nothing."""

    tx_id: str | None
    request_digest: str
    outcome: Mapping[str, Any]
    created_at: datetime


def find(
    tx: Transaction,
    scope: Scope,
    principal: str,
    endpoint: str,
    key: str,
    request_digest: str | None = None,
) -> Outcome | None:
    """What the key was used for, None when it is new.

    Raises `IdempotencyConflict` when it was used for a request of another digest.
    """
    row = tx.execute(
        "select tx_id, request_digest, outcome, created_at from idem where space_id = %s"
        " and principal = %s and op_class = %s and key = %s",
        (scope.space_id, principal, endpoint, key),
    ).fetchone()
    if row is None:
        return None
    found = Outcome(*row)
    if request_digest is not None and found.request_digest != request_digest:
        raise IdempotencyConflict("This idempotency key was used for another request.")
    return found


def keep(
    tx: Transaction,
    scope: Scope,
    principal: str,
    endpoint: str,
    key: str,
    request_digest: str,
    outcome: Mapping[str, Any],
    *,
    tx_id: str | None,
    at: datetime,
) -> None:
    """Keep an outcome, in the transaction that it came of."""
    tx.execute(
        "insert into idem (space_id, principal, op_class, key, request_digest, tx_id, outcome,"
        " created_at) values (%s, %s, %s, %s, %s, %s, %s, %s)",
        (
            scope.space_id,
            principal,
            endpoint,
            key,
            request_digest,
            tx_id,
            json.dumps(outcome, ensure_ascii=False),
            at,
        ),
    )


def forget(tx: Transaction, scope: Scope, before: datetime) -> int:
    """Remove the outcomes from before a time; says how many there were."""
    return tx.execute(
        "delete from idem where space_id = %s and created_at < %s", (scope.space_id, before)
    ).rowcount
