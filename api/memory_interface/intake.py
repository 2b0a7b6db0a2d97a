"""Intake of what changes memory by being told: observe, revise, feedback.

One transaction accepts an intent: its receipt, which is a formation job's row, and the record of
the conversation. The key is looked up first, so that an intent that was accepted once is answered
by its receipt whatever has become of its source since; a refused one binds no key (contract
memory-interface sections 2 to 8).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from api import request_id
from api.memory_interface import answers, progress
from api.memory_interface.memory import INTENTS, deadline_seconds
from api.memory_interface.models import FeedbackInput, ObserveInput, Request, ReviseInput
from api.waiting import wait_for_end
from jobs import dispatch, ledger, records
from jobs.ledger import Idempotency
from storage import errors as tree
from storage import jobs, memory_scopes, staging
from storage.canonical import digest
from storage.clock import to_text
from storage.database import Scope, Transaction, database
from storage.graph import state
from storage.graph.errors import NotFoundOrNotVisible, SourceSuppressed
from storage.jobs import Job
from storage.kip.errors import IdempotencyConflict, UnsupportedCapability
from storage.memory_scopes import MemoryScope
from storage.principals import Principal

_STAGED = re.compile(r"src-[0-9a-f]{32}", re.ASCII)
_EVIDENCE = re.compile(r"E-[1-9][0-9]{0,17}", re.ASCII)
_ELEMENT = re.compile(r"[CPAEX]-[1-9][0-9]{0,17}", re.ASCII)
_FAILED = ("failed", "cancelled")
#: Revisions that end or mend a claim, and so can only be about one.
_OF_CLAIMS = ("correction", "misrecorded")

Taken = ObserveInput | ReviseInput | FeedbackInput


@dataclass(frozen=True, slots=True)
class _Source:
    """What an intent is about, as far as intake looks at it."""

    digest: str
    messages: list[dict[str, Any]]
    timestamp: str | None
    excluded_by: frozenset[str]
    predecessors: tuple[str, ...] = ()


def offer() -> None:
    """Let the Memory Interface take the intents of this module."""
    for operation in ("observe", "revise", "feedback"):
        INTENTS[operation] = take


def take(caller: Principal, request: Request, given: Taken) -> dict[str, Any]:
    """Accept an intent, or find it by its key, and answer how far it is.

    Waits only as long as the request itself says. Raises a `KipError` for what is refused.
    """
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        key = request.idempotency_key
        assert key is not None
        job = jobs.by_idempotency(tx, scope, caller.subject, request.operation, key)
        if job is not None:
            _require_same(tx, caller, request, given, job)
            created = False
        else:
            job, created = _accept(tx, caller, request, given, key)
    if created:
        dispatch.announce([job])
    job = wait_for_end(job, seconds=deadline_seconds(request))
    return answers.changed(job, request.request_id)


def _accept(
    tx: Transaction, caller: Principal, request: Request, given: Taken, key: str
) -> tuple[Job, bool]:
    scope = Scope(caller.space_id)
    wanted = _scope(request)
    memory_scopes.elements(tx, scope, wanted)
    source = _source(tx, caller, given.source_ref)
    if source is None:
        raise NotFoundOrNotVisible("There is no such source here.")
    if state.suppressed(tx, scope, source.excluded_by):
        raise SourceSuppressed(
            "This source was erased and is not taken again.",
            data={"reason": "source_suppressed"},
        )
    named = _targets(tx, scope, given)
    before = _predecessors(tx, caller, source)
    intent = {
        "operation": request.operation,
        "source_ref": given.source_ref,
        "source_digest": source.digest,
        "scope": wanted.as_json() or None,
        **named,
        "after": [job.id for job in before] or None,
    }
    intent = {name: value for name, value in intent.items() if value is not None}
    told = {} if source.timestamp is None else {"timestamp": source.timestamp}
    try:
        accepted = records.accept(
            tx,
            caller,
            "formation",
            source.messages,
            extra={**told, "intent": intent},
            payload={"intent": intent},
            operation=request.operation,
            idempotency=Idempotency(key, _meaning(request, given, source.digest)),
            after_id=_gate(before),
            request_id=request_id.current(),
        )
    except tree.IdempotencyConflict as conflict:
        raise _conflict() from conflict
    return accepted.job, accepted.created


def _require_same(
    tx: Transaction, caller: Principal, request: Request, given: Taken, known: Job
) -> None:
    """Raises `IdempotencyConflict` unless the request means what the known job was accepted for.

    A source that is gone is taken to be what it was then.
    """
    source = _source(tx, caller, given.source_ref)
    retained = known.payload.get("intent", {}).get("source_digest")
    found = retained if source is None else source.digest
    if known.idem_digest != digest(_meaning(request, given, found)):
        raise _conflict()


def _conflict() -> IdempotencyConflict:
    return IdempotencyConflict("This key was used for another request; use a new key.")


def _meaning(request: Request, given: Taken, source_digest: str | None) -> dict[str, Any]:
    """What makes two requests the same; defaults are not filled in."""
    wanted = _scope(request)
    return {
        "operation": request.operation,
        "scope": {"task_ref": wanted.task, "context_refs": list(wanted.contexts)},
        "input": request.input,
        "source": {"identity": given.source_ref, "digest": source_digest},
    }


def _scope(request: Request) -> MemoryScope:
    return MemoryScope.of(None if request.scope is None else request.scope.model_dump())


def _source(tx: Transaction, caller: Principal, ref: str) -> _Source | None:
    """The caller's staged source, or an evidence in force; None for anything else."""
    scope = Scope(caller.space_id)
    if _STAGED.fullmatch(ref):
        staged = staging.get(tx, scope, caller.subject, ref)
        if staged is None or staged.messages is None:
            return None
        return _Source(
            staged.source_digest,
            staged.messages,
            to_text(staged.observed_at),
            frozenset({staged.source_digest, *staged.message_digests}),
            tuple((staged.source_order or {}).get("predecessor_receipts", ())),
        )
    if not _EVIDENCE.fullmatch(ref):
        return None
    found = state.load(tx, scope, [ref]).get(ref)
    if found is None or found.evidence is None or found.evidence.purged:
        return None
    if found.state != "active" or found.status != "active":
        return None
    known = found.evidence.content_digest or digest({"evidence": ref})
    return _Source(known, [], None, frozenset({known}))


def _targets(tx: Transaction, scope: Scope, given: Taken) -> dict[str, str | None]:
    """The elements that an intent names, by member; raises `NotFoundOrNotVisible`."""
    match given:
        case ReviseInput():
            named = {"target_ref": given.target_ref}
            kind = {"change_kind": given.change_kind}
        case FeedbackInput():
            named = {"decision_ref": given.decision_ref, "attempt_ref": given.attempt_ref}
            kind = {}
        case _:
            return {}
    refs = [ref for ref in named.values() if ref is not None]
    stored = state.load(tx, scope, [ref for ref in refs if _ELEMENT.fullmatch(ref)])
    for ref in refs:
        if ref not in stored or stored[ref].state == "tombstoned":
            raise NotFoundOrNotVisible(f"There is no element {ref!r} here.")
        if kind.get("change_kind") in _OF_CLAIMS and stored[ref].kind != "A":
            raise UnsupportedCapability("Only a claim (A-…) can be corrected or was misrecorded.")
    return {**named, **kind}


def _predecessors(tx: Transaction, caller: Principal, source: _Source) -> list[Job]:
    """The jobs of the receipts that a source follows; raises `NotFoundOrNotVisible`."""
    found = []
    for receipt_ref in source.predecessors:
        job = ledger.by_receipt(tx, caller, receipt_ref)
        if job is None or job.operation not in progress.OPERATIONS:
            raise NotFoundOrNotVisible("There is no such receipt here.")
        found.append(job)
    return found


def _gate(before: list[Job]) -> str | None:
    """The predecessor that the ledger waits for: a failed one, else the last.

    The lane of the space keeps the order of them all; the run looks at each.
    """
    failed = [job for job in before if job.state in _FAILED]
    ordered = failed or sorted(before, key=lambda job: job.seq)
    return ordered[-1].id if ordered else None
