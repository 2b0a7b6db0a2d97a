"""`POST /v1/{space}/recall_structured`: a recall's answer with what it stands on, in members."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from flask import Response
from pydantic import BaseModel, ConfigDict, Field

from api.admission import Admission
from api.errors import RunFailed
from api.idempotency import HEADER as IDEMPOTENCY_KEY
from api.memory.inputs import RecallInput
from api.memory.outputs import Receipt, RpcResponse, Usage
from api.memory.probe import MemoryCitation
from api.memory.recall import accept_recall, told_of
from api.routes import Answer, Routes
from api.runtime.models import RecallReceiptRef
from api.waiting import PREFER, wait_for_end
from storage.errors import IdempotencyConflict
from storage.principals import Principal

routes = Routes("recall_structured", tag="memory")


class RecallBudgetReceipt(BaseModel):
    """What a packet of memory was limited to, and the tokens that it has."""

    tokenizer: str
    token_limit: int
    tokens: int
    context_token_limit: int


class RecallOutput(BaseModel):
    """An answer with what it stands on. `job` and `receipt` tell where to follow the run.

    `uncertainty` is the share of the cited claims that are contested or uncertain; it is absent
    where no claim is cited. Under a budget `answer` is a packet, which nothing is told beside, and
    `found` says that a candidate was delivered, not that it answers. `recall_receipt` is for who
    measures what memory contributed.
    """

    model_config = ConfigDict(extra="allow")
    answer: str
    found: bool
    uncertainty: float | None = Field(None, ge=0, le=1)
    memories: list[MemoryCitation] | None = None
    conversation: int | None = None
    usage: Usage
    failed_reason: str | None = None
    memory_budget: RecallBudgetReceipt | None = None
    recall_receipt: RecallReceiptRef | None = None
    job: str | None = None
    state: str | None = None
    receipt: Receipt | None = None


#: Members of a job's result that are told as they are.
_TOLD = ("found", "uncertainty", "memories", "usage", "failed_reason", "memory_budget")


@routes.add(
    "POST",
    "/v1/<space_id>/recall_structured",
    summary="Ask what is remembered, and on what the answer stands",
    body=RecallInput,
    from_text=RecallInput.from_text,
    text_member="query",
    headers=(IDEMPOTENCY_KEY, PREFER),
    answers={
        200: Answer(
            RpcResponse[RecallOutput], "The answer; `failed_reason` says why there is none."
        ),
        202: Answer(
            RpcResponse[RecallOutput],
            "Not done yet: the receipt, no answer, and a `failed_reason` that says so.",
        ),
    },
    raises=(IdempotencyConflict, RunFailed),
    admits=Admission.PUBLIC_READ,
    across_labels=True,
)
def recall_structured(caller: Principal, body: RecallInput) -> Response:
    """As `/recall`, which it shares budgets, waiting and failures with.

    `memories` are the claims, promises, rules and messages that the answer cites. Under a budget
    there are none beside the packet in `answer`, and `memory_budget` says what it kept to.
    """
    job = wait_for_end(accept_recall(caller, body, structured=True))
    members = partial(_members, caller.space_id)
    return told_of(job, "answer", {"answer": "", "found": False}, members)


def _members(space_id: str, result: Mapping[str, Any]) -> dict[str, Any]:
    told = {name: result[name] for name in _TOLD if name in result}
    receipt = result.get("recall_receipt")
    if receipt is not None:
        # an erasure leaves no name in a result, not even the space's
        told["recall_receipt"] = {**receipt, "scope": {**receipt["scope"], "space_id": space_id}}
    return {**told, "answer": result.get("content", "")}
