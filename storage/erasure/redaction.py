"""What is left of a JSON value once its words are taken out: ids, numbers, times, our own names."""

from __future__ import annotations

import re
from typing import Any

#: What stands where words were.
ERASED = "[erased]"

#: Members whose strings are names that we gave, never words of a caller.
_OURS = frozenset(
    {
        "type",
        "role",
        "kind",
        "status",
        "state",
        "phase",
        "code",
        "category",
        "class",
        "operation",
        "change_kind",
        "disposition",
        "mode",
        "trigger",
        "scope",
        "stance",
        "epistemic_status",
        "kip_memory",
        "detail",
    }
)
# ids of elements and of jobs, digests, times; nothing that a person could have said
_HANDLE = re.compile(
    r"[CPAEX]-[0-9]{1,18}|[a-z]{3}-[0-9a-f]{32}|bas-[0-9]+(#[0-9]+)?|sha256:[0-9a-f]{64}"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|",
    re.ASCII,
)


def redacted(value: Any) -> Any:
    """The same value with `ERASED` for every string that may be content; doing it twice is once.

    Members keep their names, which are ours.
    """
    match value:
        case str():
            return value if _HANDLE.fullmatch(value) else ERASED
        case dict():
            return {
                name: item if name in _OURS and isinstance(item, str) else redacted(item)
                for name, item in value.items()
            }
        case list():
            return [redacted(item) for item in value]
    return value


def error(value: dict[str, Any] | None) -> dict[str, Any] | None:
    """An error whose message may quote content."""
    return None if value is None else {**value, "message": ERASED}
