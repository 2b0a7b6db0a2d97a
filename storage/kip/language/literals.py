"""What the spelling of a string or a number stands for (contract kip-engine section 1)."""

from __future__ import annotations

import json
import math
import re

from storage.kip.errors import InvalidSyntax, fault

#: Integral values beyond this are not the same number everywhere.
SAFE_INTEGER = 2**53 - 1

_HALF_PAIR = re.compile("[\ud800-\udfff]")
_NONZERO = re.compile(r"[1-9]")


def string_value(text: str, at: int) -> str:
    """The string that a quoted text spells; `at` is its offset.

    Raises `InvalidSyntax` for half a surrogate pair, and for the character U+0000, which the
    store cannot keep.
    """
    if "\\" not in text:
        return text[1:-1]
    value: str = json.loads(text)
    if half := _HALF_PAIR.search(value):
        raise fault(
            InvalidSyntax,
            f"The string holds half a surrogate pair, \\u{ord(half.group()):04x}.",
            at,
            hint="Write both halves, or the character itself.",
        )
    if "\x00" in value:
        raise fault(
            InvalidSyntax,
            "The string holds the character U+0000, which cannot be stored.",
            at,
            hint="Leave the character out.",
        )
    return value


def number_value(text: str, at: int) -> int | float:
    """The number that a text spells: an int when it is integral, else a float.

    Raises `InvalidSyntax` for what is no finite binary64, for integral values beyond
    `SAFE_INTEGER`, and for what is not zero but too small to be told from it.
    """
    value = float(text)
    if not math.isfinite(value) or (value.is_integer() and abs(value) > SAFE_INTEGER):
        raise fault(
            InvalidSyntax,
            "The number lies outside the range that is the same everywhere, "
            f"±{SAFE_INTEGER} for whole numbers.",
            at,
            hint="Write it as a string.",
        )
    mantissa = text.replace("E", "e").partition("e")[0]
    if value == 0 and _NONZERO.search(mantissa):
        raise fault(
            InvalidSyntax,
            "The number is too small to be told from zero.",
            at,
            hint="Write it as a string, or write 0.",
        )
    return int(value) if value.is_integer() else value
