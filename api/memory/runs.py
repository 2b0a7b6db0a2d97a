"""Accepting a run: its job and the record that describes it, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from api import request_id
from jobs import dispatch, receipts, records
from jobs.ledger import Idempotency
from storage import spaces
from storage.conversations import Collection
from storage.database import Scope, database
from storage.jobs import Job
from storage.principals import Principal
from storage.settings import settings


def accept_run(
    caller: Principal,
    kind: Collection,
    *,
    messages: Sequence[Any],
    extra: dict[str, Any],
    payload: dict[str, Any] | None = None,
    idempotency: Idempotency | None = None,
    coalesce_key: str | None = None,
) -> Job:
    """Accept a run of `kind` over `messages`; the job, also when an earlier request made it.

    Nothing is sent before the commit. Raises `NotFound` for an unknown space and
    `IdempotencyConflict`.
    """
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        if settings().auto_create_space:
            spaces.ensure(tx, scope, caller)
        accepted = records.accept(
            tx,
            caller,
            kind,
            messages,
            extra=extra,
            payload=payload,
            thread=extra.get("context", {}).get("source"),
            idempotency=idempotency,
            coalesce_key=coalesce_key,
            request_id=request_id.current(),
        )
    if accepted.created:
        dispatch.announce([accepted.job])
    return accepted.job


def follow(job: Job) -> dict[str, Any]:
    """The members of an `AgentOutput` that say where the run can be followed."""
    told: dict[str, Any] = {
        "job": job.id,
        "state": job.state,
        "receipt": receipts.receipt(job),
    }
    if "conversation" in job.payload:
        told["conversation"] = job.payload["conversation"]
    return told


def location(job: Job) -> str:
    """The path of the job."""
    return f"/v1/{job.space_id}/jobs/{job.id}"
