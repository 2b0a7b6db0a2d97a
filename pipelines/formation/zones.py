"""Time zones that a text names after a clock time: "23:30 New York time", "9am PST", "(UTC+8)".

Cities and regions become zones of the tz database, so that an instant is right on both sides of a
change of the clocks; abbreviations of one fixed offset stay offsets. Words that name a zone which
nobody can tell ("my time", "IST", "Gotham time") are found too, without a zone: the reader then
knows the day only.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import regex

from pipelines.formation.lexicon import TIME_ZONES, word_set


@dataclass(frozen=True, slots=True)
class ZonePhrase:
    """Words up to `end` that name a zone; `zone` is None where they do not tell which."""

    end: int
    zone: tzinfo | None


#: words of the tz database that are no names of places people set clocks by
_AREAS = word_set("Africa America Antarctica Arctic Asia Atlantic Australia Europe Indian Pacific")
#: further cities, countries and regions of one zone, lower case
_MORE_PLACES = {
    "Europe/London": "uk|england|britain|scotland|wales|manchester|edinburgh|glasgow|british",
    "Europe/Berlin": "munich|hamburg|frankfurt|cologne|germany|german|leipzig",
    "Europe/Paris": "france|french|lyon|marseille",
    "Europe/Madrid": "spain|spanish|barcelona",
    "Europe/Rome": "italy|italian|milan|naples",
    "Europe/Zurich": "switzerland|swiss|geneva|zürich|basel",
    "Europe/Amsterdam": "netherlands|dutch|rotterdam",
    "Europe/Warsaw": "poland|krakow|kraków|polish",
    "Europe/Kyiv": "ukraine|kiev",
    "Europe/Dublin": "ireland|irish",
    "Europe/Lisbon": "portugal|porto",
    "America/New_York": "us eastern|eastern|eastern standard|eastern daylight|washington|boston|"
    "miami|philadelphia|atlanta|nyc|ny|et|east coast",
    "America/Chicago": "us central|central|central standard|central daylight|houston|dallas|texas|"
    "ct|austin",
    "America/Denver": "us mountain|mountain|mountain standard|mountain daylight|mt",
    "America/Los_Angeles": "us pacific|pacific|pacific standard|pacific daylight|san francisco|"
    "seattle|california|la|pt|san diego|silicon valley|"
    "west coast",
    "America/Halifax": "atlantic",
    "America/Toronto": "ottawa|montreal",
    "America/Sao_Paulo": "são paulo|rio|rio de janeiro|brasilia|brasília",
    "America/Mexico_City": "mexico",
    "Asia/Shanghai": "beijing|china|china standard|chinese|shenzhen|guangzhou",
    "Asia/Tokyo": "japan|japan standard|osaka|kyoto",
    "Asia/Seoul": "korea|korean",
    "Asia/Kolkata": "india|indian|indian standard|india standard|mumbai|delhi|new delhi|"
    "bangalore|bengaluru|chennai|hyderabad",
    "Asia/Singapore": "singaporean",
    "Asia/Ho_Chi_Minh": "hanoi|vietnam",
    "Australia/Sydney": "canberra",
    "Pacific/Auckland": "new zealand|wellington",
    "Africa/Johannesburg": "cape town|south africa",
    "Etc/UTC": "utc|gmt|zulu|universal|greenwich",
}
#: offsets that an abbreviation always means; those of several meanings (CST, IST) are not here
_FIXED = {
    **{word: spoken for word, spoken in TIME_ZONES.items() if spoken[0] in "+-" and word.isascii()},
    "nst": "-03:30",
    "akst": "-09:00",
    "akdt": "-08:00",
    "hst": "-10:00",
    "sast": "+02:00",
    "awst": "+08:00",
    "acst": "+09:30",
    "acdt": "+10:30",
    "wib": "+07:00",
    "pkt": "+05:00",
}
_UNCLEAR = "cst|ist|ast|gst|adt|wst"
_ABBREVIATION = "|".join(
    regex.escape(w) for w in sorted({*_FIXED, "et", "ct", "mt", "pt"}, key=len, reverse=True)
)
_PLACE = r"\p{L}[\p{L}'’.-]*"
_ZONE = regex.compile(
    rf"""(?x)[ ,]{{0,2}}\(?(?:in[ ])?(?:the[ ])?(?:
      (?i:(?:utc|gmt)[ ]?(?P<sign>[+\-−–±])[ ]?(?P<hours>\d{{1,2}})(?::?(?P<minutes>[0-5]\d))?)
    | (?P<iana>(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific
        |Etc)/[A-Za-z_+\-0-9]{{2,32}}(?:/[A-Za-z_]{{2,32}})?)(?:[ ]time)?
    | (?i:(?P<abbreviation>{_ABBREVIATION}|(?P<unclear>{_UNCLEAR})))(?![\p{{L}}\d/])(?:[ ]time)?
    | (?i:(?P<place>(?:{_PLACE}[ ]){{1,3}}?)time)(?![\p{{L}}-]|[ ]?zone\p{{L}})(?:[ ]zone)?
    | (?P<region>Eastern|Pacific|Mountain)(?![\p{{L}}-])(?![ ]\p{{Lu}})
    )\)?"""
)
#: before "time" these name the zone of a person, not of a place
_WHOSE = word_set("my your our his her their local own")


@cache
def _places() -> dict[str, str]:
    """The lower-case name of a place -> its zone in the tz database."""
    found: dict[str, str] = {}
    for name in sorted(available_timezones()):
        area, _, rest = name.partition("/")
        if area in _AREAS and rest:
            found[rest.rpartition("/")[2].replace("_", " ").lower()] = name
    for name, places in _MORE_PLACES.items():
        found.update(dict.fromkeys(places.split("|"), name))
    return found


def _named(name: str) -> tzinfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _offset(text: str) -> tzinfo:
    hours, _, minutes = text[1:].partition(":")
    shift = timedelta(hours=int(hours), minutes=int(minutes or 0))
    return timezone(shift if text[0] == "+" else -shift)


def zone_after(text: str, start: int) -> ZonePhrase | None:
    """The zone named right at `start`, behind a clock time; None where none is named there.

    The zone of an answer is None when the words name one that cannot be told.
    """
    m = _ZONE.match(text, start)
    if m is None:
        return None
    if m["hours"]:
        hours, minutes = int(m["hours"]), int(m["minutes"] or 0)
        if hours > 14 or m["sign"] == "±":
            return ZonePhrase(m.end(), None)
        shift = timedelta(hours=hours, minutes=minutes)
        return ZonePhrase(m.end(), timezone(shift if m["sign"] == "+" else -shift))
    if m["iana"]:
        return ZonePhrase(m.end(), _named(m["iana"]))
    if m["unclear"]:
        return ZonePhrase(m.end(), None)
    if m["abbreviation"]:
        word = m["abbreviation"].lower()
        if word in ("et", "ct", "mt", "pt") and not m["abbreviation"].isupper():
            return None
        if word == "west" and not m["abbreviation"].isupper():
            return None  # a direction
        fixed = _FIXED.get(word)
        return ZonePhrase(m.end(), _offset(fixed) if fixed else _named(_places()[word]))
    if m["region"]:
        return ZonePhrase(m.end(), _named(_places()[m["region"].lower()]))
    words = m["place"].strip()
    place = words.lower()
    if place in _places():
        return ZonePhrase(m.end(), _named(_places()[place]))
    if place.split()[-1] in _WHOSE or (words[0].isupper() and words != words.upper()):
        return ZonePhrase(m.end(), None)
    return None
