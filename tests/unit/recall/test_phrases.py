"""Claims as sentences: a time is told as exactly as it is known, and no more so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.recall import phrases
from storage.graph.validity import Bound, End, ValidTime


def at(month: int, day: int) -> datetime:
    return datetime(2026, month, day, tzinfo=UTC)


def last(month: int) -> datetime:
    """The last instant of a month, or of the year."""
    following = datetime(2027, 1, 1, tzinfo=UTC) if month == 12 else at(month + 1, 1)
    return following - timedelta(milliseconds=1)


def view(start: End, until: End) -> Any:
    return SimpleNamespace(
        subject="Ana",
        predicate="lives_in",
        object="Oslo",
        stance="support",
        valid=ValidTime(start, until),
    )


@pytest.mark.parametrize(
    ("start", "until", "english", "chinese"),
    [
        (None, None, "", ""),
        (at(5, 3), None, " since 2026-05-03", "，自2026-05-03起"),
        (Bound(at(5, 1), last(5)), None, " since 2026-05", "，自2026-05起"),
        (
            Bound(at(1, 1), last(12)),
            None,
            " since 2026",
            "，自2026起",
        ),
        # a month that had not ended when it was told of
        (Bound(at(5, 1), at(5, 9)), None, " since 2026-05", "，自2026-05起"),
        (
            Bound(None, at(5, 3)),
            None,
            " since 2026-05-03 at the latest",
            "，最晚自2026-05-03起",
        ),
        (
            Bound(at(5, 3), None),
            None,
            " since 2026-05-03 at the earliest",
            "，最早自2026-05-03起",
        ),
        (
            Bound(at(3, 3), at(5, 9)),
            None,
            " since some time from 2026-03-03 to 2026-05-09",
            "，自2026-03-03至2026-05-09间起",
        ),
        (None, at(5, 4), " until 2026-05-04", "，到2026-05-04为止"),
        (None, Bound(at(5, 1), at(6, 1)), " until 2026-05", "，到2026-05为止"),
        (
            None,
            Bound(None, at(5, 3)),
            " until 2026-05-03 at the latest",
            "，最晚到2026-05-03为止",
        ),
    ],
)
def test_a_claims_time_is_told_as_exactly_as_it_is_known(
    start: End, until: End, english: str, chinese: str
) -> None:
    claim = view(start, until)
    assert phrases.claim(claim, "en") == f"Ana lives in Oslo{english}"
    assert phrases.claim(claim, "zh") == f"Ana住在Oslo{chinese}"
