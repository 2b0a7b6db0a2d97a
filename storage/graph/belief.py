"""What is believed: a pure function of the claims in one slot, a moment and a policy.

No score, confidence or strength enters; the same claims in any order give the same belief, and
nothing is stored (contract kip-engine section 4). The steps, in the order of the code: which claims
count (eligibility), until when each holds (succession, in `belief_time`), how it stands at the
moment (inside, outside, indeterminate), what that makes of each candidate, what rivals of one slot
do to each other, and whether the policy prefers one of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from storage.clock import to_millis
from storage.graph.belief_time import Claim, Span, Standing, effective_spans, instant_of
from storage.graph.policies import (
    MEMORY_DEFAULT,
    ORDINARY_MODES,
    STRUCTURAL,
    Policy,
    Rule,
    policy_of,
)

__all__ = [
    "MEMORY_DEFAULT",
    "ORDINARY_MODES",
    "STRUCTURAL",
    "Belief",
    "Claim",
    "Question",
    "Shape",
    "SlotBelief",
    "Standing",
    "independent_groups",
    "project",
    "slot_status",
]

Status = Literal["accepted", "rejected", "contested", "uncertain", "insufficient"]
SlotStatus = Literal["accepted", "contested", "uncertain", "insufficient"]
Leading = Literal["support", "opposition", "none"]


@dataclass(frozen=True, slots=True)
class Question:
    """At which moment, in which contexts, under which policy, with which further modes."""

    valid_at: datetime
    contexts: frozenset[str] = frozenset()
    policy: str = MEMORY_DEFAULT
    modes: frozenset[str] = ORDINARY_MODES


@dataclass(frozen=True, slots=True)
class Shape:
    """How the values of a slot bear on each other (a predicate's declarations).

    `functional`: one value at a time. `overlap_conflicts` is False where the predicate lets values
    overlap. `complete`: accepting one value rejects the others. `negations` maps a candidate to the
    one that denies it (`boolean_completeness`).
    """

    functional: bool = False
    overlap_conflicts: bool = True
    complete: bool = False
    negations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Belief:
    """What is believed of one candidate.

    `candidate_status` is its standing by its own claims, before rivals; `status` after them.
    `support` and `opposition` are the claims that decide at the moment, `undecided` those that hold
    but take no side or are weak, `indeterminate` those that may hold. `next_invalid_at` is the next
    instant at which the answer may change by itself.
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
    undecided: tuple[str, ...] = ()
    indeterminate: tuple[str, ...] = ()
    next_invalid_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SlotBelief:
    """What is believed of a slot: every candidate, and the values that are accepted.

    `spans` are the effective bounds of the claims that count; `excluded` says of the others why
    they do not.
    """

    status: SlotStatus
    accepted: tuple[str, ...]
    candidates: Mapping[str, Belief]
    spans: Mapping[str, Span] = field(default_factory=dict)
    excluded: Mapping[str, str] = field(default_factory=dict)


def project(
    claims: Iterable[Claim], candidates: Sequence[str], question: Question, shape: Shape
) -> SlotBelief:
    """Project one slot.

    `candidates` are the propositions of the slot (of one object type, where that divides it);
    claims about others are passed over. Raises `ProjectionPolicyUnavailable` for an unknown policy.
    """
    policy = policy_of(question.policy)
    wanted = set(candidates)
    excluded: dict[str, str] = {}
    eligible: list[Claim] = []
    for claim in sorted(claims, key=lambda claim: claim.id):
        if claim.proposition not in wanted:
            continue
        reason = policy.exclusion(claim.mode, claim.trust, question.modes)
        if reason is None and not claim.contexts <= question.contexts:
            reason = "context_mismatch"
        if reason is None:
            eligible.append(_weighed(claim, policy))
        else:
            excluded[claim.id] = reason
    spans = effective_spans(eligible, shape.functional)
    at = to_millis(question.valid_at)
    standings = {claim.id: spans[claim.id].standing(at) for claim in eligible}
    excluded |= {c: "outside_valid_time" for c, at_now in standings.items() if at_now == "outside"}
    by_candidate: dict[str, list[Claim]] = defaultdict(list)
    for claim in eligible:
        by_candidate[claim.proposition].append(claim)
    beliefs = {
        candidate: _candidate(candidate, by_candidate[candidate], standings)
        for candidate in sorted(wanted)
    }
    beliefs = _with_negations(beliefs, shape)
    if shape.functional and shape.overlap_conflicts:
        beliefs = _settle(beliefs, by_candidate, policy)
    if shape.functional and shape.complete:
        beliefs = _exclusive(beliefs)
    until = instant_of(edge for span in spans.values() for edge in span.crossings() if at < edge)
    slot = slot_status(beliefs.values())
    by_id = {claim.id: claim for claim in eligible}
    final = {
        candidate: replace(
            belief,
            slot_status=slot,
            leading=_leading(belief, beliefs, by_id),
            next_invalid_at=until,
        )
        for candidate, belief in beliefs.items()
    }
    accepted = tuple(c for c, belief in final.items() if belief.status == "accepted")
    return SlotBelief(slot, accepted, final, spans, excluded)


def independent_groups(claims: Iterable[Claim]) -> list[list[Claim]]:
    """Claims by the independent source behind them, in order of their first claim's place.

    Claims that share a source are one group, and so is a claim that rests on several of them.
    """
    groups: list[tuple[set[str], list[Claim]]] = []
    for claim in claims:
        roots = set(claim.roots) or {f"testimony:{claim.actor}"}
        shared = [group for group in groups if group[0] & roots]
        if not shared:
            groups.append((roots, [claim]))
            continue
        first = shared[0]
        for other in shared[1:]:
            first[0].update(other[0])
            first[1].extend(other[1])
            groups.remove(other)
        first[0].update(roots)
        first[1].append(claim)
    return [members for _, members in groups]


# --- candidates and their rivals -------------------------------------------------------------


def _weighed(claim: Claim, policy: Policy) -> Claim:
    """The claim, weak where the policy takes its actor's word for less."""
    if claim.weak or policy.weight(claim.trust) == "strong":
        return claim
    return replace(claim, weak="low_trust")


def _candidate(
    candidate: str, claims: Sequence[Claim], standings: Mapping[str, Standing]
) -> Belief:
    """The standing of one candidate by its own claims."""
    inside = [c for c in claims if standings[c.id] == "inside"]
    undecided = [c for c in inside if c.weak or c.stance == "uncertain"]
    indeterminate = tuple(c.id for c in claims if standings[c.id] == "indeterminate")
    support = tuple(c.id for c in inside if c.stance == "support" and not c.weak)
    opposition = tuple(c.id for c in inside if c.stance == "reject" and not c.weak)
    reasons: set[str] = set()
    if not support and not opposition:
        reasons.update(c.weak or "uncertain_stance" for c in undecided)
        if indeterminate:
            reasons.add("temporal_indeterminate")
    status = _status(bool(support), bool(opposition), bool(reasons))
    return Belief(
        candidate,
        status,
        status,
        "insufficient",
        reasons=tuple(sorted(reasons)),
        conflict_reasons=("opposing_stances",) if status == "contested" else (),
        support=support,
        opposition=opposition,
        undecided=tuple(c.id for c in undecided),
        indeterminate=indeterminate,
    )


def _status(support: bool, opposition: bool, other: bool) -> Status:
    if support:
        return "contested" if opposition else "accepted"
    if opposition:
        return "rejected"
    return "uncertain" if other else "insufficient"


def _with_negations(beliefs: dict[str, Belief], shape: Shape) -> dict[str, Belief]:
    """Let what is said of a value count against the one that denies it, and the reverse.

    Two supported values of a functional slot conflict as its values do; their claims are not
    counted as opposition a second time.
    """
    changed = dict(beliefs)
    for candidate, denied_by in shape.negations.items():
        belief, other = beliefs.get(candidate), beliefs.get(denied_by)
        if belief is None or other is None:
            continue
        support = (*belief.support, *other.opposition)
        rivals = shape.functional and shape.overlap_conflicts and belief.support and other.support
        opposition = belief.opposition if rivals else (*belief.opposition, *other.support)
        if (support, opposition) == (belief.support, belief.opposition):
            continue
        status = _status(bool(support), bool(opposition), bool(belief.reasons))
        changed[candidate] = replace(
            belief,
            status=status,
            reasons=belief.reasons if status == "uncertain" else (),
            conflict_reasons=("boolean_negation",) if status == "contested" else (),
            conflict_refs=(denied_by,) if status == "contested" else (),
            support=support,
            opposition=opposition,
        )
    return changed


def _settle(
    beliefs: dict[str, Belief], by_candidate: Mapping[str, Sequence[Claim]], policy: Policy
) -> dict[str, Belief]:
    """Let the candidates of a functional slot that hold at once conflict, or the policy decide."""
    rivals = {
        candidate: supporting
        for candidate, belief in beliefs.items()
        if (supporting := [c for c in by_candidate[candidate] if c.id in set(belief.support)])
    }
    if len(rivals) < 2:
        return beliefs
    winner, rule = _preferred(rivals, policy.precedence)
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


def _exclusive(beliefs: dict[str, Belief]) -> dict[str, Belief]:
    """Reject what nothing speaks for in a slot that is complete with the value it has."""
    accepted = tuple(c for c, belief in beliefs.items() if belief.status == "accepted")
    if not accepted:
        return beliefs
    return {
        candidate: belief
        if belief.support or belief.status == "rejected"
        else replace(
            belief,
            status="rejected",
            reasons=(),
            conflict_refs=accepted,
            conflict_reasons=("exclusive_value",),
        )
        for candidate, belief in beliefs.items()
    }


def _preferred(
    rivals: Mapping[str, Sequence[Claim]], precedence: Sequence[Rule]
) -> tuple[str | None, Rule | None]:
    """The first of the policy's rules by which one candidate beats all the others."""
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

    rules: Mapping[Rule, Callable[[str, str], bool]] = {
        "context_specificity": more_specific,
        "first_person_testimony": in_person,
        "recency": more_recent,
    }
    for rule in precedence:
        beats = rules[rule]
        for candidate in rivals:
            if all(beats(candidate, other) for other in rivals if other != candidate):
                return candidate, rule
    return None, None


def slot_status(beliefs: Iterable[Belief]) -> SlotStatus:
    """The standing of a slot by the beliefs about its values."""
    found = {belief.status for belief in beliefs}
    order: tuple[SlotStatus, ...] = ("accepted", "contested", "uncertain")
    return next((status for status in order if status in found), "insufficient")


def _leading(belief: Belief, beliefs: Mapping[str, Belief], claims: Mapping[str, Claim]) -> Leading:
    """The side with more independent sources; a rival's support stands against a value as well."""
    match belief.status:
        case "accepted":
            return "support"
        case "rejected":
            return "opposition"
        case "contested":
            sides = [belief.opposition, *(beliefs[c].support for c in belief.conflict_refs)]
            against = max(_independent(side, claims) for side in sides)
            for_it = _independent(belief.support, claims)
            if for_it != against:
                return "support" if for_it > against else "opposition"
    return "none"


def _independent(ids: Sequence[str], claims: Mapping[str, Claim]) -> int:
    """How many independent sources stand behind claims."""
    return len(independent_groups(claims[claim_id] for claim_id in ids))
