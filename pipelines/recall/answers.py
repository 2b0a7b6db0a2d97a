"""The answer by extraction: which claims, promises and messages answer a question.

Nothing is concluded here. A claim answers when the question names one of its ends and asks for its
predicate; only what memory believes is stated as such, what has ended is told as past, what is
disputed is told with its sides, and what was corrected or taken back is not told at all. Every
sentence names the messages that it rests on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.recall import phrases
from pipelines.recall.evidence import Evidence, passage, share, speaker_and_words
from pipelines.recall.questions import Asked
from storage.graph.claims import ClaimView, CommitmentView, ConstraintView
from storage.search.analyser import terms
from storage.search.bm25 import Hit

#: Sentences of one sort in one answer.
_CLAIMS = 6
_COMMITMENTS = 8
_QUOTATIONS = 3
#: The share of the question's words that a promise or a rule must hold to be told unasked.
_ABOUT = 0.45
#: Predicates that take any kind of thing, where a question may ask for one kind.
_OPEN = frozenset({"prefers", "owns", "interested_in"})


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of an answer, and what it rests on: evidence and elements, by id."""

    text: str
    sources: tuple[str, ...]
    elements: tuple[str, ...]


def relevant_claims(
    asked: Asked, views: Sequence[ClaimView], texts: Mapping[str, Hit]
) -> list[ClaimView]:
    """The claims that can answer, the most fitting first; one for each proposition and stance.

    `views` come in the order of their search lane; `texts` are the messages that they cite.
    """
    chosen: dict[tuple[str, str], tuple[tuple[bool, ...], int, ClaimView]] = {}
    for rank, view in enumerate(views):
        fit = _fit(asked, view, texts)
        if fit is None or view.status != "active":
            continue
        key = (view.proposition, view.stance)
        # of several who say the same the subject's own word counts, then the latest
        best = chosen.get(key)
        if best is None or (_own(view), view.asserted_at) > (_own(best[2]), best[2].asserted_at):
            chosen[key] = (fit, rank if best is None else best[1], view)
    ordered = sorted(chosen.values(), key=lambda c: (tuple(not f for f in c[0]), c[1]))
    if ordered and not asked.about:
        # who is named outright outdoes who shares a part of the name; so does a fitting kind
        ordered = [c for c in ordered if c[0][:2] == ordered[0][0][:2]]
    return [view for _, _, view in ordered]


def claim_statements(asked: Asked, claims: Sequence[ClaimView]) -> list[Statement]:
    """Sentences over relevant claims: what stands, what is disputed, what was."""
    language = asked.language
    told: list[Statement] = []
    for view in claims:
        if view.stands:
            text = phrases.claim(view, language) + phrases.said(view, language)
            told.append(Statement(text, view.evidence, (view.id,)))
    disputed = [view for view in claims if view.belief.status == "contested"]
    for slot in _slots(disputed):
        clauses = [phrases.claim(v, language) + phrases.said(v, language) for v in slot]
        told.append(
            Statement(
                phrases.contested(clauses, language),
                tuple(dict.fromkeys(e for v in slot for e in v.evidence)),
                tuple(v.id for v in slot),
            )
        )
    if asked.past or not told:
        for view in claims:
            if not view.stands and view.belief.status != "contested" and _ended(view):
                text = phrases.earlier(view, language) + phrases.said(view, language)
                told.append(Statement(text, view.evidence, (view.id,)))
    return told[:_CLAIMS]


def commitment_statements(
    asked: Asked, commitments: Sequence[CommitmentView], rarity: Mapping[str, float]
) -> list[Statement]:
    """Promises that are asked for by person, or that share the question's words."""
    topic = {term: weight for term, weight in rarity.items() if term in asked.topic}
    chosen = [c for c in commitments if _is_about(c, topic)]
    if asked.commitments:
        named = [c for c in commitments if _concerns(asked, c)]
        chosen = named or chosen
        if not topic and not asked.counterparty:
            chosen = list(commitments)
    return [
        Statement(phrases.commitment(c, asked.language), c.evidence, (c.id,))
        for c in chosen[:_COMMITMENTS]
    ]


def constraint_statements(
    asked: Asked, constraints: Sequence[ConstraintView], rarity: Mapping[str, float]
) -> list[Statement]:
    """Standing instructions: all when they are asked for, else those that share the words."""
    topic = {term: weight for term, weight in rarity.items() if term in asked.topic}
    return [
        Statement(phrases.constraint(c, asked.language), c.evidence, (c.id,))
        for c in constraints
        if asked.constraints or share(c.text, topic) >= _ABOUT
    ][:_COMMITMENTS]


#: A question, or the beginning of something imagined.
_STATES_NOTHING = re.compile(
    r"[?？]\W*$|^\W*(?:if|what if|suppose|imagine|i wish|如果|要是|假如|假设|但愿|万一)\b",
    re.IGNORECASE,
)


def quotations(asked: Asked, evidence: Evidence) -> list[Statement]:
    """The messages that are on topic, in their own words.

    What somebody asked, or only imagined, states nothing, however alike the words; such messages
    stay among the sources.
    """
    told = []
    passages = [(hit, passage(hit.text, evidence.rarity)) for hit in evidence.supported]
    stated = [found for found in passages if not _STATES_NOTHING.search(found[1])]
    for hit, words in stated[:_QUOTATIONS]:
        speaker, _ = speaker_and_words(hit.text)
        text = phrases.quotation(speaker, hit.at, words, asked.language)
        told.append(Statement(text, (hit.element_id,), (hit.element_id,)))
    return told


def _fit(asked: Asked, view: ClaimView, texts: Mapping[str, Hit]) -> tuple[bool, ...] | None:
    """How a claim fits, the weightier first; None when it does not answer."""
    subject = asked.names(view.subject)
    object = _holds_whole(asked, view.object)
    asks = view.predicate in asked.predicates
    if not (subject or object):
        return None
    if not asks and not (asked.about and subject) and not (subject and object):
        return None
    if asks and asked.kinds and view.predicate in _OPEN and not _of_kind(asked, view, texts):
        return None
    return (asks, _holds_whole(asked, view.subject) or object, subject and object, view.stands)


def _of_kind(asked: Asked, view: ClaimView, texts: Mapping[str, Hit]) -> bool:
    words = {*terms(view.object_type), *terms(view.object)}
    for id in view.evidence:
        if id in texts:
            words.update(terms(texts[id].text))
    return bool(words & asked.kinds) or view.object_type.casefold() in asked.kinds


def _holds_whole(asked: Asked, name: str) -> bool:
    words = set(terms(name))
    if not words:
        return False
    named = words <= set(asked.terms)
    return named or any(words == set(terms(own)) for own in asked.counterparty)


def _own(view: ClaimView) -> bool:
    return view.subject_id == view.asserted_by_id


def _ended(view: ClaimView) -> bool:
    """Whether the claim held once: nothing denies it, it is merely over or outdone by a newer."""
    return view.stance == "support" and view.belief.status in ("insufficient", "uncertain")


def _slots(views: Sequence[ClaimView]) -> list[list[ClaimView]]:
    slots: dict[tuple[str, str], list[ClaimView]] = {}
    for view in views:
        slots.setdefault((view.subject_id, view.predicate), []).append(view)
    return list(slots.values())


def _concerns(asked: Asked, view: CommitmentView) -> bool:
    return bool(view.by and asked.names(view.by)) or any(asked.names(n) for n in view.owed_to)


def _is_about(view: CommitmentView, topic: Mapping[str, float]) -> bool:
    """Whether the promise itself is asked about; that its people are named is not enough."""
    people = {term for name in (view.by or "", *view.owed_to) for term in terms(name)}
    rest = {term: weight for term, weight in topic.items() if term not in people}
    return share(view.summary, rest) >= _ABOUT
