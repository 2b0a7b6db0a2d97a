"""`GET /v1/{space}/jobs/{id}/events`: a job's transitions and progress as Server-Sent Events.

Event ids are those of the transitions, so that `Last-Event-ID` resumes exactly; progress has no
id and is told as it is now. The stream ends by itself after the event `end`, and a client that
comes back then gets 204, upon which an `EventSource` stops. No database connection is held
between two reads.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from flask import Response, request
from pydantic import BaseModel, ConfigDict, Field

from api.admission import Admission, standing
from api.errors import TooManyStreams
from api.operator.jobs import find
from api.routes import Answer, Header, Routes
from api.streams import Place, Standing, places
from jobs import receipts
from jobs.watch import REREAD_SECONDS, watch
from storage import jobs as table
from storage.database import Scope, database
from storage.errors import InvalidInput, Unavailable
from storage.jobs import Job, JobEvent
from storage.principals import Principal

routes = Routes("events", tag="jobs")

#: A comment after so much silence, in seconds: a gone client shows only when it is written to.
KEEPALIVE_SECONDS = 12.0
_RETRY_MILLIS = 2000
_PAGE = 500
_MAX_ID = 2**63 - 1
LAST_EVENT_ID = Header(
    "Last-Event-ID",
    "The last event that the client has; the stream goes on after it.",
    "42",
    {"type": "integer", "minimum": 0, "maximum": _MAX_ID},
)


class After(BaseModel):
    """`Last-Event-ID` for clients that cannot set a header; the header wins."""

    model_config = ConfigDict(extra="forbid")
    after: int = Field(0, ge=0, le=_MAX_ID)


@routes.add(
    "GET",
    "/v1/<space_id>/jobs/<job_id>/events",
    summary="Follow a job",
    query=After,
    headers=(LAST_EVENT_ID,),
    answers={
        200: Answer(str, "`transition`, `progress` and `end` events.", ("text/event-stream",)),
        204: Answer(None, "The job has ended and the client has every event.", ()),
    },
    raises=(TooManyStreams,),
    admits=Admission.READ,
    across_labels=True,
)
def job_events(caller: Principal, job_id: str, query: After) -> Response:
    """`transition` carries one transition with its id, `progress` the job's present steps, `end`
    the job as it ended.
    """
    scope = Scope(caller.space_id)
    after = _last_event_id(query.after)
    with database().transaction(scope) as tx:
        job = find(tx, scope, job_id)
        fresh = table.events(tx, scope, job_id, after=after, limit=1)
    if after and job.terminal and not fresh:
        return Response(status=204)
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    if request.method == "HEAD":
        return Response(headers=headers, content_type="text/event-stream")
    caller_stands = Standing(standing(caller.space_id))
    place = places().take()
    response = Response(
        stream(scope, job_id, after, place, caller_stands),
        headers=headers,
        content_type="text/event-stream",
    )
    response.call_on_close(place.leave)
    return response


def stream(scope: Scope, job_id: str, after: int, place: Place, caller: Standing) -> Iterator[str]:
    """The frames from event `after` on, until the job has ended, the process stops, or the
    caller's credential no longer holds.
    """
    yield f"retry: {_RETRY_MILLIS}\n\n"
    told = time.monotonic()
    shown: Any = None
    with watch().job(job_id) as changed:
        place.wake = changed.set
        while not place.closing and not caller.ended():
            changed.clear()
            try:
                job, fresh = _read(scope, job_id, after)
            except Unavailable:
                # the stream outlives the database being away
                changed.wait(REREAD_SECONDS)
                continue
            for event in fresh:
                after = event.id
                yield frame("transition", receipts.event_view(event), event.id)
            if job is None:
                return
            if job.terminal and len(fresh) < _PAGE:
                yield frame("end", receipts.view(job))
                return
            news = bool(fresh)
            if job.state == "running" and job.progress not in (None, shown):
                shown, news = job.progress, True
                yield frame("progress", receipts.progress(job))
            if not news and time.monotonic() - told >= KEEPALIVE_SECONDS:
                news = True
                yield ": still here\n\n"
            if news:
                told = time.monotonic()
            else:
                changed.wait(REREAD_SECONDS)


def frame(event: str, data: Any, event_id: int | None = None) -> str:
    """One event on the wire."""
    head = "" if event_id is None else f"id: {event_id}\n"
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"{head}event: {event}\ndata: {text}\n\n"


def _read(scope: Scope, job_id: str, after: int) -> tuple[Job | None, list[JobEvent]]:
    """The job, then what is new: in this order an ended job's last event is never missed."""
    with database().transaction(scope) as tx:
        job = table.get(tx, scope, job_id)
        return job, table.events(tx, scope, job_id, after=after, limit=_PAGE)


def _last_event_id(otherwise: int) -> int:
    given = request.headers.get(LAST_EVENT_ID.name)
    if given is None:
        return otherwise
    if not given.isascii() or not given.isdigit() or int(given[:20]) > _MAX_ID:
        raise InvalidInput("Last-Event-ID must be the id of an event.", field=LAST_EVENT_ID.name)
    return int(given)
