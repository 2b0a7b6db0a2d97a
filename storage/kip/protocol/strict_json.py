"""Requests of KIP that come as text."""

from __future__ import annotations

from typing import Any

from storage import strict_json
from storage.kip.errors import InvalidRequestEnvelope


def decode(text: bytes | str) -> Any:
    """Read one request; `envelope.check_tree` looks at what it holds.

    Raises `InvalidRequestEnvelope` for what is no JSON in UTF-8, and what `storage.strict_json`
    refuses.
    """
    try:
        text = text.decode("utf-8") if isinstance(text, bytes) else text
    except UnicodeDecodeError:
        raise InvalidRequestEnvelope("The request is not UTF-8.") from None
    try:
        return strict_json.decode(text, InvalidRequestEnvelope, "request")
    except RecursionError:
        raise InvalidRequestEnvelope("The request is nested too deep.") from None
