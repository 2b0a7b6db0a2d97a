"""Every error as the same JSON, whatever the route, the format asked for, or the cause.

The tree is `storage.errors`; the leaves here are those that only HTTP knows. Routing and body
errors of Flask are turned into the same shape, and what nobody foresaw is logged with its trace
and answered without a word of it.
"""

from __future__ import annotations

import json
import math
from typing import Any

import psycopg
import structlog
from flask import Flask, Response
from werkzeug.exceptions import HTTPException, MethodNotAllowed, RequestEntityTooLarge

from storage import errors
from storage.database import is_outage
from storage.errors import BrainError
from storage.graph.errors import KipError
from storage.kip.errors import as_kip

log = structlog.get_logger(__name__)

#: What `Retry-After` says where the error itself names no delay, in seconds.
RETRY_AFTER_SECONDS = 2.0


class WrongShard(errors.InvalidInput):
    """`Shard-Id` (or `X-Shard`; without either, 0) names another server than this one."""

    code = "wrong_shard"
    default = "The Shard-Id of this request is not the one of this server."


class CursorInvalid(errors.InvalidInput):
    """A cursor that this server did not make for this very list, or that was changed."""

    code = "CursorInvalid"
    default = "This cursor does not belong to this list; start again without one."


class UpgradeRequired(errors.InvalidInput):
    """The route speaks WebSocket only."""

    code = "upgrade_required"
    status = 426
    default = "This route is a WebSocket; connect with Upgrade: websocket."


class BodyTimeout(errors.InvalidInput):
    """The body stopped coming."""

    code = "body_timeout"
    status = 408
    default = "The body of the request did not come in time."


class TooManyStreams(errors.Unavailable):
    """This process holds as many open streams as it may."""

    code = "too_many_streams"
    default = "Too many event streams are open; try again shortly."


class ForeignOrigin(errors.NotAuthorized):
    """A web page of another origin, or a host name that is not this machine's, calls."""

    code = "foreign_origin"
    default = "This server answers only callers on its own machine."


class RunFailed(BrainError):
    """The run ended without an answer, and the format asked for has no place to say so."""

    code = "run_failed"
    default = "The run did not succeed."


def render(error: BrainError) -> Response:
    """The response that tells of `error`."""
    headers = {}
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if error.status in (429, 503):
        seconds = RETRY_AFTER_SECONDS if error.retry_after is None else error.retry_after
        headers["Retry-After"] = str(max(1, math.ceil(seconds)))
    body = error.as_json()
    if isinstance(error, KipError):
        body["data"] = as_kip(error)
    return _json(body, error.status, headers)


def register(app: Flask) -> None:
    """Answer every error of `app` in this shape."""
    app.register_error_handler(BrainError, render)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(psycopg.Error, _database)
    app.register_error_handler(Exception, _unforeseen)


def _json(body: dict[str, Any], status: int, headers: dict[str, str]) -> Response:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Response(text, status, headers, mimetype="application/json")


def _http(error: HTTPException) -> Response:
    if isinstance(error, RequestEntityTooLarge):
        return render(errors.TooLarge("The body is larger than this server accepts."))
    if isinstance(error, MethodNotAllowed):
        response = render(errors.MethodNotAllowed())
        response.headers["Allow"] = ", ".join(error.valid_methods or ())
        return response
    if error.code == 404:
        return render(errors.NotFound("There is no such route."))
    status = error.code or 500
    if status < 400:
        return Response(status=status, headers=dict(error.get_headers()))
    code = error.name.lower().replace(" ", "_").replace("'", "")
    return _json({"message": error.name + ".", "data": {"code": code}}, status, {})


def _database(error: psycopg.Error) -> Response:
    if is_outage(error):
        return render(errors.DatabaseUnavailable())
    return _unforeseen(error)


def _unforeseen(error: Exception) -> Response:
    log.error("request.failed", error=type(error).__name__, exc_info=error)
    return render(errors.Fatal())
