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
from storage import maintenance_runs
from storage.canonical import digest
from storage.database import Scope, database
from storage.errors import Conflict
from storage.principals import Principal

routes = Routes("maintenance", tag="memory")


@routes.add(
    "POST",
    "/v1/<space_id>/maintenance",
    summary="Run maintenance",
    body=MaintenanceInput,
    answers={200: Answer(RpcResponse[AgentOutput], "Accepted, or joined to a waiting run.")},
    raises=(Conflict,),
    admits=Admission.WRITE,
)
def maintenance(caller: Principal, body: MaintenanceInput) -> Response:
    """Accepts a run; it shares the space's memory lane with formation.

    Every scope settles what is due: Watches, promises, retention, corrections. `daydream` then asks
    memory for some of what it believes (the self-test). `quick` instead looks at the state of
    affairs: Events that wait, concepts without ties, open tasks, the schema in use. `full` does all
    of that, and lets a configured model consolidate Events that wait. Parameters come before the
    space's policy, for this run; the deprecated ones are checked and have no effect.

    A run of the same scope and parameters that still waits is answered instead of adding one. While
    a formation of the space runs, the request is refused with 409: ask again when it has ended.
    """
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        if maintenance_runs.forming(tx, scope):
            raise Conflict("A formation of this space is running; ask again when it has ended.")
    told: dict[str, Any] = {"trigger": body.trigger, "scope": body.scope}
    parameters = body.parameters.given() if body.parameters else {}
    coalesce_key = f"maintenance:{body.scope}"
    if parameters:
        told["parameters"] = parameters
        coalesce_key += f":{digest(parameters)}"
    extra = dict(told)
    if body.timestamp is not None:
        extra["timestamp"] = body.timestamp
    job = accept_run(
        caller, "maintenance", messages=[], extra=extra, payload=told, coalesce_key=coalesce_key
    )
    content = f"Accepted {body.scope} maintenance."
    result = {"content": content, "usage": ZERO_USAGE, **follow(job)}
    return answer(result, text=content, headers={"Location": location(job)})
