"""Watches of callers on one record each. Table `product_watch`.

The row outlives the Watch, so that a subscription that was cancelled is never granted anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from storage.clock import now
from storage.database import Scope, Transaction


@dataclass(frozen=True, slots=True)
class RecordWatch:
    """One subscription."""

    operation_id: str
    request_digest: str
    watch_ref: str
    record_id: str
    cancelled_at: datetime | None


def find(tx: Transaction, scope: Scope, caller: str, operation_id: str) -> RecordWatch | None:
    """The caller's subscription of that operation, locked to the end of the transaction."""
    cursor = tx.cursor(row_factory=class_row(RecordWatch))
    return cursor.execute(
        "select operation_id, request_digest, watch_ref, record_id, cancelled_at"
        " from product_watch where space_id = %s and caller = %s and operation_id = %s for update",
        (scope.space_id, caller, operation_id),
    ).fetchone()


def keep(
    tx: Transaction,
    scope: Scope,
    caller: str,
    operation_id: str,
    *,
    request_digest: str,
    watch_ref: str,
    record_id: str,
) -> None:
    """Keep that a Watch was armed for the caller."""
    tx.execute(
        "insert into product_watch (space_id, caller, operation_id, request_digest, watch_ref,"
        " record_id, created_at) values (%s, %s, %s, %s, %s, %s, %s)",
        (scope.space_id, caller, operation_id, request_digest, watch_ref, record_id, now()),
    )


def cancelled(tx: Transaction, scope: Scope, caller: str, operation_id: str) -> None:
    """Keep that it was cancelled; the first time counts."""
    tx.execute(
        "update product_watch set cancelled_at = coalesce(cancelled_at, %s)"
        " where space_id = %s and caller = %s and operation_id = %s",
        (now(), scope.space_id, caller, operation_id),
    )
