"""Putting a briefing together within its tokens: which items, which channels, fit for what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.briefing import wording
from pipelines.briefing.asked import BRIEFING_TOKENS, Asked
from pipelines.briefing.points import (
    CHANNELS,
    MOST_ITEMS,
    MOST_REFS,
    Point,
    gathered,
)
from pipelines.briefing.reading import Found
from pipelines.ports.tokens import count
from pipelines.recall.packing import Candidate, Choice, Packed, Required, compact, pack
from storage.errors import Fatal
from storage.kip.errors import ResultLimitExceeded

_SLOTS = ("items", "attention")
#: Characters of what an attention item says, so that the first ones fit any page.
_ATTENTION = 400


@dataclass(frozen=True, slots=True)
class Briefing:
    """A packed briefing: its document, the points behind its items by number, and its coverage."""

    document: dict[str, Any]
    points: Mapping[int, Point]
    states: Mapping[str, str]
    preconditions: tuple[str, ...]
    eligible: bool
    attention: tuple[str, ...]
    summarised: bool


def brief(
    ref: str,
    asked: Asked,
    found: Found,
    summary: str,
    states: Mapping[str, str],
    details: Mapping[str, Any] | None,
) -> Briefing:
    """The fullest briefing within the tokens asked for, under the handle `ref`.

    `summary` is told whole where it fits (empty: there is none); `states` are those of the
    channels before anything is left out. Raises `ResultLimitExceeded`.
    """
    return _Maker(ref, asked, found, summary, states, details).briefing()


class _Maker:
    """One briefing in the making. Items count from 1: the required ones, then the ranked."""

    def __init__(
        self,
        ref: str,
        asked: Asked,
        found: Found,
        summary: str,
        states: Mapping[str, str],
        details: Mapping[str, Any] | None,
    ) -> None:
        self.ref, self.asked, self.found = ref, asked, found
        self.summary, self.states, self.details = summary, states, details
        self.limit = asked.tokens or BRIEFING_TOKENS
        required = gathered(found.required)
        if required is None:
            raise ResultLimitExceeded(
                "Constraints and commitments alone are more than a briefing holds.",
                data={"max_output_tokens": self.limit},
            )
        room = MOST_ITEMS - len(required)
        self.ranked, self.beyond = found.ranked[:room], found.ranked[room:]
        self.required = dict(enumerate(required, start=1))
        self.page = found.page
        self.candidates = [
            Candidate("attention", "attention", _attention(item.as_json()), waits=False)
            for item in (() if self.page is None else self.page.items)
        ]
        self.raised = len(self.candidates)
        if summary:
            self.candidates.append(Candidate("summary", text=compact(summary)))
        self.before = len(self.candidates)
        self.candidates += [
            Candidate(point.channel, "items", point.entry(self._item(len(required) + n)))
            for n, point in enumerate(self.ranked, start=1)
        ]

    def briefing(self) -> Briefing:
        slots = _SLOTS if self.page is not None else _SLOTS[:1]
        always = [Required("items", p.entry(self._item(n))) for n, p in self.required.items()]
        return self._made(pack(self._frame, slots, always, self.candidates, self.limit))

    def _summarised(self, choice: Choice) -> bool:
        return bool(self.summary) and self.raised in choice.kept

    def _item(self, number: int) -> str:
        return f"{self.ref}#{number}"

    def _kept(self, choice: Choice) -> dict[int, Point]:
        """The points in, by the number of their item."""
        kept = {
            len(self.required) + n: point
            for n, point in enumerate(self.ranked, start=1)
            if self.before + n - 1 in choice.kept
        }
        return {**self.required, **kept}

    def _channels(self, choice: Choice) -> dict[str, str]:
        left = {*choice.omitted, *(point.channel for point in self.beyond)}
        return {
            channel: "incomplete" if channel in left else self.states[channel]
            for channel in CHANNELS
        }

    def _open(self, kept: Mapping[int, Point]) -> dict[int, str]:
        """Premises that are not settled, where something is to be done on them."""
        if self.asked.mode != "action":
            return {}
        return {
            number: wording.precondition(point.status, point.text)
            for number, point in kept.items()
            if point.role == "fact" and point.status in ("contested", "uncertain")
        }

    def _coverage(self, choice: Choice) -> dict[str, Any]:
        states = self._channels(choice)
        waited = not (self.asked.pending or self.asked.failed)
        complete = waited and "incomplete" not in states.values()
        if self.asked.mode == "attention" and self.page is not None:
            complete = complete and not self.page.more and "attention" not in choice.omitted
        unsettled = list(dict.fromkeys(self._open(self._kept(choice)).values()))[:MOST_REFS]
        eligible = complete and not unsettled and self.asked.mode != "attention"
        return {
            "complete": complete,
            "scope": self.asked.scope.as_json(),
            "channels": states,
            "pending_receipts": list(self.asked.pending),
            "unverified_preconditions": unsettled,
            "action_eligible": eligible and not self.asked.detailed,
        }

    def _frame(self, choice: Choice) -> dict[str, Any]:
        page, language = self.page, self.found.language
        items = len(self._kept(choice))
        summary = wording.short_summary(items, language)
        if self.asked.mode == "attention" and page is not None:
            summary = wording.attention_summary(self._delivered(choice), language)
        if self._summarised(choice):
            summary = self.summary
        told: dict[str, Any] = {
            "summary": summary,
            "items": [],
            "uncertainties": [
                wording.failure(one, language)
                for one in self.asked.after
                if one["phase"] == "failed"
            ],
            "coverage": self._coverage(choice),
            "after": list(self.asked.after),
        }
        if page is not None:
            told["attention"] = []
            told["attention_cursor"] = page.cursor(self._delivered(choice))
        if self.details is not None:
            told["details"] = dict(self.details)
        told["basis_ref"] = self.ref
        return told

    def _delivered(self, choice: Choice) -> int:
        return sum(place in choice.kept for place in range(self.raised))

    def _made(self, packed: Packed) -> Briefing:
        kept = self._kept(packed.choice)
        document = packed.document
        eligible = document["coverage"]["action_eligible"]
        if eligible:
            # `true` is as long as `false`, so that nothing has to make room
            numbers = {self._item(n) for n, point in kept.items() if point.may_be_acted_on}
            document["items"] = [
                {**item, "action_eligible": item["ref"] in numbers} for item in document["items"]
            ]
            if count(compact(document)) > self.limit:
                raise Fatal("A briefing is longer than it was counted to be.")
        page = self.page
        delivered = self._delivered(packed.choice)
        return Briefing(
            document,
            kept,
            document["coverage"]["channels"],
            tuple(self._item(n) for n in self._open(kept)),
            eligible,
            () if page is None else tuple(item.ref for item in page.items[:delivered]),
            self._summarised(packed.choice),
        )


def _attention(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "summary": wording.clipped(item["summary"], _ATTENTION)}
