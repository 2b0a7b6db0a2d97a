"""Likes, dislikes and interests."""

from __future__ import annotations

import regex

from pipelines.formation.discourse import Discourse
from pipelines.formation.english.clauses import Clause
from pipelines.formation.english.names import is_name
from pipelines.formation.english.phrases import kind_of, singular, thing, things
from pipelines.formation.findings import ClaimStated, Finding
from pipelines.formation.lexicon import OPTION_KINDS, word_set

_LIKES = regex.compile(
    r"(?i)^(?:have |has )?(?:always |really |do )?(?P<verb>likes?|loves?|loved|adores?|"
    r"adored|enjoys?|prefers?|preferred|(?:am|is|are) (?:a )?(?:(?:big|huge|great|massive|"
    r"real|total) )?fans? of|(?:am|is) (?:very )?"
    r"(?:fond of|partial to|crazy about|mad about|nuts about)|(?:have|has) (?:a soft spot|"
    r"a weakness|a preference) for|have always (?:loved|liked|enjoyed|preferred)|"
    r"would prefer|would (?:much |always )?rather (?:have|take|eat|drink|use|get|ride|wear|choose|"
    r"order)|"
    r"would much prefer) (?P<what>.+)"
)
_DISLIKES = regex.compile(
    r"(?i)^(?:have |has )?(?:always )?(?P<verb>hates?|hated|dislikes?|loathes?|detests?|"
    r"despises?|abhors?|can not (?:stand|bear|abide|stomach)|(?:do|does) not (?:much |"
    r"really |particularly )?(?:like|love|enjoy|care for|fancy)|"
    r"(?:am|is|are) not (?:(?:really|much|exactly|too) )?(?:(?:a )?(?:(?:big|huge|great|"
    r"much of a) )?fans? of|fond of|keen on|crazy about|partial to)|never (?:liked|"
    r"enjoyed|cared for)|would rather not (?:have|eat|drink)|"
    r"no longer (?:likes?|loves?|enjoys?|prefers?)|(?:do|does) not prefer) (?P<what>.+)"
)
_FAVOURITE = regex.compile(
    r"(?i)^(?P<who>my|our|his|her) (?P<least>least |least-)?(?:all-time |absolute |"
    r"personal |current |new )?(?:favourite|"
    r"preferred) (?P<kind>(?:[a-z]+ ){0,2}?[a-z]+?)(?:s)?(?: of all(?: time)?|"
    r" ever)?(?: is| are|:|'s| has always been) (?P<what>.+)"
)
_IS_FAVOURITE = regex.compile(
    r"(?i)^(?P<what>[\w' -]{2,40}?) (?:is|are) my (?P<least>least |least-)?(?:all-time |"
    r"absolute |personal )?(?:favourite|favourites|preferred)(?: (?:kind|type|"
    r"sort) of)?(?: (?P<kind>(?:[a-z]+ ){0,1}?[a-z]+?))?s?(?:$|[,.!;]| (?:of all|ever|"
    r"by far|though|these)\b)"
)
_MY_PREFERENCE = regex.compile(
    r"(?i)^my (?:general |clear |strong |personal )?preference (?:is|"
    r"would be)(?: for)? (?P<what>.+)"
)
_INTO = regex.compile(
    r"(?i)^(?:(?:am|is|are) (?P<neg>not |no longer )?(?:very |really |also |much )*(?:into|"
    r"interested in|fascinated by|passionate about|keen on|hooked on|obsessed with|"
    r"curious about)|"
    r"(?:have|has) (?:really |recently )?(?:got|gotten|been getting) (?:really |very |"
    r"quite )?into|got (?:really |very |quite )?into|(?:have|has) (?:been|"
    r"become) (?:really |very |quite )?(?:into|interested in|fascinated by|"
    r"passionate about|obsessed with)|"
    r"(?P<neg2>do not |does not )(?:take|have) (?:an|any) interest in|(?:take|takes|have|"
    r"has) (?:an|a keen|a great|a deep|a strong) interest in) (?P<what>.+)"
)
_HOBBY = regex.compile(
    r"(?i)^(?P<who>my|his|her) (?:(?:main|biggest|favourite|new|latest|only|great|big|"
    r"other|current) )?(?:hobby|hobbies|interests?|pastimes?|passions?)(?: is| are|"
    r" include|:)(?: now)? (?P<what>.+)"
)
_IS_HOBBY = regex.compile(
    r"(?i)^(?P<what>[\w' -]{3,40}?) (?:is|are) (?:one of )?my (?:(?:main|biggest|new|"
    r"latest|great) )?(?:hobby|hobbies|passion|passions)\b"
)
#: "trains rather than planes for me"
_RATHER_THAN = regex.compile(
    r"(?i)^(?P<what>[\w' -]{2,30}?) (?:rather than|over|instead of) (?P<no>[\w' -]{2,30}?),? "
    r"(?:for me|any ?day|every time|any time)(?: please)?$"
)
_BUT_NOT = regex.compile(
    r"(?i)(?:,| but)? (?:but )?not (?P<no>(?!really\b|very\b|so\b|much\b|that\b|when\b|"
    r"if\b|at\b|in\b|on\b|for\b|enough\b)[\w' -]{3,30})$"
)
_REQUEST = regex.compile(
    r"(?i)^(?:all the|all my|all your|to|how|when|that|if|it|this|these|those|your|the (?:idea|"
    r"sound|look|way|fact|"
    r"plan|suggestion|photo|picture|photos|pictures|new|first|second|last|"
    r"other|one|ones|draft|design|result|proposal|answer)|what|where|who|why|seeing|"
    r"hearing|knowing|being|having|getting|you|him|her|them|us|myself|my|our|his|a good|"
    r"a nice|"
    r"nothing|everything|some|more|another|both|all of|each|every|any|so|such|there|not|me|"
    r"even)(?!\w)"
)
_THE_OPTION = regex.compile(r"(?i)^the (?P<what>[\w -]{2,30})")
_TRANSACTION = regex.compile(
    r"(?i)^(?:your|the|this|that|a|an|buying|selling|seeing|hearing|knowing|joining|coming|"
    r"learning more|renting|any|what|how|whether|taking|booking|attending|getting|"
    r"trying|having|it|you|him|her|them|these|those|one|both|it's|making)(?!\w)"
)


#: "I love living in Leeds": without what follows these say nothing
_EMPTY_OBJECT = regex.compile(
    r"(?i)(?:through|and|with|by|into|to|of|from|under|or)\b|(?:taste|smell|sound|feel|look|"
    r"idea|way|"
    r"thought|fact|part|kind|sort|chance|lot|bit|blast|feeling|vibe|vibes|energy|process)$|"
    r"\p{L}+ing(?: (?:him|her|them|it|that|this|you|others|myself|everyone|people|things|"
    r"new things|"
    r"all|every|each|my|your|our|something|anything|stuff|more|down|up|out)\b.*)$"
)
_BARE_GERUNDS = word_set(
    "living being working going doing having getting coming staying looking talking making using "
    "sharing helping trying improving destressing learning seeing creating experimenting cutting "
    "exploring spending taking giving keeping finding starting"
)


def _cut_short(one: str, what: str) -> bool:
    """Whether a gerund lost what it governs: "listening to Bach" is no love of listening."""
    if " " in one or not one.endswith("ing"):
        return False
    after = what[what.find(one) + len(one) :]
    return (
        regex.match(r" (?:to|on|about|at|into|over|up|off|out|what|for|around)\b|\s*\ufffc", after)
        is not None
    )


def _kind(noun: str) -> str:
    """The concept type that a noun names ("colour" -> "Colour"); Thing where it can name none."""
    last = noun.split()[-1]
    return last.capitalize() if last.isascii() and last.isalpha() else "Thing"


def _options(what: str) -> list[str]:
    """The things named after a verb of liking; "the aisle seat" only where the kind is known."""
    if what[:4].lower() == "the ":
        option = _THE_OPTION.match(what)
        if option:
            words = thing(option["what"])
            if words and kind_of(words) in ("Seat", "CallTime", "Season", "Transport"):
                return [words]
            if (
                words
                and (
                    sense := regex.match(
                        r"(?i)(?:smell|taste|sound|feel|sea|mountains|countryside|ocean|"
                        r"beach|rain|cold|heat|outdoors|city|opera|theatre|cinema|winter|"
                        r"summer|snow|sun|silence|quiet)\b",
                        words,
                    )
                )
                and sense
            ):
                return [words]
        return []
    if _REQUEST.match(what):
        return []
    return things(what)


def read(c: Clause, memory: Discourse) -> list[Finding]:
    """`prefers` and `interested_in` claims of a clause."""
    if c.conditional or c.ironic:
        return []
    found: list[Finding] = []
    speaker = memory.speaker(c.message)
    verb = c.verb

    def state(
        subject: str,
        predicate: str,
        what: str,
        kind: str,
        *,
        reject: bool = False,
        ended: bool = False,
    ) -> None:
        found.append(
            ClaimStated(
                subject,
                predicate,
                what,
                kind,
                c.message,
                stance="reject" if reject else "support",
                change="world_change" if ended else None,
            )
        )

    polite = regex.match(r"(?i)would (?:much )?(?:prefer|rather)", verb) is not None
    if c.doubtful and not (polite and not regex.search(r"(?i)maybe|perhaps|might|if", c.text)):
        return []
    if m := _IS_FAVOURITE.match(c.text):
        one = thing(m["what"])
        kind = (m["kind"] or "").split()[-1:] or [""]
        if (
            one
            and kind[0].lower()
            not in (
                "thing",
                "part",
                "person",
                "child",
                "colleague",
                "teacher",
                "uncle",
                "aunt",
                "sister",
                "brother",
                "cousin",
                "student",
            )
            and not (not kind[0] and is_name(one) and kind_of(one) == "Thing" and one[0].isupper())
            and not regex.match(
                r"(?i)(?:he|she|you|it|this|that|they|here|there|which|these|those|mine)\b", one
            )
        ):
            state(
                speaker,
                "prefers",
                one,
                _kind(kind[0]) if kind[0] else kind_of(one),
                reject=bool(m["least"]),
            )
        return found
    if not c.first and (m := _RATHER_THAN.match(c.text)) and (one := thing(m["what"])):
        kind = kind_of(one)
        if kind != "Thing":  # a word in a list, capitalised only where the sentence begins
            one = one[0].lower() + one[1:]
        state(speaker, "prefers", one, kind)
        return found
    if not c.subjects:
        m = _FAVOURITE.match(c.text)
        if m:
            who = m["who"].lower()
            owner: str | None = speaker
            if who in ("his", "her"):
                owner = memory.antecedent(c.message, "m" if who == "his" else "f")
            if owner and not owner.startswith("?"):
                noun = singular(m["kind"].split()[-1])
                if noun in (
                    "thing",
                    "part",
                    "person",
                    "child",
                    "colleague",
                    "one",
                    "moment",
                    "memory",
                    "teacher",
                    "quote",
                    "line",
                    "uncle",
                    "aunt",
                    "sister",
                ):
                    return []
                what = regex.sub(
                    r"(?i)^(?:definitely|still|always|by far|the|a|an) ", "", m["what"]
                )
                one = thing(what)
                if one:
                    state(
                        owner,
                        "prefers",
                        one,
                        _kind(m["kind"]),
                        reject=bool(m["least"]),
                    )
            return found
        if m := _MY_PREFERENCE.match(c.text):
            for one in _options(m["what"]):
                state(speaker, "prefers", one, kind_of(one))
            return found
        if m := _HOBBY.match(c.text):
            who = m["who"].lower()
            owner = (
                speaker
                if who == "my"
                else memory.antecedent(c.message, "m" if who == "his" else "f")
            )
            if owner and not owner.startswith("?"):
                for one in things(m["what"]):
                    state(owner, "interested_in", one, "Topic")
            return found
        if m := _IS_HOBBY.match(c.text):
            one = thing(m["what"])
            if one:
                state(speaker, "interested_in", one, "Topic")
        return found
    if m := _INTO.match(verb):
        negative = bool(m["neg"] or m["neg2"])
        if not _TRANSACTION.match(m["what"]):
            for one in things(m["what"]):
                if one.lower().split()[0] in _BARE_GERUNDS or _EMPTY_OBJECT.match(one):
                    continue
                if is_name(one) and one[0].isupper() and one in memory.named:
                    continue
                taste = "keen on" in verb and kind_of(one) in ("Food", "Drink")
                for subject in c.subjects:
                    state(
                        subject,
                        "prefers" if taste else "interested_in",
                        one,
                        kind_of(one) if taste else "Topic",
                        reject=negative,
                        ended="no longer" in (m["neg"] or ""),
                    )
        return found
    m = _DISLIKES.match(verb)
    reject = m is not None
    m = m or _LIKES.match(verb)
    if m is None:
        return found
    said, what = m["verb"].lower(), m["what"]
    if said in ("loved", "adored", "preferred", "hated") and not verb.lower().startswith(
        ("have", "has")
    ):
        return found
    if said in ("like", "likes") and regex.match(r"(?i)(?:an? |one )", what) and not c.adverbs:
        pass
    if "prefer" in said or "rather" in said:
        what = regex.split(
            r"(?i) (?:to|over|rather than|instead of|than|more than|as opposed to|against) ", what
        )[0]
    ended = said.startswith("no longer") or (
        reject and regex.search(r"(?i)\b(?:any ?more|any longer)\b", what) is not None
    )
    negated = _BUT_NOT.search(what) if not reject else None
    if negated:
        what = what[: negated.start()]
    options = _options(what)
    for one in options:
        if one.lower() in _BARE_GERUNDS or _EMPTY_OBJECT.match(one) or _cut_short(one, what):
            continue
        if (
            one[0].isupper()
            and is_name(one)
            and len(one.split()) == 1
            and (
                one in memory.named
                or (
                    singular(one) not in OPTION_KINDS
                    and said.startswith(("like", "love", "hate", "adore", "miss"))
                    and one in memory.speakers
                )
            )
        ):
            continue
        for subject in c.subjects:
            state(subject, "prefers", one, kind_of(one), reject=reject, ended=ended)
    if negated and options:
        no = thing(negated["no"])
        if no:
            for subject in c.subjects:
                state(subject, "prefers", no, kind_of(no), reject=True)
    return found
