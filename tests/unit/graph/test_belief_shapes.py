"""What a predicate declares decides how its values bear on each other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.graph.belief import (
    MEMORY_DEFAULT,
    STRUCTURAL,
    Claim,
    Question,
    Shape,
    independent_groups,
    project,
)
from storage.graph.validity import Bounds, ValidTime

START = datetime(2026, 1, 1, tzinfo=UTC)
YES, NO = "l:true", "l:false"
EITHER = {YES: NO, NO: YES}
NOW = Question(START + timedelta(days=30))


def said(name: str, value: str, by: str = "ann", stance: str = "support", at: int = 1) -> Claim:
    when = START + timedelta(days=at)
    return Claim(name, value, by, stance, "stated", Bounds.of(ValidTime(), when))


def statuses(claims: list[Claim], values: list[str], shape: Shape) -> dict[str, str]:
    slot = project(claims, values, NOW, shape)
    return {value: belief.status for value, belief in slot.candidates.items()}


def test_accepting_one_value_of_a_complete_slot_rejects_the_rest() -> None:
    complete = Shape(functional=True, complete=True)
    values = ["x", "y", "z"]
    claims = [said("A-1", "x"), said("A-2", "y", "bob", "uncertain")]
    slot = project(claims, values, NOW, complete)
    assert {v: b.status for v, b in slot.candidates.items()} == {
        "x": "accepted",
        "y": "rejected",
        "z": "rejected",
    }
    refused = slot.candidates["z"]
    assert (refused.leading, refused.conflict_reasons, refused.conflict_refs) == (
        "opposition",
        ("exclusive_value",),
        ("x",),
    )
    assert (slot.status, slot.accepted) == ("accepted", ("x",))
    assert statuses(claims, values, Shape(functional=True))["z"] == "insufficient"


def test_a_contested_complete_slot_rejects_nothing() -> None:
    claims = [said("A-1", "x"), said("A-2", "y", "bob")]
    found = statuses(claims, ["x", "y", "z"], Shape(functional=True, complete=True))
    assert found == {"x": "contested", "y": "contested", "z": "insufficient"}


def test_false_denies_true_only_where_the_predicate_says_so() -> None:
    claims = [said("A-1", NO)]
    assert statuses(claims, [YES, NO], Shape()) == {NO: "accepted", YES: "insufficient"}
    declared = Shape(negations=EITHER)
    assert statuses(claims, [YES, NO], declared) == {NO: "accepted", YES: "rejected"}
    denied = [said("A-1", NO, stance="reject")]
    assert statuses(denied, [YES, NO], declared) == {NO: "rejected", YES: "accepted"}
    both = [said("A-1", NO), said("A-2", YES, "bob")]
    assert statuses(both, [YES, NO], declared) == {NO: "contested", YES: "contested"}


def test_two_boolean_values_of_a_functional_slot_conflict_once() -> None:
    both = [said("A-1", NO, at=1), said("A-2", YES, "bob", at=2)]
    shape = Shape(functional=True, negations=EITHER)
    assert statuses(both, [YES, NO], shape) == {NO: "uncertain", YES: "accepted"}
    changed = [said("A-1", NO, at=1), said("A-2", YES, at=2)]
    assert statuses(changed, [YES, NO], shape) == {NO: "rejected", YES: "accepted"}


def test_values_that_may_overlap_do_not_conflict() -> None:
    claims = [said("A-1", "x"), said("A-2", "y", "bob")]
    found = statuses(claims, ["x", "y"], Shape(functional=True, overlap_conflicts=False))
    assert found == {"x": "accepted", "y": "accepted"}


def test_a_contested_value_leads_against_the_strongest_of_its_rivals() -> None:
    ask = Question(NOW.valid_at, policy=STRUCTURAL)
    claims = [
        said("A-1", "x"),
        said("A-2", "y", "bob"),
        said("A-3", "y", "cid"),
        said("A-4", "z", "dan"),
    ]
    slot = project(claims, ["x", "y", "z"], ask, Shape(functional=True))
    assert {v: b.leading for v, b in slot.candidates.items()} == {
        "x": "opposition",
        "y": "support",
        "z": "opposition",
    }


def test_a_claim_on_several_sources_joins_their_groups() -> None:
    def on(name: str, *roots: str) -> Claim:
        return Claim(
            name,
            "x",
            "ann",
            "support",
            "stated",
            Bounds.of(ValidTime(), START),
            roots=frozenset(roots),
        )

    claims = [on("A-1", "r1"), on("A-2", "r2"), on("A-3", "r3"), on("A-4", "r1", "r3")]
    groups = [sorted(c.id for c in group) for group in independent_groups(claims)]
    assert groups == [["A-1", "A-3", "A-4"], ["A-2"]]


names = st.sampled_from(["x", "y", "z"])
claim_lists = st.lists(
    st.tuples(
        names,
        st.sampled_from(["ann", "bob", "cid"]),
        st.sampled_from(["support", "support", "reject", "uncertain"]),
        st.integers(0, 6),
    ),
    max_size=7,
).map(
    lambda rows: [
        said(f"A-{number}", value, by, stance, at)
        for number, (value, by, stance, at) in enumerate(rows)
    ]
)
shapes = st.builds(
    Shape,
    functional=st.booleans(),
    overlap_conflicts=st.booleans(),
    complete=st.booleans(),
    negations=st.sampled_from([{}, {"x": "y", "y": "x"}]),
)


@settings(deadline=None, max_examples=200)
@given(claim_lists, shapes, st.sampled_from([STRUCTURAL, MEMORY_DEFAULT]), st.randoms())
def test_order_never_matters_whatever_the_predicate_declares(
    claims: list[Claim], shape: Shape, policy: str, random: object
) -> None:
    ask = Question(START + timedelta(days=4), policy=policy)
    expected = project(claims, ["x", "y", "z"], ask, shape)
    shuffled = list(claims)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert project(shuffled, ["z", "y", "x"], ask, shape) == expected


@settings(deadline=None, max_examples=200)
@given(claim_lists, shapes, st.sampled_from([STRUCTURAL, MEMORY_DEFAULT]))
def test_statuses_and_what_goes_with_them_agree(
    claims: list[Claim], shape: Shape, policy: str
) -> None:
    ask = Question(START + timedelta(days=4), policy=policy)
    slot = project(claims, ["x", "y", "z"], ask, shape)
    for belief in slot.candidates.values():
        if belief.status == "accepted":
            assert belief.leading == "support"
            assert not belief.conflict_refs
            assert not belief.conflict_reasons
        if belief.status in ("uncertain", "insufficient"):
            assert belief.leading == "none"
        if belief.status == "insufficient":
            assert not belief.support
            assert not belief.opposition
        if belief.status in ("uncertain", "insufficient"):
            assert bool(belief.reasons) == (belief.status == "uncertain")
    assert set(slot.accepted) == {
        value for value, belief in slot.candidates.items() if belief.status == "accepted"
    }


@settings(deadline=None, max_examples=100)
@given(claim_lists, shapes)
def test_a_value_that_nobody_speaks_of_changes_nothing(claims: list[Claim], shape: Shape) -> None:
    ask = Question(START + timedelta(days=4))
    alone = project(claims, ["x", "y", "z"], ask, shape)
    more = project(claims, ["x", "y", "z", "w"], ask, shape)
    assert {v: more.candidates[v] for v in "xyz"} == dict(alone.candidates)
