"""`POST /v1/{space}/recall`: ask what is remembered, and wait for the answer."""

from __future__ import annotations

from typing import Any

from flask import Response

from api.admission import Admission
from api.errors import RunFailed
from api.idempotency import HEADER as IDEMPOTENCY_KEY
from api.idempotency import idempotency
from api.memory.inputs import RecallInput, without_nulls
from api.memory.outputs import ZERO_USAGE, AgentOutput, RpcResponse
from api.memory.runs import accept_run, follow, location
from api.negotiation import MARKDOWN, answer, preferred
from api.routes import Answer, Routes
from api.waiting import PREFER, wait_for_end
from storage.errors import IdempotencyConflict, Unsupported
from storage.jobs import Job
from storage.principals import Principal

routes = Routes("recall", tag="memory")


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
        202: Answer(RpcResponse[AgentOutput], "Not done yet: the receipt, and no content."),
    },
    raises=(IdempotencyConflict, Unsupported, RunFailed),
    admits=Admission.PUBLIC_READ,
)
def recall(caller: Principal, body: RecallInput) -> Response:
    """Runs as a durable job; the request waits for its end, then answers.

    When the time is up first, 202 names the job (also in `Location`), which goes on. A run that
    failed is a 200 whose `failed_reason` is set and whose content is empty; in Markdown, which
    has no place for that, it is the error `run_failed`.
    """
    context = without_nulls(dict(body.context or {}))
    told: dict[str, Any] = {"context": context} if context else {}
    key = idempotency({"query": body.query, **told})
    message = {"role": "user", "content": body.query}
    job = accept_run(caller, "recall", messages=[message], extra=told, idempotency=key)
    return outcome(wait_for_end(job))


def outcome(job: Job) -> Response:
    """What a run has come to."""
    headers = {"Location": location(job)}
    if job.state == "succeeded":
        result = {"content": "", "usage": ZERO_USAGE, **(job.result or {}), **follow(job)}
        return answer(result, text=result["content"], headers=headers)
    result = {"content": "", "usage": ZERO_USAGE, **follow(job)}
    if not job.terminal:
        return answer(result, status=202, text="", headers=headers)
    error = job.error or {"code": job.state, "message": f"The job was {job.state}."}
    if preferred() == MARKDOWN:
        raise RunFailed(error["message"], data={"reason": error["code"], "job": job.id})
    return answer({**result, "failed_reason": error["message"]}, headers=headers)
