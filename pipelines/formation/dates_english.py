"""Dates in English text, counted from the message's own time, in UTC unless a zone is named.

`find_date` answers the first date phrase of a text. Conventions: a bare weekday is the next such
day after the message, or with `past` the last one before it; "next Friday" belongs to the next
calendar week (Monday first); a month without a year is the nearest one that fits the tense; a day
that is due is due at its end. Phrases without a nameable day or month ("recently") give nothing.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

import regex

from pipelines.formation.zones import ZonePhrase, zone_after


@dataclass(frozen=True, slots=True)
class When:
    """A date phrase: `text[start:end]` with its preposition.

    `iso` is as precise as the words ("2021", "2026-11", "2026-11-01"); `due` is the last instant
    of that period, or the very instant where a clock time is said (aware, UTC).
    """

    start: int
    end: int
    iso: str
    due: datetime
    clock: bool = False


_WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            ("monday", "mon"),
            ("tuesday", "tue", "tues"),
            ("wednesday", "wed"),
            ("thursday", "thu", "thur", "thurs"),
            ("friday", "fri"),
            ("saturday", "sat"),
            ("sunday", "sun"),
        )
    )
    for name in names
}
_MONTHS = {m.lower(): i for i, m in enumerate(calendar.month_name) if m} | {
    m.lower(): i for i, m in enumerate(calendar.month_abbr) if m
}
_MONTHS["sept"] = 9
_COUNTED = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
)
_RANKED = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
)
_NUMBERS = {w: n for n, w in enumerate(_COUNTED)} | {
    "a": 1,
    "an": 1,
    "a couple of": 2,
    "couple of": 2,
    "a few": 3,
    "thirty": 30,
    "ninety": 90,
}
_ORDINALS = {
    w: n
    for n, w in enumerate(
        _RANKED,
        start=1,
    )
} | {"twentieth": 20, "thirtieth": 30}

_WEEKDAY = r"(?:mon|tues?|wednes|wed|thurs?|thu|fri|satur|sat|sun)(?:day)?"
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|"
    r"jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)\b\.?"
)
_DAY = r"(?:[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_YEAR = r"(?:19|20)\d\d"
_NUMBER = (
    r"(?:\d{1,3}|(?:a[ ])?couple[ ]of|a[ ]few|an?|one|two|three|four|five|six|seven|eight|nine|ten"
    r"|eleven|twelve|thirteen|fourteen|fifteen|twenty|thirty|ninety)"
)
_PREPOSITION = (
    r"(?:(?:no[ ]later[ ]than|not[ ]later[ ]than|as[ ]of|as[ ]from|starting(?:[ ]from|[ ]on)?|"
    r"effective|beginning|from|since|by|before|until|till|on|at|in|within|for|due|over|during|"
    r"around|come|in[ ]the[ ]course[ ]of|(?:at[ ]some[ ]point|some[ ]?time)(?=[ ](?:in|on|this|"
    r"next|during|before|"
    r"tomorrow"
    r"|around))|(?:early|late|later)(?=[ ](?:in|this|next|tomorrow|today|on[ ]in)\b))[ ]){0,3}"
)
_SEASONS = {"spring": 5, "summer": 8, "autumn": 11, "fall": 11, "winter": 2}
_PART = r"(?:[ ](?:early[ ])?(?:morning|afternoon|evening|night|noon|lunchtime|lunch))?"

_PHRASE = regex.compile(
    rf"""(?ix)(?<![\w/.-]){_PREPOSITION}(?:
      (?P<iso>{_YEAR}-\d\d-\d\d)(?!\d)
    | (?P<numeric>\d\d?[./]\d\d?[./]{_YEAR})(?!\d)
    | (?P<edge>(?:the[ ])?(?:very[ ])?(?:end|close|middle|beginning|start)[ ]of[ ])
        (?:(?P<edgerel>the|this|next|last)[ ](?P<edgeunit>day|week|month|year|quarter|weekend)
          |(?P<edgemonth>{_MONTH})(?:[ ](?P<edgeyear>{_YEAR}))?|(?P<edgeday>today|tomorrow))
    | (?:the[ ])?(?P<partof>first|second|third|fourth|last|1st|2nd|3rd|4th)[ ](?P<partunit>week|half
        |fortnight|days|weekend)[ ](?:of|in)[ ]
        (?:(?P<partmonth>{_MONTH})(?:,?[ ](?P<partyear>{_YEAR}))?
        |(?P<partrel>the|this|next)[ ](?P<partwhole>month|year)|(?P<partannum>{_YEAR}))
    | (?:the[ ]end[ ]of[ ])?(?:the[ ])?(?:q(?P<quarter>[1-4])
        |(?P<quarterth>first|second|third|fourth|last)[ ]quarter)
        (?:[ ](?:of[ ])?(?P<quarteryear>{_YEAR}|this[ ]year|next[ ]year))?\b
    | (?:the[ ])?(?P<weekafter>week[ ]after[ ]next|week[ ]after[ ]that)\b
    | (?:the[ ])?week[ ](?:of|commencing|beginning|starting|from)[ ](?:on[ ])?
        (?:monday,?[ ])?(?:the[ ])?(?:(?P<wkdom>{_DAY})(?:[ ](?:of[ ])?(?P<wkmonth>{_MONTH}))?
            |(?P<wkmonth2>{_MONTH})[ ](?P<wkdom2>{_DAY}))
    | (?:(?<=\b(?:in|by|until|till|before|during|over)[ ])(?:the[ ])?
            |(?P<seasonrel>this|next|this[ ]coming)[ ])
        (?:early[ ]|late[ ])?(?P<season>spring|summer|autumn|fall|winter)
        (?![\w-]|[ ](?:break|holiday|sale|semester|term|school|camp|festival
            |party|jacket|coat|cleaning|collection|tyres|tires))
        (?:,?[ ](?:of[ ])?(?P<seasonyear>{_YEAR}|this[ ]year|next[ ]year))?
    | (?:(?:between[ ]|from[ ])?(?:the[ ])?{_DAY}[ ]?(?:and|to|until|till|–|-)[ ]?)?
        (?:the[ ])?(?P<dom>{_DAY})[ ](?:of[ ])?(?P<domm>{_MONTH})(?:,?[ ](?P<domy>{_YEAR}))?
    | (?P<mod>{_MONTH})[ ](?:the[ ])?(?P<modd>{_DAY})(?!\d|:|[ ]?(?:am|pm|%|people|kids))
        (?:,?[ ](?P<mody>{_YEAR}))?
    | (?P<my>{_MONTH}),?[ ](?:of[ ])?(?P<myy>{_YEAR})
    | (?P<dayaftertomorrow>(?:the[ ])?day[ ]after[ ]tomorrow)
    | (?P<daybeforeyesterday>(?:the[ ])?day[ ]before[ ]yesterday)
    | (?:a[ ])?(?P<weekfrom>(?:one[ ])?week[ ](?:from[ ]|on[ ])?
        (?P<wfday>{_WEEKDAY}|today|tomorrow))\b
    | (?P<wdweek>{_WEEKDAY})[ ]week\b
    | (?P<today>today|tonight|this[ ](?:morning|afternoon|evening)|(?:the[ ])?end[ ]of[ ]day
        |eod|cob|later[ ]today){_PART}\b
    | (?P<tomorrow>tomorrow|tmrw|tmr|tomorow|tommorow|tommorrow)\b{_PART}
    | (?P<yesterday>yesterday|last[ ]night)\b{_PART}
    | (?:the[ ])?(?P<rel>this[ ]coming|this[ ]past|this|next|last|past|coming|the[ ]following
        |following)[ ]
        (?:(?P<relwd>{_WEEKDAY})\b{_PART}|(?P<relunit>week|weekend|month|year|quarter)\b
          |(?P<relmonth>{_MONTH})\b)
    | (?P<week>weekend|eow|eom|eoy)\b
    | (?P<the>the[ ])weekend\b
    | (?P<within>the[ ](?:next|coming|following)[ ])?(?P<n>{_NUMBER})[ ]
        (?:more[ ])?(?P<unit>minute|min|hour|day|night|week|fortnight|month|year)s?
        (?P<dir>[ ]ago|[ ]from[ ]now|[ ]later|['’]?[ ]time)?\b
    | (?P<fortnight>a[ ]fortnight)(?P<fdir>[ ]ago)?\b
    | (?:the[ ])?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?[ ](?:the[ ])?)(?P<wdom>{_DAY})[ ]
        (?:of[ ])?(?P<wdomm>{_MONTH})(?:,?[ ](?P<wdomy>{_YEAR}))?
    | (?P<wd>(?<![\w])(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?<=\bon[ ]|\bby[ ])
        (?:mon|tues?|wed|thurs?|fri|sat|sun)))\b(?!['’]s\b|s\b)(?:,?[ ](?:the[ ])?(?P<wddom>{_DAY})
        (?=$|[ ,.!;)])(?![ ](?:of[ ])?(?:am|pm|o'clock|people|{_MONTH})))?{_PART}
    | (?:the[ ])(?P<dayofrel>{_DAY})[ ]of[ ](?P<dayrel>this|next|the|last)[ ]month
    | (?:the[ ])(?P<dayonly>(?:[12]\d|3[01]|[1-9])(?:st|nd|rd|th))\b
    | (?:the[ ])(?P<ordinal>first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth
        |eleventh|twelfth|thirteenth|fourteenth|fifteenth|twentieth|thirtieth)
        (?:[ ]of[ ](?:(?P<ordmonth>{_MONTH})|(?P<ordrel>this|next|the)[ ]month))?
        (?![ \w]{{1,2}}\w*(?:time|one))\b
    | between[ ](?:early[ ]|late[ ])?{_MONTH}[ ]and[ ](?P<monthto>{_MONTH})(?![ ]\d)
    | (?P<month>(?<=\b(?:in|since|by|until|till|from|before|of|during|early|late|mid|mid-|come)[ -])
        (?:early[ ]|late[ ]|mid[ -]?)?{_MONTH})(?![ ]\d)
    | (?P<year>(?<=\b(?:in|since|by|until|till|from|before|of|around)[ ]){_YEAR})(?![\w-])
    | (?P<christmas>christmas(?:[ ](?P<eve>eve|day))?|new[ ]year['’]?s?[ ](?P<ny>eve|day)|halloween)
        \b
    )"""
)
_CLOCK = regex.compile(
    r"(?ix)(?<![\w.:-])(?:(?:at|by|before|from|around|until|till|@|,)[ ]{0,2}){0,2}(?:"
    r"(?P<h>[01]?\d|2[0-4])(?:[:.](?P<m>[0-5]\d))[ ]?(?P<ap>am|pm|a\.m\.|p\.m\.)?"
    r"|(?P<h2>1[0-2]|[1-9])[ ]?(?P<ap2>am|pm|a\.m\.|p\.m\.|o['’]clock)"
    r"|(?P<noon>noon|midday|midnight)"
    r"|(?P<rel>half|quarter)[ ](?P<relside>past|to)[ ](?P<relh>\d{1,2}|one|two|three|four|"
    r"five|six|seven"
    r"|eight|nine|ten|eleven|twelve)"
    r"|(?<=(?:at|by|@|,)[ ])(?P<bare>1[0-2]|[1-9]|one|two|three|four|five|six|seven|eight|nine|ten"
    r"|eleven|twelve)(?![\w:/.%-]|[ ](?:st|rd|nd|people|euros?|dollars?|percent|days?|weeks?|hours?"
    r"|minutes?|months?|%))"
    r")(?![\w%])(?:[ ](?P<part>in[ ]the[ ](?:morning|afternoon|evening)|at[ ]night))?"
)
_TRIGGER = regex.compile(
    r"(?i)\d|day|morrow|tmr|tonight|weekend|week|month|year|quarter|morning|evening|night|"
    r"afternoon|spring|summer|autumn|winter|\bfall\b|noon|eod|cob|eow|eom|eoy|fortnight|hour|"
    r"minute|\b(?:jan|feb|mar|apr|may|"
    r"jun|jul|aug|sep|"
    r"oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)|first|second|third|fourth|fifth|tenth|christmas"
    r"|halloween|\b(?:at|by) (?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|"
    r"twelve)\b|ninth|sixth|seventh|eighth|eleventh|twelfth"
)
_LAST_TIME = time(23, 59, 59, 999000)


def _end(day: date) -> datetime:
    return datetime.combine(day, _LAST_TIME, UTC)


def _month_end(year: int, month: int) -> date:
    return date(year, month, calendar.monthrange(year, month)[1])


def _add_months(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def _number(words: str) -> int:
    words = words.lower()
    return int(words) if words.isdigit() else _NUMBERS.get(words, 1)


def _month(words: str) -> int:
    return _MONTHS[
        words.lower()
        .replace("early ", "")
        .replace("late ", "")
        .replace("mid-", "")
        .replace("mid ", "")
        .replace("mid", "")
        .rstrip(".")
    ]


def _weekday(words: str) -> int:
    return _WEEKDAYS[words.lower()]


def _year_for(month: int, day: int | None, today: date, past: bool) -> int:
    """The year of the nearest such month (and day) that fits the tense."""
    year = today.year
    if past:
        later = month > today.month or (month == today.month and (day or 0) > today.day)
        return year - 1 if later else year
    earlier = month < today.month or (month == today.month and day is not None and day < today.day)
    return year + 1 if earlier else year


def _days(day: date) -> tuple[str, date]:
    return day.isoformat(), day


def _resolve(m: regex.Match[str], today: date, past: bool) -> tuple[str, date] | None:
    """The ISO text and the last day of a date phrase (clock units are handled elsewhere)."""
    g = m.groupdict()
    if g["iso"]:
        return _days(date.fromisoformat(g["iso"]))
    if g["numeric"]:
        a, b, y = (int(x) for x in regex.split(r"[./]", g["numeric"]))
        if "." in g["numeric"] or a > 12:
            return _days(date(y, b, a))
        if b > 12 or a == b:
            return _days(date(y, a, b))
        return None  # day or month first: not said
    if g["edge"]:
        return _edge(g, today, past)
    if g["partof"]:
        return _part_of(g, today, past)
    if g["quarter"] or g["quarterth"]:
        return _quarter(g, today)
    if g["season"]:
        return None if past else _season(g, today)
    if g["weekafter"]:
        return _days(today - timedelta(today.weekday()) + timedelta(20))
    if g["wkdom"] or g["wkdom2"]:
        return _week_of(g, today, past)
    if g["domm"] or g["mod"]:
        month = _month(g["domm"] or g["mod"])
        day = int(regex.match(r"\d+", g["dom"] or g["modd"])[0])
        year = g["domy"] or g["mody"]
        return _days(date(int(year) if year else _year_for(month, day, today, past), month, day))
    if g["wdomm"]:
        month, day = _month(g["wdomm"]), int(regex.match(r"\d+", g["wdom"])[0])
        year = g["wdomy"]
        return _days(date(int(year) if year else _year_for(month, day, today, past), month, day))
    if g["dayofrel"]:
        step = {"next": 1, "last": -1}.get(g["dayrel"].lower(), 0)
        base = _add_months(today.replace(day=1), step)
        return _days(base.replace(day=int(regex.match(r"\d+", g["dayofrel"])[0])))
    if g["my"]:
        year, month = int(g["myy"]), _month(g["my"])
        return f"{year:04d}-{month:02d}", _month_end(year, month)
    if g["dayaftertomorrow"]:
        return _days(today + timedelta(2))
    if g["daybeforeyesterday"]:
        return _days(today - timedelta(2))
    if g["weekfrom"]:
        start = g["wfday"].lower()
        if start in ("today", "tomorrow"):
            return _days(today + timedelta(7 if start == "today" else 8))
        return _days(today + timedelta((_weekday(start) - today.weekday() - 1) % 7 + 8))
    if g["wdweek"]:
        return _days(today + timedelta((_weekday(g["wdweek"]) - today.weekday() - 1) % 7 + 8))
    if g["today"]:
        return _days(today)
    if g["tomorrow"]:
        return _days(today + timedelta(1))
    if g["yesterday"]:
        return _days(today - timedelta(1))
    if g["rel"]:
        return _relative(g, today, past)
    if g["week"] or g["the"]:
        return _edge(
            {
                "edgeunit": {"eow": "week", "eom": "month", "eoy": "year"}.get(
                    (g["week"] or "weekend").lower(), "weekend"
                ),
                "edgerel": "the",
                "edge": "end",
            },
            today,
            past,
        )
    if g["fortnight"]:
        return _days(today + timedelta(-14 if g["fdir"] else 14))
    if g["n"]:
        return _count(m, g, today)
    if g["wd"]:
        wanted = _weekday(g["wd"])
        if g["wddom"]:
            return _day_of_month(int(regex.match(r"\d+", g["wddom"])[0]), today, past)
        if past:
            return _days(today - timedelta((today.weekday() - wanted - 1) % 7 + 1))
        return _days(today + timedelta((wanted - today.weekday() - 1) % 7 + 1))
    if g["dayonly"]:
        return _day_of_month(int(g["dayonly"][:-2]), today, past)
    if g["ordinal"]:
        day = _ORDINALS[g["ordinal"].lower()]
        if g["ordmonth"]:
            month = _month(g["ordmonth"])
            return _days(date(_year_for(month, day, today, past), month, day))
        if g["ordrel"]:
            base = _add_months(today.replace(day=1), 1 if g["ordrel"].lower() == "next" else 0)
            return _days(base.replace(day=day))
        # "the second" alone is a day only after a preposition of time
        head = m[0].lower()
        return (
            _day_of_month(day, today, past) if head.startswith(("on ", "by ", "until ")) else None
        )
    if g["monthto"]:
        month = _month(g["monthto"])
        year = _year_for(month, None, today, past)
        return f"{year:04d}-{month:02d}", _month_end(year, month)
    if g["month"]:
        month = _month(g["month"])
        year = _year_for(month, None, today, past)
        return f"{year:04d}-{month:02d}", _month_end(year, month)
    if g["year"]:
        return g["year"], date(int(g["year"]), 12, 31)
    name = g["christmas"].lower()
    if name.startswith("new"):
        month, day = (12, 31) if g["ny"].lower() == "eve" else (1, 1)
    elif name == "halloween":
        month, day = 10, 31
    else:
        month, day = 12, 24 if (g["eve"] or "").lower() == "eve" else 25
    return _days(date(_year_for(month, day, today, past), month, day))


def _leading(words: str) -> int:
    """The number that the words begin with ("7th" -> 7)."""
    found = regex.match(r"\d+", words)
    return int(found[0]) if found else 0


def _week_of(g: dict[str, str | None], today: date, past: bool) -> tuple[str, date] | None:
    """The Sunday of the week that a day names: "the week of 7 December", "the week of the 14th"."""
    day, named = _leading(g["wkdom"] or g["wkdom2"] or ""), g["wkmonth"] or g["wkmonth2"]
    if named is None:
        found = _day_of_month(day, today, past)
        if found is None:
            return None
        monday = found[1]
    else:
        month = _month(named)
        monday = date(_year_for(month, day, today, past), month, day)
    return _days(monday + timedelta(6 - monday.weekday()))


def _part_of(g: dict[str, str | None], today: date, past: bool) -> tuple[str, date] | None:
    """The end of a part: "the first week of December", "the second half of next year"."""
    which = {"1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "last": 0}.get((g["partof"] or "").lower())
    which = _ORDINALS[(g["partof"] or "").lower()] if which is None else which
    unit = (g["partunit"] or "").lower()
    step = 1 if (g["partrel"] or "").lower() == "next" else 0
    if g["partannum"] or (g["partwhole"] or "").lower() == "year":
        year = int(g["partannum"]) if g["partannum"] else today.year + step
        if unit != "half" or which not in (0, 1, 2):
            return None
        return str(year), date(year, 6, 30) if which == 1 else date(year, 12, 31)
    if g["partmonth"]:
        month = _month(g["partmonth"])
        year = int(g["partyear"] or 0) or _year_for(month, None, today, past)
        first = date(year, month, 1)
    else:
        first = _add_months(today.replace(day=1), step)
    last = _month_end(first.year, first.month)
    iso = f"{first.year:04d}-{first.month:02d}"
    if which == 0 or (unit == "half" and which == 2):
        return iso, last
    if unit == "half":
        return (iso, first.replace(day=15)) if which == 1 else None
    if unit == "weekend":
        sunday = first + timedelta((5 - first.weekday()) % 7 + 1 + 7 * (which - 1))
        return _days(sunday) if sunday <= last else None
    if unit == "fortnight":
        return (iso, first.replace(day=14)) if which == 1 else (iso, last)
    return iso, first.replace(day=7 if unit == "days" else min(7 * which, last.day))


def _quarter(g: dict[str, str | None], today: date) -> tuple[str, date]:
    """The end of a quarter that is named by its number; without a year the coming one."""
    named = (g["quarterth"] or "").lower()
    number = int(g["quarter"]) if g["quarter"] else 4 if named == "last" else _ORDINALS[named]
    end_month = 3 * number
    said = (g["quarteryear"] or "").lower()
    year = int(said) if said.isdigit() else today.year + (1 if said.startswith("next") else 0)
    if not said and _month_end(year, end_month) < today:
        year += 1
    last = _month_end(year, end_month)
    return f"{last.year:04d}-{last.month:02d}", last


def _season(g: dict[str, str | None], today: date) -> tuple[str, date]:
    """The end of a season; "next summer" is the one after the summer that comes or is now."""
    month = _SEASONS[(g["season"] or "").lower()]
    said, rel = (g["seasonyear"] or "").lower(), (g["seasonrel"] or "").lower()
    if said:
        year = int(said) if said.isdigit() else today.year + (1 if said.startswith("next") else 0)
        return str(year), _month_end(year + (1 if month == 2 else 0), month)
    year = today.year if _month_end(today.year, month) >= today else today.year + 1
    begun = today >= _add_months(date(year, month, 1), -2)
    if rel == "next" and begun:
        year += 1
    return str(year), _month_end(year, month)


def _edge(g: dict[str, str | None], today: date, past: bool) -> tuple[str, date] | None:
    at_end = (
        not (g["edge"] or "").lower().removeprefix("the ").startswith(("begin", "start", "mid"))
    )
    if g.get("edgemonth"):
        month = _month(g["edgemonth"] or "")
        year = int(g["edgeyear"] or 0) or _year_for(month, None, today, past)
        return f"{year:04d}-{month:02d}", _month_end(year, month)
    if g.get("edgeday"):
        return _days(today + timedelta(1 if (g["edgeday"] or "").lower() == "tomorrow" else 0))
    unit, step = g["edgeunit"], {"next": 1, "last": -1}.get((g["edgerel"] or "").lower(), 0)
    if unit == "day":
        return _days(today + timedelta(step))
    if unit in ("week", "weekend"):
        monday = today - timedelta(today.weekday()) + timedelta(7 * step)
        friday = monday + timedelta(4)
        if unit == "weekend" or (step == 0 and friday < today):
            return _days(monday + timedelta(6))
        return _days(friday if at_end else monday)
    if unit == "month":
        month_day = _add_months(today.replace(day=1), step)
        last = _month_end(month_day.year, month_day.month)
        return (last.isoformat(), last) if at_end else (last.isoformat()[:7], last)
    if unit == "quarter":
        first = _add_months(today.replace(day=1), 3 * step - (today.month - 1) % 3)
        last_month = _add_months(first, 2)
        return _days(_month_end(last_month.year, last_month.month))
    year = today.year + step
    return (f"{year}-12-31" if at_end else str(year)), date(year, 12, 31)


def _relative(g: dict[str, str | None], today: date, past: bool) -> tuple[str, date] | None:
    rel = (g["rel"] or "").lower()
    back = rel in ("last", "past", "this past")
    ahead = rel in ("next", "the following", "following")
    if g["relwd"]:
        wanted = _weekday(g["relwd"])
        if back:
            return _days(today - timedelta((today.weekday() - wanted - 1) % 7 + 1))
        if ahead:
            return _days(today - timedelta(today.weekday()) + timedelta(7 + wanted))
        if rel == "this" and past:
            return _days(today - timedelta((today.weekday() - wanted) % 7))
        return _days(today + timedelta((wanted - today.weekday() - 1) % 7 + 1))
    if g["relmonth"]:
        month = _month(g["relmonth"])
        year = _year_for(month, None, today, back)
        if back and month == today.month:
            year -= 1
        elif ahead and month == today.month:
            year += 1
        return f"{year:04d}-{month:02d}", _month_end(year, month)
    unit = (g["relunit"] or "").lower()
    step = -1 if back else 1 if ahead else 0
    if unit in ("week", "weekend"):
        if back or (past and not ahead):
            return None  # some day of a past week: not a day
        monday = today - timedelta(today.weekday()) + timedelta(7 * step)
        sunday = monday + timedelta(6)
        return _days(sunday)
    if unit == "month":
        day = _add_months(today.replace(day=1), step)
        return day.isoformat()[:7], _month_end(day.year, day.month)
    if unit == "year":
        return str(today.year + step), date(today.year + step, 12, 31)
    first = _add_months(today.replace(day=1), 3 * step - (today.month - 1) % 3)
    last_month = _add_months(first, 2)
    last = _month_end(last_month.year, last_month.month)
    return last.isoformat()[:7], last


def _count(m: regex.Match[str], g: dict[str, str | None], today: date) -> tuple[str, date] | None:
    number, unit = _number(g["n"] or "1"), (g["unit"] or "").lower()
    direction = (g["dir"] or "").strip().lower()
    head = m[0].lower()
    if direction == "ago":
        sign = -1
    elif (
        direction in ("from now", "later", "time", "'s time", "' time", "’ time")
        or head.startswith(("in ", "within "))
        or (g["within"] and head.startswith(("over ", "during ", "the ")))
    ):
        sign = 1
    else:
        return None  # a duration ("for two weeks"), no date
    if unit in ("minute", "min", "hour"):
        return None
    if unit == "month":
        day = _add_months(today, sign * number)
        return (day.isoformat(), day) if sign > 0 else (day.isoformat()[:7], day)
    if unit == "year":
        day = _add_months(today, 12 * sign * number)
        return (day.isoformat(), day) if sign > 0 else (str(day.year), date(day.year, 12, 31))
    size = {"day": 1, "night": 1, "week": 7, "fortnight": 14}[unit]
    if number in (3,) and (g["n"] or "").lower() == "a few":
        return None
    return _days(today + timedelta(sign * number * size))


def _day_of_month(day: int, today: date, past: bool) -> tuple[str, date] | None:
    month = today.replace(day=1)
    for _ in range(12):
        if day <= calendar.monthrange(month.year, month.month)[1]:
            found = month.replace(day=day)
            if (found <= today) if past else (found >= today):
                return _days(found)
        month = _add_months(month, -1 if past else 1)
    return None


def _clock_time(m: regex.Match[str]) -> tuple[int, int] | None:
    g = m.groupdict()
    part = (g["part"] or "").lower()
    if g["noon"]:
        return (0, 0) if g["noon"].lower() == "midnight" else (12, 0)
    if g["rel"]:
        hour = _number(g["relh"])
        minute = 30 if g["rel"].lower() == "half" else 15
        if g["relside"].lower() == "to":
            hour, minute = hour - 1, 60 - minute
        mark = ""
    elif g["h"]:
        hour, minute, mark = int(g["h"]), int(g["m"]), (g["ap"] or "")
    else:
        hour, minute, mark = _number(g["h2"] or g["bare"]), 0, (g["ap2"] or "")
        if g["bare"] and not part and 1 <= hour <= 6:
            hour += 12  # "at three": people meet in the afternoon
    mark = mark.lower().replace(".", "")
    if (mark == "pm" and hour < 12) or (("afternoon" in part or "evening" in part) and hour < 12):
        hour += 12
    if mark == "am" and hour == 12:
        hour = 0
    return (hour % 24, minute) if hour <= 24 else None


@dataclass(frozen=True, slots=True)
class _Clock:
    """A clock time `text[start:end]`, with the zone named behind it."""

    match: regex.Match[str]
    end: int
    zone: ZonePhrase | None

    @property
    def start(self) -> int:
        return self.match.start()


def _clock(text: str) -> _Clock | None:
    for m in _CLOCK.finditer(text):
        if regex.match(r"[ ]?%|[ ]?(?:km|kg)", text[m.end() : m.end() + 4]):
            continue
        zone = zone_after(text, m.end())
        return _Clock(m, zone.end if zone else m.end(), zone)
    return None


def find_date(text: str, at: datetime, *, past: bool = False) -> When | None:
    """The first date phrase of `text` that can be resolved, with a clock time beside it.

    `at` is the message's time (aware, UTC); `past` tells that the verb is in the past tense.
    """
    if not _TRIGGER.search(text):
        return None
    today = at.date()
    clock = _clock(text)
    for m in _PHRASE.finditer(text):
        if m["n"] and (m["unit"] or "").lower() in ("minute", "min", "hour"):
            moment = _hours(m, at)
            if moment is not None:
                return When(m.start(), m.end(), moment.date().isoformat(), moment, clock=True)
            continue
        try:
            found = _resolve(m, today, past)
        except (ValueError, OverflowError, KeyError):
            continue  # "31 June" is no day
        if found is None:
            continue
        iso, last = found
        start, end = m.start(), m.end()
        if clock is not None and len(iso) == 10 and _adjacent(text, m, clock):
            evening = regex.search(r"(?i)night|evening", m[0]) is not None
            start, end = min(start, clock.start), max(end, clock.end)
            moment = _moment(last, clock, evening=evening)
            if moment is not None:
                return When(start, end, iso, moment, clock=True)
        return When(start, end, iso, _end(last))
    if (
        clock is not None
        and not past
        and regex.match(r"(?i)(?:at|by|before|until|@)\b", clock.match[0])
    ):
        moment = _moment(today, clock)
        if moment is not None:
            if moment < at:
                moment += timedelta(1)
            return When(clock.start, clock.end, moment.date().isoformat(), moment, clock=True)
        if clock.zone is not None:
            return When(clock.start, clock.end, today.isoformat(), _end(today))
    return None


def _hours(m: regex.Match[str], at: datetime) -> datetime | None:
    if not (m[0].lower().startswith(("in ", "within ")) or (m["dir"] or "").strip() == "from now"):
        return None
    number = _number(m["n"])
    hours = m["unit"].lower() == "hour"
    return at + (timedelta(hours=number) if hours else timedelta(minutes=number))


def _adjacent(text: str, day: regex.Match[str], clock: _Clock) -> bool:
    if clock.start < day.end() and day.start() < clock.end:
        return False
    between = text[min(day.end(), clock.end) : max(day.start(), clock.start)]
    return len(between) <= 12 and regex.fullmatch(r"(?i)[ ,]*(?:on|at)?[ ]*", between) is not None


def _moment(day: date, clock: _Clock, *, evening: bool = False) -> datetime | None:
    """The instant of a clock time on a day; None where its zone cannot be told."""
    hour_minute = _clock_time(clock.match)
    if hour_minute is None or (clock.zone is not None and clock.zone.zone is None):
        return None
    if evening and 1 <= hour_minute[0] < 12 and "am" not in clock.match[0].lower():
        hour_minute = (hour_minute[0] + 12, hour_minute[1])
    zone = (clock.zone.zone if clock.zone else None) or UTC
    return datetime.combine(day, time(*hour_minute), zone).astimezone(UTC)
