"""`/v1/{space}/memory/sources`: hand over what was observed, before memory is formed of it."""

from __future__ import annotations

from flask import Response

from api.admission import Admission
from api.memory.outputs import RpcResponse
from api.memory_interface import progress
from api.memory_interface.models import StagedSource, StagedSourceRef, StageSourceInput
from api.negotiation import answer
from api.routes import Answer, Routes
from jobs import ledger
from storage import spaces, staging
from storage.clock import parse_text, to_text
from storage.database import Scope, Transaction, database
from storage.errors import Conflict
from storage.graph.errors import NotFoundOrNotVisible, SourceSuppressed
from storage.principals import Principal

routes = Routes("memory_sources", tag="memory interface")


@routes.add(
    "POST",
    "/v1/<space_id>/memory/sources",
    summary="Stage a source",
    body=StageSourceInput,
    answers={200: Answer(RpcResponse[StagedSourceRef], "Its handle.")},
    raises=(Conflict, SourceSuppressed, NotFoundOrNotVisible),
    admits=Admission.WRITE,
)
def stage_source(caller: Principal, body: StageSourceInput) -> Response:
    """Kept verbatim; nothing is formed yet. The same under the same key is the same handle.

    What was erased is refused and binds no key.
    """
    scope = Scope(caller.space_id)
    order = None if body.order is None else body.order.model_dump(exclude_none=True)
    with database().transaction(scope) as tx:
        spaces.get(tx, scope)
        for receipt_ref in (order or {}).get("predecessor_receipts", ()):
            _own(tx, caller, receipt_ref)
        source = staging.stage(
            tx,
            scope,
            caller.subject,
            key=body.idempotency_key,
            kind=body.kind,
            messages=body.messages,
            observed_at=None if body.observed_at is None else parse_text(body.observed_at),
            order=order,
        )
    told = {
        "source_ref": source.ref,
        "source_digest": source.source_digest,
        "captured_at": to_text(source.captured_at),
    }
    return answer(told)


@routes.add(
    "GET",
    "/v1/<space_id>/memory/sources/<source_ref>",
    summary="Read a staged source",
    answers={200: Answer(RpcResponse[StagedSource], "The source.")},
    raises=(NotFoundOrNotVisible,),
    admits=Admission.READ,
)
def get_source(caller: Principal, source_ref: str) -> Response:
    """For whoever staged it; to anybody else it does not exist."""
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        spaces.get(tx, scope)
        source = staging.get(tx, scope, caller.subject, source_ref)
    if source is None:
        raise NotFoundOrNotVisible("There is no such source here.")
    return answer(staging.as_json(source))


def _own(tx: Transaction, caller: Principal, receipt_ref: str) -> None:
    job = ledger.by_receipt(tx, caller, receipt_ref)
    if job is None or job.operation not in progress.OPERATIONS:
        raise NotFoundOrNotVisible("There is no such receipt here.")
