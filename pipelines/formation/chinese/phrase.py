"""A run of a message in two aligned forms: as the rules read it and as the speaker wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.formation.chinese.folding import folded

_EDGE = " \t,.;:!?~\"'“”‘’「」『』《》()[]。、…·-—*•"


@dataclass(frozen=True, slots=True)
class Phrase:
    """`text` is the folded form of `words`, character by character."""

    text: str
    words: str

    @classmethod
    def of(cls, words: str) -> Phrase:
        """The phrase of a text as written."""
        return cls(folded(words), words)

    def part(self, start: int, end: int | None = None) -> Phrase:
        """The characters from `start` to `end`, in both forms."""
        return Phrase(self.text[start:end], self.words[start:end])

    def without(self, spans: Iterable[tuple[int, int]]) -> Phrase:
        """The phrase less the spans, which are in order and do not overlap."""
        text, words, last = [], [], 0
        for start, end in spans:
            text.append(self.text[last:start])
            words.append(self.words[last:start])
            last = end
        text.append(self.text[last:])
        words.append(self.words[last:])
        return Phrase("".join(text), "".join(words))

    def bare(self) -> Phrase:
        """The phrase without blanks and punctuation around it."""
        start, end = 0, len(self.text)
        while start < end and self.text[start] in _EDGE:
            start += 1
        while end > start and self.text[end - 1] in _EDGE:
            end -= 1
        return self.part(start, end)

    def said(self, match: re.Match[str], group: str | int) -> str:
        """The speaker's own words where `group` of a match over `text` lies; "" when unmatched."""
        if match[group] is None:
            return ""
        return self.words[match.start(group) : match.end(group)].strip(_EDGE)
