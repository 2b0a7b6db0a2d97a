"""JSON as RFC 8259 has it and nothing looser, so that a body means one thing or is refused.

Refused besides bad syntax: duplicate keys, NaN and infinities, nesting deeper than `MAX_DEPTH`,
lone surrogates, and NUL characters (PostgreSQL keeps none, and dropping one would change what
was said). Integers stay integers, whatever their size.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from storage.errors import InvalidInput

#: Containers inside one another.
MAX_DEPTH = 64
#: Digits of one number; Python itself refuses to read longer integers.
MAX_DIGITS = 1000

_SUSPECT_ESCAPE = re.compile(r"\\u(?:0000|[dD][89abAB])")
_UNKEEPABLE = re.compile("[\x00\ud800-\udfff]")


def decode(body: bytes) -> Any:
    """Read one JSON text; raises `InvalidInput`."""
    text = utf8(body)
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise too_deep() from None
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"The body is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})."
        ) from None
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


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidInput("An object of the body names the same member twice.")
    return found


def _constant(name: str) -> Any:
    raise InvalidInput(f"{name} is not a JSON number.")


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidInput("A number of the body is out of range.")
    return number


def _int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise InvalidInput(f"A number of the body has more than {MAX_DIGITS} digits.")
    return int(text)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_constant=_constant,
    parse_float=_float,
    parse_int=_int,
)
