"""What a caller may know of a job: its receipt (immutable), its progress (grows), its timeline.

Each surface speaks its own words over the same row (design section 3.4); this is the generic
view, and the phases of the Memory Interface (seed 003 section 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from storage.clock import to_text
from storage.jobs import Job, JobEvent


def receipt(job: Job) -> dict[str, Any]:
    """The immutable part, fixed when the job was accepted."""
    return {
        "receipt_ref": job.receipt_ref,
        "operation": job.operation,
        "space_id": job.space_id,
        "accepted_seq": job.accepted_seq,
    }


def progress(job: Job) -> dict[str, Any]:
    """How far the job is: `recorded`, then `available` or `failed`, which are final."""
    told: dict[str, Any] = {"receipt_ref": job.receipt_ref, "phase": "recorded"}
    if job.state == "succeeded":
        told["phase"] = "available"
        for name in ("disposition", "resolved_seq", "available_seq"):
            value = getattr(job, name)
            if value is not None:
                told[name] = value
        return told
    if job.state in ("failed", "cancelled"):
        told["phase"] = "failed"
        told["error"] = job.error
        return told
    reason = waiting_reason(job)
    if reason is not None:
        told["reason"] = reason
    if job.state == "running":
        if job.progress is not None:
            told["steps"] = job.progress
    elif job.coalesced_into is None and job.error is not None:
        told["next_attempt_at"] = to_text(job.available_at)
    return told


def waiting_reason(job: Job) -> str | None:
    """Why a job that has not ended is not further, as a code; None where nothing holds it up."""
    if job.state == "running":
        return None if job.cancel_requested_at is None else "cancel_requested"
    if job.coalesced_into is not None:
        return "coalesced"
    return None if job.error is None else str(job.error["code"])


def view(job: Job) -> dict[str, Any]:
    """The job as every surface's generic view shows it, without its timeline."""
    told: dict[str, Any] = {
        "id": job.id,
        "kind": job.kind,
        "queue": job.queue,
        "lane": job.lane,
        "state": job.state,
        "principal": job.principal,
        "attempt": job.attempt,
        "max_attempts": job.max_attempts,
        "accepted_at": to_text(job.accepted_at),
        "available_at": to_text(job.available_at),
        "receipt": receipt(job),
        "progress": progress(job),
    }
    for name in ("claimed_at", "finished_at", "cancel_requested_at"):
        value = getattr(job, name)
        if value is not None:
            told[name] = to_text(value)
    for name in ("parent_id", "after_id", "coalesced_into", "request_id", "result", "error"):
        value = getattr(job, name)
        if value is not None:
            told[name] = value
    return told


def timeline(events: Sequence[JobEvent]) -> list[dict[str, Any]]:
    """Every transition, oldest first."""
    return [event_view(event) for event in events]


def event_view(event: JobEvent) -> dict[str, Any]:
    """One transition."""
    told: dict[str, Any] = {
        "id": event.id,
        "at": to_text(event.at),
        "event": event.event,
        "attempt": event.attempt,
    }
    if event.worker is not None:
        told["worker"] = event.worker
    if event.detail is not None:
        told["detail"] = event.detail
    return told


def attempts(events: Sequence[JobEvent]) -> list[dict[str, Any]]:
    """The attempts that the timeline tells of: when each began, on which worker, how it ended."""
    found: list[dict[str, Any]] = []
    for event in events:
        if event.event == "claimed":
            found.append(
                {
                    "attempt": event.attempt,
                    "fence": event.fence,
                    "worker": event.worker,
                    "started_at": to_text(event.at),
                }
            )
        elif found and "ended_at" not in found[-1] and event.event != "cancel_requested":
            found[-1]["ended_at"] = to_text(event.at)
            found[-1]["ended"] = event.event
    return found
