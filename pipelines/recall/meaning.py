"""Whom a question means without naming them: by another name, or by a tie ("my wife").

Read from the claims that a first search for the question gave; nothing is guessed. Where it asks
something of somebody who is meant by a tie, and memory does not know who that is, no claim can be
the answer, and least of all one about the owner of the tie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pipelines.recall import questions
from pipelines.recall.questions import Asked
from pipelines.recall.ties import Tie, told_as
from storage.graph.claims import ClaimView
from storage.search.analyser import terms
from storage.search.bm25 import Hit

#: Under which another name of somebody is kept.
ALIAS = "also_known_as"
#: Names by which those who are asked for are searched further.
_NAMES = 6


def meant(asked: Asked, views: Sequence[ClaimView], texts: Mapping[str, Hit]) -> Asked:
    """The question with those named whom it means; itself where nobody else is meant.

    `views` are claims found for it, `texts` the messages that they cite.
    """
    asked = _by_other_names(asked, views)
    tie = asked.tie
    if tie is None:
        return asked
    phrase = asked.query[tie.start : tie.end]
    rest = questions.read(asked.query.replace(phrase, "X", 1))
    if not (rest.predicates - {ALIAS, "knows"}):
        return asked
    names = _tied(asked, tie, views, texts)
    if not names:
        return asked.unanswerable()
    joined = " and ".join(names) if asked.language == "en" else "和".join(names)
    named = questions.read(asked.query.replace(phrase, joined, 1))
    # the messages are those of the question as it was asked
    return replace(named, hop=tie, tied=tuple(names), named=frozenset())


def _by_other_names(asked: Asked, views: Sequence[ClaimView]) -> Asked:
    names: list[str] = []
    for view in views:
        if view.predicate != ALIAS or not view.stands or view.stance != "support":
            continue
        if _said(asked, view.object) or asked.is_counterparty(view.object):
            names.append(view.subject)
        elif asked.names(view.subject):
            names.append(view.object)
    return asked.meaning(names[:_NAMES]) if names else asked


def _said(asked: Asked, name: str) -> bool:
    words = set(terms(name))
    return bool(words) and words <= set(asked.terms)


def _tied(
    asked: Asked, tie: Tie, views: Sequence[ClaimView], texts: Mapping[str, Hit]
) -> list[str]:
    """Who is tied so, by name."""
    found: dict[str, None] = {}
    for view in views:
        if view.predicate != tie.kind.predicate or not view.stands or view.stance != "support":
            continue
        name = other_end(asked, tie, view)
        if name is not None and fits(tie, view, name, texts):
            found[name] = None
    return list(found)[:_NAMES]


def other_end(asked: Asked, tie: Tie, view: ClaimView) -> str | None:
    """Whom a claim ties to the owner; None where it is a tie of somebody else."""
    owned, other = (view.object, view.subject) if tie.kind.inverse else (view.subject, view.object)
    if is_owner(asked, tie, owned):
        return other
    if tie.mutual and is_owner(asked, tie, other):
        return owned
    return None


def fits(tie: Tie, view: ClaimView, name: str, texts: Mapping[str, Hit]) -> bool:
    """Whether the messages that a claim cites tell of `name` by a word that can be meant."""
    words = [told_as(texts[ref].text, name) for ref in view.evidence if ref in texts]
    return all(tie.fits(word) for word in words)


def is_owner(asked: Asked, tie: Tie, name: str) -> bool:
    """Whether `name` is whose tie is asked for."""
    if tie.owner is None:
        return asked.is_counterparty(name)
    return tie.is_owner(name) or asked.is_counterparty(name)
