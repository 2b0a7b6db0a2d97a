"""Somebody meant by their tie to somebody else: "my wife", "Tom's sister", "李雷的女朋友".

The words for ties are those by which formation knows them, so that a question finds what a message
told; animals count as ties to who keeps them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import regex

from pipelines.formation.chinese.persons import TIES as CHINESE
from pipelines.formation.english.kinship import KIN, KIN_PLURAL, tie_of
from pipelines.formation.lexicon import PETS
from storage.search.analyser import terms

#: predicates that hold in both directions
_MUTUAL = frozenset(
    {"sibling_of", "partner_of", "friend_of", "colleague_of", "relative_of", "knows"}
)
#: a word for an animal that is kept
PET = r"(?:pets?|" + "|".join(sorted((regex.escape(p) for p in PETS), key=len)) + r")s?"
_ENGLISH = regex.compile(
    r"(?i)(?<![\w'])(?:(?P<own>my|our)|(?P<owner>[\p{L}\p{N}._-]+)(?:'s|(?<=s)'))\s+"
    rf"(?:(?!{KIN}\b|{PET}\b)[\w-]+\s+){{0,2}}?(?P<word>{KIN_PLURAL}|{KIN}|{PET})\b"
)
_HAN_WORD = "|".join(sorted(CHINESE, key=len, reverse=True))
_CHINESE = regex.compile(
    rf"(?:(?P<own>我)(?:们家?)?的?|(?P<owner>[\p{{Han}}\p{{L}}·]{{1,12}}?)的)(?P<word>{_HAN_WORD})"
)
_TOLD = regex.compile(rf"(?i)\b(?:{KIN_PLURAL}|{KIN}|{PET})\b|{_HAN_WORD}")
_SENTENCE = regex.compile(r"[^.!?。！？\n]+")
_PIECE = regex.compile(r"(?i)[^,;:，；：、]+?(?=[,;:，；：、]|\s(?:and|but|or)\s|[和但]|$)")


class Kind(NamedTuple):
    """What a word says of a tie. `inverse`: who is meant is the claim's subject."""

    predicate: str
    gender: str | None
    inverse: bool


@dataclass(frozen=True, slots=True)
class Tie:
    """A tie by which a question means somebody; `owner` is None for the asker's own.

    `start` and `end` are where the whole phrase stands in the question.
    """

    owner: str | None
    word: str
    kind: Kind
    start: int
    end: int

    def fits(self, word: str | None) -> bool:
        """Whether somebody told of as `word` can be meant; None: nothing is known of it."""
        told = None if word is None else kind_of(word)
        if told is None or told.predicate != self.kind.predicate:
            return True
        if told.predicate == "has_pet":
            one, other = terms(self.word), terms(word or "")
            return "pet" in (*one, *other) or one == other
        genders = {told.gender, self.kind.gender} - {None}
        return told.inverse == self.kind.inverse and len(genders) < 2

    def is_owner(self, name: str) -> bool:
        """Whether `name` is whose tie it is, where the question says it."""
        if self.owner is None:
            return False
        if regex.search(r"\p{Han}", name):
            return name.casefold() in self.owner.casefold()
        return bool(set(terms(self.owner)) & set(terms(name)))

    def told_in(self, message: str) -> bool:
        """Whether a message speaks of somebody by a word for this tie."""
        kinds = ((m[0], kind_of(m[0])) for m in _TOLD.finditer(message))
        return any(
            kind is not None and kind.predicate == self.kind.predicate and self.fits(word)
            for word, kind in kinds
        )

    @property
    def mutual(self) -> bool:
        """Whether it ties both in the same way."""
        return self.kind.predicate in _MUTUAL


@cache
def kind_of(word: str) -> Kind | None:
    """What a word for a tie says; None for any other word."""
    english = tie_of(word)
    if english is not None:
        return Kind(english.predicate, english.gender, english.inverse)
    if word in CHINESE:
        predicate, inverse, gender = CHINESE[word]
        return Kind(predicate, gender, inverse)
    return Kind("has_pet", None, False) if regex.fullmatch(rf"(?i){PET}", word) else None


def tie_in(question: str) -> Tie | None:
    """The tie by which a question means somebody."""
    match = _ENGLISH.search(question) or _CHINESE.search(question)
    if match is None:
        return None
    kind = kind_of(match["word"])
    if kind is None:
        return None
    owner = None if match["own"] else match["owner"]
    return Tie(owner, match["word"], kind, match.start(), match.end())


def told_as(message: str, name: str) -> str | None:
    """The word for a tie with which a message introduces `name`, if any.

    That is the one in the same piece of a sentence, else the nearest before.
    """
    low = name.casefold()
    for sentence in _SENTENCE.finditer(message.partition(": ")[2] or message):
        at = sentence[0].casefold().find(low)
        if at < 0:
            continue
        for piece in _PIECE.finditer(sentence[0]):
            if piece.start() <= at < piece.end() and (found := _TOLD.search(piece[0])):
                return found[0]
        before = [m[0] for m in _TOLD.finditer(sentence[0], 0, at)]
        if before:
            return before[-1]
    return None
