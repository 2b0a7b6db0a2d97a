"""Response envelopes: what came of each operation, and what that makes of the request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from storage.graph.transactions import uri
from storage.kip.errors import KipError, OutcomeUnknown, as_kip
from storage.kip.protocol.envelope import Request, keepable

#: The extension of a result that says which elements a mutation's handles stand for.
HANDLES = "brainstem/handles"

Status = Literal["succeeded", "failed", "skipped", "rolled_back", "no_effect"]


@dataclass(slots=True)
class Outcome:
    """What came of one operation.

    `handles` are those that a mutation defined, with their elements; `snapshot` is the coordinate
    that a read was at.
    """

    status: Status
    result: Any = None
    context: Mapping[str, Any] = field(default_factory=dict)
    receipt: Mapping[str, Any] | None = None
    handles: Mapping[str, str] = field(default_factory=dict)
    next_cursor: str | None = None
    warnings: Sequence[Mapping[str, Any]] = ()
    error: KipError | None = None
    snapshot: Mapping[str, Any] | None = None

    @property
    def done(self) -> bool:
        """Whether it did what was asked, even if nothing had to be done."""
        return self.status in ("succeeded", "no_effect")

    @property
    def unknown(self) -> bool:
        """Whether it may have been committed."""
        return isinstance(self.error, OutcomeUnknown)


def failed(error: KipError) -> Outcome:
    """The outcome of an operation that was refused, or broke."""
    return Outcome("failed", error=error)


def refused(request: Request | None, request_id: Any, error: KipError) -> dict[str, Any]:
    """The answer to a request of which no operation ran."""
    answer: dict[str, Any] = {"kip": "2.0"}
    if isinstance(request_id, str) and 1 <= len(request_id) <= 256 and keepable(request_id):
        answer["request_id"] = request_id
    answer["status"] = "failed"
    if request is not None:
        answer["execution"] = _execution(request)
    answer["results"] = []
    answer["error"] = as_kip(error)
    return answer


def answered(request: Request, space_id: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The answer to a request whose operations were looked at.

    It has a snapshot when all that was done was reading, at one coordinate.
    """
    answer: dict[str, Any] = {"kip": "2.0"}
    if request.request_id is not None:
        answer["request_id"] = request.request_id
    answer["status"] = _status(outcomes)
    answer["execution"] = _execution(request)
    answer["results"] = [
        _result(operation.op_id, outcome)
        for operation, outcome in zip(request.operations, outcomes, strict=True)
    ]
    answer["context"] = {"space_id": uri(space_id)}
    done = [outcome.snapshot for outcome in outcomes if outcome.done]
    if done and done[0] is not None and all(_seq(one) == _seq(done[0]) for one in done):
        answer["snapshot"] = dict(done[0])
    return answer


def _seq(snapshot: Mapping[str, Any] | None) -> Any:
    return None if snapshot is None else snapshot["snapshot_seq"]


def _execution(request: Request) -> dict[str, Any]:
    return {"mode": request.mode, **request.execution}


def _status(outcomes: Sequence[Outcome]) -> str:
    if any(outcome.unknown for outcome in outcomes):
        return "outcome_unknown"
    done = [outcome.done for outcome in outcomes]
    if all(done):
        return "succeeded"
    return "partial" if any(done) else "failed"


def _result(op_id: str | None, outcome: Outcome) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    if op_id is not None:
        shown["op_id"] = op_id
    shown["status"] = outcome.status
    if outcome.done:
        shown["result"] = outcome.result
    if outcome.context:
        shown["context"] = dict(outcome.context)
    if outcome.receipt is not None:
        shown["receipt"] = dict(outcome.receipt)
    if outcome.next_cursor is not None:
        shown["next_cursor"] = outcome.next_cursor
    if outcome.warnings:
        shown["warnings"] = [dict(warning) for warning in outcome.warnings]
    if outcome.handles:
        shown["extensions"] = {HANDLES: dict(outcome.handles)}
    if outcome.error is not None:
        shown["error"] = as_kip(outcome.error)
    return shown
