"""What a product host prepared for one of its callers. Table `product_request`.

A request is immutable. Its words are kept only until it ends, at most ten minutes: then ids and
digests stay, by which the same operation is known again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from storage.clock import now
from storage.database import Scope, Transaction

#: How long a prepared request may be committed.
LIFE = timedelta(minutes=10)

State = Literal["prepared", "committed", "discarded", "voided"]
_COLUMNS = (
    "operation_id, kind, record_id, revision, request, request_digest, preview, preview_digest,"
    " state, result, touched, expires_at"
)


@dataclass(frozen=True, slots=True)
class ProductRequest:
    """One operation. `voided`: its words were erased, or its time is over."""

    operation_id: str
    kind: str
    record_id: str
    revision: str
    request: dict[str, Any] | None
    request_digest: str
    preview: dict[str, Any] | None
    preview_digest: str
    state: State
    result: dict[str, Any] | None
    touched: list[str]
    expires_at: datetime


def find(tx: Transaction, scope: Scope, caller: str, operation_id: str) -> ProductRequest | None:
    """The caller's operation of that id, locked to the end of the transaction."""
    cursor = tx.cursor(row_factory=class_row(ProductRequest))
    return cursor.execute(
        f"select {_COLUMNS} from product_request"
        " where space_id = %s and caller = %s and operation_id = %s for update",
        (scope.space_id, caller, operation_id),
    ).fetchone()


def keep(
    tx: Transaction,
    scope: Scope,
    caller: str,
    operation_id: str,
    *,
    kind: str,
    record_id: str,
    revision: str,
    request: Mapping[str, Any],
    request_digest: str,
    preview: Mapping[str, Any],
    preview_digest: str,
    touched: Collection[str],
) -> ProductRequest:
    """Keep a new prepared request; those whose time is over lose their words meanwhile."""
    void_expired(tx, scope)
    at = now()
    tx.execute(
        "insert into product_request (space_id, caller, operation_id, kind, record_id, revision,"
        " request, request_digest, preview, preview_digest, state, touched, prepared_at,"
        " expires_at) values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 'prepared', %s, %s, %s)",
        (
            scope.space_id,
            caller,
            operation_id,
            kind,
            record_id,
            revision,
            Jsonb(dict(request)),
            request_digest,
            Jsonb(dict(preview)),
            preview_digest,
            sorted(touched),
            at,
            at + LIFE,
        ),
    )
    found = find(tx, scope, caller, operation_id)
    assert found is not None
    return found


def end(
    tx: Transaction,
    scope: Scope,
    caller: str,
    operation_id: str,
    state: State,
    result: Mapping[str, Any] | None = None,
) -> None:
    """End an operation, and take its words away; `result` has ids and states only."""
    tx.execute(
        "update product_request set state = %s, result = %s, request = null, preview = null,"
        " ended_at = %s where space_id = %s and caller = %s and operation_id = %s",
        (
            state,
            None if result is None else Jsonb(dict(result)),
            now(),
            scope.space_id,
            caller,
            operation_id,
        ),
    )


def void_expired(tx: Transaction, scope: Scope) -> None:
    """Take the words away from what was not committed in its time."""
    at = now()
    tx.execute(
        "update product_request set state = 'voided', request = null, preview = null, ended_at = %s"
        " where space_id = %s and state = 'prepared' and expires_at <= %s",
        (at, scope.space_id, at),
    )


def taken_back(tx: Transaction, scope: Scope, caller: str, operation_id: str) -> bool:
    """Whether a later operation of the caller's took a suppression back."""
    row = tx.execute(
        "select true from product_request where space_id = %s and caller = %s"
        " and kind = 'restore' and state = 'committed' and result ->> 'undoes' = %s limit 1",
        (scope.space_id, caller, operation_id),
    ).fetchone()
    return row is not None


def void_touching(tx: Transaction, scope: Scope, elements: Collection[str]) -> int:
    """Void what was prepared about erased elements; returns how many."""
    done = tx.execute(
        "update product_request set state = 'voided', request = null, preview = null, ended_at = %s"
        " where space_id = %s and state = 'prepared' and touched && %s",
        (now(), scope.space_id, sorted(elements)),
    )
    return done.rowcount


def unfinished(tx: Transaction, scope: Scope) -> list[tuple[str, str, str]]:
    """(caller, operation, plan) of deletions that were accepted and whose end is not known."""
    return tx.execute(
        "select caller, operation_id, result ->> 'plan_ref' from product_request"
        " where space_id = %s and kind = 'delete' and state = 'committed'"
        " and result ->> 'status' = 'accepted' order by ended_at, operation_id",
        (scope.space_id,),
    ).fetchall()
