"""Later messages on what was said before: where nothing was made of either, both are to be told.

"I play the cello" answers what Hana plays; "I stopped playing the cello; I switched to piano", said
later, has none of the question's words. It is found by the words of the first, and told with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import regex

from pipelines.recall.evidence import Evidence, passage, speaker_and_words
from pipelines.recall.questions import Asked
from storage.database import Scope, Transaction
from storage.search import bm25
from storage.search.analyser import terms
from storage.search.bm25 import Hit

#: Passages that are followed up, words by which one is, messages looked at, and told.
_PASSAGES, _WORDS, _LOOKED_AT, _TOLD = 3, 12, 20, 2
#: The share of the rarest word's rarity from which a word counts.
_RARE = 0.5
#: What says that something is otherwise now, or was wrong.
_CHANGES = regex.compile(
    r"(?i)\b(?:no longer|any ?more|stopped|quit|instead|switch(?:ed|ing)|chang(?:ed|ing)|moved"
    r"|postponed|resched\w+|cancel\w*|sold|actually|correction|sorry|mistaken|update|now|new|raised"
    r"|lowered|died|broke|ended|finished|replaced|renamed"
    r"|upgraded|updated|migrated|increased|reduced|delayed|lost|gave up|passed away|turns out"
    r"|after all"
    r"|nicht mehr|kein\w*|jetzt|inzwischen|verschoben|abgesagt|stattdessen|umgezogen|doch|verkauft"
    r"|korrektur|geändert|gestorben|gekündigt)\b"
    r"|更正|不是|改|换|搬|不再|现在|取消|推迟|提前|卖|去世|分手|辞职|其实|记错|说错"
)


def followed_up(tx: Transaction, scope: Scope, asked: Asked, evidence: Evidence) -> tuple[Hit, ...]:
    """Later messages of the same speakers that change what the found ones say, the latest first."""
    told = {hit.element_id for hit in evidence.supported[:_PASSAGES]}
    found: dict[str, tuple[datetime, Hit]] = {}
    for hit in evidence.supported[:_PASSAGES]:
        speaker, _ = speaker_and_words(hit.text)
        own = set(terms(speaker or ""))
        said = passage(hit.text, evidence.rarity, asked.alike)
        words = [word for word in dict.fromkeys(terms(said)) if word not in own][:_WORDS]
        telling = _telling(bm25.rarities(tx, scope, "evidence", words))
        if hit.at is None or not telling:
            continue
        for later in bm25.search(tx, scope, "evidence", telling, _LOOKED_AT):
            if (
                later.element_id not in told
                and later.at is not None
                and later.at > hit.at
                and speaker_and_words(later.text)[0] == speaker
                and _CHANGES.search(later.text)
            ):
                found[later.element_id] = (later.at, later)
    latest = sorted(found.values(), key=lambda f: (f[0], f[1].element_id), reverse=True)
    return tuple(hit for _, hit in latest[:_TOLD])


def _telling(rarity: Mapping[str, float]) -> list[str]:
    """The rarer words: what a message is about, rather than how it says so."""
    rarest = max(rarity.values(), default=0.0)
    return sorted(word for word, rare in rarity.items() if rare >= rarest * _RARE)
