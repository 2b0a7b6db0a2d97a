"""Divides an enumeration (芒果、菠萝和虾) into its items."""

from __future__ import annotations

import re

from pipelines.formation.chinese.phrase import Phrase

_JOIN = re.compile(
    r"、|/|(?:以及|还有)|(?<=\S)\s*(?:和|跟|与|及)\s*(?=\S)|\s+(?:and|&)\s+|\s*\+\s*"
)
_COMPANY = re.compile(
    r"^(?:和|跟|与)(?:[^、]{1,6})(?:一起|聊|玩|打|去|吃|逛|散|说)|和(?:牛|平|服|式|谐|声"
    r"|弦|面)|[共中调温总求饱缓亲]和"
)


def items(phrase: Phrase) -> list[Phrase]:
    """The items that `phrase` enumerates; the phrase itself where it enumerates nothing."""
    if _COMPANY.search(phrase.text):
        pieces = re.finditer(r"[^、]+", phrase.text)
        return [phrase.part(m.start(), m.end()).bare() for m in pieces]
    found, last = [], 0
    for match in _JOIN.finditer(phrase.text):
        if match.start() == last:
            continue
        found.append(phrase.part(last, match.start()).bare())
        last = match.end()
    found.append(phrase.part(last).bare())
    return [f for f in found if f.text][:8]
