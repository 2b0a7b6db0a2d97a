"""Cuts a message into lines, sentences and clauses, bounded, so that no rule sees a long run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.formation.chinese.phrase import Phrase

#: a longer clause is nobody's plain statement; it is passed over
_LONGEST_CLAUSE = 120
#: a longer sentence is cut
_LONGEST_SENTENCE = 600

_SENTENCE = re.compile(
    rf"(?:[^。!?;….\n]|\.(?!\s|$|[㐀-鿿])){{1,{_LONGEST_SENTENCE}}}(?P<end>[。!?;….]+)?|[^\n]"
)
_CUT = re.compile(
    r"(?<!\d),|,(?!\d)|[()]|—+|~+|(?<=[㐀-鿿])\s+(?=[㐀-鿿])"
    r"|(?<=[㐀-鿿A-Za-z])(?=(?:但是|不过(?![敏是去来分瘾关问])|而且|并且|然后|所以)"
    r"|而是|但(?:我|在|不|也|讨|对|没|喜|现))"
)
_MARKER = re.compile(
    r"^\s*(?:[-*•·●▪–]\s+|[-•·●▪]|\(?\d{1,2}[.、):]\s*(?!\d)"
    r"|\(?[一二三四五六七八九十]{1,2}[、)]\s*|[①-⑳]\s*|#{1,6}\s+)"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """Clauses up to an end mark. `listed` is True for an item of a list; `end` is the mark."""

    clauses: tuple[Phrase, ...]
    whole: Phrase
    end: str
    listed: bool
    line: int


def sentences(words: str) -> Iterator[Sentence]:
    """The sentences of a masked message, in order, line by line."""
    for number, raw in enumerate(words.split("\n")):
        if not raw.strip():
            continue
        marker = _MARKER.match(raw)
        line = Phrase.of(raw[marker.end() :] if marker else raw)
        for match in _SENTENCE.finditer(line.text):
            whole = line.part(match.start(), match.end())
            end = match["end"] or ""
            body = whole.part(0, len(whole.text) - len(end))
            clauses = tuple(c for c in _clauses(body) if c.text)
            if clauses:
                yield Sentence(clauses, body.bare(), end, bool(marker), number)


def _clauses(body: Phrase) -> Iterator[Phrase]:
    last = 0
    for match in _CUT.finditer(body.text):
        yield _bounded(body.part(last, match.start()))
        last = match.end()
    yield _bounded(body.part(last))


def _bounded(clause: Phrase) -> Phrase:
    clause = clause.bare()
    return clause if len(clause.text) <= _LONGEST_CLAUSE else Phrase("", "")
