"""What is believed: a pure function of the claims in one slot, a moment and a policy.

No score, confidence or strength enters; the same claims in any order give the same belief, and
nothing is stored (contract kip-engine section 4). The steps, in the order of the code: which claims
count (eligibility), until when each holds (succession along lines), how it stands at the moment
(inside, outside, indeterminate), what that makes of each candidate, what rivals of one slot do to
each other, and whether the policy prefers one of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from storage.graph.errors import ProjectionPolicyUnavailable
from storage.graph.validity import Bounds

Status = Literal["accepted", "rejected", "contested", "uncertain", "insufficient"]
SlotStatus = Literal["accepted", "contested", "uncertain", "insufficient"]
Leading = Literal["support", "opposition", "none"]
Rule = Literal["context_specificity", "first_person_testimony", "recency"]
Standing = Literal["inside", "outside", "indeterminate"]

STRUCTURAL = "kip:structural"
MEMORY_DEFAULT = "kip:memory-default"
#: The policies known here, with the version of each.
POLICIES: Mapping[str, int] = {STRUCTURAL: 1, MEMORY_DEFAULT: 1}

#: Modes that count by themselves; the others only on request.
ORDINARY_MODES = frozenset({"observed", "stated", "inferred"})

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
#: Beyond every instant that memory can hold, in milliseconds.
_FOREVER = 2**62


@dataclass(frozen=True, slots=True)
class Claim:
    """One active, visible, validly recorded assertion of a slot.

    `own` says that the subject itself asserts it. `weak` marks what can at best leave a belief
    uncertain: an inference whose dependencies are not known to be current, or a claim whose only
    evidence was corrected. `roots` name the independent sources; none means bare testimony.
    """

    id: str
    proposition: str
    actor: str
    stance: str
    mode: str
    bounds: Bounds
    contexts: frozenset[str] = frozenset()
    own: bool = False
    weak: bool = False
    roots: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Question:
    """At which moment, in which contexts, under which policy, with which further modes."""

    valid_at: datetime
    contexts: frozenset[str] = frozenset()
    policy: str = MEMORY_DEFAULT
    modes: frozenset[str] = ORDINARY_MODES


@dataclass(frozen=True, slots=True)
class Belief:
    """What is believed of one candidate.

    `candidate_status` is its standing by its own claims, before rivals; `status` after them.
    `support` and `opposition` are the claims that hold at the moment. `next_invalid_at` is the
    next instant at which the answer may change by itself.
    """

    proposition: str
    status: Status
    candidate_status: Status
    slot_status: SlotStatus
    leading: Leading = "none"
    reasons: tuple[str, ...] = ()
    rule: Rule | None = None
    conflict_refs: tuple[str, ...] = ()
    conflict_reasons: tuple[str, ...] = ()
    support: tuple[str, ...] = ()
    opposition: tuple[str, ...] = ()
    next_invalid_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SlotBelief:
    """What is believed of a slot: every candidate, and the values that are accepted."""

    status: SlotStatus
    accepted: tuple[str, ...]
    candidates: Mapping[str, Belief]


@dataclass(frozen=True, slots=True)
class _Span:
    """Bounds in milliseconds; what is unknown lies infinitely far away."""

    start_earliest: int
    start_latest: int
    end_earliest: int
    end_latest: int

    def narrowed(self, other: _Span) -> _Span:
        return _Span(
            max(self.start_earliest, other.start_earliest),
            max(self.start_latest, other.start_latest),
            min(self.end_earliest, other.end_earliest),
            min(self.end_latest, other.end_latest),
        )

    def standing(self, at: int) -> Standing:
        if self.start_earliest > at or self.end_latest <= at:
            return "outside"
        if self.start_latest <= at < self.end_earliest:
            return "inside"
        return "indeterminate"

    def crossings(self) -> tuple[int, ...]:
        return (self.start_earliest, self.start_latest, self.end_earliest, self.end_latest)


def project(
    claims: Iterable[Claim],
    candidates: Sequence[str],
    question: Question,
    *,
    functional: bool,
    overlap_conflicts: bool = True,
) -> SlotBelief:
    """Project one slot.

    `candidates` are the propositions of the slot (of one object type, where that divides it);
    claims about others are passed over. `functional` says that the slot takes one value at a time;
    a slot that takes many is projected candidate by candidate. `overlap_conflicts` is False where
    the predicate lets values overlap. Raises `ProjectionPolicyUnavailable` for an unknown policy.
    """
    if question.policy not in POLICIES:
        raise ProjectionPolicyUnavailable(f"There is no epistemic policy {question.policy!r}.")
    wanted = set(candidates)
    eligible = sorted(
        (
            claim
            for claim in claims
            if claim.proposition in wanted
            and claim.mode in question.modes
            and claim.contexts <= question.contexts
        ),
        key=lambda claim: claim.id,
    )
    spans = _effective_spans(eligible, functional)
    at = _millis(question.valid_at)
    by_candidate: dict[str, list[Claim]] = defaultdict(list)
    for claim in eligible:
        by_candidate[claim.proposition].append(claim)
    standings = {claim.id: spans[claim.id].standing(at) for claim in eligible}
    beliefs = {
        candidate: _candidate(candidate, by_candidate[candidate], standings)
        for candidate in sorted(wanted)
    }
    if functional and overlap_conflicts:
        beliefs = _settle(beliefs, by_candidate, standings, question.policy)
    later = [edge for span in spans.values() for edge in span.crossings() if at < edge < _FOREVER]
    until = _EPOCH + timedelta(milliseconds=min(later)) if later else None
    slot = _slot_status(beliefs.values())
    by_id = {claim.id: claim for claim in eligible}
    final = {
        candidate: replace(
            belief,
            slot_status=slot,
            leading=_leading(belief, by_id),
            next_invalid_at=until,
        )
        for candidate, belief in beliefs.items()
    }
    accepted = tuple(c for c, belief in final.items() if belief.status == "accepted")
    return SlotBelief(slot, accepted, final)


# --- succession ------------------------------------------------------------------------------


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


def _effective_spans(claims: Sequence[Claim], functional: bool) -> dict[str, _Span]:
    """The bounds of every claim, narrowed by the claims that precede and succeed it."""
    written = {claim.id: _span(claim.bounds) for claim in claims}
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


def _line_spans(line: _Line, written: Mapping[str, _Span]) -> dict[str, _Span]:
    """The bounds that one line gives to its claims: each ends where the next disagreeing begins."""
    groups: dict[int, list[Claim]] = defaultdict(list)
    for claim in line.claims:
        groups[_millis(claim.bounds.start_key)].append(claim)
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
    result: dict[str, _Span] = {}
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
            result[claim.id] = _Span(*starts[claim.id], *end)
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


def _span(bounds: Bounds) -> _Span:
    return _Span(
        _millis(bounds.from_earliest, -_FOREVER),
        _millis(bounds.from_latest, _FOREVER),
        _FOREVER if _open_end(bounds) else _millis(bounds.until_earliest, -_FOREVER),
        _millis(bounds.until_latest, _FOREVER),
    )


def _exact_start(bounds: Bounds) -> bool:
    return bounds.from_earliest is not None and bounds.from_earliest == bounds.from_latest


def _open_end(bounds: Bounds) -> bool:
    return bounds.until_earliest is None and bounds.until_latest is None


def _millis(at: datetime | None, unknown: int = 0) -> int:
    return unknown if at is None else (at - _EPOCH) // _MILLISECOND


# --- candidates and their rivals -------------------------------------------------------------


def _candidate(
    candidate: str, claims: Sequence[Claim], standings: Mapping[str, Standing]
) -> Belief:
    """The standing of one candidate by its own claims."""
    inside = [c for c in claims if standings[c.id] == "inside"]
    support = tuple(c.id for c in inside if c.stance == "support" and not c.weak)
    opposition = tuple(c.id for c in inside if c.stance == "reject" and not c.weak)
    status: Status
    reasons: list[str] = []
    if support and opposition:
        status = "contested"
    elif support:
        status = "accepted"
    elif opposition:
        status = "rejected"
    else:
        if any(standings[c.id] == "indeterminate" for c in claims):
            reasons.append("temporal_indeterminate")
        if any(c.stance == "uncertain" for c in inside):
            reasons.append("uncertain_stance")
        if any(c.weak for c in inside):
            reasons.append("weak_support")
        status = "uncertain" if reasons else "insufficient"
    return Belief(
        candidate,
        status,
        status,
        "insufficient",
        reasons=tuple(reasons),
        conflict_reasons=("opposing_stances",) if status == "contested" else (),
        support=support,
        opposition=opposition,
    )


def _settle(
    beliefs: dict[str, Belief],
    by_candidate: Mapping[str, Sequence[Claim]],
    standings: Mapping[str, Standing],
    policy: str,
) -> dict[str, Belief]:
    """Let the candidates of a functional slot that hold at once conflict, or the policy decide."""
    rivals = {
        candidate: [c for c in by_candidate[candidate] if c.id in set(belief.support)]
        for candidate, belief in beliefs.items()
        if belief.support
    }
    if len(rivals) < 2:
        return beliefs
    winner, rule = _preferred(rivals) if policy == MEMORY_DEFAULT else (None, None)
    settled = dict(beliefs)
    for candidate in rivals:
        belief = beliefs[candidate]
        others = tuple(other for other in sorted(rivals) if other != candidate)
        if winner is None:
            settled[candidate] = replace(
                belief,
                status="contested",
                conflict_refs=others,
                conflict_reasons=(*belief.conflict_reasons, "functional_value"),
            )
        elif candidate == winner:
            settled[candidate] = replace(belief, rule=rule)
        else:
            settled[candidate] = replace(
                belief,
                status="uncertain",
                reasons=(*belief.reasons, "outranked"),
                rule=rule,
                conflict_refs=(winner,),
                conflict_reasons=(*belief.conflict_reasons, "functional_value"),
            )
    return settled


def _preferred(rivals: Mapping[str, Sequence[Claim]]) -> tuple[str | None, Rule | None]:
    """The first rule of `kip:memory-default` by which one candidate beats all the others."""
    first_person = {
        candidate: any(c.own and c.mode in ("stated", "observed") for c in claims)
        for candidate, claims in rivals.items()
    }
    # what a rival may not have: the subject's own word, or somebody's observation
    defended = {
        candidate: any(c.own or c.mode == "observed" for c in claims)
        for candidate, claims in rivals.items()
    }
    newest = {
        candidate: max(c.bounds.start_key for c in claims) for candidate, claims in rivals.items()
    }

    def more_specific(one: str, other: str) -> bool:
        return any(
            all(claim.contexts > against.contexts for against in rivals[other])
            for claim in rivals[one]
        )

    def in_person(one: str, other: str) -> bool:
        return first_person[one] and not defended[other]

    def more_recent(one: str, other: str) -> bool:
        return newest[one] > newest[other]

    rules: tuple[tuple[Rule, Callable[[str, str], bool]], ...] = (
        ("context_specificity", more_specific),
        ("first_person_testimony", in_person),
        ("recency", more_recent),
    )
    for rule, beats in rules:
        for candidate in rivals:
            if all(beats(candidate, other) for other in rivals if other != candidate):
                return candidate, rule
    return None, None


def _slot_status(beliefs: Iterable[Belief]) -> SlotStatus:
    found = {belief.status for belief in beliefs}
    order: tuple[SlotStatus, ...] = ("accepted", "contested", "uncertain")
    return next((status for status in order if status in found), "insufficient")


def _leading(belief: Belief, claims: Mapping[str, Claim]) -> Leading:
    match belief.status:
        case "accepted":
            return "support"
        case "rejected":
            return "opposition"
        case "contested":
            for_it = _independent(belief.support, claims)
            against = _independent(belief.opposition, claims)
            if for_it != against:
                return "support" if for_it > against else "opposition"
    return "none"


def _independent(ids: Sequence[str], claims: Mapping[str, Claim]) -> int:
    """How many independent sources stand behind claims; claims that share one count once."""
    groups: list[frozenset[str]] = []
    for claim_id in ids:
        claim = claims[claim_id]
        own = claim.roots or frozenset({f"testimony:{claim.actor}"})
        merged = [group for group in groups if group & own]
        groups = [group for group in groups if not group & own]
        groups.append(own.union(*merged))
    return len(groups)
