"""Times: one spelling, strict reading, whole milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage import clock
from storage.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-29T08:00:00+09:00", "2026-03-28T23:00:00.000Z"),
        ("2026-03-29T08:00:00.5Z", "2026-03-29T08:00:00.500Z"),
        ("2026-03-29t08:00:00.123z", "2026-03-29T08:00:00.123Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
    ],
)
def test_any_offset_is_normalised_to_utc_milliseconds(text, expected):
    assert clock.to_text(clock.parse_text(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-03-29",
        "2026-03-29T08:00:00",
        "2026-03-29T08:00:00.1234Z",
        "2026-02-30T08:00:00Z",
        "2026-03-29T25:00:00Z",
        "2026-03-29T08:00:60Z",
        "2026-03-29T08:00:00+24:00",
        "2026-03-29T08:00:00+05:60",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        " 2026-03-29T08:00:00Z",
        "2026-03-29T08:00:00Z\n",
        "２０２６-03-29T08:00:00Z",
        "yesterday",
    ],
)
def test_what_is_no_exact_time_is_refused_with_its_field(text):
    with pytest.raises(InvalidInput) as caught:
        clock.parse_text(text, field="observed_at")
    assert caught.value.data["field"] == "observed_at"


@given(st.integers(clock.MIN_MILLIS, clock.MAX_MILLIS))
def test_milliseconds_text_and_back_lose_nothing(millis):
    moment = clock.from_millis(millis)
    assert clock.to_millis(moment) == millis
    assert clock.parse_text(clock.to_text(moment)) == moment


@pytest.mark.parametrize("millis", [clock.MIN_MILLIS - 1, clock.MAX_MILLIS + 1, 10**30, -(10**30)])
def test_milliseconds_outside_years_1_to_9999_are_refused(millis):
    with pytest.raises(InvalidInput):
        clock.from_millis(millis)


def test_a_time_of_any_zone_is_written_in_utc():
    moment = datetime(2026, 1, 1, 1, 0, tzinfo=timezone(timedelta(hours=2)))
    assert clock.to_text(moment) == "2025-12-31T23:00:00.000Z"
    assert clock.now().tzinfo is UTC
