"""Answers to what was asked, and statements of agents about a wake.

An answer must meet an ask that was committed, from the one who was asked, in time. It becomes
Evidence of its author and opens another wake, for which a gate decides anew; it permits nothing.
A statement becomes Evidence and an Activity, never an outcome: nobody grades himself.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg.rows import class_row

from storage.canonical import digest
from storage.clock import now
from storage.database import Database, Scope, Transaction
from storage.errors import Conflict, IdempotencyConflict, NotAuthorized, NotFound
from storage.graph.changes import ChangeSet, CreateActivity, CreateEvidence, Link
from storage.graph.commit import Commit, commit, lock
from storage.ids import new_id
from storage.runtime import callers, conflicts, wakes
from storage.runtime.callers import CHANNEL, RuntimeCaller
from storage.runtime.wakes import Item

#: Longest event key, in bytes.
MAX_EVENT_KEY = 256

Kind = Literal["clarification", "agent_statement"]


@dataclass(frozen=True, slots=True)
class Response:
    """What a caller says about a wake."""

    kind: Kind
    event_key: str
    text: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What came of it."""

    receipt_id: str
    body_digest: str
    status: str
    evidence_ref: str

    def as_json(self) -> dict[str, Any]:
        """The wire form, `ResponseReceipt` of seed 003."""
        return {
            "receipt_id": self.receipt_id,
            "status": self.status,
            "evidence_ref": self.evidence_ref,
        }


def respond(
    database: Database, scope: Scope, caller: RuntimeCaller, wake_id: str, response: Response
) -> Receipt:
    """Take a response, in transactions of its own; the same one again has the same receipt.

    Raises `NotFound` for a wake that the caller may not see, `IdempotencyConflict` when the event
    was told differently before (that is kept), and for an answer `Conflict` where nothing was
    asked, or not any more, and `NotAuthorized` where somebody else was.
    """
    with database.transaction(scope) as tx:
        lock(tx, scope)
        at = now()
        item = wakes.find(tx, scope, caller, wake_id, at)
        if item is None:
            raise NotFound("There is no such wake here.")
        told = {"kind": response.kind, "text": response.text, "by": caller.principal}
        body_digest = digest({"wake": item.wake.id, **told})
        known = _known(tx, scope, caller, response.event_key)
        if known is None:
            return _take(tx, scope, caller, item, response, body_digest, at)
        if known.body_digest == body_digest:
            return known
        conflicts.keep(tx, scope, "response", caller.principal, response.event_key, body_digest)
    raise IdempotencyConflict("This event was told differently before; use a new event_key.")


def _known(tx: Transaction, scope: Scope, caller: RuntimeCaller, event_key: str) -> Receipt | None:
    cursor = tx.cursor(row_factory=class_row(Receipt))
    return cursor.execute(
        "select receipt_id, body_digest, status, evidence_ref from runtime_response"
        " where space_id = %s and principal = %s and event_key = %s",
        (scope.space_id, caller.principal, event_key),
    ).fetchone()


def _take(
    tx: Transaction,
    scope: Scope,
    caller: RuntimeCaller,
    item: Item,
    response: Response,
    body_digest: str,
    at: datetime,
) -> Receipt:
    receipt = new_id("rsp")
    if response.kind == "clarification":
        _check_ask(caller, item)
        made = _commit_answer(tx, scope, caller, item, response.text, at)
        status = "gate_opened"
        assert item.gate is not None
        wakes.open_child(tx, scope, item.wake, receipt, made.head_seq)
        tx.execute(
            "update runtime_gate set answered_by = %s where space_id = %s and gate_ref = %s",
            (receipt, scope.space_id, item.gate.gate_ref),
        )
    else:
        made = _commit_statement(tx, scope, caller, item, response.text, at)
        status = "recorded"
    kept = Receipt(receipt, body_digest, status, made.ids["?said"])
    tx.execute(
        "insert into runtime_response (space_id, receipt_id, wake_id, principal, event_key,"
        " body_digest, kind, status, evidence_ref, activity_ref, created_at)"
        " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        (
            scope.space_id,
            receipt,
            item.wake.id,
            caller.principal,
            response.event_key,
            body_digest,
            response.kind,
            status,
            kept.evidence_ref,
            made.ids["?activity"],
            at,
        ),
    )
    return kept


def _check_ask(caller: RuntimeCaller, item: Item) -> None:
    """Whether the caller may answer now."""
    if item.gate is None or item.gate.recipient is None:
        raise Conflict("Nothing was asked about this wake.")
    if item.gate.recipient != caller.principal:
        raise NotAuthorized("Somebody else was asked.")
    if item.gate.answered_by is not None:
        raise Conflict("This was answered already.")
    if item.state != "blocked":
        raise Conflict("The time to answer is over.")
    if item.clarification is None or item.clarification["question"] is None:
        raise Conflict("What was asked is not there any more.")


def _commit_answer(
    tx: Transaction, scope: Scope, caller: RuntimeCaller, item: Item, text: str, at: datetime
) -> Commit:
    assert item.gate is not None
    assert item.gate.question_ref is not None
    inputs = (item.gate.gate_ref, item.gate.question_ref)
    payload = {
        "role": "user",
        "name": caller.actor,
        "content": text,
        "question_ref": item.gate.question_ref,
    }
    return _commit(tx, scope, caller, "user_statement", payload, "human_review", inputs, at)


def _commit_statement(
    tx: Transaction, scope: Scope, caller: RuntimeCaller, item: Item, text: str, at: datetime
) -> Commit:
    payload = {
        "role": "assistant",
        "name": caller.actor,
        "content": text,
        "wake_ref": item.wake.wake_ref,
    }
    inputs = (item.wake.fire_ref,)
    return _commit(tx, scope, caller, "agent_statement", payload, "reflection", inputs, at)


def _commit(
    tx: Transaction,
    scope: Scope,
    caller: RuntimeCaller,
    evidence_class: str,
    payload: dict[str, Any],
    activity_class: str,
    inputs: tuple[str, ...],
    at: datetime,
) -> Commit:
    changes = (
        callers.person_change(caller, "?author"),
        CreateEvidence(
            "?said", evidence_class, payload, observed_at=at, links=(Link("source", "?author"),)
        ),
        CreateActivity(
            "?activity",
            activity_class,
            "completed",
            at,
            at,
            inputs=inputs,
            outputs=("?said",),
            associated_actors=("?author",),
        ),
    )
    return commit(tx, scope, caller.author, ChangeSet(changes), tx_class=CHANNEL)
