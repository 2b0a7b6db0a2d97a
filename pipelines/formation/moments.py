"""How exactly a claim's time was said, as an interval of memory.

A named day counts from its beginning, and an end "until" a day includes it. A month or a year is a
bound, since it names no instant; who says at the time of speaking that something has held since
this month says that it holds by then.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from storage.clock import parse_text
from storage.errors import InvalidInput
from storage.graph.validity import Bound, End, ValidTime

_PARTS = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)


def interval(
    valid_from: str | None, valid_until: str | None, asserted_at: datetime
) -> ValidTime | None:
    """The interval of `valid_from` to `valid_until`; None when they make no sense together."""
    start, until = _start(valid_from, asserted_at), _until(valid_until)
    if (valid_from and start is None) or (valid_until and until is None):
        return None
    first = start.earliest if isinstance(start, Bound) else start
    last = until.latest if isinstance(until, Bound) else until
    if first is not None and last is not None and first >= last:
        return None
    return ValidTime(start, until)


def _start(text: str | None, asserted_at: datetime) -> End:
    span = _span(text)
    if span is None:
        return None
    first, after, exact = span
    if exact:
        return first
    latest = after - timedelta(milliseconds=1)
    return Bound(first, min(latest, asserted_at) if first <= asserted_at else latest)


def _until(text: str | None) -> End:
    span = _span(text)
    if span is None:
        return None
    first, after, exact = span
    return after if exact else Bound(first, after)


def _span(text: str | None) -> tuple[datetime, datetime, bool] | None:
    """First instant, the instant after, and whether the text names a day or an instant."""
    if not text:
        return None
    found = _PARTS.fullmatch(text)
    try:
        if found is None:
            at = parse_text(text)
            return at, at, True
        year, month, day = (int(part) if part else None for part in found.groups())
        assert year is not None
        if month is None:
            return datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC), False
        first = datetime(year, month, day or 1, tzinfo=UTC)
        if day is not None:
            return first, first + timedelta(days=1), True
        following = (year + 1, 1) if month == 12 else (year, month + 1)
        return first, datetime(*following, 1, tzinfo=UTC), False
    except (InvalidInput, ValueError, OverflowError):
        return None
