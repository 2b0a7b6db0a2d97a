"""Short answers: "Where do you live?" – "In Tartu." says as much as the whole sentence."""

from __future__ import annotations

from dataclasses import replace

import regex

from pipelines.formation.discourse import Discourse
from pipelines.formation.english.sentences import Sentence

#: what is asked -> the sentence that the answer completes, and how the answer may begin
_ASKED: tuple[tuple[regex.Pattern[str], str, str], ...] = tuple(
    (regex.compile(rf"(?i)\b(?:{question})\b[^?]{{0,40}}\?"), sentence, opening)
    for question, sentence, opening in (
        (
            r"where (?:do|are) you (?:now |currently )?(?:live|living|based)|which city (?:do|"
            r"are) you (?:live |based )?in",
            "I live in {}",
            "in|at",
        ),
        (r"where (?:do you come|are you) (?:originally )?from", "I come from {}", "from"),
        (
            r"(?:where|who) do you (?:currently |now )?work(?: for)?|who is your employer",
            "I work for {}",
            "at|for|with",
        ),
        (
            r"when (?:is|'s|were) (?:your birthday|you born)|what is your (?:birthday|"
            r"date of birth)",
            "My birthday is {}",
            "on|it is on|the",
        ),
        (r"(?:what|which) languages? do you speak", "I speak {}", ""),
        (
            r"(?:what|which) (?:time ?zone|time zone) are you in|what(?:'s| is) your time ?zone",
            "My time zone is {}",
            "in",
        ),
        (
            r"what are you allergic to|(?:do you have )?any (?:food )?allergies|"
            r"are you allergic to anything",
            "I am allergic to {}",
            "yes|yeah|to",
        ),
        (r"who(?:'s| is) your (?:boss|manager)|who do you report to", "My manager is {}", ""),
    )
)
#: a choice that is offered -> the sentence that the chosen side completes
_OFFERED: tuple[tuple[regex.Pattern[str], str], ...] = tuple(
    (
        regex.compile(rf"(?i)(?:^|[,.;:!?—-] ?|\b(?:and|so|but|now|tell me|aide) ){question}"),
        sentence,
    )
    for question, sentence in (
        (
            r"(?:(?:which|what) (?:do|would) you (?:prefer|like (?:better|more|best))|"
            r"do you (?:generally |usually |normally |mostly )?(?:prefer|like|favour|favor)|"
            r"(?:what's|what is|which is) your (?:favourite|preference)|would you (?:generally |"
            r"usually )?(?:rather|prefer)"
            r"(?: have| take| sit (?:at|in|by)| drink| eat)?)[,: ]+(?P<options>.+)",
            "I prefer {}",
        ),
        (
            r"(?:do|are) you (?:now |currently )?(?:live|living|based|at home) (?P<options>(?:in|"
            r"at) .+)",
            "I live in {}",
        ),
        (r"do you (?:now |currently )?work (?P<options>(?:for|at|with) .+)", "I work for {}"),
        (r"are you (?:working|employed) (?P<options>(?:for|at|with|by) .+)", "I work for {}"),
        (r"are you (?P<options>an? .+ or an? .+|vegan or .+|vegetarian or .+)", "I am {}"),
        (r"are you allergic (?P<options>to .+)", "I am allergic to {}"),
        (r"(?:do you come|are you) (?:originally )?(?P<options>from .+)", "I come from {}"),
        (r"do you speak (?P<options>.+)", "I speak {}"),
        (r"(?:do you study|are you (?:studying|enrolled)) (?P<options>at .+)", "I study at {}"),
        (r"is your (?:boss|manager) (?P<options>.+)", "My manager is {}"),
        (r"do you report (?P<options>to .+)", "I report to {}"),
    )
)
_OR = regex.compile(r"(?i),? or ")
_CHOSEN_OPENING = regex.compile(
    r"(?i)^(?:(?:oh|hm+|well|definitely|absolutely|always|certainly|the answer is|i'd say|"
    r"i would say|i'd pick|i would pick|i'd go for|i would go for|i'd go with|i'd choose|"
    r"for me|in|at|for|with|to|from|by|a|an|it is|it's|rather|more of)[, ]+)+"
)
_CHOSEN_ENDING = regex.compile(
    r"(?i)(?:[, ]+(?:please|thanks|thank you|for me|always|every time|any ?day|any time|of course|"
    r"definitely|by far|hands down|no question|no contest|no doubt|without a doubt|easily|ones|"
    r"for sure|if anything|obviously|actually|now|these days))+$"
)
_SIDE_OPENING = regex.compile(r"(?i)^(?:(?:in|at|for|with|to|from|by|the|a|an|your|rather) )+")
_SIDE_ENDING = regex.compile(
    r"(?i)(?: (?:better|more|best|instead|now|these days|currently|at the moment|normally|usually|"
    r"in general))+$"
)
#: "Aisle or window?" asks about this once, unless the answer says that it always holds
_ANY_TIME = regex.compile(r"(?i)\b(?:always|every time|any ?day|any time)\W*$")
_BARE_CHOICE = regex.compile(r"(?i)(?P<options>[\p{L} -]{2,40} or [\p{L} -]{2,40})$")
_SHORT = regex.compile(r"^[\p{L}\p{N}][\p{L}\p{M}\p{N} ,/+'-]{1,50}$")
_NO_ANSWER = regex.compile(
    r"(?i)\b(?:i|you|we|he|she|it|they|is|are|am|was|do|does|why|no|none|nope|not|nothing|"
    r"nowhere|secret|guess|thanks|ask|same|here|home|"
    r"there|sure|ok|hello|hi|well|let|maybe|depends|everywhere|anywhere|yesterday|never|"
    r"soon|tell|if|usual|far|sorry|people)\b"
)


def completed(s: Sentence, message: int, memory: Discourse) -> Sentence:
    """`s` as a whole sentence when it is a bare answer to somebody else's question before it."""
    if message == 0 or not s.stated or not _SHORT.match(s.text):
        return s
    before = memory.conversation.messages[message - 1]
    if before.speaker == memory.speaker(message) or "?" not in before.text[-200:]:
        return s
    tail = before.text[-200:]
    chosen = _chosen(s.text, tail)
    if chosen is not None:
        return replace(s, text=chosen)
    for asked, sentence, opening in _ASKED:
        if asked.search(tail):
            bare = regex.sub(rf"(?i)^(?:(?:{opening})\b[ ,]*)+", "", s.text) if opening else s.text
            if bare and not _NO_ANSWER.search(bare):
                return replace(s, text=sentence.format(bare.strip()))
    return s


def _side(words: str) -> str:
    """An option of a choice, without what does not name it."""
    return _SIDE_ENDING.sub("", _SIDE_OPENING.sub("", words.strip(" ,.:;?!")))


def _same(one: str, other: str) -> bool:
    """Whether two names of an option agree; "the window" stands for "window seat"."""
    a, b = one.lower().removesuffix(" seat"), other.lower().removesuffix(" seat")
    return bool(a) and a == b


def _chosen(answer: str, asked: str) -> str | None:
    """The sentence that an answer to "A or B?" amounts to; None unless it names one of the two."""
    question = regex.search(r"(?P<last>[^.?!\n]{5,180})\?\W*$", asked)
    if question is None or not _OR.search(question["last"]):
        return None
    bare = _CHOSEN_ENDING.sub("", _CHOSEN_OPENING.sub("", answer)).strip()
    offers = _OFFERED
    if _ANY_TIME.search(answer):
        offers = (*_OFFERED, (_BARE_CHOICE, "I prefer {}"))
    for offered, sentence in offers:
        m = offered.search(question["last"].strip())
        if m is None:
            continue
        sides = [_side(x) for part in m["options"].split(", ") for x in _OR.split(part)]
        head = sides[-1].split()
        if len(head) > 1 and all(len(x.split()) == 1 for x in sides[:-1]):
            whole = " ".join(head[1:])  # "morning or evening calls": calls, both
            if _same(_side(bare), head[0]) or _side(bare) in sides[:-1]:
                return sentence.format(f"{_side(bare).lower()} {whole}")
        chosen = next((x for x in sides if _same(x, _side(bare))), None)
        if chosen is None or len(sides) < 2:
            return None
        return sentence.format(f"the {chosen}" if bare.lower().startswith("the ") else chosen)
    return None
