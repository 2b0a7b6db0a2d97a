"""`/v1/{space}/jobs…`: every job of any kind, its history, cancel and retry."""

from __future__ import annotations

from typing import Annotated, Any

from flask import Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from api.admission import Admission
from api.errors import CursorInvalid
from api.memory.outputs import RpcResponse
from api.memory.runs import location
from api.negotiation import answer
from api.operator.outputs import JobDetail, JobState, JobView
from api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from api.routes import Answer, Routes
from jobs import dispatch, ledger, receipts
from jobs.kinds import KINDS
from storage import jobs as table
from storage import spaces
from storage.database import Scope, Transaction, database
from storage.errors import Conflict, InvalidInput, NotFound
from storage.ids import is_id
from storage.jobs import Job
from storage.principals import Principal

routes = Routes("jobs", tag="jobs")


def _several(value: Any) -> Any:
    """One value, values by comma, or a parameter that is repeated."""
    values = value if isinstance(value, list) else [value]
    return [part for one in values for part in str(one).split(",")]


def _known_kind(name: str) -> str:
    if name not in KINDS:
        raise InvalidInput(f"There is no such kind; known: {', '.join(KINDS)}.", field="kind")
    return name


class JobFilters(BaseModel):
    """Which jobs to list; `kind` and `state` may be given several times or by comma."""

    model_config = ConfigDict(extra="forbid")
    kind: Annotated[list[str] | None, BeforeValidator(_several), Field(None, max_length=len(KINDS))]
    state: Annotated[list[JobState] | None, BeforeValidator(_several), Field(None, max_length=5)]
    lane: str | None = Field(None, min_length=1, max_length=256)
    cursor: Cursor | None = None
    limit: Limit = DEFAULT_LIMIT


@routes.add(
    "GET",
    "/v1/<space_id>/jobs",
    summary="List jobs",
    query=JobFilters,
    answers={200: Answer(RpcResponse[list[JobView]], "A page, newest first.")},
    raises=(CursorInvalid,),
    admits=Admission.READ,
    # what a recall found is in its job
    across_labels=True,
)
def list_jobs(caller: Principal, query: JobFilters) -> Response:
    """Newest first; pages by the opaque `next_cursor`."""
    scope = Scope(caller.space_id)
    kinds = [_known_kind(name) for name in query.kind or ()]
    with database().transaction(scope) as tx:
        spaces.get(tx, scope)
        rows, next_cursor = page(
            caller,
            "jobs",
            {"kind": sorted(kinds), "state": sorted(query.state or ()), "lane": query.lane},
            cursor=query.cursor,
            limit=query.limit,
            read=lambda before, count: table.list_page(
                tx,
                scope,
                kinds=kinds,
                states=query.state,
                lane=query.lane,
                before_seq=before,
                limit=count,
            ),
            position=lambda job: job.seq,
        )
    return answer([receipts.view(job) for job in rows], next_cursor=next_cursor)


@routes.add(
    "GET",
    "/v1/<space_id>/jobs/<job_id>",
    summary="Read a job",
    answers={200: Answer(RpcResponse[JobDetail], "The job with its timeline and attempts.")},
    admits=Admission.READ,
    # what a recall found is in its job
    across_labels=True,
)
def get_job(caller: Principal, job_id: str) -> Response:
    """State, progress and receipt, every transition, and every attempt."""
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        job = find(tx, scope, job_id)
        events = table.events(tx, scope, job.id)
        restarts = table.children(tx, scope, job.id)
    told = receipts.view(job)
    told["payload"] = job.payload
    told["timeline"] = receipts.timeline(events)
    told["attempts"] = receipts.attempts(events)
    told["restarts"] = restarts
    return answer(told)


@routes.add(
    "POST",
    "/v1/<space_id>/jobs/<job_id>/cancel",
    summary="Cancel a job",
    answers={200: Answer(RpcResponse[JobView], "The job as it is now.")},
    admits=Admission.WRITE,
)
def cancel_job(caller: Principal, job_id: str) -> Response:
    """A waiting job ends at once, a running one at its next checkpoint; an ended one stays."""
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        find(tx, scope, job_id)
        changed = ledger.cancel(tx, caller, job_id)
        job = ledger.get(tx, scope, job_id)
    dispatch.announce([job, *changed])
    return answer(receipts.view(job))


@routes.add(
    "POST",
    "/v1/<space_id>/jobs/<job_id>/retry",
    summary="Restart a failed or cancelled job",
    answers={200: Answer(RpcResponse[JobView], "The new job, linked by `parent_id`.")},
    raises=(Conflict,),
    admits=Admission.WRITE,
)
def retry_job(caller: Principal, job_id: str) -> Response:
    """The ended job's receipt stays; asking twice answers the same new job.

    The record of a run (`conversation`) follows the new job.
    """
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        find(tx, scope, job_id)
        accepted = ledger.retry(tx, caller, job_id)
    if accepted.created:
        dispatch.announce([accepted.job])
    return answer(receipts.view(accepted.job), headers={"Location": location(accepted.job)})


def find(tx: Transaction, scope: Scope, job_id: str) -> Job:
    """The job; raises `NotFound`, in the same words for no space, no job, and another's job."""
    spaces.get(tx, scope)
    if not is_id(job_id, "job"):
        raise NotFound("There is no such job in this space.")
    return ledger.get(tx, scope, job_id)
