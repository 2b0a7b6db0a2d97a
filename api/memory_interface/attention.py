"""`GET /v1/{space}/memory/attention`: what came up since a caller last looked."""

from __future__ import annotations

from typing import Annotated, Literal

from flask import Response
from pydantic import BaseModel, ConfigDict, Field

from api.admission import Admission
from api.memory.outputs import RpcResponse
from api.negotiation import answer
from api.routes import Answer, Routes
from storage import attention, spaces
from storage.database import Scope, database
from storage.kip.errors import CursorInvalid
from storage.principals import Principal

routes = Routes("memory_attention", tag="memory interface")


class AttentionRecallInput(BaseModel):
    """Where to go on, and how many items to tell at most."""

    model_config = ConfigDict(extra="forbid")
    attention_cursor: Annotated[str, Field(max_length=1024)] | None = None
    limit: Annotated[int, Field(ge=1, le=attention.MOST)] = attention.PAGE


class AttentionItem(BaseModel):
    """A watch that fired, or a commitment that came due."""

    ref: str
    kind: Literal["watch_fired", "commitment_due"]
    summary: str
    raised_seq: int
    due_at: str | None = None
    target_refs: list[str]
    priority: float | None = None


class AttentionRecall(BaseModel):
    """Items in the order of (raised_seq, ref); keep the cursor to go on after them."""

    items: list[AttentionItem]
    attention_cursor: str
    complete: bool


@routes.add(
    "GET",
    "/v1/<space_id>/memory/attention",
    summary="Read what came up",
    query=AttentionRecallInput,
    answers={200: Answer(RpcResponse[AttentionRecall], "What was raised after the cursor.")},
    raises=(CursorInvalid,),
    admits=Admission.LENIENT_READ,
)
def get_attention(caller: Principal, query: AttentionRecallInput) -> Response:
    """Watches that fired and commitments that came due, whatever their scope.

    Reading changes nothing, and an item grants nothing. A cursor never expires, and its caller
    keeps it.
    """
    scope = Scope(caller.space_id)
    with database().transaction(scope, snapshot=True) as tx:
        spaces.get(tx, scope)
        page = attention.page(tx, scope, query.attention_cursor, query.limit)
    told = {
        "items": [item.as_json() for item in page.items],
        "attention_cursor": page.cursor(len(page.items)),
        "complete": not page.more,
    }
    text = "\n".join(f"- {item.summary} ({item.ref})" for item in page.items)
    return answer(told, text=text)
