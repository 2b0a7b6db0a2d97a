from datetime import UTC, datetime

import pytest

from pipelines.formation.dates_chinese import find, number, whole, zone_offset

MONDAY = datetime(2026, 11, 30, 16, tzinfo=UTC)


@pytest.mark.parametrize(
    ("phrase", "iso"),
    [
        ("明天", "2026-12-01"),
        ("后天", "2026-12-02"),
        ("大后天", "2026-12-03"),
        ("下周三", "2026-12-09"),
        ("下星期天", "2026-12-13"),
        ("这周五", "2026-12-04"),
        ("周五", "2026-12-04"),
        ("周一", "2026-12-07"),
        ("上周一", "2026-11-23"),
        ("三天后", "2026-12-03"),
        ("两周后", "2026-12-14"),
        ("十天之后", "2026-12-10"),
        ("一个月后", "2026-12-30"),
        ("12月5日", "2026-12-05"),
        ("1月4日", "2027-01-04"),
        ("十二月二十日", "2026-12-20"),
        ("下个月5号", "2026-12-05"),
        ("15号", "2026-12-15"),
        ("月底", "2026-11"),
        ("下个月", "2026-12"),
        ("明年三月", "2027-03"),
        ("三月", "2027-03"),
        ("今年", "2026"),
        ("国庆节", "2027-10-01"),
        ("2026-12-05", "2026-12-05"),
        ("二〇二一年三月", "2021-03"),
    ],
)
def test_a_phrase_that_lies_ahead_counts_from_the_message(phrase: str, iso: str) -> None:
    assert [d.iso for d in find(phrase, MONDAY, "future")] == [iso]


@pytest.mark.parametrize(
    ("phrase", "iso"),
    [
        ("昨天", "2026-11-29"),
        ("前天", "2026-11-28"),
        ("周六", "2026-11-28"),
        ("周一", "2026-11-23"),
        ("上周一", "2026-11-23"),
        ("12月5日", "2025-12-05"),
        ("1月4日", "2026-01-04"),
        ("5号", "2026-11-05"),
        ("三月", "2026-03"),
        ("上个月", "2026-10"),
        ("去年五月", "2025-05"),
        ("前年", "2024"),
        ("三个月前", "2026-08"),
        ("两年前", "2024"),
        ("年底", "2026-12"),
    ],
)
def test_a_phrase_in_the_past_tense_lies_behind_the_message(phrase: str, iso: str) -> None:
    assert [d.iso for d in find(phrase, MONDAY, "past")] == [iso]


@pytest.mark.parametrize(
    ("phrase", "instant"),
    [
        ("明天下午三点", "2026-12-01T15:00"),
        ("明早9:15", "2026-12-01T09:15"),
        ("今晚八点半", "2026-11-30T20:30"),
        ("周三中午12点", "2026-12-02T12:00"),
        ("下午五点一刻", "2026-11-30T17:15"),
        ("两个小时后", "2026-11-30T18:00"),
        ("明天下午3点UTC+8", "2026-12-01T07:00"),
        ("明天北京时间上午十点", "2026-12-01T02:00"),
    ],
)
def test_a_clock_time_gives_the_instant_in_utc(phrase: str, instant: str) -> None:
    [found] = find(phrase, MONDAY, "future")
    assert found.last.isoformat()[:16] == instant


@pytest.mark.parametrize(
    ("phrase", "role"),
    [
        ("自从2021年3月起", "since"),
        ("从去年五月开始", "since"),
        ("2020年以来", "since"),
        ("周五前", "by"),
        ("月底之前", "by"),
        ("3天内", "by"),
        ("周五", "at"),
    ],
)
def test_words_around_a_date_say_what_it_bounds(phrase: str, role: str) -> None:
    [found] = find(phrase, MONDAY, "past")
    assert found.role == role
    assert (found.start, found.end) == (0, len(phrase))


def test_a_day_without_a_clock_time_is_due_at_its_last_millisecond() -> None:
    [found] = find("周五", MONDAY, "future")
    assert found.last == datetime(2026, 12, 4, 23, 59, 59, 999000, tzinfo=UTC)


def test_the_nearest_29_february_is_in_a_leap_year() -> None:
    assert [d.iso for d in find("2月29日", MONDAY, "future")] == ["2028-02-29"]


@pytest.mark.parametrize(
    "text",
    ["2月30日", "13月1日", "3号线", "5号楼", "过两天", "有空的时候", "第三天", "", "月亮", "周期"],
)
def test_what_names_no_day_is_no_date(text: str) -> None:
    assert find(text, MONDAY, "future") == []


def test_numerals_are_read_in_both_scripts() -> None:
    assert [number(t) for t in ("12", "十", "十二", "二十", "二十一", "两", "廿", "二〇二六")] == [
        12,
        10,
        12,
        20,
        21,
        2,
        20,
        2026,
    ]
    assert number("几") is None


def test_a_birthday_keeps_its_year_or_none() -> None:
    assert whole("1990年5月3日") == "1990-05-03"
    assert whole("五月三号") == "--05-03"
    assert whole("2月30日") is None
    assert whole("五月") is None


def test_zones_are_named_in_several_ways() -> None:
    hours = [zone_offset(t) for t in ("北京时间", "东九区", "西五区", "UTC+5:30", "GMT-3")]
    assert [h.total_seconds() / 3600 for h in hours if h] == [8, 9, -5, 5.5, -3]
    assert zone_offset("UTC+25") is None
