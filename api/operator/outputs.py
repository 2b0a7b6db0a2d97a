"""What the generic job routes and the operator routes answer."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from api.memory.outputs import Receipt

JobState = Literal["accepted", "running", "succeeded", "failed", "cancelled"]


class Progress(BaseModel):
    """How far a job is; `available` and `failed` are final."""

    receipt_ref: str
    phase: Literal["recorded", "processed", "available", "failed"]
    disposition: Literal["formed", "evidence_only", "skipped", "erased"] | None = None
    resolved_seq: int | None = None
    available_seq: int | None = None
    reason: str | None = None
    next_attempt_at: str | None = None
    steps: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class JobView(BaseModel):
    """A job of any kind."""

    id: str
    kind: str
    queue: str
    lane: str | None
    state: JobState
    principal: str
    attempt: int
    max_attempts: int
    accepted_at: str
    available_at: str
    claimed_at: str | None = None
    finished_at: str | None = None
    cancel_requested_at: str | None = None
    parent_id: str | None = None
    after_id: str | None = None
    coalesced_into: str | None = None
    request_id: str | None = None
    receipt: Receipt
    progress: Progress
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class JobEvent(BaseModel):
    """One transition of a job."""

    id: int
    at: str
    event: str
    attempt: int
    worker: str | None = None
    detail: dict[str, Any] | None = None


class JobAttempt(BaseModel):
    """One attempt of a job, as its events tell."""

    attempt: int
    fence: int
    worker: str | None
    started_at: str
    ended_at: str | None = None
    ended: str | None = None


class JobDetail(JobView):
    """A job with its history; `restarts` are the jobs that restarted it."""

    payload: dict[str, Any]
    timeline: list[JobEvent]
    attempts: list[JobAttempt]
    restarts: list[str]


class Health(BaseModel):
    """That this process answers."""

    status: Literal["ok"]


class Readiness(BaseModel):
    """Whether requests can be served; `degraded` still serves, but work starts later."""

    status: Literal["ready", "degraded", "unavailable"]
    checks: dict[str, str]
