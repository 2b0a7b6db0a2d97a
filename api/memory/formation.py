"""`POST /v1/{space}/formation`: take messages in to be remembered."""

from __future__ import annotations

from typing import Any

from flask import Response

from api.admission import Admission
from api.idempotency import HEADER as IDEMPOTENCY_KEY
from api.idempotency import idempotency
from api.memory.inputs import FormationInput, told_context, without_nulls
from api.memory.outputs import ZERO_USAGE, AgentOutput, RpcResponse
from api.memory.runs import accept_run, follow, location
from api.negotiation import answer
from api.routes import Answer, Routes
from storage.errors import IdempotencyConflict
from storage.principals import Principal

routes = Routes("formation", tag="memory")


@routes.add(
    "POST",
    "/v1/<space_id>/formation",
    summary="Submit messages to be remembered",
    body=FormationInput,
    from_text=FormationInput.from_text,
    text_member="messages",
    headers=(IDEMPOTENCY_KEY,),
    answers={200: Answer(RpcResponse[AgentOutput], "Accepted; the receipt says when it is done.")},
    raises=(IdempotencyConflict,),
    admits=Admission.WRITE,
)
def formation(caller: Principal, body: FormationInput) -> Response:
    """Answers at once with the conversation, the job and its receipt, which are durable by then.

    The meaning behind an `Idempotency-Key` is `messages`, `context` and `timestamp`, as
    normalised. A Markdown body is one user message, verbatim.
    """
    messages = [without_nulls(dict(message)) for message in body.messages]
    told: dict[str, Any] = {}
    context = told_context(body.context)
    if context:
        told["context"] = context
    if body.timestamp is not None:
        told["timestamp"] = body.timestamp
    key = idempotency({"messages": messages, **told})
    job = accept_run(caller, "formation", messages=messages, extra=told, idempotency=key)
    content = f"Accepted {len(messages)} message{'s' * (len(messages) != 1)} for formation."
    result = {"content": content, "usage": ZERO_USAGE, **follow(job)}
    return answer(result, text=content, headers={"Location": location(job)})
