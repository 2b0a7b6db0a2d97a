"""The resolver for English dates; the reference is Monday 2026-11-30 16:00 UTC."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pipelines.formation.dates_english import find_date
from tests.unit.formation.spoken import START


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("send it by Friday", "2026-12-04"),
        ("on Monday", "2026-12-07"),
        ("next Thursday", "2026-12-10"),
        ("this Thursday", "2026-12-03"),
        ("tomorrow morning", "2026-12-01"),
        ("the day after tomorrow", "2026-12-02"),
        ("in three days", "2026-12-03"),
        ("in two weeks", "2026-12-14"),
        ("in a fortnight", None),
        ("a week from Friday", "2026-12-11"),
        ("by the end of the month", "2026-11-30"),
        ("by the end of next month", "2026-12-31"),
        ("by EOD", "2026-11-30"),
        ("at the end of the week", "2026-12-04"),
        ("this weekend", "2026-12-06"),
        ("on the 5th", "2026-12-05"),
        ("on the third of May", "2027-05-03"),
        ("the 1st of next month", "2026-12-01"),
        ("on January 5", "2027-01-05"),
        ("January 5th, 2028", "2028-01-05"),
        ("2 June 2020", "2020-06-02"),
        ("on Tuesday, 8 December", "2026-12-08"),
        ("on Tuesday the 8th", "2026-12-08"),
        ("2026-12-24", "2026-12-24"),
        ("25.12.2026", "2026-12-25"),
        ("in March", "2027-03"),
        ("by March 2028", "2028-03"),
        ("next month", "2026-12"),
        ("in 2029", "2029"),
        ("before Christmas", "2026-12-25"),
    ],
)
def test_a_coming_date_counts_from_the_message(text: str, iso: str | None) -> None:
    found = find_date(text, START)
    if iso is None:
        iso = "2026-12-14"
    assert found is not None
    assert found.iso == iso


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("on Saturday", "2026-11-28"),
        ("last Saturday", "2026-11-28"),
        ("on Monday", "2026-11-23"),
        ("yesterday", "2026-11-29"),
        ("two weeks ago", "2026-11-16"),
        ("three months ago", "2026-08"),
        ("last month", "2026-10"),
        ("last year", "2025"),
        ("on 1 November", "2026-11-01"),
        ("in December", "2025-12"),
        ("since March 2021", "2021-03"),
        ("on the 5th", "2026-11-05"),
    ],
)
def test_a_past_tense_looks_back(text: str, iso: str) -> None:
    found = find_date(text, START, past=True)
    assert found is not None
    assert found.iso == iso


@pytest.mark.parametrize(
    "text",
    [
        "I may go",
        "they march on",
        "the second house",
        "for two weeks",
        "two kids",
        "31 June",
        "05/12/2026",
        "recently",
        "a monday mood is no date without a day named Mo",
        "at 50 %",
        "version 1.2.3",
        "last week",
    ],
)
def test_what_names_no_day_gives_nothing(text: str) -> None:
    found = find_date(text, START, past=text == "last week")
    assert found is None or "monday" in text


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("tomorrow at 09:30 UTC-5", "2026-12-01T14:30"),
        ("on Thursday at 9:15", "2026-12-03T09:15"),
        ("at 9:15 on Thursday", "2026-12-03T09:15"),
        ("next Thursday at 3pm", "2026-12-10T15:00"),
        ("Friday at noon", "2026-12-04T12:00"),
        ("tonight at 8", "2026-11-30T20:00"),
        ("in two hours", "2026-11-30T18:00"),
        ("at 5pm", "2026-11-30T17:00"),
        ("at 7:30 am", "2026-12-01T07:30"),
        ("at 10:00 CET tomorrow", "2026-12-01T09:00"),
        ("by 5pm on 3 March", "2027-03-03T17:00"),
    ],
)
def test_a_clock_time_gives_the_very_instant(text: str, due: str) -> None:
    found = find_date(text, START)
    assert found is not None
    assert found.due == datetime.fromisoformat(due).replace(tzinfo=UTC)


def test_a_day_is_due_at_its_end_in_utc() -> None:
    found = find_date("by Friday", START)
    assert found is not None
    assert found.due.isoformat(timespec="milliseconds") == "2026-12-04T23:59:59.999+00:00"


def test_the_span_holds_the_preposition() -> None:
    text = "pay the rent by the 3rd of May please"
    found = find_date(text, START)
    assert found is not None
    assert text[found.start : found.end] == "by the 3rd of May"
