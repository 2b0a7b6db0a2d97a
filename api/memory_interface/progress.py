"""A job of the Memory Interface in the interface's own words: receipt, progress, result.

The row of the job is the receipt (design section 3.4); nothing is kept twice.
"""

from __future__ import annotations

from typing import Any

from jobs.receipts import waiting_reason
from storage.clock import to_text
from storage.jobs import Job
from storage.kip.errors import REGISTRY

#: The intents that change memory, which are the operations of their jobs.
OPERATIONS = ("observe", "revise", "feedback", "forget")
_WAITING = "Recorded; the work has not finished."
_FAILED = "It failed; nothing was written."


def progress(job: Job) -> dict[str, Any]:
    """How far it is: `recorded`, then `available` or `failed`, which are final."""
    told: dict[str, Any] = {"receipt_ref": job.receipt_ref, "phase": "recorded"}
    if job.state == "succeeded":
        # what wrote nothing is resolved by the state that it found
        available = job.accepted_seq if job.available_seq is None else job.available_seq
        told |= {
            "phase": "available",
            "disposition": job.disposition or "skipped",
            "resolved_seq": available if job.resolved_seq is None else job.resolved_seq,
            "available_seq": available,
        }
    elif job.state in ("failed", "cancelled"):
        told |= {"phase": "failed", "error": error(job)}
    elif (reason := waiting_reason(job)) is not None:
        told["reason"] = reason
    return told


def error(job: Job) -> dict[str, Any]:
    """Why a job failed, as a KIP error; what KIP has no name for is an internal error."""
    told = job.error or {}
    code = str(told.get("code"))
    entry = REGISTRY[code if code in REGISTRY else _NAMES.get(str(code), "InternalError")]
    return {
        "code": entry.code,
        "category": entry.category,
        "message": told.get("message") or entry.meaning,
        "hint": entry.hint,
        "retry": {"class": entry.retry_class},
        "details": {"reason": code} if code != entry.code else {},
    }


#: Failures of the ledger in the words of KIP.
_NAMES = {"predecessor_failed": "PreconditionFailed", "cancelled": "PreconditionFailed"}


def result(job: Job) -> dict[str, Any]:
    """What came of it; for one that is under way, that it is."""
    if job.operation == "forget":
        return _forget_result(job)
    if job.state != "succeeded":
        return {"summary": _FAILED if job.terminal else _WAITING, "memory_refs": []}
    found = job.result or {}
    return {
        "summary": found.get("summary") or "Nothing was written.",
        "memory_refs": list(found.get("memory_refs", ()))[:128],
    }


def _forget_result(job: Job) -> dict[str, Any]:
    found = (job.result or {}).get("forget")
    if found is not None:
        return dict(found)
    status, summary = "pending", _WAITING
    if job.state in ("failed", "cancelled"):
        held = (job.error or {}).get("code") == "LegalHoldConflict"
        status = "blocked" if held else "partial"
        summary = "Nothing was erased." if held else "Not finished; see the plan."
    plan = job.payload.get("plan", job.receipt_ref)
    return {"status": status, "plan_ref": plan, "summary": summary, "coverage_ref": plan}


def warnings(job: Job) -> list[str]:
    """What the caller should know besides, each once: an erasure makes all of them alike."""
    told = list(dict.fromkeys((job.result or {}).get("warnings", ())))
    if job.state == "accepted" and job.error is not None:
        told.append(f"{job.error['message']} Tried again at {to_text(job.available_at)}.")
    return told
