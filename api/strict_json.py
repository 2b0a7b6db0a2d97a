"""Bodies as `storage.strict_json` has them, so that a body means one thing or is refused.

Refused besides: nesting deeper than `MAX_DEPTH`, lone surrogates, and NUL characters (PostgreSQL
keeps none, and dropping one would change what was said).
"""

from __future__ import annotations

import re
from typing import Any

from storage import strict_json
from storage.errors import InvalidInput

#: Containers inside one another.
MAX_DEPTH = 64

_SUSPECT_ESCAPE = re.compile(r"\\u(?:0000|[dD][89abAB])")
_UNKEEPABLE = re.compile("[\x00\ud800-\udfff]")


def decode(body: bytes) -> Any:
    """Read one JSON text; raises `InvalidInput`."""
    text = utf8(body)
    try:
        value = strict_json.decode(text, InvalidInput, "body")
    except RecursionError:
        raise too_deep() from None
    # an escape is the only way to write these in a text that is valid UTF-8
    check_tree(value, strings=_SUSPECT_ESCAPE.search(text) is not None)
    return value


def utf8(body: bytes) -> str:
    """The body as text; raises `InvalidInput` for what is not UTF-8."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"The body is not valid UTF-8 (byte {error.start}).") from None


def check_tree(value: Any, *, strings: bool) -> None:
    """Refuse nesting beyond `MAX_DEPTH` and, with `strings`, text that cannot be kept."""
    level = [value]
    depth = 0
    while level:
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
                if strings:
                    below.extend(item.keys())
            elif isinstance(item, list):
                below.extend(item)
            elif strings and isinstance(item, str):
                check_text(item)
        if depth == MAX_DEPTH and any(isinstance(item, dict | list) for item in level):
            raise too_deep()
        level = below
        depth += 1


def check_text(text: str, *, field: str | None = None) -> str:
    """`text` itself; raises `InvalidInput` when it holds NUL or a lone surrogate."""
    if _UNKEEPABLE.search(text):
        raise InvalidInput("Text must not hold NUL characters or lone surrogates.", field=field)
    return text


def too_deep() -> InvalidInput:
    """The error for nesting beyond `MAX_DEPTH`."""
    return InvalidInput(f"The body is nested deeper than {MAX_DEPTH} levels.")
