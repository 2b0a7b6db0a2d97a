"""`GET /v1/{space}/memory/receipts/{receipt}`: how far a change of memory is."""

from __future__ import annotations

from flask import Response

from api.admission import Admission
from api.memory.outputs import RpcResponse
from api.memory_interface import progress
from api.memory_interface.models import ReceiptView
from api.negotiation import answer
from api.routes import Answer, Routes
from jobs import ledger
from jobs.receipts import receipt
from storage import spaces
from storage.database import Scope, database
from storage.graph.errors import NotFoundOrNotVisible
from storage.principals import Principal

routes = Routes("memory_receipts", tag="memory interface")


@routes.add(
    "GET",
    "/v1/<space_id>/memory/receipts/<receipt_ref>",
    summary="Read a receipt",
    answers={200: Answer(RpcResponse[ReceiptView], "The receipt and how far its work is.")},
    raises=(NotFoundOrNotVisible,),
    admits=Admission.READ,
)
def get_receipt(caller: Principal, receipt_ref: str) -> Response:
    """For the caller whose request it is; to anybody else it does not exist."""
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        spaces.get(tx, scope)
        job = ledger.by_receipt(tx, caller, receipt_ref)
    if job is None or job.operation not in progress.OPERATIONS:
        raise NotFoundOrNotVisible("There is no such receipt here.")
    return answer(
        {
            "receipt": receipt(job),
            "progress": progress.progress(job),
            "result": progress.result(job),
            "warnings": progress.warnings(job),
        }
    )
