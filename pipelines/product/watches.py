"""A caller's own subscription to one record: a Watch on what is claimed in its place.

The caller is one that the runtime authenticated (`storage.runtime.callers`). A Watch is armed once;
cancelling archives it, and the same operation never arms it again. What it has raised by then is
work of its own and stays in the inbox.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pipelines.product.records import product_record
from storage.canonical import digest
from storage.clock import now, to_text
from storage.database import Database, Scope, Transaction
from storage.errors import NotFound
from storage.graph import state
from storage.graph.changes import ChangeSet, CreateConcept, Link, Transition
from storage.graph.commit import commit, lock
from storage.kip.errors import IdempotencyConflict
from storage.runtime import record_watches
from storage.runtime.callers import CHANNEL, RuntimeCaller, person_change
from storage.runtime.record_watches import RecordWatch

WatchStatus = Literal["armed", "fired", "expired", "disarmed", "cancelled", "erased"]


@dataclass(frozen=True, slots=True)
class Subscription:
    """A Watch on a record, and what became of it."""

    operation_id: str
    record_id: str
    watch_ref: str
    status: WatchStatus
    cancelled_at: datetime | None


def create_record_watch(
    database: Database, scope: Scope, caller: RuntimeCaller, operation_id: str, record_id: str
) -> Subscription:
    """Watch a record; the same operation again is the same Watch, whatever became of it.

    Raises `NotFoundOrNotVisible`, and `IdempotencyConflict` for an operation on another record.
    """
    asked = digest({"record": record_id})
    with database.transaction(scope) as tx:
        lock(tx, scope)
        known = record_watches.find(tx, scope, caller.principal, operation_id)
        if known is None:
            watch = _arm(tx, scope, caller, record_id)
            record_watches.keep(
                tx,
                scope,
                caller.principal,
                operation_id,
                request_digest=asked,
                watch_ref=watch,
                record_id=record_id,
            )
            known = RecordWatch(operation_id, asked, watch, record_id, None)
        if known.request_digest != asked:
            raise IdempotencyConflict("This operation watches another record.")
        return _told(tx, scope, known)


def record_watch(
    database: Database, scope: Scope, caller: RuntimeCaller, operation_id: str
) -> Subscription:
    """What became of a Watch of the caller's own; raises `NotFound`."""
    with database.transaction(scope) as tx:
        return _told(tx, scope, _own(tx, scope, caller, operation_id))


def cancel_record_watch(
    database: Database, scope: Scope, caller: RuntimeCaller, operation_id: str
) -> Subscription:
    """Archive a Watch of the caller's own; again changes nothing. Raises `NotFound`."""
    with database.transaction(scope) as tx:
        lock(tx, scope)
        known = _own(tx, scope, caller, operation_id)
        stored = state.load(tx, scope, [known.watch_ref]).get(known.watch_ref)
        if stored is not None and stored.state == "active":
            changes = ChangeSet((Transition(known.watch_ref, "archived"),))
            commit(tx, scope, caller.author, changes, tx_class=CHANNEL)
        record_watches.cancelled(tx, scope, caller.principal, operation_id)
        return _told(tx, scope, _own(tx, scope, caller, operation_id))


def _own(tx: Transaction, scope: Scope, caller: RuntimeCaller, operation_id: str) -> RecordWatch:
    known = record_watches.find(tx, scope, caller.principal, operation_id)
    if known is None:
        raise NotFound("There is no such watch.")
    return known


def _arm(tx: Transaction, scope: Scope, caller: RuntimeCaller, record_id: str) -> str:
    at = now()
    record = product_record(tx, scope, record_id, at)
    # no word of the record goes into the Watch, so that erasing the record leaves none behind
    watch = CreateConcept(
        "?watch",
        "Watch",
        attributes={
            "summary": f"Record {record.id} is told differently",
            "watch_class": "delta",
            "status": "armed",
            "condition": {
                "slot": {"subject": record.subject.id, "predicate": record.predicate_ref}
            },
            "created_at": to_text(at),
        },
        links=(Link("watches", record.id), Link("assigned_to", "?who")),
    )
    changes = ChangeSet((person_change(caller, "?who"), watch))
    return commit(tx, scope, caller.author, changes, tx_class=CHANNEL).ids["?watch"]


def _told(tx: Transaction, scope: Scope, known: RecordWatch) -> Subscription:
    stored = state.load(tx, scope, [known.watch_ref]).get(known.watch_ref)
    status: WatchStatus = "erased"
    if stored is not None:
        status = (stored.doc.get("attributes") or {}).get("status", "armed")
        if known.cancelled_at is not None or stored.state != "active":
            status = "cancelled"
    return Subscription(
        known.operation_id, known.record_id, known.watch_ref, status, known.cancelled_at
    )
