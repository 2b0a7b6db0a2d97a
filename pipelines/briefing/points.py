"""A point: what will be an item of a briefing, before it has a number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

Channel = Literal[
    "constraints", "commitments", "dependencies", "failures", "experiences", "skills", "evidence"
]
CHANNELS: tuple[Channel, ...] = (
    "constraints",
    "commitments",
    "dependencies",
    "failures",
    "experiences",
    "skills",
    "evidence",
)
Role = Literal["fact", "constraint", "experience", "procedure", "warning", "source"]
#: Refs of an item.
MOST_REFS = 128
#: Items of a briefing, and how many of them may be those that are never left out.
MOST_ITEMS, MOST_REQUIRED = 128, 100
#: Required points of a channel that are told each by itself.
_APART = 16
_TEXT = 4096


@dataclass(frozen=True, slots=True)
class Point:
    """One thing that memory holds. `elements` are what it was made of, `at` when it was said."""

    channel: Channel
    role: Role
    text: str
    status: str
    evidence: tuple[str, ...]
    elements: tuple[str, ...]
    standing: Literal["unproven", "revoked"] | None = None
    at: datetime | None = None

    def entry(self, ref: str) -> dict[str, Any]:
        """The item under its handle. Its last member is a constant, as the packer wants it."""
        told: dict[str, Any] = {
            "ref": ref,
            "text": self.text,
            "role": self.role,
            "epistemic_status": self.status,
        }
        if self.standing is not None:
            told["standing"] = self.standing
        told["evidence_refs"] = list(self.evidence[:MOST_REFS])
        told["action_eligible"] = False
        return told

    @property
    def may_be_acted_on(self) -> bool:
        """Whether it is settled enough, where the whole briefing is."""
        return self.role in ("fact", "constraint") and self.status == "accepted"


def gathered(points: Sequence[Point]) -> list[Point] | None:
    """The same in fewer points where a channel has many: neighbours are told together, by lines.

    None when even so there are more than `MOST_REQUIRED`. What is gathered depends on nothing but
    the points, so that it is the same under every limit.
    """
    found: list[Point] = []
    for channel in dict.fromkeys(point.channel for point in points):
        mine = [point for point in points if point.channel == channel]
        size = -(-len(mine) // _APART)
        chunk: list[Point] = []
        for point in mine:
            length = sum(len(one.text) + 1 for one in chunk) + len(point.text)
            if chunk and (len(chunk) == size or length > _TEXT):
                found.append(_joined(chunk))
                chunk = []
            chunk.append(point)
        found.append(_joined(chunk))
    return found if len(found) <= MOST_REQUIRED else None


def _joined(points: Sequence[Point]) -> Point:
    first = points[0]
    if len(points) == 1:
        return first
    return Point(
        first.channel,
        first.role,
        "\n".join(point.text for point in points),
        first.status,
        unique(ref for point in points for ref in point.evidence),
        unique(ref for point in points for ref in point.elements),
    )


def unique(refs: Iterable[str]) -> tuple[str, ...]:
    """Each once, in order."""
    return tuple(dict.fromkeys(refs))
