"""`POST /v1/{space}/maintenance`: let the space tidy its memory."""

from __future__ import annotations

from typing import Any

from flask import Response

from api.admission import Admission
from api.memory.inputs import MaintenanceInput
from api.memory.outputs import ZERO_USAGE, AgentOutput, RpcResponse
from api.memory.runs import accept_run, follow, location
from api.negotiation import answer
from api.routes import Answer, Routes
from storage.canonical import digest
from storage.principals import Principal

routes = Routes("maintenance", tag="memory")


@routes.add(
    "POST",
    "/v1/<space_id>/maintenance",
    summary="Run maintenance",
    body=MaintenanceInput,
    answers={200: Answer(RpcResponse[AgentOutput], "Accepted, or joined to a waiting run.")},
    admits=Admission.WRITE,
)
def maintenance(caller: Principal, body: MaintenanceInput) -> Response:
    """Accepts a run; it shares the space's memory lane with formation.

    A run of the same scope and parameters that still waits is answered instead of adding one.
    """
    told: dict[str, Any] = {"trigger": body.trigger, "scope": body.scope}
    parameters = body.parameters.given() if body.parameters else {}
    extra = dict(told)
    coalesce_key = f"maintenance:{body.scope}"
    if parameters:
        extra["parameters"] = parameters
        coalesce_key += f":{digest(parameters)}"
    if body.timestamp is not None:
        extra["timestamp"] = body.timestamp
    job = accept_run(
        caller, "maintenance", messages=[], extra=extra, payload=told, coalesce_key=coalesce_key
    )
    content = f"Accepted {body.scope} maintenance."
    result = {"content": content, "usage": ZERO_USAGE, **follow(job)}
    return answer(result, text=content, headers={"Location": location(job)})
