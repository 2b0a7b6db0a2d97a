"""Periods longer than a day and clocks of other places, on top of the plain dates.

下季度, 明年上半年, 一月下旬 and 今年冬天 end with their last day; 纽约时间23:30 is read in that
zone, and a clock whose zone cannot be told (当地时间) gives the day only.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import replace
from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

from pipelines.formation.dates_chinese import DatePhrase, Tense
from pipelines.formation.dates_chinese import find as find_dates

_NUMBER = {c: i for i, c in enumerate("一二三四五六七八九", start=1)} | {
    "十": 10,
    "十一": 11,
    "十二": 12,
}
_YEAR = (
    r"(?:(?P<year>(?:19|20)\d{2})年|(?P<relyear>今年|本年|明年|来年|后年|去年)|"
    r"(?P<relyear2>[今明去])(?=[春夏秋冬]))?的?"
)
_PERIOD = re.compile(
    rf"(?:在|到|于|等到?|从)?(?:{_YEAR}(?:第?(?P<quarter>[一二三四1-4])季度|[Qq](?P<q>[1-4])"
    rf"(?![0-9A-Za-z])"
    r"|(?P<half>[上下])半年|(?P<season>[春夏秋冬])[天季](?!衣|装|款|服))"
    r"|(?P<within>年内|今年(?:之?内|以内))"
    r"|(?P<relquarter>上上?|下下?|这|本)个?季度"
    r"|(?:(?P<month>1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])月份?|(?P<relmonth>上|下|这|"
    r"本)个?月)的?(?P<ten>[上中下])旬)"
    r"(?:之?内|期间|里|之?前|以前|开始|起)?"
)
#: what may follow any date of a plan and belongs to it
_WITHIN = re.compile(r"(?:之?内|期间|当中|之间|份内)(?![^,]?[容部存外])")
_LAST_MONTH = {"春": 5, "夏": 8, "秋": 11, "冬": 2}
_RELATIVE_YEAR = {"今": 0, "本": 0, "明": 1, "来": 1, "后": 2, "去": -1}
_PLACES = {
    "纽约|华盛顿|波士顿|迈阿密|美东|美国东部|东部": "America/New_York",
    "芝加哥|休斯顿|美中|美国中部": "America/Chicago",
    "丹佛|美国山地": "America/Denver",
    "洛杉矶|旧金山|西雅图|加州|硅谷|美西|美国西部|太平洋": "America/Los_Angeles",
    "多伦多": "America/Toronto",
    "温哥华": "America/Vancouver",
    "圣保罗": "America/Sao_Paulo",
    "伦敦|英国": "Europe/London",
    "巴黎|法国": "Europe/Paris",
    "柏林|德国|慕尼黑|法兰克福": "Europe/Berlin",
    "罗马|意大利|米兰": "Europe/Rome",
    "马德里|西班牙": "Europe/Madrid",
    "阿姆斯特丹|荷兰": "Europe/Amsterdam",
    "苏黎世|瑞士": "Europe/Zurich",
    "莫斯科": "Europe/Moscow",
    "东京|日本": "Asia/Tokyo",
    "首尔|韩国": "Asia/Seoul",
    "新加坡": "Asia/Singapore",
    "香港": "Asia/Hong_Kong",
    "台北": "Asia/Taipei",
    "曼谷|泰国": "Asia/Bangkok",
    "迪拜": "Asia/Dubai",
    "印度|孟买|新德里": "Asia/Kolkata",
    "悉尼|墨尔本": "Australia/Sydney",
    "奥克兰|新西兰": "Pacific/Auckland",
    "格林尼治|格林威治|世界标准|协调世界": "Etc/UTC",
}
_ZONES = {name: zone for names, zone in _PLACES.items() for name in names.split("|")}
_PLACE_TIME = re.compile(
    r"(?P<place>"
    + "|".join(sorted(_ZONES, key=len, reverse=True))
    + r"|当地|本地|我(?:们)?这边|你(?:们)?那边|那边)的?时间"
)
_HINT = re.compile(r"季|半年|旬|[春夏秋冬]|[Qq][1-4]|时间|内|期间|当中|之间")


def find(text: str, at: datetime, tense: Tense) -> list[DatePhrase]:
    """The date phrases of a folded text in order, periods and foreign clocks among them.

    `at` (aware) and `tense` as in `dates_chinese.find`.
    """
    if not _HINT.search(text):
        return find_dates(text, at, tense)
    places = list(_PLACE_TIME.finditer(text))
    plain = _PLACE_TIME.sub(lambda m: " " * len(m[0]), text)
    found: list[DatePhrase] = []
    for match in _PERIOD.finditer(plain):
        period = _period(match, at, tense)
        if period is not None:
            found.append(period)
    for period in found:
        plain = plain[: period.start] + "□" * (period.end - period.start) + plain[period.end :]
    for phrase in find_dates(plain, at, tense):
        foreign = _at_place(phrase, places, text) if len(places) == 1 else phrase
        within = _WITHIN.match(text, foreign.end)
        found.append(replace(foreign, end=within.end()) if within else foreign)
    return sorted(found, key=lambda d: d.start)


def _at_place(phrase: DatePhrase, places: list[re.Match[str]], text: str) -> DatePhrase:
    """The phrase with its clock read in the zone of the one place that is named beside it."""
    place = places[0]
    beside = place.end() >= phrase.start - 1 and place.start() <= phrase.end + 1
    said_clock = re.search(r"\d[::]\d|[点时]", text[phrase.start : phrase.end])
    if not beside or said_clock is None:
        return phrase
    start, end = min(phrase.start, place.start()), max(phrase.end, place.end())
    zone = _ZONES.get(place["place"])
    local = phrase.last.astimezone(UTC)
    if zone is None:
        last = datetime.combine(local.date(), time(23, 59, 59, 999000), UTC)
    else:
        last = local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    return replace(phrase, start=start, end=end, last=last)


def _period(m: re.Match[str], at: datetime, tense: Tense) -> DatePhrase | None:
    today = at.astimezone(UTC).date()
    named = m["relyear"] or m["relyear2"]
    year = int(m["year"]) if m["year"] else today.year + _RELATIVE_YEAR[named[0]] if named else None
    if m["within"]:
        span = _months(today.year, 12, 12)
    elif m["season"]:
        if year is None:
            return None  # 春天 alone may be the name of anything
        last_month = _LAST_MONTH[m["season"]]
        end_year = year + (1 if m["season"] == "冬" else 0)
        span = _months(end_year, last_month, 3)
    elif m["half"]:
        last_month = 6 if m["half"] == "上" else 12
        span = _months(year or _nearest(today, last_month, tense), last_month, 6)
    elif m["quarter"] or m["q"]:
        said = m["quarter"] or m["q"]
        last_month = 3 * (int(said) if said.isdigit() else _NUMBER[said])
        span = _months(year or _nearest(today, last_month, tense), last_month, 3)
    elif m["relquarter"]:
        step = {"上": -1, "下": 1}.get(m["relquarter"][0], 0) * len(m["relquarter"])
        months = today.year * 12 + (today.month - 1) // 3 * 3 + 2 + 3 * step
        span = _months(months // 12, months % 12 + 1, 3)
    else:
        span = _ten_days(m, today, tense)
    iso, first, last = span
    when = datetime.combine(last, time(23, 59, 59, 999000), UTC)
    running = first <= today <= last
    return DatePhrase(m.start(), m.end(), iso, when, "at", when > at, running)


def _months(year: int, last: int, length: int) -> tuple[str | None, date, date]:
    """The `length` months that end with month `last` of a year; no text of a date is so precise."""
    begin_year, begin = divmod(year * 12 + last - length, 12)
    end = date(year, last, calendar.monthrange(year, last)[1])
    return None, date(begin_year, begin + 1, 1), end


def _nearest(today: date, last_month: int, tense: Tense) -> int:
    over = last_month < today.month
    if tense == "past":
        return today.year if over else today.year - (1 if last_month > today.month + 2 else 0)
    return today.year + 1 if over else today.year


def _ten_days(m: re.Match[str], today: date, tense: Tense) -> tuple[str | None, date, date]:
    if m["month"]:
        month = int(m["month"]) if m["month"].isdigit() else _NUMBER[m["month"]]
        year = today.year
        if tense == "future" and month < today.month:
            year += 1
        elif tense == "past" and month > today.month:
            year -= 1
    else:
        step = {"上": -1, "下": 1}.get(m["relmonth"], 0)
        year, index = divmod(today.year * 12 + today.month - 1 + step, 12)
        month = index + 1
    first = {"上": 1, "中": 11, "下": 21}[m["ten"]]
    last = calendar.monthrange(year, month)[1] if m["ten"] == "下" else first + 9
    return f"{year:04d}-{month:02d}", date(year, month, first), date(year, month, last)
