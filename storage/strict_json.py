"""JSON as RFC 8259 has it and nothing looser: duplicate names, NaN, infinities, numbers that no
binary64 holds and endless digits are refused. Integers stay integers, whatever their size.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from storage.errors import BrainError

#: Digits of one number; Python itself refuses to read longer integers.
MAX_DIGITS = 1000
_NONZERO = re.compile(r"[1-9]")


def decode(text: str, refuse: Callable[[str], BrainError], what: str) -> Any:
    """Read one JSON text, which errors call `what`; raises `refuse` for anything else.

    Nesting that Python cannot read is a `RecursionError`: each caller has a bound of its own.
    """
    try:
        return _decoder(refuse, what).decode(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise refuse(f"The {what} is not valid JSON: {error.msg} ({place}).") from None


@lru_cache(maxsize=8)
def _decoder(refuse: Callable[[str], BrainError], what: str) -> json.JSONDecoder:
    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise refuse(f"An object of the {what} names the same member twice.")
        return found

    def constant(name: str) -> Any:
        raise refuse(f"{name} is not a JSON number.")

    def fraction(text: str) -> float:
        number = float(text)
        mantissa = text.lower().partition("e")[0]
        if not math.isfinite(number) or (number == 0 and _NONZERO.search(mantissa)):
            raise refuse(f"A number of the {what} is out of range.")
        return number

    def integer(text: str) -> int:
        if len(text) > MAX_DIGITS:
            raise refuse(f"A number of the {what} has more than {MAX_DIGITS} digits.")
        return int(text)

    return json.JSONDecoder(
        object_pairs_hook=members,
        parse_constant=constant,
        parse_float=fraction,
        parse_int=integer,
    )
