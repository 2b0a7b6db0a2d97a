"""The one clock. Times are aware, UTC, and cut to whole milliseconds (seed 003 section 1)."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta

from storage.errors import InvalidInput

#: Unix milliseconds that a message may carry: 0001-01-01 to 9999-12-31, as datetime can hold.
MIN_MILLIS = -62135596800000
MAX_MILLIS = 253402300799999

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RFC3339 = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,3}))?([Zz]|[+-]\d{2}:\d{2})",
    re.ASCII,
)


def now() -> datetime:
    """The present, UTC, whole milliseconds. Leases and due times use the database's clock."""
    return from_millis(time.time_ns() // 1_000_000)


def from_millis(millis: int) -> datetime:
    """Unix milliseconds to an aware UTC time; raises `InvalidInput` outside years 1 to 9999."""
    if not MIN_MILLIS <= millis <= MAX_MILLIS:
        raise InvalidInput("A timestamp lies outside the years 1 to 9999.")
    return _EPOCH + timedelta(milliseconds=millis)


def to_millis(at: datetime) -> int:
    """An aware time to Unix milliseconds, rounding down."""
    return (at - _EPOCH) // timedelta(milliseconds=1)


def to_text(at: datetime) -> str:
    """`YYYY-MM-DDTHH:mm:ss.SSSZ`, the one spelling of time in memory."""
    at = at.astimezone(UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z".rjust(24, "0")


def parse_text(text: str, *, field: str = "timestamp") -> datetime:
    """Read an RFC 3339 time with any offset and at most milliseconds.

    Raises `InvalidInput` for anything else, also for a time without an offset or with a finer
    fraction: such a value is refused, never replaced (seed 003, POST /formation).
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise InvalidInput(
            f"{field} must be an RFC 3339 time with an offset and at most milliseconds, "
            "such as 2026-03-29T08:00:00.000Z.",
            field=field,
        )
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    millis = int((match[7] or "0").ljust(3, "0"))
    try:
        at = datetime(year, month, day, hour, minute, second, millis * 1000, tzinfo=UTC)
        if match[8] not in "Zz":
            sign = -1 if match[8][0] == "-" else 1
            hours, minutes = int(match[8][1:3]), int(match[8][4:6])
            if hours > 23 or minutes > 59:
                raise ValueError("offset")
            at -= sign * timedelta(hours=hours, minutes=minutes)
    except (ValueError, OverflowError):
        raise InvalidInput(f"{field} is not a real date and time.", field=field) from None
    return at
