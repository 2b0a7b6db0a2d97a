"""`POST /v1/{space}/memory/pin` and `/memory/forget`: what is kept, and what is erased."""

from __future__ import annotations

from typing import Annotated, Any

from flask import Response
from pydantic import BaseModel, ConfigDict, Field

from api import request_id
from api.admission import Admission
from api.errors import RunFailed
from api.idempotency import HEADER as IDEMPOTENCY_KEY
from api.idempotency import idempotency
from api.memory.outputs import ZERO_USAGE, AgentOutput, RpcResponse
from api.memory.runs import follow, location
from api.negotiation import answer
from api.routes import Answer, Routes
from api.waiting import PREFER, wait_for_end
from jobs import dispatch, ledger
from storage import forgetting, pinning, spaces
from storage.database import Scope, database
from storage.errors import Conflict, IdempotencyConflict
from storage.jobs import Job
from storage.principals import Principal

routes = Routes("retention", tag="memory")

_STRICT = ConfigDict(strict=True, extra="ignore")
#: Elements that one request names at most.
MAX_ENTITIES = 1000


class MemoryPinInput(BaseModel):
    """Which element to pin, or to let go again."""

    model_config = _STRICT
    entity: Annotated[str, Field(pattern="^[CPAEX]-[1-9][0-9]{0,17}$", description="Such as C-7.")]
    pinned: bool = True


class MemoryPinOutput(BaseModel):
    """Whether the element is pinned now, and how many retention records changed for it."""

    entity: str
    pinned: bool
    updated: int


class MemoryForgetInput(BaseModel):
    """Which elements to erase."""

    model_config = _STRICT
    entities: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=64)]],
        Field(min_length=1, max_length=MAX_ENTITIES),
    ]
    dry_run: bool = False


class MemoryForgetEntity(BaseModel):
    """What became of one element; `error` says why it stays, and begins with a stable code."""

    entity: str
    existed: bool
    error: str | None = None


class MemoryForgetReport(BaseModel):
    """How many elements of each kind were erased, with those that went along."""

    dry_run: bool
    deleted_concepts: int
    deleted_propositions: int
    deleted_assertions: int
    deleted_evidence: int
    deleted_activities: int
    entities: list[MemoryForgetEntity] | None = None


@routes.add(
    "POST",
    "/v1/<space_id>/memory/pin",
    summary="Pin an element",
    body=MemoryPinInput,
    answers={200: Answer(RpcResponse[MemoryPinOutput], "As it is now.")},
    raises=(Conflict,),
    admits=Admission.WRITE,
)
def pin_memory(caller: Principal, body: MemoryPinInput) -> Response:
    """A pinned element is never put away because its time of retention is over.

    `updated` is 0 when it was so already. Unpinning leaves an element of another class alone.
    """
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        updated = pinning.pin(tx, scope, caller.subject, body.entity, pinned=body.pinned)
    return answer({"entity": body.entity, "pinned": body.pinned, "updated": updated})


@routes.add(
    "POST",
    "/v1/<space_id>/memory/forget",
    summary="Erase elements",
    body=MemoryForgetInput,
    headers=(IDEMPOTENCY_KEY, PREFER),
    answers={
        200: Answer(RpcResponse[MemoryForgetReport], "What was erased, and what stays and why."),
        202: Answer(RpcResponse[AgentOutput], "Not done yet: the receipt, and no content."),
    },
    raises=(IdempotencyConflict, RunFailed),
    admits=Admission.WRITE,
)
def forget_memory(caller: Principal, body: MemoryForgetInput) -> Response:
    """Erases them from the present and from history; only a stub of their ids remains.

    With a concept go the propositions that it stands in, with a proposition the assertions about
    it. What anything else refers to stays, unless that is named, too, and so does what a legal
    hold keeps: each such element is reported with its error and hinders no other. Conversations,
    documents and copies elsewhere are not touched. With `dry_run` the same is counted and nothing
    is changed; else it runs as a durable job, and the request waits for its end as `/recall` does.
    """
    if body.dry_run:
        return answer(_trial(caller, body.entities))
    return _outcome(wait_for_end(_accept(caller, body.entities)))


def _trial(caller: Principal, entities: list[str]) -> dict[str, Any]:
    """The very same, rolled back."""
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx, tx.transaction(force_rollback=True):
        found = forgetting.forget(tx, scope, caller.subject, entities)
    return found.as_json(dry_run=True)


def _accept(caller: Principal, entities: list[str]) -> Job:
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        spaces.get(tx, scope)
        accepted = ledger.accept(
            tx,
            caller,
            "purge",
            {"entities": entities},
            operation="forget_elements",
            idempotency=idempotency({"entities": entities}),
            request_id=request_id.current(),
        )
    if accepted.created:
        dispatch.announce([accepted.job])
    return accepted.job


def _outcome(job: Job) -> Response:
    headers = {"Location": location(job)}
    if job.state == "succeeded":
        return answer(job.result or {}, headers=headers)
    if not job.terminal:
        result = {"content": "", "usage": ZERO_USAGE, **follow(job)}
        return answer(result, status=202, text="", headers=headers)
    error = job.error or {"code": job.state, "message": f"The job was {job.state}."}
    raise RunFailed(error["message"], data={"reason": error["code"], "job": job.id})
