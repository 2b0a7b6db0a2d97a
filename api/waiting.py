"""Waiting inside a request for a job to end: bounded, without polling, without a connection.

A caller may ask for less than `wait_seconds` by `Prefer: wait=N` (RFC 7240), or for none by
`Prefer: respond-async`. A waiting request holds a thread, so it takes one of the places that
`api.streams` counts; when none is left it does not wait and the caller gets its receipt at once.
Who hangs up cancels nothing.
"""

from __future__ import annotations

import re

from flask import request

from api.errors import TooManyStreams
from api.routes import Header
from api.streams import waits
from jobs import watch
from storage.database import Scope
from storage.errors import Unavailable
from storage.jobs import Job
from storage.settings import settings

PREFER = Header(
    "Prefer",
    "`wait=N`: wait at most N seconds for the answer (never more than the server's own bound), "
    "then 202 with the receipt; `respond-async`: do not wait.",
    "wait=10",
)
_WAIT = re.compile(
    r"(?:^|[,;])\s*wait\s*=\s*\"?(\d{1,9})\"?\s*(?=$|[,;])", re.IGNORECASE | re.ASCII
)
_ASYNC = re.compile(r"(?:^|,)\s*respond-async\s*(?=$|[,;])", re.IGNORECASE)


def preferred_seconds() -> float:
    """How long this request may wait."""
    given = ",".join(request.headers.getlist(PREFER.name))
    wait = _WAIT.search(given)
    if wait is not None:
        return min(float(wait[1]), settings().wait_seconds)
    return 0.0 if _ASYNC.search(given) else settings().wait_seconds


def wait_for_end(job: Job, *, seconds: float | None = None) -> Job:
    """The job when it has ended, or as it was last seen when the time is up.

    `seconds` is how long the request itself says; else its headers and the settings do.
    """
    seconds = preferred_seconds() if seconds is None else seconds
    if job.terminal or seconds <= 0:
        return job
    try:
        with waits().taken():
            return watch.wait_for(Scope(job.space_id), job.id, seconds) or job
    except (TooManyStreams, Unavailable):
        # the job is accepted whatever happens to this wait; its receipt says the rest
        return job
