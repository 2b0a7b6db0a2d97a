"""Conditions of Watches over entries of change envelopes, without a database."""

from __future__ import annotations

from typing import Any

import pytest

from storage.settlement.conditions import Changes, Condition, Slot, proposition_of

PERSON = "kip://profiles/cognitive-memory@2.0.0/Person"
STRENGTH = "kip://profiles/cognitive-memory@2.0.0/MnemonicState"
UPDATE = {
    "op": "update",
    "kind": "concept",
    "id": "C-1",
    "schema_ref": PERSON,
    "touched": ["attributes.age", f"facets.{STRENGTH}.salience", "fields.name"],
}
CLAIM = {"op": "create", "kind": "assertion", "id": "A-1", "refs": {"proposition": "P-1"}}
SLOTS = {"P-1": ("C-1", "kip://domains/general/lives_in")}


def condition(**given: Any) -> Condition:
    members = dict.fromkeys(("elements", "slot", "types", "ops", "touched"))
    return Condition(**{**members, "digest": "sha256:0", **given})


def stream(*entries: tuple[int, Any]) -> Changes:
    changes = Changes()
    for seq, entry in entries:
        changes.add(seq, entry, SLOTS)
    return changes


def first(one: Condition, changes: Changes, **bounds: Any) -> int | None:
    found = one.first(changes, **{"after": 0, "through": None, "besides": "", **bounds})
    return None if found is None else found.seq


@pytest.mark.parametrize(
    ("touched", "meets"),
    [
        ("attributes", True),
        ("attributes.age", True),
        ("attributes.ag", False),
        ("attribute", False),
        ("fields", True),
        ("facets", True),
        ("facets.MnemonicState", True),
        ("facets.MnemonicState.salience", True),
        (f"facets.{STRENGTH}", True),
        (f"facets.{STRENGTH}.salience", True),
        ("facets.MnemonicState.utility", False),
        ("facets.Other", False),
    ],
)
def test_touched_names_a_path_or_what_it_lies_in(touched: str, meets: bool) -> None:
    one = condition(elements=frozenset({"C-1"}), touched=(touched,))
    assert first(one, stream((3, UPDATE))) == (3 if meets else None)


def test_a_change_without_paths_meets_no_path() -> None:
    made = {**UPDATE, "op": "create", "touched": []}
    assert first(condition(elements=frozenset({"C-1"})), stream((3, made))) == 3
    one = condition(elements=frozenset({"C-1"}), touched=("attributes",))
    assert first(one, stream((3, made))) is None


def test_selectors_hold_together() -> None:
    person = frozenset({"kip://profiles/cognitive-memory/Person"})
    changes = stream((3, UPDATE))
    assert first(condition(types=person), changes) == 3
    assert first(condition(types=person, elements=frozenset({"C-1"})), changes) == 3
    assert first(condition(types=person, elements=frozenset({"C-2"})), changes) is None
    assert first(condition(types=person, ops=frozenset({"create"})), changes) is None
    assert first(condition(types=person, ops=frozenset({"create", "update"})), changes) == 3


def test_a_slot_is_met_by_its_proposition_and_by_claims_on_it() -> None:
    one = condition(slot=Slot(frozenset({"C-1", "C-9"}), frozenset({SLOTS["P-1"][1]})))
    made = {"op": "create", "kind": "proposition", "id": "P-1", "refs": {"subject": "C-1"}}
    assert first(one, stream((3, UPDATE), (4, CLAIM), (5, made))) == 4
    assert first(one, stream((5, made))) == 5
    other = condition(slot=Slot(frozenset({"C-2"}), frozenset({SLOTS["P-1"][1]})))
    assert first(other, stream((4, CLAIM), (5, made))) is None
    assert proposition_of({"kind": "evidence", "id": "E-1"}) is None


def test_only_a_stretch_counts_and_never_the_watch_itself() -> None:
    changes = stream((3, UPDATE), (5, UPDATE), (8, UPDATE))
    one = condition(elements=frozenset({"C-1"}))
    assert first(one, changes) == 3
    assert first(one, changes, after=3) == 5
    assert first(one, changes, after=5, through=7) is None
    assert first(one, changes, after=8) is None
    assert first(one, changes, besides="C-1") is None
