"""Until when a claim holds: the bounds it states, narrowed by what its actor said before and after.

An actor's later claim ends that actor's earlier one, in the same contexts, about the same slot or
the same proposition (contract kip-engine section 4, step 3). Bounds are whole milliseconds since
1970; what is unknown lies infinitely far away.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from storage.clock import to_millis
from storage.graph.policies import UNKNOWN
from storage.graph.validity import Bounds

Standing = Literal["inside", "outside", "indeterminate"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Beyond every instant that memory can hold, in milliseconds.
_FOREVER = 2**62


@dataclass(frozen=True, slots=True)
class Claim:
    """One active, visible, validly recorded assertion of a slot.

    `own` says that the subject itself asserts it. `weak` names why it can at best leave a belief
    uncertain (an inference whose premises are not known to hold, a claim whose evidence was
    corrected, one that rests on itself); empty says that nothing does. `roots` name the
    independent sources; none means bare testimony. `trust` is the trust class of the actor.
    """

    id: str
    proposition: str
    actor: str
    stance: str
    mode: str
    bounds: Bounds
    contexts: frozenset[str] = frozenset()
    own: bool = False
    weak: str = ""
    roots: frozenset[str] = frozenset()
    trust: str = UNKNOWN


@dataclass(frozen=True, slots=True)
class Span:
    """When a claim holds: each end within limits."""

    start_earliest: int
    start_latest: int
    end_earliest: int
    end_latest: int

    def narrowed(self, other: Span) -> Span:
        """Both: the later of the starts, the earlier of the ends, bound by bound."""
        return Span(
            max(self.start_earliest, other.start_earliest),
            max(self.start_latest, other.start_latest),
            min(self.end_earliest, other.end_earliest),
            min(self.end_latest, other.end_latest),
        )

    def standing(self, at: int) -> Standing:
        """How the claim stands at that millisecond."""
        if self.start_earliest > at or self.end_latest <= at:
            return "outside"
        if self.start_latest <= at < self.end_earliest:
            return "inside"
        return "indeterminate"

    def crossings(self) -> tuple[int, ...]:
        """The instants at which the standing may change."""
        return (self.start_earliest, self.start_latest, self.end_earliest, self.end_latest)

    def ends(self) -> tuple[datetime | None, ...]:
        """The four limits as times, None for those that are unknown."""
        return tuple(instant_of((limit,)) for limit in self.crossings())


def instant_of(millis: Iterable[int]) -> datetime | None:
    """The earliest of some instants that are really known."""
    known = [one for one in millis if abs(one) < _FOREVER]
    return _EPOCH + timedelta(milliseconds=min(known)) if known else None


@dataclass(frozen=True, slots=True)
class _Line:
    """The claims of one actor in one context set that can succeed one another.

    Two of them disagree when their labels differ: the proposition in a functional slot's line, the
    stance in a line about one proposition.
    """

    claims: tuple[Claim, ...]
    slot: bool

    def label(self, claim: Claim) -> str:
        return claim.proposition if self.slot else claim.stance


def effective_spans(claims: Sequence[Claim], functional: bool) -> dict[str, Span]:
    """The bounds of every claim of a slot, narrowed by the claims that precede and succeed it."""
    written = {claim.id: written_span(claim.bounds) for claim in claims}
    same: dict[tuple[str, frozenset[str], str], list[Claim]] = defaultdict(list)
    slot: dict[tuple[str, frozenset[str]], list[Claim]] = defaultdict(list)
    for claim in claims:
        if claim.mode not in ("stated", "observed") and not claim.bounds.from_written:
            continue
        same[claim.actor, claim.contexts, claim.proposition].append(claim)
        if functional and claim.stance == "support":
            slot[claim.actor, claim.contexts].append(claim)
    lines = [_Line(tuple(members), False) for members in same.values()]
    lines += [_Line(tuple(members), True) for members in slot.values()]
    spans = dict(written)
    for line in lines:
        if len({line.label(claim) for claim in line.claims}) < 2:
            continue
        for claim_id, span in _line_spans(line, written).items():
            spans[claim_id] = spans[claim_id].narrowed(span)
    return spans


def written_span(bounds: Bounds) -> Span:
    """The bounds that a claim states by itself."""
    return Span(
        _millis(bounds.from_earliest, -_FOREVER),
        _millis(bounds.from_latest, _FOREVER),
        _FOREVER if _open_end(bounds) else _millis(bounds.until_earliest, -_FOREVER),
        _millis(bounds.until_latest, _FOREVER),
    )


def _line_spans(line: _Line, written: Mapping[str, Span]) -> dict[str, Span]:
    """The bounds that one line gives to its claims: each ends where the next disagreeing begins."""
    groups: dict[int, list[Claim]] = defaultdict(list)
    for claim in line.claims:
        groups[to_millis(claim.bounds.start_key)].append(claim)
    keys = sorted(groups)
    labels = [{line.label(claim) for claim in groups[key]} for key in keys]
    before = _nearest_other(labels)
    after = [
        {label: len(keys) - 1 - index for label, index in found.items()}
        for found in reversed(_nearest_other(labels[::-1]))
    ]
    starts: dict[str, tuple[int, int]] = {}
    for index, key in enumerate(keys):
        for claim in groups[key]:
            span, previous = written[claim.id], before[index].get(line.label(claim))
            if previous is None or _exact_start(claim.bounds):
                starts[claim.id] = (span.start_earliest, span.start_latest)
            else:
                starts[claim.id] = (max(span.start_earliest, keys[previous]), key)
    result: dict[str, Span] = {}
    for index, key in enumerate(keys):
        for claim in groups[key]:
            span, following = written[claim.id], after[index].get(line.label(claim))
            end = (span.end_earliest, span.end_latest)
            if following is not None and _open_end(claim.bounds):
                successors = [
                    starts[other.id]
                    for other in groups[keys[following]]
                    if line.label(other) != line.label(claim)
                ]
                end = (min(low for low, _ in successors), min(high for _, high in successors))
            result[claim.id] = Span(*starts[claim.id], *end)
    return result


def _nearest_other(labels: Sequence[set[str]]) -> list[dict[str, int]]:
    """For each group and each of its labels: the nearest earlier group that has another label."""
    found: list[dict[str, int]] = []
    for index, group in enumerate(labels):
        nearest: dict[str, int] = {}
        for label in group:
            previous = index - 1
            if previous >= 0 and labels[previous] == {label}:
                # a group of this label alone has already looked further back
                if label not in found[previous]:
                    continue
                previous = found[previous][label]
            if previous >= 0:
                nearest[label] = previous
        found.append(nearest)
    return found


def _exact_start(bounds: Bounds) -> bool:
    return bounds.from_earliest is not None and bounds.from_earliest == bounds.from_latest


def _open_end(bounds: Bounds) -> bool:
    return bounds.until_earliest is None and bounds.until_latest is None


def _millis(at: datetime | None, unknown: int) -> int:
    return unknown if at is None else to_millis(at)
