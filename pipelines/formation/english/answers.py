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
    for asked, sentence, opening in _ASKED:
        if asked.search(tail):
            bare = regex.sub(rf"(?i)^(?:(?:{opening})\b[ ,]*)+", "", s.text) if opening else s.text
            if bare and not _NO_ANSWER.search(bare):
                return replace(s, text=sentence.format(bare.strip()))
    return s
