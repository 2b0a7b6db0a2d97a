"""`POST /v1/{space}/outcomes`: what registered observers measured."""

from __future__ import annotations

from flask import Response

from api.admission import Admission
from api.memory.outputs import RpcResponse
from api.negotiation import answer
from api.routes import Answer, Routes
from api.runtime.bodies import check_size
from api.runtime.inbox import RuntimeNotConfigured, mapped
from api.runtime.models import Learning, ObservationReceipt, OutcomeInput
from storage import spaces
from storage.clock import parse_text
from storage.database import Scope, database
from storage.errors import Conflict, IdempotencyConflict
from storage.kip.errors import UnsupportedCapability
from storage.principals import Principal
from storage.runtime import callers, outcomes
from storage.runtime.outcomes import Observation

routes = Routes("runtime_outcomes", tag="runtime")


@routes.add(
    "POST",
    "/v1/<space_id>/outcomes",
    summary="Record a measurement",
    body=OutcomeInput,
    answers={200: Answer(RpcResponse[ObservationReceipt], "What came of it.")},
    raises=(Conflict, IdempotencyConflict, UnsupportedCapability, RuntimeNotConfigured),
    admits=Admission.OBSERVER,
)
def record_outcome(caller: Principal, body: OutcomeInput) -> Response:
    """For signed observers under a registered contract; a space token is never enough.

    The same event with the same body has the same receipt; with another body it is refused.
    """
    observer = mapped(caller)
    check_size(body)
    told = body.observation
    if isinstance(told, Learning):
        outcomes.contract_of(observer, body.observer_configuration_digest)
        raise UnsupportedCapability("No learning controller is installed; nothing was recorded.")
    utility = body.utility
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        instance = callers.instance_of(spaces.get(tx, scope))
    receipt = outcomes.observe(
        database(),
        scope,
        observer,
        instance,
        Observation(
            space_instance=body.space_instance,
            attempt_ref=body.attempt_ref,
            configuration_digest=body.observer_configuration_digest,
            event_key=body.event_key,
            observed_at=parse_text(body.observed_at, field="observed_at"),
            metric=body.metric,
            window=body.window,
            terminal=told.terminal,
            outcome_status=told.outcome_status,
            magnitude=told.magnitude,
            payload=told.payload,
            correction_of=body.correction_of,
            safety_signal=body.safety_signal,
            utility=None if utility is None else utility.model_dump(exclude_none=True),
        ),
    )
    return answer(receipt.as_json(scope.space_id, instance))
