"""The words of a briefing: a model's where one is configured, else the host's own.

The model is shown nothing but what is in scope and will stand behind the items, and a sentence of
it that cites nothing of that is not told (`pipelines.recall.synthesis`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.briefing import wording
from pipelines.briefing.asked import Asked
from pipelines.briefing.points import Point
from pipelines.briefing.reading import Found
from pipelines.formation.proposal import Usage as ModelUsage
from pipelines.ports.models import LanguageModel
from pipelines.recall import phrases
from pipelines.recall.synthesis import BelievedClaim, Passage, synthesise
from pipelines.work import Usage, Work
from storage.clock import from_millis
from storage.errors import ModelMisbehaved, ModelRejected, ModelUnavailable

#: Points that a model is shown, and those that the host's own summary tells.
_SHOWN, _TOLD = 60, 6
_FAULTS = (ModelUnavailable, ModelRejected, ModelMisbehaved)
_MARKS = re.compile(r"\s*\[\d+\]")


@dataclass(frozen=True, slots=True)
class Told:
    """A summary (empty: the shortest will do) and the fault of the model, if it had one."""

    summary: str
    fault: str | None = None


def summarise(work: Work, asked: Asked, found: Found, model: LanguageModel | None) -> Told:
    """Say what was found, in at most 4096 characters."""
    plain = _plain(found)
    shown = [*found.required, *found.ranked][:_SHOWN]
    if model is None or not shown or not asked.question:
        return Told(plain)
    passages, claims = _numbered(shown)
    try:
        written = synthesise(
            model,
            asked.question,
            passages,
            claims,
            checkpoint=work.checkpoint,
            charge=lambda usage: work.charge(_charged(usage)),
        )
    except _FAULTS as error:
        return Told(plain, error.code)
    if written is None:
        return Told(plain)
    gap = "" if found.language == "zh" else " "
    sentences = [_MARKS.sub("", sentence.text) for sentence in written.sentences]
    return Told(wording.clipped(gap.join(sentences)))


def _numbered(shown: Sequence[Point]) -> tuple[list[Passage], list[BelievedClaim]]:
    oldest = from_millis(0)
    passages: list[Passage] = []
    claims: list[BelievedClaim] = []
    for n, point in enumerate(shown, start=1):
        at = point.at or oldest
        if point.role == "source":
            passages.append(Passage(n, point.text, "", at, point.elements[0]))
        else:
            status = point.status if point.role == "fact" else point.standing or point.role
            claims.append(BelievedClaim(n, point.text, status, at, point.elements[0]))
    return passages, claims


def _plain(found: Found) -> str:
    """What is settled in the host's words; nothing of it that is not an item."""
    accepted = [point for point in found.ranked if point.status == "accepted"][:_TOLD]
    lines = [phrases.sentence(point.text, [], found.language) for point in accepted]
    return wording.clipped(("" if found.language == "zh" else " ").join(lines))


def _charged(usage: ModelUsage) -> Usage:
    return Usage(
        "recall", usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.requests
    )
