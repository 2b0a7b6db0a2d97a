"""Birth, names, languages and time zone."""

from __future__ import annotations

import regex

from pipelines.formation.dates_english import find_date
from pipelines.formation.discourse import Discourse, Gender
from pipelines.formation.english.clauses import Clause
from pipelines.formation.english.kinship import KIN, kin_word
from pipelines.formation.english.names import NAME, gender_of, is_name
from pipelines.formation.findings import ClaimStated, Finding
from pipelines.formation.lexicon import LANGUAGES, TIME_ZONES, word_set
from pipelines.formation.likeness import same_name

_BIRTHDAY = regex.compile(
    rf"(?i)^(?P<who>my|(?:my|our) (?:\w+ )?{KIN}(?: (?-i:{NAME}))?'s|(?-i:{NAME})'s|his|"
    r"her) (?:own )?(?:birthday|date of birth|birth date|dob)"
    r"(?: is| falls| was|:| comes)?(?: always)?(?: on| up on)? (?P<date>.*)"
)
_DATE_IS_BIRTHDAY = regex.compile(r"(?i)^(?P<date>.{3,40}?) is my (?:own )?birthday\b")
_BORN = regex.compile(r"(?i)^(?:was|were) born (?:on|in [\p{L} ]+? on|at [\w ]+ on) (?P<date>.*)")
_TURNS = regex.compile(
    r"(?i)^(?:turn|turns|am turning|is turning|will turn|"
    r"will be turning) (?P<age>\d{1,3}) (?P<date>.*)"
)
_CALLED = regex.compile(
    r"(?i)^(?:(?:but |and |so )?(?:from now on,?|from today,?|in future,?|everyone|"
    r"everybody|people|my (?:close |old |best |whole )?(?:friends|family|colleagues|coworkers|team|"
    r"mates|parents|siblings|brothers|sisters|boss|mum|mom|dad|granny|grandma|husband|wife)|"
    r"friends|most people|they|all my friends|nearly everyone|almost everyone|"
    r"(?:at|on|in) (?:the |my )?\p{L}+,?|around here|(?:most|some|all) of my \p{L}+|folks|"
    r"(?:has|have)(?: always)?|"
    r"colleagues|folks|you can|you may|you could|please|just|feel free to|the team|"
    r"my mates|at home they|at work they|"
    r"all|some people|the kids|my kids|my students) )*(?:also |just |usually |all |always |"
    r"normally |simply )*(?:calls?|(?:(?<=have )|(?<=has )|(?<=always ))called) me (?:by the name "
    r"|by )?"
    rf"(?-i:(?P<name>{NAME}))(?P<rest>$|[,.!;]| (?:for short|by|please|instead|at home|"
    r"at work|though|too|and|not|from now|since|everyone|if you)\b.*)"
)
_NAME_FIRST = regex.compile(
    rf"^(?P<name>{NAME}) (?i:is|being) (?i:what|how) (?P<who>(?i:[\p{{L}} ]{{2,30}}?)) (?i:calls?|"
    r"(?i:knows?)) me\b"
)
_KNOWN_AS = regex.compile(
    r"(?i)^(?:(?:most )?(?:people|friends|everyone|everybody|colleagues|they|folks)|my \p{L}+)"
    r"(?: (?:at|in) \p{L}+)?(?: (?:mostly|all|usually|mainly|only|better))* knows? me (?:better "
    r")?as "
    rf"(?-i:(?P<name>{NAME}))(?=$|[,.!;]| (?:at|in|though|too)\b)"
)
_FOR_SHORT = regex.compile(
    rf"^(?:(?i:call me|it is|that is|just|or|or just) )?(?P<name>{NAME}) (?i:for short)\b"
)
_CALLS_OTHER = regex.compile(
    r"(?i)^(?:we|i|everyone|everybody|people|they|friends|all|the family)(?: (?:all|always|"
    rf"usually|"
    rf"just|mostly))* calls? (?:my|our) (?:\w+ ){{0,2}}?(?P<kin>{KIN}) "
    r"(?-i:(?P<one>\p{Lu}[\p{L}-]+)) (?-i:(?P<name>\p{Lu}[\p{L}-]+))(?=$|[,.!;])"
)
_CALLS_PRONOUN = regex.compile(
    r"(?i)^(?:calls|(?:we|everyone|everybody|people|they|friends|all|the family|my family|i)"
    r"(?: (?:all|always|usually|just|mostly))* calls?) (?P<who>him|her) "
    rf"(?-i:(?P<name>{NAME}))(?=$|[,.!;])"
)
_GOES_BY = regex.compile(
    r"(?i)^(?:go(?:es)? by|(?:am|is) (?:also |better |usually |often )?(?:known as|called|"
    r"nicknamed)|prefers? to be called|(?:would )?(?:like|prefer) to be called|"
    rf"answers? to) (?:the name |the nickname |the name of )?(?-i:(?P<name>{NAME}))(?P<rest>.*)"
)
_NICKNAME = regex.compile(
    rf"(?i)^(?P<who>my|his|her|(?-i:{NAME})'s) (?:nick ?name|short name|preferred name|"
    r"stage name|pen name|handle|callsign)(?: (?:at|on|in|among) (?:the |my )?\p{L}+)?(?: is|'s|:|"
    rf" has always been| was always) (?:just |still )?(?-i:(?P<name>{NAME}))"
)
_MY_NAME = regex.compile(rf"(?i)^my (?:full |first |real |given )?name is (?-i:(?P<name>{NAME}))")
#: "Hi, I'm Priya": without a greeting it may as well be a faith, a star sign or a nationality
_I_AM = regex.compile(rf"(?i)^am (?:called |named )?(?-i:(?P<name>{NAME}))$")
_GREETS = regex.compile(
    r"(?i)^\W*(?:hi|hello|hey|hiya|greetings|howdy|dear|good (?:morning|afternoon|evening|day)|"
    r"nice to meet you|pleased to meet you|let me introduce myself|to introduce myself)\b"
)
_NO_FIRST_NAME = regex.compile(r"(?i)(?:ish|ese|ic|ist)$")
_NOT_CALLED = word_set(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday "
    "January February March April May June July "
    "August September October November December Christmas "
    "Tomorrow Today ASAP Crazy Old-fashioned"
)
_LANGUAGE = "|".join(sorted((w.title() for w in LANGUAGES if w.isascii()), key=len, reverse=True))
_TONGUES = rf"(?:{_LANGUAGE})"
_TONGUES_LIST = (
    r"(?:(?:both |either |fluent |good |decent |some |a little |a bit of |basic |perfect |"
    r"broken |passable |conversational |mostly |only |and |or |as well as |also |quite good |"
    r"reasonable |rusty |native |a little bit of |Brazilian |Swiss |Mexican |Mandarin |"
    rf"European )*{_TONGUES}(?:(?:,| and| or| &|, and| as well as|, plus| plus)? ?)?)+"
)
_SPEAKS = regex.compile(
    r"(?i)^(?P<neg>do not |does not |can not |no longer )?(?:can )?(?:speaks?|talks?|"
    r"(?:am|is) fluent in|(?:am|is) (?:bilingual|trilingual)(?: in|:)|grew up (?:speaking|"
    r"with)|(?:am|is) a native speaker of|"
    r"(?:am|is) native in|(?:am|is) (?:proficient|conversant|conversational) in|"
    r"have spoken|has spoken|can speak|"
    rf"knows?(?= (?:\w+ )?(?:{_LANGUAGE})$)) (?P<list>{_TONGUES_LIST})(?P<rest>.*)"
)
_NATIVE_SPEAKER = regex.compile(rf"(?i)^(?:am|is) a native (?P<list>{_TONGUES}) speaker")
_TONGUE_IS = regex.compile(
    r"(?i)^(?P<who>my|our|his|her) (?:native|mother|first|second|third|other|main|"
    rf"home) (?:language|tongue)s?(?: is| are|:) (?:actually )?(?P<list>{_TONGUES_LIST})"
)
_IS_TONGUE = regex.compile(
    rf"(?i)^(?P<list>{_TONGUES}) is (?:actually )?my (?:native|mother|first|second|third|"
    r"main|home) (?:language|tongue)"
)
_LANGUAGE_WORD = regex.compile(rf"(?i)\b{_TONGUES}\b")
_UTC = r"(?:UTC|GMT)[ ]?(?P<sign>[+\-−–])[ ]?(?P<hours>\d{1,2})(?::?(?P<minutes>[0-5]\d))?"
_IANA = (
    r"(?P<iana>(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|"
    r"Pacific|Etc)/[\w+-]+(?:/[\w+-]+)?)"
)
_ZONE_NAMES = "|".join(
    regex.escape(w) for w in sorted(TIME_ZONES, key=len, reverse=True) if w.isascii()
)
_ZONE = rf"(?:{_IANA}|{_UTC}|(?P<zone>{_ZONE_NAMES})(?: time)?)(?![\w/])"
_ZONE_IS = regex.compile(
    r"(?i)^(?P<who>my|our|his|her) (?:new |current |local )?(?:time zone|tz|"
    rf"local time)(?: is|:)(?: now| set to| currently| in)? (?:the )?{_ZONE}(?P<rest>.*)"
)
_IN_ZONE = regex.compile(
    r"(?i)^(?P<verb>am|is|are|live|lives|work|works|operate)(?: now| not)? (?:in|on|"
    rf"at) (?:the )?{_ZONE}(?P<rest>.*)"
)


_ZONE_ENDS = regex.compile(
    r"(?i)\s*(?:time ?zone|zone|time|now|here|at the moment|too|as well)?\W*$|"
    r"\s*(?:time ?zone|zone|time)\b|\s*[,(]"
)


def _offset(m: regex.Match[str]) -> str | None:
    if m["iana"]:
        area, _, city = m["iana"].partition("/")
        return f"{area.title()}/{city}" if m["iana"].islower() is False else m["iana"].title()
    if m["hours"]:
        hours = int(m["hours"])
        sign = "+" if m["sign"] == "+" else "-"
        return f"{sign}{hours:02d}:{m['minutes'] or '00'}" if hours <= 14 else None
    return TIME_ZONES.get(m["zone"].lower())


def birth_date(text: str, c: Clause) -> str | None:
    """`YYYY-MM-DD` or `--MM-DD` from the words of a birthday; None where no day is said."""
    found = find_date(text, c.at, past=True)
    if found is None or len(found.iso) != 10:
        return None
    phrase = text[found.start : found.end]
    return found.iso if regex.search(r"(?:19|20)\d\d", phrase) else f"--{found.iso[5:]}"


def read(c: Clause, memory: Discourse) -> list[Finding]:
    """`born_on`, `also_known_as`, `speaks` and `timezone` claims of a clause."""
    if c.doubtful or c.conditional:
        return []
    found: list[Finding] = []
    speaker = memory.speaker(c.message)
    text, verb = c.text, c.verb
    low = text.lower()

    def state(subject: str, predicate: str, value: str | None, **more: object) -> None:
        if value:
            found.append(ClaimStated(subject, predicate, value, "string", c.message, **more))  # type: ignore[arg-type]

    def whose(words: str) -> str | None:
        w = words.lower()
        if w in ("my", "our"):
            return speaker
        if w in ("his", "her"):
            name = memory.antecedent(c.message, "m" if w == "his" else "f")
            return name if name and not name.startswith("?") else None
        bare = words.removesuffix("'s")
        kin = regex.match(rf"(?i)(?:my|our) (?:\w+ )??(?P<kin>{KIN})(?: (?P<name>.+))?$", bare)
        if kin:
            return kin["name"] or memory.kin.get((speaker, kin_word(kin["kin"])))
        return bare if is_name(bare) else None

    # birth
    if "birth" in low or " dob" in low or "my dob" in low:
        if m := _BIRTHDAY.match(text):
            owner = whose(m["who"])
            if owner and not regex.match(
                r"(?i)(?:party|present|gift|cake|dinner|card|wish|plans?)\b", m["date"]
            ):
                state(owner, "born_on", birth_date(m["date"], c))
        elif m := _DATE_IS_BIRTHDAY.match(text):
            state(speaker, "born_on", birth_date(m["date"], c))
    if c.subjects and "born" in verb and (m := _BORN.match(verb)):
        for subject in c.subjects:
            state(subject, "born_on", birth_date(m["date"], c))
    elif c.subjects and "turn" in verb and (m := _TURNS.match(verb)) and int(m["age"]) < 120:
        date = find_date(m["date"], c.at)
        if date and len(date.iso) == 10:
            for subject in c.subjects:
                state(subject, "born_on", f"--{date.iso[5:]}")
    # names
    if (
        "call" in low
        or "name" in low
        or "known as" in low
        or " go by " in low
        or " goes by " in low
        or "answer" in low
        or " as " in low
        or "for short" in low
    ):
        m = (
            _CALLED.match(text)
            or _KNOWN_AS.match(text)
            or _FOR_SHORT.match(text)
            or _NAME_FIRST.match(text)
        )
        if m and m.re is _NAME_FIRST and regex.match(r"(?i)(?:i|you|we|he|she)\b", m["who"]):
            m = None
        name = None
        if m:
            name = m["name"].split(" ")[0] if not is_name(m["name"]) else m["name"]
            if name not in _NOT_CALLED and is_name(name) and not same_name(name, speaker):
                state(speaker, "also_known_as", name)
        elif m := _CALLS_OTHER.match(text):
            if is_name(m["one"]) and is_name(m["name"]):
                state(m["one"], "also_known_as", m["name"])
        elif m := _CALLS_PRONOUN.match(text):
            gender: Gender = "m" if m["who"].lower() == "him" else "f"
            called = memory.antecedent(c.message, gender, besides=m["name"])
            if (
                called
                and not called.startswith("?")
                and is_name(m["name"])
                and not same_name(called, m["name"])
            ):
                state(called, "also_known_as", m["name"])
        elif c.subjects and (m := _GOES_BY.match(verb)):
            name = m["name"]
            if is_name(name) and name not in _NOT_CALLED:
                for subject in c.subjects:
                    if not same_name(name, subject):
                        state(subject, "also_known_as", name)
        elif m := _NICKNAME.match(text):
            owner = whose(m["who"])
            if owner and is_name(m["name"]) and not same_name(owner, m["name"]):
                state(owner, "also_known_as", m["name"])
        elif m := _MY_NAME.match(text):
            own = m["name"]
            if is_name(own) and not same_name(own, speaker) and speaker in ("user", "assistant"):
                state(speaker, "also_known_as", own)
    if c.first and speaker == "user" and (m := _I_AM.match(verb)):
        own = m["name"]
        greeted = _GREETS.match(memory.conversation.messages[c.message].text) is not None
        known = gender_of(own) is not None
        if is_name(own) and (known or (greeted and not _NO_FIRST_NAME.search(own))):
            state(speaker, "also_known_as", own)
    # languages
    if any(
        w in low
        for w in (
            "speak",
            "language",
            "tongue",
            "fluent",
            "lingual",
            "talk",
            "native",
            "know",
            "spoken",
        )
    ):
        owners: tuple[str, ...] = c.subjects
        m = _SPEAKS.match(verb) or _NATIVE_SPEAKER.match(verb) if c.subjects else None
        tongue = None if m else _TONGUE_IS.match(text) or _IS_TONGUE.match(text)
        if tongue:
            m = tongue
            owner = whose(tongue.groupdict().get("who") or "my")
            owners = (owner,) if owner else ()
        if m:
            rest = m.groupdict().get("rest") or ""
            negative = bool(m.groupdict().get("neg"))
            if not (
                regex.match(
                    r"(?i)\s*(?:literature|food|lessons?|class|teacher|history|music|wine|"
                    r"films?|with my accent)\b",
                    rest,
                )
                or ("know" in verb.lower()[:6] and rest.strip())
            ):
                for word in _LANGUAGE_WORD.findall(m["list"]):
                    for owner in owners:
                        state(
                            owner,
                            "speaks",
                            LANGUAGES[word.lower()],
                            stance="reject" if negative else "support",
                        )
                if not negative and (
                    but := regex.match(
                        rf"(?i),? ?but (?:not|no|do not speak|can not speak) (?P<t>{_TONGUES})$",
                        rest,
                    )
                ):
                    for owner in owners:
                        state(owner, "speaks", LANGUAGES[but["t"].lower()], stance="reject")
    # time zone
    if (
        "zone" in low
        or "utc" in low
        or "gmt" in low
        or "time" in low
        or "/" in low
        or regex.search(r"\b[A-Z]{3,4}\b", text)
    ):
        if m := _ZONE_IS.match(text):
            owner = whose(m["who"])
            if owner:
                state(
                    owner,
                    "timezone",
                    _offset(m),
                    change="world_change"
                    if c.now or regex.search(r"(?i)\b(?:now|new)\b", text)
                    else None,
                )
        elif c.subjects and (m := _IN_ZONE.match(verb)) and " not" not in verb[:10]:
            direction = m["zone"] and m["zone"].lower() in ("west", "pacific", "eastern")
            named = "time" in verb.lower() or "zone" in verb.lower()
            if _ZONE_ENDS.match(m["rest"]) and (named or not direction):
                for subject in c.subjects:
                    state(
                        subject,
                        "timezone",
                        _offset(m),
                        change="world_change"
                        if c.now or " now" in verb or "now" in m["rest"]
                        else None,
                    )
    return found
