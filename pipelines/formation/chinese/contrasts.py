"""The old denied and the new said, in two clauses: 我不是对花生过敏，是对虾过敏."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from pipelines.formation.chinese import corrections
from pipelines.formation.chinese.folding import folded
from pipelines.formation.chinese.phrase import Phrase
from pipelines.formation.findings import ClaimStated

_DENIES = re.compile(r"^(?:并|可|也)?(?P<no>不是|没有|并非|不|没)")
_AFFIRMS = re.compile(r"^(?:而|应该|应当)?(?:是|应该是)?")
#: what may stand before a value that is said alone
_LEAD = re.compile(r"^(?:在|对|住在?|叫)(?=..?)")

#: the claims of a clause without its subject, as if it were stated
Statements = Callable[[Phrase], list[ClaimStated]]


def denies(text: str) -> bool:
    """Whether a folded clause with its subject may deny something."""
    return bool(re.search("不|没|并非", text))


def outright(text: str) -> bool:
    """Whether a folded clause denies with 不是, which makes way for what is so."""
    match = _DENIES.match(text)
    return match is not None and match["no"] in ("不是", "并非")


def read(no: Phrase, yes: Phrase, state: Statements) -> tuple[ClaimStated, ClaimStated] | None:
    """The claim that the first clause denies (as if stated) and the one that the second states.

    Both clauses lack subject and adverbs. None where they are not about the same thing.
    """
    for clause in _denied(no):
        old = _only(state(clause))
        if old is None:
            continue
        for said in _affirmed(yes):
            new = _only(state(said))
            if new is not None and new.predicate == old.predicate and new.object != old.object:
                return old, new
        right = _completed(clause, yes, old)
        new = None if right is None else _only(state(right))
        if new is not None and new.predicate == old.predicate and new.object != old.object:
            return old, new
    return None


def _only(claims: list[ClaimStated]) -> ClaimStated | None:
    return claims[0] if len(claims) == 1 and claims[0].stance == "support" else None


def _denied(no: Phrase) -> Iterator[Phrase]:
    """The clause without its denial; 不是 as a whole, or only its 不."""
    match = _DENIES.match(no.text)
    if match is None:
        return
    yield no.part(match.end()).bare()
    if match["no"] == "不是":
        yield no.part(match.end() - 1).bare()


def _affirmed(yes: Phrase) -> Iterator[Phrase]:
    """The clause as it stands, and without the 是 that only stresses it."""
    yield yes
    match = _AFFIRMS.match(yes.text)
    if match is not None and match.end():
        yield yes.part(match.end()).bare()


def _completed(no: Phrase, yes: Phrase, old: ClaimStated) -> Phrase | None:
    """The denied clause with the new value in the place of the old one: 是在字节 lacks 上班."""
    start = no.words.find(old.object)
    if start < 0:
        return None
    before, after = no.words[:start], no.words[start + len(old.object) :]
    match = _AFFIRMS.match(yes.text)
    value = yes.part(match.end() if match else 0).bare().words
    value = value.removesuffix(after) if after else value
    value = value.removeprefix(before) if before else value
    lead = _LEAD.match(folded(value))
    value = value[lead.end() :] if lead else value
    recast = corrections.recast(old.predicate, value)
    return None if recast is None else Phrase.of(f"{before}{value}{after}")
