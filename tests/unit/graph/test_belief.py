"""Belief as a pure function: independent of order, and equal to a naive reading of the rules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.clock import to_millis
from storage.graph import belief_time
from storage.graph.belief import MEMORY_DEFAULT, STRUCTURAL, Claim, Question, Shape, project
from storage.graph.errors import ProjectionPolicyUnavailable
from storage.graph.validity import Bound, Bounds, ValidTime

START = datetime(2026, 1, 1, tzinfo=UTC)


def day(number: int) -> datetime:
    return START + timedelta(days=number)


days = st.integers(0, 12).map(day)


@st.composite
def intervals(draw: st.DrawFn) -> ValidTime:
    first, second, third, fourth = sorted(draw(st.lists(days, min_size=4, max_size=4)))
    start = draw(
        st.sampled_from([None, first, Bound(first, second), Bound(latest=second), Bound(first)])
    )
    until = draw(
        st.sampled_from([None, fourth + timedelta(1), Bound(third, fourth + timedelta(1))])
    )
    return ValidTime(start, until)


@st.composite
def claim_lists(draw: st.DrawFn) -> list[Claim]:
    count = draw(st.integers(0, 7))
    return [
        Claim(
            id=f"A-{number}",
            proposition=draw(st.sampled_from(["x", "y", "z"])),
            actor=draw(st.sampled_from(["ann", "bob"])),
            stance=draw(st.sampled_from(["support", "support", "reject", "uncertain"])),
            mode=draw(st.sampled_from(["stated", "observed", "inferred", "predicted"])),
            bounds=Bounds.of(draw(intervals()), draw(days)),
            contexts=frozenset(draw(st.sets(st.sampled_from(["c", "d"]), max_size=1))),
            own=draw(st.booleans()),
            weak=draw(st.sampled_from(["", "evidence_corrected"])),
        )
        for number in range(count)
    ]


questions = st.builds(
    Question,
    valid_at=days,
    contexts=st.sampled_from([frozenset(), frozenset("c"), frozenset("cd")]),
    policy=st.sampled_from([STRUCTURAL, MEMORY_DEFAULT]),
)


@settings(deadline=None, max_examples=200)
@given(claim_lists(), questions, st.booleans(), st.randoms())
def test_the_same_facts_in_any_order_give_the_same_belief(
    claims: list[Claim], question: Question, functional: bool, random: object
) -> None:
    shuffled = list(claims)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    expected = project(claims, ["x", "y", "z"], question, Shape(functional))
    assert project(shuffled, ["z", "x", "y"], question, Shape(functional)) == expected


def naive_spans(claims: list[Claim], functional: bool) -> dict[str, tuple[int, int, int, int]]:
    """Section 4, step 3, read word by word."""
    found = {}
    for claim in claims:
        span = belief_time.written_span(claim.bounds)
        found[claim.id] = (
            span.start_earliest,
            span.start_latest,
            span.end_earliest,
            span.end_latest,
        )
    written = dict(found)

    def takes_part(claim: Claim) -> bool:
        return claim.mode in ("stated", "observed") or claim.bounds.from_written

    def key(claim: Claim) -> int:
        return to_millis(claim.bounds.start_key)

    for slot in (False, True):
        if slot and not functional:
            continue

        def on_line(one: Claim, other: Claim, slot: bool = slot) -> bool:
            together = (one.actor, one.contexts) == (other.actor, other.contexts)
            if slot:
                return together and one.stance == other.stance == "support"
            return together and one.proposition == other.proposition

        def disagree(one: Claim, other: Claim, slot: bool = slot) -> bool:
            if not (takes_part(one) and takes_part(other) and on_line(one, other)):
                return False
            return one.proposition != other.proposition if slot else one.stance != other.stance

        def start(claim: Claim) -> tuple[int, int]:
            earlier = [key(o) for o in claims if disagree(claim, o) and key(o) < key(claim)]
            low, high = written[claim.id][:2]
            exact = claim.bounds.from_earliest is not None and low == high
            return (max(low, max(earlier)), key(claim)) if earlier and not exact else (low, high)

        for claim in claims:
            low, high = start(claim)
            first, last = written[claim.id][2:]
            later = [o for o in claims if disagree(claim, o) and key(o) > key(claim)]
            open_end = (claim.bounds.until_earliest, claim.bounds.until_latest) == (None, None)
            if later and open_end:
                nearest = min(map(key, later))
                starts = [start(o) for o in later if key(o) == nearest]
                first, last = min(s[0] for s in starts), min(s[1] for s in starts)
            a, b, c, d = found[claim.id]
            found[claim.id] = (max(a, low), max(b, high), min(c, first), min(d, last))
    return found


@settings(deadline=None, max_examples=400)
@given(claim_lists(), st.booleans())
def test_succession_equals_its_naive_reading(claims: list[Claim], functional: bool) -> None:
    spans = belief_time.effective_spans(claims, functional)
    got = {
        name: (s.start_earliest, s.start_latest, s.end_earliest, s.end_latest)
        for name, s in spans.items()
    }
    assert got == naive_spans(claims, functional)


@settings(deadline=None, max_examples=200)
@given(claim_lists(), questions, st.booleans())
def test_nothing_changes_before_the_next_invalid_instant(
    claims: list[Claim], question: Question, functional: bool
) -> None:
    now = project(claims, ["x", "y", "z"], question, Shape(functional))
    until = now.candidates["x"].next_invalid_at
    moment = (until or day(400)) - timedelta(milliseconds=1)
    if moment <= question.valid_at:
        return
    later = Question(moment, question.contexts, question.policy)
    then = project(claims, ["x", "y", "z"], later, Shape(functional))
    assert {c: b.status for c, b in then.candidates.items()} == {
        c: b.status for c, b in now.candidates.items()
    }


def said(name: str, where: str, at: int, **more: object) -> Claim:
    valid = more.pop("valid", ValidTime())
    assert isinstance(valid, ValidTime)
    return Claim(name, where, "alice", "support", "stated", Bounds.of(valid, day(at)), **more)  # type: ignore[arg-type]


def test_a_move_ends_the_old_home_and_leaves_the_time_before_open() -> None:
    claims = [
        said("A-1", "beijing", 9),
        said("A-2", "shanghai", 200, valid=ValidTime(day(243))),
    ]

    def statuses(at: int) -> tuple[str, str]:
        slot = project(claims, ["beijing", "shanghai"], Question(day(at)), Shape(True))
        return slot.candidates["beijing"].status, slot.candidates["shanghai"].status

    assert statuses(262) == ("insufficient", "accepted")
    assert statuses(151) == ("accepted", "insufficient")
    assert statuses(4) == ("uncertain", "insufficient")


def test_independent_sources_lead_and_copies_count_once() -> None:
    def claim(name: str, actor: str, stance: str, root: str) -> Claim:
        bounds = Bounds.of(ValidTime(day(0)), day(1))
        return Claim(name, "x", actor, stance, "stated", bounds, roots=frozenset({root}))

    claims = [
        claim("A-1", "ann", "support", "r1"),
        claim("A-2", "bob", "support", "r1"),
        claim("A-3", "cid", "reject", "r2"),
    ]
    slot = project(claims, ["x"], Question(day(2)), Shape())
    assert (slot.candidates["x"].status, slot.candidates["x"].leading) == ("contested", "none")
    claims.append(claim("A-4", "dan", "support", "r3"))
    slot = project(claims, ["x"], Question(day(2)), Shape())
    assert slot.candidates["x"].leading == "support"


def test_a_weak_claim_leaves_a_belief_uncertain_at_best() -> None:
    slot = project(
        [said("A-1", "x", 0, weak="evidence_corrected")], ["x"], Question(day(1)), Shape()
    )
    assert slot.candidates["x"].status == "uncertain"
    assert slot.candidates["x"].reasons == ("evidence_corrected",)


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(ProjectionPolicyUnavailable):
        project([], ["x"], Question(START, policy="kip:hearsay"), Shape())
