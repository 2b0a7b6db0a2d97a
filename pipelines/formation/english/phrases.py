"""Noun phrases after a verb: where the thing that is liked, owned or avoided ends."""

from __future__ import annotations

import regex

from pipelines.formation.lexicon import OPTION_KINDS

#: words of one thing at most; a longer phrase is a statement, not a name
_LONGEST = 5

_END = regex.compile(
    r"(?i)\s*(?:[,;:.!?()\ufffc␣]|\s[-–—]\s|(?<!\w)(?:for|because|since|when|while|if|as|"
    r"than|rather|over|"
    r"instead|so|too|a lot|very much|so much|more|most|best|better|these|lately|now|"
    r"anymore|any more|any "
    r"longer|btw|by the way|though|although|either|at|to|every|after|before|during|"
    r"especially|which|who|"
    r"that|where|but|not|whatever|however|in|on|until|from time|please|even|like|again|"
    r"unless|without|"
    r"including|such|whenever|whether|i|you|we|he|she|they|it|is|are|was|were|makes?|"
    r"gives?|would|will|"
    r"can|right|really|just|only|still|always|never|sometimes|mostly|usually|there|here|"
    r"today|tonight|"
    r"tomorrow|honestly|personally|mainly|both|about|between|per|anyway|instead|ever|"
    r"already|yet|lol|"
    r"haha|thanks|thank|last|next|this|yesterday|ago|two weeks|recently|what|how|why|whose|"
    r"'?cause|cos|coz|cuz|called|named|"
    r"despite|except|once|also|actually|immensely|deeply|dearly|somehow)(?!\w|['’-]))"
)
_ARTICLE = regex.compile(
    r"(?i)^(?:all (?:kinds|sorts|types) of|any (?:kind|sort) of|a|an|the|some|my|our|any|"
    r"all|most)\s+"
)
_COUNT = regex.compile(
    r"(?i)^(?:\d{1,3}|two|three|four|five|six|seven|eight|nine|ten|several|many|a few|"
    r"a couple of|a pair "
    r"of|lots of|a lot of|both)\s+"
)
_JOIN = regex.compile(
    r"(?i)\s*(?:,\s*(?:and|or|nor)\s+|,\s+|\s+and\s+|\s+or\s+|\s+nor\s+|\s*&\s*|\s+as well as\s+)"
)
_DEICTIC = regex.compile(
    r"(?i)^(?:it|this|that|these|those|him|her|them|you|us|me|one|ones|your|his|their|"
    r"everything|nothing|"
    r"anything|something|everyone|someone|everybody|people who|how|what|when|where|why|to|"
    r"being|having|"
    r"getting|myself|yourself|each|such|so|there|here|seeing|hearing|knowing|saying|"
    r"the fact|the way|"
    r"the idea|the look|the sound of that|the thought|the new|the old|the last|the first|"
    r"both|either|"
    r"neither|none|more|less|much|no|not|if|i|we|he|she|they|a lot|lots|another|others?|"
    r"same|the same)(?!\w)"
)
_TRAILING = regex.compile(
    r"(?i)\s+(?:and|or|the|a|an|of|my|very|quite|all|either|neither|with|from|through|for|by|"
    r"in|on|at|to|into|about)$"
)


def thing(text: str) -> str | None:
    """The noun phrase at the start of `text` in the speaker's words, without article; or None."""
    end = _END.search(text)
    words = (text[: end.start()] if end else text).strip(" '\"")
    while (cut := _TRAILING.sub("", words)) != words:
        words = cut
    words = _ARTICLE.sub("", words)
    if not words or len(words.split()) > _LONGEST or len(words) > 60 or _DEICTIC.match(words):
        return None
    return words


def things(text: str) -> list[str]:
    """The things of an enumeration ("rye, spelt and oats"); stops where one is no thing."""
    found: list[str] = []
    for part in _JOIN.split(text)[:8]:
        one = thing(part)
        if one is None:
            break
        found.append(one)
        tail = _END.search(part)
        if tail and part[tail.start() :].strip(" ."):
            break
    return found


_DETERMINER = regex.compile(
    r"(?i)^(?:an?|the|my own|our own|some|any|one|two|three|four|five|six|seven|eight|nine|"
    r"ten|several|\d{1,3}) "
)


def things_counted(text: str) -> list[str]:
    """The things of an enumeration, without numbers; after the first only those with "a" or so."""
    found: list[str] = []
    for place, part in enumerate(_JOIN.split(text)[:8]):
        if place and not _DETERMINER.match(part):
            break
        one = thing(without_count(_DETERMINER.sub("", part)))
        if one is None:
            break
        found.append(one)
    return found


def without_count(words: str) -> str:
    """`words` without a number in front ("two kayaks" -> "kayaks")."""
    return _COUNT.sub("", words)


def singular(word: str) -> str:
    """The singular of an English noun, lower case; good enough for looking up in word lists."""
    low = word.lower()
    if low.endswith("ies") and len(low) > 4:
        return low[:-3] + "y"
    if regex.search(r"(?:ch|sh|x|ss|o)es$", low):
        return low[:-2]
    if low.endswith("s") and not low.endswith("ss") and len(low) > 3:
        return low[:-1]
    return low


def kind_of(words: str) -> str:
    """The concept type of an option, by its head word: Drink, Seat, Food …; else Thing."""
    parts = words.lower().split()
    for word in (singular(parts[-1]), parts[-1], singular(parts[0])):
        if word in OPTION_KINDS:
            return OPTION_KINDS[word]
    if parts[0].endswith("ing") and len(parts[0]) > 5:
        return "Activity"
    return "Thing"
