"""How much is let in at once: 503 beyond what a process can serve, 429 beyond what models can do.

Two limits, neither of which is a queue (seed 003 sections 6 and 10). They answer plain text, as the
seed says, and leave no trace.

- `api_requests` requests of any kind per process, before anything of the request is looked at.
  Probes and metrics are let in beyond it: a busy server is not a dead one.
- `LLM_MAX_CONCURRENCY` requests that hold their caller until a model may have answered, over all
  processes of one server. It has the size of the limit on model calls (`pipelines.ports.admission`)
  and is independent of it: a run that was accepted waits for its turn at the model. A place is
  taken by who was admitted and whose body is here, so that strangers and slow senders hold none.

A place among all processes is a lock on a byte of one file that they inherit; the system frees the
locks of a process that dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from flask import Flask, Response, request

from storage.settings import settings

#: The routes whose caller waits for what a model may have to answer.
MODEL_ROUTES = frozenset(
    {
        "/v1/<space_id>/recall",
        "/v1/<space_id>/recall_structured",
        "/v1/<space_id>/memory",
        "/v1/<space_id>/management/shadow_eval",
    }
)
#: Let in however much is under way.
UNLIMITED = frozenset({"/healthz", "/readyz", "/metrics"})
#: What `Retry-After` says, in seconds.
RETRY_AFTER = 1

_BUSY_MODELS = "Too many requests wait for models; try again shortly.\n"
_BUSY_SERVER = "Too many requests are under way; try again shortly.\n"
_HELD = "brainstem.held"
_STREAMED = "brainstem.streamed"


class Requests:
    """How many requests this process serves now; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    def take(self, limit: int) -> bool:
        """Count one more, unless there are `limit`."""
        with self._lock:
            if self._count >= limit:
                return False
            self._count += 1
            return True

    def leave(self) -> None:
        """Count one less."""
        with self._lock:
            self._count -= 1


class ModelPlaces:
    """The places of requests that wait for models; shared with processes forked from this one."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the process lives)
        self._start()
        os.register_at_fork(after_in_child=self._start)

    def _start(self) -> None:
        # locks belong to the process that took them: a child begins with none
        self._lock = threading.Lock()
        self._used: set[int] = set()

    def take(self, limit: int) -> int | None:
        """A place below `limit`, or None when all are taken."""
        first = random.randrange(limit)
        with self._lock:
            for place in (*range(first, limit), *range(first)):
                if place in self._used:
                    continue
                try:
                    fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
                except (BlockingIOError, PermissionError):
                    continue
                self._used.add(place)
                return place
        return None

    def leave(self, place: int) -> None:
        """Give a place back."""
        with self._lock:
            self._used.discard(place)
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)


_requests = Requests()
_model_places = ModelPlaces()


def model_places() -> ModelPlaces:
    """The places that this process shares with its siblings."""
    return _model_places


def install(app: Flask) -> None:
    """Let `app` give back its requests' places: when a handler is done, or a stream is."""
    inner = app.wsgi_app

    def limited(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        held = environ[_HELD] = contextlib.ExitStack()
        try:
            body = inner(environ, start_response)
        except BaseException:
            # also what a WebSocket ends with
            held.close()
            raise
        if _STREAMED in environ:
            return _Closing(body, held.close)
        held.close()
        return body

    def note(response: Response) -> Response:
        if response.is_streamed:
            request.environ[_STREAMED] = True
        return response

    app.wsgi_app = limited  # type: ignore[method-assign]
    app.after_request(note)


def refuse() -> Response | None:
    """Take this request's place in the process; the answer when there is none, else None."""
    if _route() in UNLIMITED:
        return None
    if not _requests.take(settings().api_requests):
        return _busy(503, _BUSY_SERVER)
    _held().callback(_requests.leave)
    return None


def refuse_model() -> Response | None:
    """Take the place of a request that waits for models; the answer when there is none.

    None for the answer also where the route asks no model.
    """
    if _route() not in MODEL_ROUTES:
        return None
    place = _model_places.take(settings().llm_max_concurrency)
    if place is None:
        return _busy(429, _BUSY_MODELS)
    _held().callback(_model_places.leave, place)
    return None


def _route() -> str:
    return request.url_rule.rule if request.url_rule is not None else ""


def _held() -> contextlib.ExitStack:
    held: contextlib.ExitStack = request.environ[_HELD]
    return held


def refusals(path: str) -> dict[int, str]:
    """What requests of a route may be answered from here, for its documentation."""
    if path in UNLIMITED:
        return {}
    told = {503: "In plain text: too many requests are under way in this process."}
    if path in MODEL_ROUTES:
        told[429] = "In plain text: too many requests wait for models."
    return told


def _busy(status: int, text: str) -> Response:
    headers = {"Retry-After": str(RETRY_AFTER)}
    return Response(text, status, headers, content_type="text/plain; charset=utf-8")


class _Closing:
    """A response body that tells when the server is done with it."""

    def __init__(self, body: Iterable[bytes], done: Callable[[], None]) -> None:
        self._body = body
        self._done = done

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._body)

    def close(self) -> None:
        """Called by the server once, however the answer ended."""
        try:
            close = getattr(self._body, "close", None)
            if close is not None:
                close()
        finally:
            self._done()
