"""Where somebody lives or comes from."""

from __future__ import annotations

import regex

from pipelines.formation.discourse import Discourse
from pipelines.formation.english.clauses import Clause
from pipelines.formation.english.names import PLACE, is_organisation
from pipelines.formation.findings import ClaimStated, Finding
from pipelines.formation.lexicon import word_set

_AREA = (
    r"(?:(?:the |an? )?(?:(?:north|south|east|west|centre|center|heart|middle|outskirts|suburbs|"
    r"old town|city|town|village|capital|greater|area)(?: (?:area|city))? (?:of|called|named) |"
    r"(?:downtown|central|northern|southern|eastern|western|greater|inner|sunny|rainy|beautiful|"
    r"lovely|good old|old|nearby|rural|upstate) |(?:\w+ ){0,2}?(?:house|flat|apartment|studio|room|"
    r"cottage|village|town|city|place|houseboat|suburb|district) (?:in|called|named) ))?(?:the )?"
)
_IN = rf"(?:in|at) {_AREA}(?-i:(?P<place>{PLACE}))(?P<rest>.*)"
_LIVES = regex.compile(
    r"(?i)^(?P<verb>(?:do not |does not |no longer |have not |has not )?(?:live|lives|"
    r"living|reside|resides|"
    r"(?:am|is|are) (?:not |no longer )?(?:living|based|residing|settled|at home|"
    rf"an? [\w' -]{{3,40}}? (?:living|based))|(?:have|has) (?:not )?(?:lived|been "
    r"living|been based|resided|settled(?: down)?)))(?: (?:with (?:my|his|her|"
    rf"our) [\w ]{{2,30}}?|alone|together|here|there|right|out|over|"
    rf"up|down|abroad))? {_IN}"
)
_MOVED = regex.compile(
    r"(?i)^(?P<verb>(?:have |has )?(?:moved|relocated|resettled|emigrated|"
    r"immigrated))(?: (?:back|over|out|down|up|here|in|house|home))?"
    rf"(?: (?:from|away from|out of) (?-i:(?P<from>{PLACE})))?"
    rf"(?P<early>(?: [\w\d,' ]{{2,30}}?)?) (?:to|into) {_AREA}(?-i:(?P<place>{PLACE}))(?P<rest>.*)"
)
_SETTLED = regex.compile(
    rf"(?i)^(?:have |has )?settled (?:down )?in {_AREA}(?-i:(?P<place>{PLACE}))(?P<rest>.*)"
)
_MOVED_OUT = regex.compile(
    rf"(?i)^(?:have |has )?moved (?:out of|away from|out from) (?-i:(?P<place>{PLACE}))(?P<rest>.*)"
)
_CALL_HOME = regex.compile(
    rf"(?i)^calls? (?-i:(?P<place>{PLACE})) (?:my |his |her |our )?home\b(?P<rest>.*)"
)
_HOME_IS = regex.compile(
    r"(?i)^(?:my|our) (?:(?:new|current|present) )?(?:home|home town is now|home city|"
    r"city of residence|place of "
    r"residence|flat|apartment|house|home base)(?: is|:)(?: now)?(?: in|"
    rf" at)? {_AREA}(?-i:(?P<place>{PLACE}))(?P<rest>.*)"
)
_HOME = regex.compile(
    rf"(?i)^home(?: for me)? is (?:now )?(?:in )?{_AREA}(?-i:(?P<place>{PLACE}))"
    r"(?P<rest>$|[,.;].*| (?:now|for me|these days)\b.*)"
)
_PLACE_IS_HOME = regex.compile(
    rf"^(?P<place>{PLACE}) (?i:is (?:now )?(?:my home|where (?:i|we) (?:now )?live|"
    r"our home)\b)(?P<rest>.*)"
)
_ORIGIN = regex.compile(
    r"(?i)^(?:(?:am|is) (?P<neg>not )?(?:a native of|from)|(?P<neg2>do not |"
    r"does not )?comes? (?:originally )?from|"
    r"(?:was|were) born (?:and (?:raised|bred|grew up) )?(?:on [\w ,]+? |in (?:19|"
    r"20)\d\d )?(?:in|at)|hails? from|originates? from|grew up in|"
    rf"was raised in) {_AREA}(?-i:(?P<place>{PLACE}))(?P<rest>.*)"
)
_HOMETOWN = regex.compile(
    r"(?i)^(?:my|our) (?:home ?town|birthplace|place of birth|native (?:town|city|"
    rf"village))(?: is|:) (?-i:(?P<place>{PLACE}))(?P<rest>.*)"
)
_WHICH_IN = regex.compile(
    r"(?i)^which (?:is|lies|is located|is situated) (?:a (?:\w+ )?(?:town|city|village|"
    r"suburb|district|part) )?in (?:the )?(?:(?:north|south|east|"
    rf"west)(?:ern)? (?:of )?)?(?-i:(?P<place>{PLACE}))(?P<rest>.*)"
)
_PLACE_IN_PLACE = regex.compile(
    rf"^(?P<one>{PLACE}) (?:is|lies|is located|is situated) (?:a (?:\w+ )?(?:town|city|"
    r"village|suburb|district|quarter) in|in) (?:the )?(?:(?:north|south|east|"
    rf"west)(?:ern)? (?:of )?)?(?P<place>{PLACE})(?P<rest>.*)"
)
_PASSING = regex.compile(
    r"(?i)\b(?:for (?:the|a|an|this|another|one|two|three|four|a few|\d+) (?:\w+ )?(?:day|"
    r"night|week|month|summer|winter|"
    r"weekend|term|semester|holiday|conference|project|while|moment|time being)s?(?! now)|"
    r"until|till|temporarily|on holiday|on vacation|"
    r"for work this|this week|this weekend|tonight|every (?:summer|winter|year))\b"
)
#: "i live in new york", by somebody who writes without capitals
_LOWER_LIVES = regex.compile(
    r"^(?P<verb>live|am living|am based|is based|lives) in (?P<place>(?:(?:new|san|santa|los|las|"
    r"el|la|"
    r"le|den|cape|fort|port|north|south|east|west|saint|sao|são|rio|hong|kuala|buenos|tel|salt|"
    r"st) )?"
    r"[a-z]{4,})(?P<rest>)$"
)
#: what people live in besides places
_NO_HOMES = word_set(
    "house houses flat flats apartment apartments city cities town towns village villages cottage "
    "fear "
    "peace hope style place places hell past future country dorm dorms basement near same building "
    "denial poverty pain luxury squalor comfort chaos misery isolation exile hiding harmony "
    "silence "
    "darkness shame doubt terror dread hotels hostels tents caravan caravans vans boats suburbia "
    "halls student shared rented temporary sheltered rural suburban heaven paradise limbo color "
    "colour anticipation constant total hope dreams clover bliss sin debt tune sync there here "
    "this that "
    "barracks lodgings digs accommodation solitude slums bunkers trees caves relative relatives "
    "both sweden's europe's mine yours theirs it them"
)
_NO_PLACES = word_set(
    "Fear Hope Peace Hell Heaven Paradise Limbo God Christ "
    "English French German Spanish I My The A Monday "
    "Tuesday Wednesday Thursday Friday Saturday Sunday January "
    "February March April May June July August "
    "September October November December Christmas Easter Bed "
    "It This That These Those Excel Python "
    "Java Slack Zoom Outlook Teams Notion Discord Minecraft Narnia Hogwarts"
)


def _place(raw: str) -> str | None:
    place = regex.sub(r"(?i)^the ", "", raw.strip(" .,"))
    place = (
        regex.split(r",| and ", place)[0]
        if not regex.search(
            r"(?: and (?:Herzegovina|Tobago|Barbuda|Nevis|Wear|Hove|Principe))", place
        )
        else place
    )
    words = place.split()
    while words and (words[-1] in _NO_PLACES or words[-1] in ("I", "Since", "And")):
        words.pop()
    if not words or words[0] in _NO_PLACES or "'s" in place:
        return None
    return " ".join(words)


def _since(c: Clause, rest: str, *, change: bool) -> str | None:
    """The start of validity: "since March 2021", and for a change any date of the past."""
    found = c.date(past=True)
    if found is None:
        return None
    words = c.verb if found.start < len(c.verb) and c.verb[found.start : found.end] else c.opening
    phrase = c.verb[found.start : found.end].lower() if words is c.verb else c.opening.lower()
    since = regex.match(
        r"(?:since|from|as of|as from|starting|beginning|effective)\b", phrase.strip()
    )
    opened = regex.match(r"(?i)(?:since|from|as of|as from|starting|effective)\b", c.opening or "")
    return found.iso if since or opened or change else None


def read(c: Clause, memory: Discourse) -> list[Finding]:
    """`lives_in`, `comes_from` and `located_in` claims of a clause."""
    if c.doubtful or c.conditional:
        return []
    found: list[Finding] = []
    verb = c.verb
    owner = memory.speaker(c.message)

    def state(predicate: str, place: str | None, subject: str, **more: object) -> None:
        if place and not is_organisation(place):
            found.append(
                ClaimStated(subject, predicate, place, "Place", c.message, **more)  # type: ignore[arg-type]
            )

    if c.subjects:
        if m := _LIVES.match(verb) or (
            _LOWER_LIVES.match(verb)
            if verb.islower() and c.first and c.text[:2] in ("I ", "i ")
            else None
        ):
            lower = m.re is _LOWER_LIVES
            if _PASSING.search(m["rest"]) or (lower and m["place"].split()[-1] in _NO_HOMES):
                return found
            said = m["verb"].lower()
            negative = "not" in said or "no longer" in said
            ended = "no longer" in said or (
                negative
                and regex.search(r"(?i)\b(?:any ?more|any longer|since)\b", m["rest"]) is not None
            )
            based = "based" in said and not c.first
            for subject in c.subjects:
                if based and subject not in memory.speakers and subject not in memory.named:
                    continue
                place = _place(m["place"])
                state(
                    "lives_in",
                    place,
                    subject,
                    stance="reject" if negative else "support",
                    valid_from=_since(c, m["rest"], change=ended),
                    change="world_change" if ended or (c.now and not negative) else None,
                )
        elif m := _MOVED_OUT.match(verb):
            for subject in c.subjects:
                state(
                    "lives_in",
                    _place(m["place"]),
                    subject,
                    stance="reject",
                    valid_from=_since(c, m["rest"], change=True),
                    change="world_change",
                )
        elif m := _MOVED.match(verb):
            if regex.search(
                r"(?i)\b(?:date|meeting|call|appointment|party|file|data|server|to the)\b",
                m["early"] or "",
            ):
                return found
            for subject in c.subjects:
                state(
                    "lives_in",
                    _place(m["place"]),
                    subject,
                    valid_from=_since(c, m["rest"], change=True),
                    change="world_change",
                )
        elif m := _SETTLED.match(verb):
            for subject in c.subjects:
                state(
                    "lives_in",
                    _place(m["place"]),
                    subject,
                    valid_from=_since(c, m["rest"], change=True),
                )
        elif m := _CALL_HOME.match(verb):
            for subject in c.subjects:
                state("lives_in", _place(m["place"]), subject)
        elif m := _ORIGIN.match(verb):
            negative = bool(m["neg"] or m["neg2"])
            if not regex.match(
                r"(?i)\s*(?:$|[^\w\s]|(?:originally|and|but|in|near|on|at|too|so|where|"
                r"though|like|btw|by|as|via|which|just|myself|or|outside|"
                r"myself|also|not|then|before|until|with|for|to|after|when|while|who|"
                r"because|over|back)\b|\d)",
                m["rest"],
            ):
                return found  # "from Acme support"
            if regex.match(
                r"(?i)\s+(?:team|office|department|group|company|desk|side)\b|'s", m["rest"]
            ) or (not c.first and not c.subjects[0][0].isupper()):
                return found
            for subject in c.subjects:
                state(
                    "comes_from",
                    _place(m["place"]),
                    subject,
                    stance="reject" if negative else "support",
                )
    elif m := _HOME_IS.match(c.text) or _HOME.match(c.text) or _PLACE_IS_HOME.match(c.text):
        state(
            "lives_in",
            _place(m["place"]),
            owner,
            change="world_change" if c.now or " now" in c.text else None,
        )
    elif m := _HOMETOWN.match(c.text):
        state("comes_from", _place(m["place"]), owner)
    elif m := _PLACE_IN_PLACE.match(c.text):
        _inside(c, memory, m["one"], m["place"], found)
    elif c.text.lower().startswith("which ") and (m := _WHICH_IN.match(c.text)):
        last = memory.scratch.get("place_message")
        if last == c.message and memory.place:
            _inside(c, memory, memory.place, m["place"], found)
    for f in found:
        if isinstance(f, ClaimStated) and f.predicate in ("lives_in", "comes_from"):
            memory.scratch["place_message"] = c.message
            memory.place = f.object
    return found


def _inside(c: Clause, memory: Discourse, inner: str, outer: str, found: list[Finding]) -> None:
    small, large = _place(inner), _place(outer)
    known = small and (small == memory.place or any(small == h.claim.object for h in memory.claims))
    if (
        small
        and large
        and small != large
        and (
            known
            or (
                " in " in c.text
                and regex.search(r"\b(?:town|city|village|suburb|district|quarter) in\b", c.text)
            )
        )
    ):
        found.append(
            ClaimStated(small, "located_in", large, "Place", c.message, subject_type="Place")
        )
