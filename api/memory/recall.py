"""`POST /v1/{space}/recall`: ask what is remembered, and wait for the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flask import Response

from api.admission import Admission
from api.errors import RunFailed
from api.idempotency import HEADER as IDEMPOTENCY_KEY
from api.idempotency import idempotency
from api.memory.inputs import RecallInput, told_context, without_nulls
from api.memory.outputs import ZERO_USAGE, AgentOutput, RpcResponse
from api.memory.runs import accept_run, follow, location
from api.negotiation import MARKDOWN, answer, preferred
from api.routes import Answer, Routes
from api.waiting import PREFER, wait_for_end
from storage.errors import IdempotencyConflict
from storage.jobs import Job
from storage.kip.meta.memory_interface import TOKENIZER
from storage.principals import Principal

routes = Routes("recall", tag="memory")

_UNDER_BUDGET = ("content", "usage", "failed_reason")


@routes.add(
    "POST",
    "/v1/<space_id>/recall",
    summary="Ask what is remembered",
    body=RecallInput,
    from_text=RecallInput.from_text,
    text_member="query",
    headers=(IDEMPOTENCY_KEY, PREFER),
    answers={
        200: Answer(
            RpcResponse[AgentOutput], "The answer; `failed_reason` says why there is none."
        ),
        202: Answer(
            RpcResponse[AgentOutput],
            "Not done yet: the receipt, no content, and a `failed_reason` that says so.",
        ),
    },
    raises=(IdempotencyConflict, RunFailed),
    admits=Admission.PUBLIC_READ,
    across_labels=True,
)
def recall(caller: Principal, body: RecallInput) -> Response:
    """Runs as a durable job; the request waits for its end, then answers.

    When the time is up first, 202 names the job (also in `Location`), which goes on. A run that
    failed is a 200 whose `failed_reason` is set and whose content is empty; in Markdown, which
    has no place for that, it is the error `run_failed`.

    With a `budget`, or where the space's policy sets one, `content` is a JSON packet of memory that
    keeps to it. A packet of the status `budget_insufficient`, or the text `null`, holds nothing
    usable; `failed_reason` is then a fixed code.
    """
    return outcome(wait_for_end(accept_recall(caller, body)))


def accept_recall(caller: Principal, body: RecallInput, **more: Any) -> Job:
    """The job of a question; `more` are further members of its record."""
    context = told_context(body.context)
    told: dict[str, Any] = {"context": context} if context else {}
    if body.budget is not None:
        told["budget"] = body.budget.model_dump(mode="json") | {"tokenizer": TOKENIZER}
    told.update(more)
    key = idempotency({"query": body.query, **told})
    message = {"role": "user", "content": body.query}
    return accept_run(caller, "recall", messages=[message], extra=told, idempotency=key)


def outcome(job: Job) -> Response:
    """What a run has come to."""
    return told_of(job, "content", {"content": ""}, _members)


def _members(result: Mapping[str, Any]) -> dict[str, Any]:
    if "memory_budget" not in result:
        return {name: value for name, value in result.items() if name != "recall_receipt"}
    # nothing beside the packet may carry memory past its budget
    return {name: result[name] for name in _UNDER_BUDGET if name in result}


def told_of(
    job: Job,
    text: str,
    empty: Mapping[str, Any],
    members: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> Response:
    """A recall's answer: `empty` until it succeeds, then what `members` makes of its result.

    `text` names the member that Markdown shows.
    """
    headers = {"Location": location(job)}
    result = {**empty, "usage": ZERO_USAGE, **follow(job)}
    if job.state == "succeeded":
        result = {**result, **without_nulls(dict(members(job.result or {}))), **follow(job)}
        return answer(result, text=result[text], headers=headers)
    if not job.terminal:
        # a client that takes any 2xx for an answer must not take this one for an empty answer
        result["failed_reason"] = f"The answer is not ready yet; ask {location(job)} for it."
        return answer(result, status=202, text="", headers=headers)
    error = job.error or {"code": job.state, "message": f"The job was {job.state}."}
    if preferred() == MARKDOWN:
        raise RunFailed(error["message"], data={"reason": error["code"], "job": job.id})
    return answer({**result, "failed_reason": error["message"]}, headers=headers)
