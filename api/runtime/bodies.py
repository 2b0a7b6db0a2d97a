"""How large a body of the runtime's routes may be (seed 003 section 4.6)."""

from __future__ import annotations

from flask import request
from pydantic import BaseModel

from storage.canonical import canonical_json
from storage.errors import TooLarge

#: Longest body, in bytes, in whichever format it came.
MAX_BODY = 16 * 1024


def check_size(body: BaseModel) -> None:
    """Raise `TooLarge` for a body that was longer; of one without a length, its JSON counts."""
    length = request.content_length or len(canonical_json(body.model_dump()).encode())
    if length > MAX_BODY:
        raise TooLarge(f"A body has at most {MAX_BODY} bytes here.")
