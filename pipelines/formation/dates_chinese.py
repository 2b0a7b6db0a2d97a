"""Chinese date phrases, resolved against a message's own time in UTC.

No clock is read and no locale asked: 下周二 in a message of 8 December means the Tuesday of that
message's next calendar week (Monday first), whenever it is read. Whether 周六 or 三月 lies ahead or
behind comes from the sentence (`tense`), never from a setting. Phrases that name no day, month or
year (过两天, 有空时, the lunar calendar) are found by nobody here.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Literal

Tense = Literal["past", "future"]
#: since: from then on (从…起, …以来); by: no later than (…之前); at: then
Role = Literal["at", "since", "by"]

_DIGITS = {c: i for i, c in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "○": 0}
_NUMBER = r"(?:\d{1,4}|[一二三四五六七八九十两廿]{1,3})"
_WEEKDAYS = {c: i for i, c in enumerate("一二三四五六")} | {"日": 6, "天": 6, "末": 5}
_DAYS = {
    "大前天": -3,
    "前天": -2,
    "前日": -2,
    "昨": -1,
    "今": 0,
    "明": 1,
    "后天": 2,
    "后日": 2,
    "大后天": 3,
}
_YEARS = {
    "大前年": -3,
    "前年": -2,
    "去年": -1,
    "今年": 0,
    "本年": 0,
    "明年": 1,
    "来年": 1,
    "后年": 2,
}
#: feasts of the solar calendar that stand for a day
_FEASTS = {
    "元旦": (1, 1),
    "情人节": (2, 14),
    "妇女节": (3, 8),
    "劳动节": (5, 1),
    "五一": (5, 1),
    "儿童节": (6, 1),
    "六一": (6, 1),
    "国庆节": (10, 1),
    "国庆": (10, 1),
    "平安夜": (12, 24),
    "圣诞节": (12, 25),
    "圣诞": (12, 25),
}
#: hours to add to a clock hour below 12, by the part of the day that is named
_AFTERNOON = ("下午", "午后", "傍晚", "晚上", "夜里", "夜间", "晚")

_DAY_PART = r"(?:凌晨|清晨|早上|早晨|上午|中午|午后|下午|傍晚|晚上|夜里|夜间|早|晚)"
_CLOCK = (
    rf"(?:的?(?P<zone1>北京时间)?(?P<part>{_DAY_PART})?的?\s*"
    rf"(?:(?P<hour>{_NUMBER})(?:点钟?|时)(?:(?P<half>半)|(?P<quarter>[一三])刻"
    rf"|(?P<minute>{_NUMBER})分?)?"
    r"|(?P<hour2>\d{1,2})[::](?P<minute2>\d{2}))"
    r"\s*(?:(?P<zone>北京时间|东[一二三四五六七八九十]{1,2}区|(?:UTC|GMT)"
    r"\s*[+-]\d{1,2}(?:[::]?\d{2})?))?)"
)
_DATE = re.compile(
    r"(?P<lead>(?:自从|自打|打从|从|自|在|于|到|至|等到)\s*)?"
    r"(?:(?P<zone0>北京时间)\s*)?"
    r"(?:"
    r"(?P<iso>(?<![\d.])(?:19|20)\d{2}[-/.](?:1[0-2]|0?[1-9])(?:[-/.](?:3[01]|[12]\d"
    r"|0?[1-9]))?(?![\d.]))"
    r"|(?:(?P<year>(?:19|20)\d{2}|[一二][〇零○一二三四五六七八九]{3})年|(?P<relyear>大前年"
    r"|前年|去年|今年|本年|明年|来年|后年)的?)"
    rf"(?:(?P<ymonth>{_NUMBER})月份?(?:(?P<yday>{_NUMBER})[日号]|(?P<ypart>初|中旬|底|末))?"
    r"|(?P<yend>年?底|年?末|年终)|(?P<ybegin>年?初|开年)|的?[春夏秋冬][天季]?)?"
    rf"|(?P<month>(?<![\d个])(?:1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九]))月(?:份|的)?"
    rf"(?:(?P<day>{_NUMBER})[日号](?!线|楼|桌|店|院|馆|门|房)|(?P<mpart>初|中旬|底|末))"
    rf"?(?!亮|饼|球|季)"
    rf"|(?P<relmonth>上上个?月|上个?月|这个?月|本月|当月|下下个?月|下个?月)(?:的)?"
    rf"(?:(?P<rday>{_NUMBER})[日号]|(?P<rpart>初|中旬|底|末))?"
    r"|(?P<monthend>月底|月末)|(?P<monthbegin>月初)|(?P<yearend>年底|年末|年终)|(?P<yearbegin>年初)"
    r"|(?P<week>上上|下下|上|下|这|本)?个?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天末])"
    r"(?![年期到岁])(?!\s*[一二两三四五六七八九十\d]+次)"
    r"|(?P<relweek>上上|下下|上|下|这|本)(?P<weekunit>个?(?:周|星期|礼拜))"
    r"|(?P<relday>大前天|大后天|前天|后天|前日(?!子)|后日)"
    r"|(?P<nearday>昨|今|明)(?:天|日|儿个?)(?:(?P<nearpart>早|晚)(?![上间里晨]))?(?!线|星)"
    r"|(?P<nearhalf>[昨今明])(?P<half0>早|晚|晨)(?:上)?(?!饭|餐|报)"
    rf"|(?P<count>{_NUMBER}|半)(?P<unit>个半?月|个?星期|个?礼拜|周|天|日|年|个?小时|个?钟头"
    rf"|分钟)(?:之|以)?(?P<dir>后|前|内)(?!天)"
    rf"|(?P<feast>{'|'.join(sorted(_FEASTS, key=len, reverse=True))})(?:当天|那天)?(?!路|街|广场)"
    rf"|(?P<dom>(?<![\d一二三四五六七八九十.第月])(?:3[01]|[12]\d|[1-9]"
    rf"|[一二三四五六七八九十廿]{{1,3}}))(?:号|日)"
    r"(?!线|楼|桌|店|院|馆|门|房|车|厅|柜|球|机|座|坑|位|码|仓|公路|本|语|文|元|常|子|志)"
    # a bare clock time counts as one of today, where the part of the day makes it one
    rf"|(?P<bare>(?={_DAY_PART}\s*(?:{_NUMBER}(?:点|时)|\d{{1,2}}[::]\d{{2}})))"
    r")"
    rf"(?:\s*{_CLOCK}|(?P<dayhalf>{_DAY_PART}))?"
    r"(?P<tail>\s*(?:开始|起|以来|之前|以前|前(?![天年面后台])|的时候|当天|那天|左右))?"
)
#: any character without which no phrase can begin
_HINT = re.compile(
    r"[年月日号周天晚早午点]|星期|礼拜|小时|钟头|分钟|前|后|元旦|国庆|圣诞|五一|六一"
    r"|情人节|平安夜|\d[-/.]\d"
)


@dataclass(frozen=True, slots=True)
class DatePhrase:
    """One phrase found. `start`/`end` are its span, prepositions included.

    `iso` is the date exactly as precise as said (YYYY, YYYY-MM or YYYY-MM-DD; None where only a
    week is said); `last` is its last millisecond, or the instant itself where a clock time is said.
    `ahead` says that `last` is still to come, `running` that the period holds the message's own
    day.
    """

    start: int
    end: int
    iso: str | None
    last: datetime
    role: Role
    ahead: bool
    running: bool


def number(text: str) -> int | None:
    """The value of an Arabic or Chinese numeral below 10000; None when it is neither."""
    if text.isdigit():
        return int(text)
    if text == "廿":
        return 20
    text = text.replace("廿", "二十")
    if "十" in text:
        tens, _, units = text.partition("十")
        if len(tens) > 1 or len(units) > 1:
            return None
        return _DIGITS.get(tens, 1 if not tens else 0) * 10 + (
            _DIGITS.get(units, 0) if units else 0
        )
    if all(c in _DIGITS for c in text) and text:
        return int("".join(str(_DIGITS[c]) for c in text))
    return None


def zone_offset(text: str) -> timedelta | None:
    """The offset from UTC that 北京时间, 东八区 or UTC+8 names; None for anything else."""
    text = text.strip().upper().replace(":", ":")
    if text == "北京时间":
        return timedelta(hours=8)
    m = re.fullmatch(r"([东西])([一二三四五六七八九十]{1,2})时?区", text)
    if m:
        hours = number(m[2])
        if hours is None or hours > 12:
            return None
        return timedelta(hours=hours if m[1] == "东" else -hours)
    m = re.fullmatch(r"(?:UTC|GMT)?\s*([+\-−])\s*(\d{1,2})(?::?(\d{2}))?", text)
    if m and int(m[2]) <= 14 and int(m[3] or 0) < 60:
        offset = timedelta(hours=int(m[2]), minutes=int(m[3] or 0))
        return offset if m[1] == "+" else -offset
    return None


def find(text: str, at: datetime, tense: Tense) -> list[DatePhrase]:
    """The date phrases of `text` (simplified characters, half-width digits), in order.

    `at` is when the text was said (aware). `tense` decides phrases that could lie on either side.
    Impossible dates (2月30日) and years beyond the calendar are left out.
    """
    if not _HINT.search(text):
        return []
    found: list[DatePhrase] = []
    for match in _DATE.finditer(text):
        try:
            phrase = _resolve(match, at.astimezone(UTC), tense)
        except (ValueError, OverflowError):
            continue
        if phrase is not None:
            found.append(phrase)
    return found


def whole(text: str) -> str | None:
    """`text` as a birthday: YYYY-MM-DD, or --MM-DD without a year; None when it is neither."""
    m = re.fullmatch(
        r"(?:((?:19|20)\d{2}|[一二][〇零○一二三四五六七八九]{3})年)?"
        rf"({_NUMBER})月({_NUMBER})[日号]?|((?:19|20)\d{{2}})[-/.](\d{{1,2}})[-/.](\d{{1,2}})",
        text.strip(),
    )
    if not m:
        return None
    year = number(m[1] or m[4] or "")
    month, day = number(m[2] or m[5]), number(m[3] or m[6])
    if month is None or day is None:
        return None
    try:
        date(year or 2000, month, day)
    except ValueError:
        return None
    return f"{year:04d}-{month:02d}-{day:02d}" if year else f"--{month:02d}-{day:02d}"


def _resolve(m: re.Match[str], at: datetime, tense: Tense) -> DatePhrase | None:
    today = at.date()
    clock = _clock(m)
    parts = _count(m, at) if m["count"] else None
    if m["count"]:
        if parts is None:
            return None
        iso, first, last = parts
    else:
        named = _named(m, today, tense)
        if named is None:
            return None
        iso, first, last = named
    instant: datetime | None = None
    if clock is not None and iso is not None and len(iso) == 10:
        hours, minutes, offset = clock
        instant = datetime(first.year, first.month, first.day, tzinfo=timezone(offset))
        instant = (instant + timedelta(hours=hours, minutes=minutes)).astimezone(UTC)
    elif m["count"] and m["unit"].endswith(("时", "头", "钟")):
        sign = -1 if m["dir"] == "前" else 1
        step = {"时": 3600, "头": 3600, "钟": 60}[m["unit"][-1]]
        size = 0.5 if m["count"] == "半" else float(number(m["count"]) or 0)
        instant = at + timedelta(seconds=sign * size * step)
    lead, tail = (m["lead"] or "").strip(), (m["tail"] or "").strip()
    role: Role = "at"
    if tail in ("开始", "起", "以来") or lead in ("自从", "自打", "打从", "从", "自"):
        role = "since"
    elif tail in ("之前", "以前", "前") or (m["count"] and m["dir"] == "内"):
        role = "by"
    end_of_day = datetime(last.year, last.month, last.day, 23, 59, 59, 999000, tzinfo=UTC)
    when = instant or end_of_day
    running = first <= today <= last
    return DatePhrase(m.start(), m.end(), iso, when, role, when > at, running)


def _clock(m: re.Match[str]) -> tuple[int, int, timedelta] | None:
    """Hours, minutes and offset of the clock time said with the date, if one is."""
    text = m["hour"] or m["hour2"]
    part = m["part"] or m["half0"] or m["nearpart"] or ""
    if text is None:
        return (12, 0, timedelta()) if m["dayhalf"] == "中午" else None
    hours = number(text)
    minutes = 0
    if m["half"]:
        minutes = 30
    elif m["quarter"]:
        minutes = 15 * (number(m["quarter"]) or 0)
    elif m["minute"] or m["minute2"]:
        minutes = number(m["minute"] or m["minute2"]) or 0
    if hours is None or hours > 24 or minutes > 59:
        return None
    if (part in _AFTERNOON and hours < 12) or (part == "中午" and hours < 3):
        hours += 12
    zone = m["zone"] or m["zone0"] or m["zone1"]
    offset = zone_offset(zone) if zone else timedelta()
    return hours, minutes, offset or timedelta()


def _day(day: date) -> tuple[str, date, date]:
    return day.isoformat(), day, day


def _month(year: int, month: int, part: str | None = None) -> tuple[str, date, date]:
    last = calendar.monthrange(year, month)[1]
    first, end = {"初": (1, 10), "中旬": (11, 20), "底": (last, last), "末": (last, last)}.get(
        part or "", (1, last)
    )
    return f"{year:04d}-{month:02d}", date(year, month, first), date(year, month, end)


def _shift(year: int, month: int, by: int) -> tuple[int, int]:
    total = year * 12 + month - 1 + by
    return total // 12, total % 12 + 1


def _count(m: re.Match[str], at: datetime) -> tuple[str | None, date, date] | None:
    """三天后, 两周前, 半年后: counted from the message's own day."""
    unit = m["unit"]
    size = 0.5 if m["count"] == "半" else number(m["count"])
    if size is None:
        return None
    sign = -1 if m["dir"] == "前" else 1
    today = at.date()
    if unit in ("天", "日") and size >= 1:
        return _day(today + timedelta(days=sign * int(size)))
    if unit.endswith(("周", "星期", "礼拜")) and size >= 1:
        return _day(today + timedelta(days=sign * 7 * int(size)))
    if unit == "个月":
        if size == 0.5:
            return _day(today + timedelta(days=sign * 15))
        year, month = _shift(today.year, today.month, sign * int(size))
        day = min(today.day, calendar.monthrange(year, month)[1])
        if sign < 0:
            return _month(year, month)
        return _day(date(year, month, day))
    if unit == "年":
        if size == 0.5:
            year, month = _shift(today.year, today.month, sign * 6)
            return _month(year, month)
        year = today.year + sign * int(size)
        return f"{year:04d}", date(year, 1, 1), date(year, 12, 31)
    if unit.endswith(("小时", "钟头", "分钟")):
        seconds = 60 if unit == "分钟" else 3600
        then = at + timedelta(seconds=sign * float(size) * seconds)
        return _day(then.date())
    return None


def _named(m: re.Match[str], today: date, tense: Tense) -> tuple[str | None, date, date] | None:
    if m["iso"]:
        numbers = [int(x) for x in re.split(r"[-/.]", m["iso"])]
        if len(numbers) == 2:
            return _month(numbers[0], numbers[1])
        return _day(date(*numbers))
    if m["year"] or m["relyear"]:
        year = number(m["year"]) if m["year"] else today.year + _YEARS[m["relyear"]]
        return _in_year(m, year) if year else None
    if m["month"]:
        return _bare_month(m, today, tense)
    if m["relmonth"]:
        text = m["relmonth"]
        step = {"上上": -2, "下下": 2}.get(text[:2], {"上": -1, "下": 1}.get(text[0], 0))
        year, month = _shift(today.year, today.month, step)
        if m["rday"]:
            return _day(date(year, month, number(m["rday"]) or 0))
        return _month(year, month, m["rpart"])
    if m["monthend"] or m["monthbegin"]:
        year, month = today.year, today.month
        if m["monthbegin"] and tense == "future" and today.day > 10:
            year, month = _shift(year, month, 1)
        if m["monthend"] and tense == "past" and today.day < 20:
            year, month = _shift(year, month, -1)
        return _month(year, month, "底" if m["monthend"] else "初")
    if m["yearend"] or m["yearbegin"]:
        year = today.year
        if m["yearbegin"] and tense == "future" and today.month > 2:
            year += 1
        if m["yearend"] and tense == "past" and today.month < 11:
            year -= 1
        return (
            (f"{year:04d}-12", date(year, 12, 1), date(year, 12, 31))
            if m["yearend"]
            else (f"{year:04d}", date(year, 1, 1), date(year, 1, 31))
        )
    if m["weekday"]:
        return _weekday(m, today, tense)
    if m["relweek"]:
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=_weeks(m["relweek"]))
        sunday = monday + timedelta(days=6)
        month_text = f"{monday:%Y-%m}" if monday.month == sunday.month else None
        return month_text, monday, sunday
    if m["relday"]:
        return _day(today + timedelta(days=_DAYS[m["relday"]]))
    if m["nearday"] or m["nearhalf"]:
        return _day(today + timedelta(days=_DAYS[m["nearday"] or m["nearhalf"]]))
    if m["feast"]:
        month, day = _FEASTS[m["feast"]]
        return _day(_nearest_year(today, month, day, tense))
    if m["bare"] is not None:
        return _day(today)
    return _day_of_month(m, today, tense) if m["dom"] else None


def _in_year(m: re.Match[str], year: int) -> tuple[str | None, date, date]:
    if m["ymonth"]:
        month = number(m["ymonth"]) or 0
        if m["yday"]:
            return _day(date(year, month, number(m["yday"]) or 0))
        return _month(year, month, m["ypart"])
    if m["yend"]:
        return _month(year, 12)
    if m["ybegin"]:
        return f"{year:04d}", date(year, 1, 1), date(year, 1, 31)
    return f"{year:04d}", date(year, 1, 1), date(year, 12, 31)


def _nearest_year(today: date, month: int, day: int, tense: Tense) -> date:
    """The next such day from today on, or the last up to today; 29 February seeks its year."""
    step = 1 if tense == "future" else -1
    for offset in range(9):
        try:
            then = date(today.year + step * offset, month, day)
        except ValueError:
            continue
        if (then >= today) if tense == "future" else (then <= today):
            return then
    raise ValueError("no such day")


def _bare_month(m: re.Match[str], today: date, tense: Tense) -> tuple[str | None, date, date]:
    month = number(m["month"]) or 0
    if m["day"]:
        return _day(_nearest_year(today, month, number(m["day"]) or 0, tense))
    year = today.year
    if tense == "future" and month < today.month:
        year += 1
    elif tense == "past" and month > today.month:
        year -= 1
    return _month(year, month, m["mpart"])


def _weeks(word: str | None) -> int:
    return {"上上": -2, "上": -1, "下": 1, "下下": 2}.get(word or "", 0)


def _weekday(m: re.Match[str], today: date, tense: Tense) -> tuple[str | None, date, date]:
    wanted = _WEEKDAYS[m["weekday"]]
    length = 2 if m["weekday"] == "末" else 1
    if m["week"]:
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=_weeks(m["week"]))
        day = monday + timedelta(days=wanted)
    elif tense == "future":
        day = today + timedelta(days=(wanted - today.weekday() - 1) % 7 + 1)
        if length == 2 and today.weekday() >= 5:
            day = today - timedelta(days=today.weekday() - 5)
    else:
        day = today - timedelta(days=(today.weekday() - wanted - 1) % 7 + 1)
    if length == 2:
        sunday = day + timedelta(days=1)
        return (f"{day:%Y-%m}" if day.month == sunday.month else None), day, sunday
    return _day(day)


def _day_of_month(m: re.Match[str], today: date, tense: Tense) -> tuple[str | None, date, date]:
    wanted = number(m["dom"]) or 0
    year, month = today.year, today.month
    for _ in range(13):
        if wanted <= calendar.monthrange(year, month)[1]:
            then = date(year, month, wanted)
            if (then >= today) if tense == "future" else (then <= today):
                return _day(then)
        year, month = _shift(year, month, 1 if tense == "future" else -1)
    raise ValueError("no such day")
