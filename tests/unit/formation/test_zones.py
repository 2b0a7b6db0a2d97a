"""Clock times in named zones, and due dates that are periods."""

from __future__ import annotations

import pytest

from pipelines.formation.zones import zone_after
from tests.unit.formation.chinese_talk import encoded
from tests.unit.formation.spoken import proposed


def _due(text: str) -> tuple[str, str]:
    (commitment,) = proposed(text).commitments
    assert commitment.due is not None
    return commitment.summary, commitment.due.isoformat(timespec="minutes")[:16]


@pytest.mark.parametrize(
    ("words", "due"),
    [
        ("on 2 December at 23:30 New York time", "2026-12-03T04:30"),
        ("on 2 December at 11:30 pm Eastern Time", "2026-12-03T04:30"),
        ("at 23:30 New York time on 2 December", "2026-12-03T04:30"),
        ("on 2 July at 9:00 Berlin time", "2027-07-02T07:00"),
        ("on 2 December at 9:00 Berlin time", "2026-12-02T08:00"),
        ("on 2 December at 9:00 (London time)", "2026-12-02T09:00"),
        ("on 2 December at 9:00 Europe/Berlin", "2026-12-02T08:00"),
        ("on 2 December at 9am PST", "2026-12-02T17:00"),
        ("on 2 December at 9am Pacific", "2026-12-02T17:00"),
        ("on 2 December at 9:00 UTC+8", "2026-12-02T01:00"),
        ("on 2 December at 9:00 GMT+5:30", "2026-12-02T03:30"),
        ("on 2 December at noon Pacific time", "2026-12-02T20:00"),
        ("on Friday at 10 am Sydney time", "2026-12-03T23:00"),
        ("at 5 pm ET on Friday", "2026-12-04T22:00"),
        ("on 2 December at 9 in the evening Paris time", "2026-12-02T20:00"),
    ],
)
def test_a_named_zone_gives_the_instant(words: str, due: str) -> None:
    assert _due(f"I'll call the landlord {words}.") == ("call the landlord", due)


@pytest.mark.parametrize("zone", ["my time", "local time", "IST", "CST", "Zorblax time"])
def test_a_zone_that_cannot_be_told_leaves_the_day(zone: str) -> None:
    words = f"I'll call the landlord on 2 December at 9:00 {zone}."
    assert _due(words) == ("call the landlord", "2026-12-02T23:59")


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (
            "I'll bring the cake on 2 December at 9pm for the last time.",
            "bring the cake for the last time",
        ),
        ("I'll call the landlord on 2 December at 9:00 this time.", "call the landlord this time"),
        ("I'll pick up Tom on Friday at 5 pm in West Ham.", "pick up Tom in West Ham"),
    ],
)
def test_other_words_with_time_name_no_zone(text: str, summary: str) -> None:
    assert _due(text)[0] == summary


def test_a_zone_stands_right_behind_the_clock() -> None:
    assert zone_after("9:00 tomorrow", 4) is None
    assert zone_after("9:00 tea time", 4) is None
    found = zone_after("9:00 Mars time", 4)
    assert found is not None
    assert found.zone is None


@pytest.mark.parametrize(
    ("words", "due"),
    [
        ("in the first week of December", "2026-12-07"),
        ("in the last week of January", "2027-01-31"),
        ("in the first half of February", "2027-02-15"),
        ("in the second half of next year", "2027-12-31"),
        ("in Q1", "2027-03-31"),
        ("before the end of Q1", "2027-03-31"),
        ("in the third quarter", "2027-09-30"),
        ("by summer", "2027-08-31"),
        ("in the spring", "2027-05-31"),
        ("early next week", "2026-12-13"),
        ("sometime next week", "2026-12-13"),
        ("at some point in April", "2027-04-30"),
        ("the week after next", "2026-12-20"),
        ("during the week of 7 December", "2026-12-13"),
        ("in the week of the 14th", "2026-12-20"),
        ("in the next two weeks", "2026-12-14"),
        ("within the next ten days", "2026-12-10"),
        ("between 7 and 11 December", "2026-12-11"),
        ("between March and May", "2027-05-31"),
        ("in the course of January", "2027-01-31"),
    ],
)
def test_a_period_is_due_at_its_end(words: str, due: str) -> None:
    summary, at = _due(f"I'll finish the draft {words}.")
    assert (summary, at[:10]) == ("finish the draft", due)


@pytest.mark.parametrize(
    "text", ["I'll buy a winter coat.", "I'll fall in line.", "I'll read the book second."]
)
def test_words_that_only_sound_like_a_period_are_no_date(text: str) -> None:
    assert [c.due for c in proposed(text).commitments] == [None]


@pytest.mark.parametrize(
    ("text", "summary", "due"),
    [
        ("我下季度交论文。", "交论文", "2027-03-31T23:59"),
        ("我明年上半年交论文。", "交论文", "2027-06-30T23:59"),
        ("我一月下旬交论文。", "交论文", "2027-01-31T23:59"),
        ("我会在二月上旬把材料寄出。", "会把材料寄出", "2027-02-10T23:59"),
        ("我这周内交论文。", "交论文", "2026-12-06T23:59"),
        ("我要在年内还清贷款。", "要还清贷款", "2026-12-31T23:59"),
        ("我在明年第一季度内把报告写完。", "把报告写完", "2027-03-31T23:59"),
        ("我打算明年春天搬家。", "打算搬家", "2027-05-31T23:59"),
        ("我三月之前还你钱。", "还你钱", "2027-03-31T23:59"),
        ("我12月2日纽约时间23:30给房东打电话。", "给房东打电话", "2026-12-03T04:30"),
        ("东京时间明天下午三点我给客户打电话。", "给客户打电话", "2026-12-01T06:00"),
        ("我明天当地时间9点给房东打电话。", "给房东打电话", "2026-12-01T23:59"),
    ],
)
def test_chinese_periods_and_foreign_clocks(text: str, summary: str, due: str) -> None:
    (commitment,) = encoded(text).commitments
    assert commitment.due is not None
    assert commitment.summary == summary
    assert commitment.due.isoformat(timespec="minutes")[:16] == due
