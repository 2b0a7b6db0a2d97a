"""The durable job ledger: accept, look up, cancel, retry, and how an attempt ends.

The states are those of migration 0001; each function here is one transition, taken in the
caller's transaction, and returns what the caller must announce after its commit (see
`jobs.dispatch`). Design section 3.1.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

from jobs.kinds import kind_of, validated
from storage import conversations
from storage import jobs as table
from storage.canonical import digest
from storage.database import Scope, Transaction
from storage.epochs import EpochChanged
from storage.errors import (
    BrainError,
    Conflict,
    Fatal,
    IdempotencyConflict,
    NotFound,
    Unavailable,
)
from storage.ids import new_id
from storage.jobs import Ending, Job
from storage.principals import Principal
from storage.settings import settings

#: What another side may ask to wait at most, in seconds.
MAX_RETRY_AFTER_SECONDS = 3600.0
_ACCEPT_TRIES = 20


class Busy(Unavailable):
    """Jobs of one key come and go faster than another could be accepted."""

    code = "busy"
    default = "Too many requests of the same kind at once; try again shortly."


@dataclass(frozen=True, slots=True)
class Idempotency:
    """A caller's key and the meaning it stands for.

    `meaning` is everything that makes two requests the same: never a request id, a budget or a
    deadline.
    """

    key: str
    meaning: Any


@dataclass(frozen=True, slots=True)
class Accepted:
    """A job that the ledger holds; `created` is False when an earlier request had made it."""

    job: Job
    created: bool


def accept(
    tx: Transaction,
    principal: Principal,
    kind_name: str,
    payload: dict[str, Any],
    *,
    operation: str | None = None,
    idempotency: Idempotency | None = None,
    coalesce_key: str | None = None,
    after_id: str | None = None,
    parent_id: str | None = None,
    available_at: datetime | None = None,
    request_id: str | None = None,
    detail: dict[str, Any] | None = None,
) -> Accepted:
    """Accept a job in the caller's transaction, together with what it is about.

    With `idempotency`, the same key and meaning answer the job that is there already. With
    `coalesce_key`, a waiting job of that key is answered instead of adding one.

    A job whose predecessor (`after_id`) has failed is accepted and has failed, too.

    Raises `InvalidInput` for a wrong payload, `NotFound` for an unknown predecessor, and
    `IdempotencyConflict` for a key that stands for something else. Nothing is sent before the
    caller commits and calls `dispatch.announce`.
    """
    kind = kind_of(kind_name)
    scope = Scope(principal.space_id)
    operation = operation or kind.name
    meaning = digest(idempotency.meaning) if idempotency else None
    if coalesce_key is not None:
        if kind.lane is None:
            raise Fatal("Only jobs of a lane can be joined: others may run side by side.")
        table.serialise_coalescing(tx, scope.space_id, coalesce_key)
    predecessor = table.lock_predecessor(tx, scope, after_id) if after_id else None
    if after_id and predecessor is None:
        raise NotFound("The job that this one is to follow does not exist.")
    values = {
        "id": new_id("job"),
        "space_id": scope.space_id,
        "kind": kind.name,
        "queue": kind.queue,
        "lane": kind.lane,
        "principal": principal.subject,
        "principal_kind": principal.kind,
        "payload": validated(kind, payload),
        "operation": operation,
        "idem_key": idempotency.key if idempotency else None,
        "idem_digest": meaning,
        "coalesce_key": coalesce_key,
        "after_id": after_id,
        "parent_id": parent_id,
        "request_id": request_id,
        "receipt_ref": new_id("rcp"),
        "max_attempts": kind.max_attempts,
        "available_at": available_at,
        "detail": detail,
    }
    for _ in range(_ACCEPT_TRIES):
        job = table.insert(tx, values)
        if job is not None:
            if predecessor in ("failed", "cancelled"):
                [job, *_] = end_unsuccessfully(tx, [job.id], "failed", predecessor_error())
            return Accepted(job, created=True)
        if idempotency is not None:
            known = table.by_idempotency(tx, scope, principal.subject, operation, idempotency.key)
            if known is not None:
                if known.idem_digest != meaning:
                    raise IdempotencyConflict(data={"receipt_ref": known.receipt_ref})
                return Accepted(known, created=False)
        if coalesce_key is not None:
            waiting = table.waiting_by_coalesce_key(tx, scope, coalesce_key)
            if waiting is not None:
                return Accepted(waiting, created=False)
        # the one that stood in the way was claimed meanwhile: there is room now
    raise Busy()


def get(tx: Transaction, scope: Scope, job_id: str) -> Job:
    """One job of the space; raises `NotFound`, the same for another space's job as for none."""
    job = table.get(tx, scope, job_id)
    if job is None:
        raise NotFound("There is no such job in this space.")
    return job


def by_receipt(tx: Transaction, principal: Principal, receipt_ref: str) -> Job | None:
    """The principal's own job of that receipt; None for anybody else's, as for an unknown one."""
    return table.by_receipt(tx, Scope(principal.space_id), principal.subject, receipt_ref)


def cancel(tx: Transaction, principal: Principal, job_id: str) -> list[Job]:
    """Cancel a job in any state; returns the jobs that ended or were asked to stop.

    A waiting job ends at once, a running one at its next checkpoint, committing nothing more.
    Cancelling an ended job changes nothing. Raises `NotFound`.
    """
    job = table.lock(tx, Scope(principal.space_id), job_id)
    if job is None:
        raise NotFound("There is no such job in this space.")
    if job.state == "running":
        table.request_cancel(tx, job, principal.subject)
        return [get(tx, Scope(principal.space_id), job_id)]
    if job.state == "accepted":
        return _cancelled(tx, job, detail={"by": principal.subject})
    return []


def retry(tx: Transaction, principal: Principal, job_id: str) -> Accepted:
    """Restart a failed or cancelled job as a new one linked to it by `parent_id`.

    The ended job's receipt stays as it is; the record of a run follows the new job. Asking twice
    answers the same new job. Raises `NotFound`, and `Conflict` for a job that has not failed.
    """
    scope = Scope(principal.space_id)
    job = table.lock(tx, scope, job_id)
    if job is None:
        raise NotFound("There is no such job in this space.")
    if job.state not in ("failed", "cancelled"):
        raise Conflict(f"Only a failed or cancelled job can be restarted; this one is {job.state}.")
    accepted = accept(
        tx,
        Principal(job.principal, "system", job.space_id, frozenset()),
        job.kind,
        job.payload,
        operation="restart",
        idempotency=Idempotency(f"restart:{job.id}", {"job": job.id}),
        parent_id=job.id,
        detail={"restart_of": job.id, "by": principal.subject},
    )
    if accepted.created:
        conversations.follow_job(tx, scope, job_id, accepted.job.id)
    return accepted


def _cancelled(
    tx: Transaction, job: Job, *, detail: dict[str, Any] | None = None, death: bool = False
) -> list[Job]:
    """Cancel a locked job; what others had joined to it goes on without it."""
    if job.coalesce_key is not None:
        table.serialise_coalescing(tx, job.space_id, job.coalesce_key)
    ended = end_unsuccessfully(
        tx,
        [job.id],
        "cancelled",
        cancelled_error(),
        worker=job.lease_owner,
        detail=detail,
        death=death,
        folded=False,
    )
    return ended + table.hand_over(tx, job)


def end_unsuccessfully(
    tx: Transaction,
    job_ids: Sequence[str],
    state: Any,
    error: dict[str, Any],
    *,
    event: str | None = None,
    worker: str | None = None,
    detail: dict[str, Any] | None = None,
    death: bool = False,
    folded: bool = True,
) -> list[Job]:
    """Fail or cancel locked jobs, and in turn those that name them as predecessors."""
    ended = table.end(
        tx,
        [Ending(job_id) for job_id in job_ids],
        state,
        event=event,
        error=error,
        worker=worker,
        detail=detail,
        death=death,
        folded=folded,
    )
    generation = ended
    while generation:
        generation = table.fail_successors(tx, [job.id for job in generation], predecessor_error())
        ended = ended + generation
    return ended


def after_error(tx: Transaction, job: Job, error: BrainError) -> list[Job]:
    """End or put back an attempt whose fence the caller has checked, by the error's class."""
    told = error_json(error)
    if error.code == "cancelled" or job.cancel_requested_at is not None:
        return _cancelled(tx, job)
    if error.code == "interrupted":
        return _back(tx, job, "released", delay=0.0, error=None, released=True)
    if error.code == EpochChanged.code:
        # no fault of the job's, so it costs it no attempt
        why = {"reason": error.code}
        return _back(tx, job, "released", delay=0.0, error=None, released=True, detail=why)
    if error.retry and job.attempt - job.released < job.max_attempts:
        asked = min(error.retry_after or 0.0, MAX_RETRY_AFTER_SECONDS)
        delay = max(backoff_seconds(job.attempt - job.released), asked)
        return _back(tx, job, "retry_scheduled", delay=delay, error=told)
    return end_unsuccessfully(
        tx,
        [job.id],
        "failed",
        told,
        worker=job.lease_owner,
        detail={"attempts_exhausted": True} if error.retry else None,
    )


def after_lost_lease(tx: Transaction, job: Job, *, died: bool) -> list[Job]:
    """Decide on a running job whose worker no longer extends its lease (row locked).

    `died` says that the worker is gone rather than stuck. A job that has now killed
    `settings().max_deaths` workers is poison and fails with that history.
    """
    table_detail = {"worker_died": died}
    if job.cancel_requested_at is not None:
        return _cancelled(tx, job, detail=table_detail, death=died)
    if died and job.deaths + 1 >= settings().max_deaths:
        return end_unsuccessfully(
            tx,
            [job.id],
            "failed",
            {
                "code": "poisoned",
                "message": f"The job ended {job.deaths + 1} workers and is not run again; "
                "an operator can restart it.",
            },
            event="poisoned",
            worker=job.lease_owner,
            detail=table_detail,
            death=True,
        )
    if job.attempt - job.released >= job.max_attempts:
        return end_unsuccessfully(
            tx,
            [job.id],
            "failed",
            {
                "code": "attempts_exhausted",
                "message": f"All {job.max_attempts} attempts ended without a result.",
            },
            worker=job.lease_owner,
            detail=table_detail,
            death=died,
        )
    return _back(
        tx, job, "lease_expired", delay=0.0, error=job.error, death=died, detail=table_detail
    )


def _back(
    tx: Transaction,
    job: Job,
    event: Any,
    *,
    delay: float,
    error: dict[str, Any] | None,
    released: bool = False,
    death: bool = False,
    detail: dict[str, Any] | None = None,
) -> list[Job]:
    if job.coalesce_key is not None:
        table.serialise_coalescing(tx, job.space_id, job.coalesce_key)
        table.fold_waiting(tx, job)
    back = table.put_back(
        tx,
        job,
        event,
        delay_seconds=delay,
        error=error,
        released=released,
        death=death,
        detail=detail,
    )
    return [back] if back else []


def claim(ids: Sequence[str], worker: str, tx: Transaction, *, isolated: bool = False) -> list[Job]:
    """Claim what of `ids` may run now; a lane taken by another in the same instant is not ours."""
    lease = settings().lease_seconds
    try:
        return table.claim(tx, ids, worker, lease, isolated=isolated)
    except psycopg.errors.UniqueViolation:
        if len(ids) == 1:
            return []
        return [job for one in ids for job in claim([one], worker, tx, isolated=isolated)]


def backoff_seconds(attempt: int) -> float:
    """Delay before the next attempt: doubles each time, capped, with full jitter above half."""
    config = settings()
    ceiling = min(config.retry_cap_seconds, config.retry_base_seconds * 2 ** (attempt - 1))
    return ceiling / 2 + random.random() * ceiling / 2


def error_json(error: BrainError) -> dict[str, Any]:
    """What a receipt says of an error."""
    return {"code": error.code, "message": error.message.replace("\0", "")}


def predecessor_error() -> dict[str, Any]:
    """What the receipt of a job says whose predecessor did not succeed."""
    return {
        "code": "predecessor_failed",
        "message": "A job that this one was to follow did not succeed.",
    }


def cancelled_error() -> dict[str, Any]:
    """What the receipt of a cancelled job says."""
    return {"code": "cancelled", "message": "The job was cancelled."}
