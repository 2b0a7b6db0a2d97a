"""`GET /v1/{space}/conversations…`: the records of formation, recall and maintenance runs."""

from __future__ import annotations

import re
from typing import Any

from flask import Response
from pydantic import BaseModel, ConfigDict, Field

from api.admission import Admission
from api.errors import CursorInvalid
from api.memory import outputs
from api.memory.outputs import ZERO_USAGE, RpcResponse
from api.negotiation import answer
from api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from api.routes import Answer, Routes
from storage import conversations, recall_receipts, spaces
from storage.clock import to_millis
from storage.conversations import Collection, Conversation
from storage.database import Scope, database
from storage.errors import InvalidInput, NotAuthorized, NotFound
from storage.principals import SUBJECT_PREFIX, Principal

routes = Routes("conversations", tag="memory")

_CLOSED = ConfigDict(extra="forbid")
_HOUR_MILLIS = 3_600_000
#: The principal of the brain itself, as the seed's server writes it.
BRAIN = "uuc56-gyb"
#: The largest id that the database can hold.
_MAX_ID = 2**63 - 1


class OfCollection(BaseModel):
    """Which collection; `formation` unless it is named."""

    model_config = _CLOSED
    collection: Collection = "formation"


class PageOfCollection(OfCollection):
    """A page of a collection, newest first."""

    cursor: Cursor | None = None
    limit: Limit = DEFAULT_LIMIT


class SinceOffsets(OfCollection):
    """What the caller has of the record already."""

    messages_offset: int = Field(0, ge=0, le=2**31 - 1)
    artifacts_offset: int = Field(0, ge=0, le=2**31 - 1)


@routes.add(
    "GET",
    "/v1/<space_id>/conversations",
    summary="List conversations",
    query=PageOfCollection,
    answers={200: Answer(RpcResponse[list[outputs.Conversation]], "A page, newest first.")},
    raises=(CursorInvalid,),
    admits=Admission.PUBLIC_READ,
    across_labels=True,
)
def list_conversations(caller: Principal, query: PageOfCollection) -> Response:
    """Pages by the opaque `next_cursor`; none means that this is the last page."""
    _check_reader(caller, query.collection)
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        spaces.get(tx, scope)
        rows, next_cursor = page(
            caller,
            "conversations",
            {"collection": query.collection},
            cursor=query.cursor,
            limit=query.limit,
            read=lambda before, count: conversations.list_page(
                tx, scope, query.collection, before_id=before, limit=count
            ),
            position=lambda row: row.id,
        )
    return answer([record(row) for row in rows], next_cursor=next_cursor)


@routes.add(
    "GET",
    "/v1/<space_id>/conversations/<conversation_id>",
    summary="Read a conversation",
    query=OfCollection,
    answers={200: Answer(RpcResponse[outputs.Conversation], "The record.")},
    admits=Admission.PUBLIC_READ,
    across_labels=True,
)
def get_conversation(caller: Principal, conversation_id: str, query: OfCollection) -> Response:
    """The record of one run, with its messages as they were given."""
    return answer(record(_get(caller, conversation_id, query.collection)))


@routes.add(
    "GET",
    "/v1/<space_id>/conversations/<conversation_id>/delta",
    summary="Read what is new in a conversation",
    query=SinceOffsets,
    answers={200: Answer(RpcResponse[outputs.ConversationDelta], "What is new.")},
    admits=Admission.PUBLIC_READ,
    across_labels=True,
)
def get_delta(caller: Principal, conversation_id: str, query: SinceOffsets) -> Response:
    """Messages and artifacts after the offsets, with the present status."""
    found = record(_get(caller, conversation_id, query.collection))
    names = ("_id", "status", "usage", "failed_reason", "updated_at")
    delta = {name: found[name] for name in names if name in found}
    delta["messages"] = found["messages"][query.messages_offset :]
    delta["artifacts"] = found["artifacts"][query.artifacts_offset :]
    return answer(delta)


def _user(subject: str) -> str:
    """The signed subject of a caller; the brain's own principal for all who have none.

    Decoders of the seed's clients read a `user` as a principal's text. `caller` says who it was.
    """
    return subject.removeprefix(SUBJECT_PREFIX) if subject.startswith(SUBJECT_PREFIX) else BRAIN


def record(row: Conversation) -> dict[str, Any]:
    """A conversation in the seed's words; artifacts have what its clients' resources need."""
    created = to_millis(row.created_at)
    told: dict[str, Any] = {
        "_id": row.id,
        "user": _user(row.principal),
        "caller": row.principal,
        "messages": row.messages,
        "resources": row.resources,
        "artifacts": [
            {
                "_id": number,
                "name": one.get("type", row.collection),
                "tags": [row.collection],
                **one,
            }
            for number, one in enumerate(row.artifacts, 1)
        ],
        "status": row.status,
        "period": created // _HOUR_MILLIS,
        "created_at": created,
        "updated_at": to_millis(row.updated_at),
        "usage": row.usage or ZERO_USAGE,
        # the receipt of a recall is the host's
        "extra": {k: v for k, v in row.extra.items() if k != recall_receipts.MEMBER},
    }
    for name in ("thread", "label", "failed_reason"):
        value = getattr(row, name)
        if value is not None:
            told[name] = value
    return told


def _check_reader(caller: Principal, collection: str) -> None:
    """Recalls of the time before a space was made public may quote what the public must not see.

    The public sees what carries no label, and so does a caller who may only write.
    """
    if collection == "recall" and caller.labels is not None:
        raise NotAuthorized("What was asked here is not public.")


def _get(caller: Principal, conversation_id: str, collection: Collection) -> Conversation:
    if re.fullmatch(r"[0-9]{1,20}", conversation_id, re.ASCII) is None:
        raise InvalidInput("A conversation id is a positive integer.", field="conversation_id")
    _check_reader(caller, collection)
    scope = Scope(caller.space_id)
    found = None
    with database().transaction(scope) as tx:
        spaces.get(tx, scope)
        if int(conversation_id) <= _MAX_ID:
            found = conversations.get(tx, scope, int(conversation_id), collection)
    if found is None:
        raise NotFound("There is no such conversation in this space.")
    return found
