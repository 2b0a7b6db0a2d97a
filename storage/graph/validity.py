"""When a claim holds in the world: `valid_time` as written, and the bounds that follow from it.

Each end of an interval is exact, unknown (None), or a bound {earliest?, latest?}; intervals are
half-open. A missing start means "by the time it was said at the latest"; a missing end means that
no end is stated (contract kip-engine section 1).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from storage.clock import parse_text, to_text
from storage.errors import InvalidInput
from storage.graph.errors import ConstraintViolation, TypeMismatch

_STRICT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Bound:
    """An instant known only within limits; at least one of them is given."""

    earliest: datetime | None = None
    latest: datetime | None = None


#: One end of an interval: exact, within limits, or not stated.
End = datetime | Bound | None


@dataclass(frozen=True, slots=True)
class ValidTime:
    """An interval as a writer states it. `ValidTime()` states nothing."""

    start: End = None
    until: End = None

    def check(self, asserted_at: datetime) -> None:
        """Raises `ConstraintViolation` unless the earliest start lies before the latest end."""
        bounds = Bounds.of(self, asserted_at)
        for low, high in (
            (bounds.from_earliest, bounds.from_latest),
            (bounds.until_earliest, bounds.until_latest),
        ):
            if low is not None and high is not None and low > high:
                raise ConstraintViolation("A bound's earliest lies after its latest.")
        starts, ends = bounds.from_earliest, bounds.until_latest
        if starts is not None and ends is not None and starts >= ends:
            raise ConstraintViolation("valid_time ends before it begins.")

    def as_json(self) -> dict[str, Any] | None:
        """The written form `{from?, until?}`; None when nothing is stated."""
        written = {"from": _end_json(self.start), "until": _end_json(self.until)}
        return {k: v for k, v in written.items() if v is not None} or None

    @classmethod
    def from_json(cls, value: dict[str, Any] | None) -> ValidTime:
        """Read the written form back. Raises `TypeMismatch` and `ConstraintViolation`."""
        if value is None:
            return cls()
        if not isinstance(value, dict):
            raise TypeMismatch("valid_time must be an object with from and until.")
        if unknown := set(value) - {"from", "until"}:
            raise ConstraintViolation(f"valid_time has no member {sorted(unknown)[0]!r}.")
        return cls(_end_of(value.get("from"), "from"), _end_of(value.get("until"), "until"))


#: No start and no end stated.
UNSTATED = ValidTime()


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is stored beside the written form, and what belief works on.

    `from_latest` of a missing start is the time of the claim; both `until` bounds are None when no
    end is stated. `start_key` orders claims of one line: the exact start, else the bound's latest,
    else the time of the claim (section 4).
    """

    from_earliest: datetime | None
    from_latest: datetime | None
    until_earliest: datetime | None
    until_latest: datetime | None
    start_key: datetime
    from_written: bool

    @classmethod
    def of(cls, valid: ValidTime, asserted_at: datetime) -> Bounds:
        """Derive the bounds of an interval claimed at `asserted_at`."""
        low: datetime | None
        high: datetime | None
        first: datetime | None
        last: datetime | None
        match valid.start:
            case None:
                low, high, key = None, asserted_at, asserted_at
            case Bound(earliest, latest):
                low, high, key = earliest, latest, latest or asserted_at
            case exact:
                low, high, key = exact, exact, exact
        match valid.until:
            case None:
                first, last = None, None
            case Bound(earliest, latest):
                first, last = earliest, latest
            case exact:
                first, last = exact, exact
        return cls(low, high, first, last, key, valid.start is not None)


def instant(value: Any, field: str) -> datetime:
    """Read `YYYY-MM-DDTHH:mm:ss.SSSZ`, the only spelling of time that memory takes.

    Raises `TypeMismatch` for anything but a string, `ConstraintViolation` for any other string.
    """
    if not isinstance(value, str):
        raise TypeMismatch(f"{field} must be a timestamp string.")
    if _STRICT.fullmatch(value) is None:
        raise ConstraintViolation(f"{field} must look like 2026-03-29T08:00:00.000Z.")
    try:
        return parse_text(value, field=field)
    except InvalidInput as error:
        raise ConstraintViolation(error.message) from None


def _end_of(value: Any, field: str) -> End:
    if value is None:
        return None
    if not isinstance(value, dict):
        return instant(value, f"valid_time.{field}")
    if not value or set(value) - {"earliest", "latest"}:
        raise ConstraintViolation(f"valid_time.{field} takes earliest and latest.")
    limits = {
        name: None if limit is None else instant(limit, f"valid_time.{field}.{name}")
        for name, limit in value.items()
    }
    if all(limit is None for limit in limits.values()):
        raise ConstraintViolation(f"valid_time.{field} states no limit.")
    return Bound(**limits)


def _end_json(end: End) -> Any:
    match end:
        case None:
            return None
        case Bound(earliest, latest):
            limits = {"earliest": earliest, "latest": latest}
            return {name: to_text(limit) for name, limit in limits.items() if limit is not None}
        case exact:
            return to_text(exact)
