"""Responses of the Memory Interface (seed 003 section 3): one shape for every intent."""

from __future__ import annotations

from typing import Any

from api.memory_interface import progress
from jobs.receipts import receipt
from storage.graph.errors import KipError
from storage.jobs import Job
from storage.kip.errors import as_kip

VERSION = "2.0"


def changed(job: Job, request_id: str | None, *, extra_warnings: tuple[str, ...] = ()) -> Any:
    """The answer to an intent that changes memory, as far as its job is now."""
    told = progress.progress(job)
    status = {"available": "succeeded", "failed": "failed"}.get(told["phase"], "pending")
    result = progress.result(job)
    if status == "succeeded" and (job.result or {}).get("partial"):
        status = "partial"
    answer = _head(job.operation, request_id, status)
    answer |= {"receipt": receipt(job), "progress": told, "result": result}
    if "error" in told:
        answer["error"] = told["error"]
    answer["warnings"] = list(dict.fromkeys((*extra_warnings, *progress.warnings(job))))
    return answer


def failed(operation: Any, request_id: Any, error: KipError) -> dict[str, Any]:
    """The answer to what was refused; what could be read of the request is said again."""
    known = (
        operation if operation in ("observe", "recall", "revise", "feedback", "forget") else None
    )
    named = request_id if isinstance(request_id, str) and 0 < len(request_id) <= 1024 else None
    answer = _head(known, named, "failed")
    answer |= {"error": as_kip(error), "warnings": []}
    return answer


def _head(operation: str | None, request_id: str | None, status: str) -> dict[str, Any]:
    told: dict[str, Any] = {"kip_memory": VERSION}
    if request_id is not None:
        told["request_id"] = request_id
    if operation is not None:
        told["operation"] = operation
    told["status"] = status
    return told


def briefed(request_id: str | None, status: str, briefing: Any, warnings: list[str]) -> Any:
    """The answer to a recall: never a receipt, never progress of its own."""
    answer = _head("recall", request_id, status)
    answer |= {"result": briefing, "warnings": warnings}
    return answer
