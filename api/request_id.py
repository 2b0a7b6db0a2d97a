"""The id under which a request is found again: in its answer, in the logs, and on its job."""

from __future__ import annotations

import re

import structlog
from flask import g, request

from storage.ids import new_id

HEADER = "X-Request-Id"
#: A caller's own id: printable ASCII without spaces, at most 128 characters.
_SHAPE = re.compile(r"[\x21-\x7e]{1,128}", re.ASCII)


def begin() -> None:
    """Take the caller's id where it has the shape of one, else make one."""
    given = request.headers.get(HEADER)
    g.request_id = given if given and _SHAPE.fullmatch(given) else new_id("req")
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=g.request_id)


def current() -> str:
    """The id of the request that is being answered."""
    return str(g.request_id)
