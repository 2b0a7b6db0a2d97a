"""The intent `recall`: what is remembered, as a briefing (seed 003 section 3).

Here the receipts of `after` are owned and waited for, outside of any transaction; the briefing
itself is a job that a worker runs on one snapshot. Nothing of memory is written, and the question's
`context` goes nowhere.
"""

from __future__ import annotations

import json
import time
from typing import Any

from api import request_id
from api.memory_interface import answers, progress
from api.memory_interface.memory import INTENTS, deadline_seconds
from api.memory_interface.models import RecallInput, Request
from api.waiting import wait_for_end
from jobs import dispatch, ledger
from storage import memory_scopes, recall_bases
from storage.database import Scope, database
from storage.graph.errors import NotFoundOrNotVisible
from storage.jobs import Job
from storage.kip.errors import ExecutionTimeout, InvalidRequestEnvelope, PreconditionFailed
from storage.memory_scopes import MemoryScope
from storage.principals import Principal
from storage.settings import settings

#: How long receipts are waited for where the request does not say, in milliseconds.
DEADLINE_MS = 30_000
#: Elements of finished receipts that a briefing tells of whatever is asked.
_WRITTEN = 64


def offer() -> None:
    """Let the Memory Interface take the intent of this module."""
    INTENTS["recall"] = recall


def recall(caller: Principal, request: Request, given: RecallInput) -> dict[str, Any]:
    """Answer a recall. Raises a `KipError` for what is refused."""
    _check(given)
    began = time.monotonic()
    seconds = deadline_seconds(request, default_ms=DEADLINE_MS)
    with database().transaction(Scope(caller.space_id)) as tx:
        memory_scopes.elements(tx, Scope(caller.space_id), MemoryScope.of(_scope(request)))
        after = [_own(ledger.by_receipt(tx, caller, ref)) for ref in given.after or ()]
    _check_pin(given, after)
    if after:
        for job in after:
            wait_for_end(job, seconds=seconds - (time.monotonic() - began))
        # while one was waited for, others may have ended
        with database().transaction(Scope(caller.space_id)) as tx:
            after = [_own(ledger.by_receipt(tx, caller, job.receipt_ref)) for job in after]
        _check_pin(given, after)
    left = seconds - (time.monotonic() - began)
    job = wait_for_end(_accept(caller, request, given, after), seconds=_patience(left))
    return _told(caller, request, job)


def _check(given: RecallInput) -> None:
    expands = given.target_ref is not None and recall_bases.is_ref(given.target_ref)
    if expands and given.detail != "evidence":
        raise InvalidRequestEnvelope("A basis is looked into with detail: evidence.")


def _scope(request: Request) -> dict[str, Any] | None:
    return None if request.scope is None else request.scope.model_dump(exclude_none=True)


def _own(job: Job | None) -> Job:
    if job is None or job.operation not in progress.OPERATIONS:
        raise NotFoundOrNotVisible("There is no such receipt here.")
    return job


def _check_pin(given: RecallInput, after: list[Job]) -> None:
    """A state of memory before what was to be waited for cannot hold it."""
    pinned = given.time.as_of_seq if given.time is not None else None
    if pinned is None:
        return
    for job in after:
        available = progress.progress(job).get("available_seq")
        if available is not None and pinned < available:
            raise PreconditionFailed("time.as_of_seq lies before what `after` waits for.")


def _accept(caller: Principal, request: Request, given: RecallInput, after: list[Job]) -> Job:
    scope = Scope(caller.space_id)
    written = [
        ref
        for job in after
        if job.state == "succeeded"
        for ref in progress.result(job).get("memory_refs", ())
    ]
    asked = given.model_dump(exclude_none=True, exclude={"after", "context"})
    payload = {
        **asked,
        "scope": _scope(request),
        "after": [progress.progress(job) for job in after],
        "written": list(dict.fromkeys(written))[:_WRITTEN],
        "max_output_tokens": request.budget.max_output_tokens if request.budget else None,
    }
    with database().transaction(scope) as tx:
        job = ledger.accept(tx, caller, "briefing", payload, request_id=request_id.current()).job
    dispatch.announce([job])
    return job


def _patience(left: float) -> float:
    """How long the briefing itself is waited for: what is left, and no less than any recall's."""
    return max(left, settings().wait_seconds)


def _told(caller: Principal, request: Request, job: Job) -> dict[str, Any]:
    if job.state == "succeeded":
        found = job.result or {}
        if "error" in found:
            return _failed(request, found["error"])
        briefing = json.loads(found["briefing"])
        return answers.briefed(request.request_id, found["status"], briefing, found["warnings"])
    if job.terminal:
        return _failed(request, progress.error(job))
    with database().transaction(Scope(caller.space_id)) as tx:
        ended = ledger.cancel(tx, caller, job.id)
    dispatch.announce(ended)
    raise ExecutionTimeout("The recall did not finish in time; nothing was changed.")


def _failed(request: Request, error: dict[str, Any]) -> dict[str, Any]:
    told = answers.briefed(request.request_id, "failed", None, [])
    del told["result"]
    return {**told, "error": error}
