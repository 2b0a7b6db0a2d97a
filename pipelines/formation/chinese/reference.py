"""Which earlier commitment or standing instruction a later sentence is about.

Word order changes freely in Chinese (带烤箱 → 烤箱我不带了), so what counts are the content
characters and the neighbouring pairs of them that both texts share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipelines.formation.chinese.folding import folded

_EMPTY = frozenset(
    "的了是在我你他她它这那们吗呢吧啊不没会要把给被将也都就已经还再去来到和跟与对于从很想能可以先好个一下完掉过得地之后前请别又才只有做"
)
_HAN_OR_WORD = re.compile(r"[㐀-鿿]+|[A-Za-z0-9]+")


def _content(text: str) -> tuple[set[str], set[str]]:
    singles: set[str] = set()
    pairs: set[str] = set()
    for run in _HAN_OR_WORD.findall(folded(text[:300]).lower()):
        if run[0].isascii():
            pairs.add(run)
            continue
        singles.update(c for c in run if c not in _EMPTY)
        pairs.update(
            run[i : i + 2]
            for i in range(len(run) - 1)
            if run[i] not in _EMPTY and run[i + 1] not in _EMPTY
        )
    return singles, pairs


def likeness(one: str, other: str) -> int:
    """How much of their content two texts share; 0 when it is too little to mean the same thing."""
    singles, pairs = _content(one)
    singles2, pairs2 = _content(other)
    shared, together = len(singles & singles2), len(pairs & pairs2)
    if not together and (shared < 2 or shared * 2 < min(len(singles), len(singles2))):
        return 0
    return shared + 2 * together


def has_content(text: str) -> bool:
    """Whether anything but grammatical words is in `text`."""
    singles, pairs = _content(text)
    return bool(singles or pairs)


def best(about: str, candidates: Iterable[str]) -> str | None:
    """The candidate that shares most content with `about`; the first of equals, None for none."""
    chosen, most = None, 0
    for candidate in candidates:
        score = likeness(about, candidate)
        if score > most:
            chosen, most = candidate, score
    return chosen
