"""JSON text as RFC 8259 has it and nothing looser, for requests that come as text."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from storage.kip.errors import InvalidRequestEnvelope

#: Digits of one number; Python itself refuses to read longer integers.
_MAX_DIGITS = 1000
_NONZERO = re.compile(r"[1-9]")


def decode(text: bytes | str) -> Any:
    """Read one JSON text; `envelope.check_tree` looks at what it holds.

    Raises `InvalidRequestEnvelope` for what is no JSON in UTF-8, for duplicate names, and for
    numbers that no binary64 holds.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        return _DECODER.decode(text)
    except UnicodeDecodeError:
        raise InvalidRequestEnvelope("The request is not UTF-8.") from None
    except RecursionError:
        raise InvalidRequestEnvelope("The request is nested too deep.") from None
    except json.JSONDecodeError as error:
        raise InvalidRequestEnvelope(
            f"The request is not valid JSON: {error.msg} "
            f"(line {error.lineno}, column {error.colno})."
        ) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidRequestEnvelope("An object of the request names the same member twice.")
    return found


def _constant(name: str) -> Any:
    raise InvalidRequestEnvelope(f"{name} is not a JSON number.")


def _float(text: str) -> float:
    number = float(text)
    mantissa = text.lower().partition("e")[0]
    if not math.isfinite(number) or (number == 0 and _NONZERO.search(mantissa)):
        raise InvalidRequestEnvelope("A number of the request is out of range.")
    return number


def _int(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise InvalidRequestEnvelope("A number of the request is out of range.")
    return int(text)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_constant=_constant,
    parse_float=_float,
    parse_int=_int,
)
