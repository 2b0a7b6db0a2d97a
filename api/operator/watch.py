"""`/v1/{space}/jobs/watch`: a WebSocket that tells of every job of the space as it changes.

Each message is `{"type": "job", "job": …}` with the job as it is now; several changes in quick
succession may come as one. The server reads nothing from the client. What changed while the
database or the connection was away is not told again: list the jobs after connecting.
"""

from __future__ import annotations

import contextlib
import json
import queue

from flask import Response, g, request
from flask_sock import Sock
from simple_websocket import ConnectionClosed, Server
from wsproto.utilities import RemoteProtocolError

from api.admission import Admission, admit, standing
from api.errors import TooManyStreams, UpgradeRequired, render
from api.routes import Answer, Routes
from api.streams import Place, Standing, places
from jobs import receipts
from jobs.watch import watch
from storage import jobs as table
from storage import spaces
from storage.database import Scope, database
from storage.errors import InvalidInput, Unavailable
from storage.jobs import Job
from storage.principals import Principal

routes = Routes("watch", tag="jobs")
sock = Sock()

_PATH = "/v1/<space_id>/jobs/watch"
#: How often a quiet connection is looked at, in seconds; gone clients are found by pings.
_LOOK_SECONDS = 1.0
PING_SECONDS = 25
MAX_MESSAGE_BYTES = 4096


@routes.add(
    "GET",
    _PATH,
    summary="Watch the jobs of a space (WebSocket)",
    answers={101: Answer(None, "Each message is `{type: job, job: JobView}`.", ())},
    raises=(UpgradeRequired, TooManyStreams),
    admits=Admission.READ,
    across_labels=True,
)
def watch_jobs(caller: Principal) -> Response:
    """Connect with `Upgrade: websocket`; anything else is answered with 426."""
    raise UpgradeRequired()


@routes.blueprint.before_request
def admit_watcher() -> None:
    """Before the handshake: afterwards no error could be told in HTTP."""
    if request.headers.get("Upgrade", "").lower() != "websocket":
        return
    space_id = (request.view_args or {})["space_id"]
    scope = Scope(admit(space_id, Admission.READ, across_labels=True).space_id)
    with database().transaction(scope) as tx:
        spaces.get(tx, scope)
    g.place = places().take()


@routes.blueprint.errorhandler(RemoteProtocolError)
def refuse_handshake(_: RemoteProtocolError) -> Response:
    """A handshake that lacks what RFC 6455 asks for; nothing has been sent yet."""
    return render(InvalidInput("This is not a valid WebSocket handshake."))


@routes.blueprint.teardown_request
def leave(_: BaseException | None) -> None:
    """Give the place back, also where the handshake failed."""
    place: Place | None = g.pop("place", None)
    if place is not None:
        place.leave()


@sock.route(_PATH, bp=routes.blueprint, endpoint="watch_socket")
def tell(ws: Server, space_id: str) -> None:
    """Send the jobs of the space as they change, until the client leaves, the process stops, or
    the client's credential no longer holds.
    """
    scope = Scope(space_id)
    caller = Standing(standing(space_id))
    place: Place = g.place
    with watch().space(space_id) as changes, contextlib.suppress(ConnectionClosed):
        place.wake = lambda: changes.put("")
        while ws.connected and not place.closing and not caller.ended():
            for job in _read(scope, _changed(changes)):
                ws.send(json.dumps({"type": "job", "job": receipts.view(job)}, ensure_ascii=False))
            while ws.receive(timeout=0) is not None:
                pass


def _changed(changes: queue.SimpleQueue[str]) -> list[str]:
    """Ids that were hinted at, each once, waiting a moment for the first."""
    found: dict[str, None] = {}
    with contextlib.suppress(queue.Empty):
        found[changes.get(timeout=_LOOK_SECONDS)] = None
        while True:
            found[changes.get_nowait()] = None
    return [job_id for job_id in found if job_id]


def _read(scope: Scope, ids: list[str]) -> list[Job]:
    if not ids:
        return []
    try:
        with database().transaction(scope) as tx:
            found = [table.get(tx, scope, job_id) for job_id in ids]
    except Unavailable:
        return []
    return [job for job in found if job is not None]
