"""The `Idempotency-Key` header: with it, a request that is sent again is accepted once."""

from __future__ import annotations

import re
from typing import Any

from flask import request

from api.routes import Header
from jobs.ledger import Idempotency
from storage.errors import InvalidInput

HEADER = Header(
    "Idempotency-Key",
    "1 to 255 printable ASCII characters. The same key with the same meaning answers the job that "
    "is there already; with another meaning it is a 409. It belongs to the caller, the space and "
    "the operation.",
    "import-2026-03-29-0001",
    {"type": "string", "pattern": "^[\\x21-\\x7e]([\\x20-\\x7e]{0,253}[\\x21-\\x7e])?$"},
)
_SHAPE = re.compile(r"[\x20-\x7e]{1,255}", re.ASCII)


def idempotency(meaning: Any) -> Idempotency | None:
    """The caller's key for this meaning, None without one; raises `InvalidInput`."""
    key = request.headers.get(HEADER.name)
    if key is None:
        return None
    if _SHAPE.fullmatch(key) is None:
        raise InvalidInput(
            "An Idempotency-Key has 1 to 255 printable ASCII characters.", field=HEADER.name
        )
    return Idempotency(key, meaning)
