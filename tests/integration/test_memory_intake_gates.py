"""The gates of a turn: what no encoder may get written, whatever it says."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from pipelines.formation import gates
from pipelines.formation.gates import TurnRefused
from pipelines.formation.intents import Intent
from pipelines.formation.proposal import (
    Background,
    Claim,
    ClaimRef,
    KnownClaim,
    Proposal,
    Purpose,
    Retraction,
)
from pipelines.formation.purposes import fitted
from storage.graph.changes import (
    ChangeSet,
    CreateAssertion,
    CreateEvidence,
    Transition,
    UpsertConcept,
)

CLAIM = CreateAssertion("?a", "P-1", "C-1", "stated", contexts=("C-9",))
FACET = {"task_ref": "C-9", "context_refs": []}
EVIDENCE = CreateEvidence("?e", "user_statement", "x", facets={"MemoryScope": FACET})
EVENT = UpsertConcept("?event", type="Event", key="k", facets={"MemoryScope": FACET})
REVISE = Intent("revise", "src-1")


def check(*changes: Any, intent: Intent = REVISE, scoped: bool = True) -> None:
    contexts = frozenset({"C-9"}) if scoped else frozenset()
    gates.check(ChangeSet(changes), intent, contexts, FACET if scoped else None)


@pytest.mark.parametrize(
    "changes",
    [
        (replace(CLAIM, contexts=()),),
        (replace(CLAIM, contexts=("C-9", "C-8")),),
        (CLAIM, replace(EVIDENCE, facets={})),
        (CLAIM, replace(EVENT, facets={})),
        (UpsertConcept("?k", type="Commitment", key="k"),),
        (UpsertConcept("?i", type="Insight", key="k"),),
        (UpsertConcept("?x", type="Experience", key="k"),),
    ],
)
def test_a_scoped_turn_writes_nothing_without_its_scope(changes: Any) -> None:
    check(CLAIM, EVIDENCE, EVENT, UpsertConcept("?p", type="Person", key="k"))
    with pytest.raises(TurnRefused):
        check(*changes)


def test_an_unscoped_turn_writes_nothing_into_a_scope() -> None:
    with pytest.raises(TurnRefused):
        check(CLAIM, scoped=False)


@pytest.mark.parametrize("kind", ["world_change", "misrecorded", "unspecified"])
@pytest.mark.parametrize("to", ["superseded", "retracted"])
def test_only_a_correction_ends_a_claim(kind: Any, to: Any) -> None:
    ended = Transition("A-1", to, by="?a" if to == "superseded" else None)
    with pytest.raises(TurnRefused):
        check(CLAIM, ended, intent=replace(REVISE, change=kind))
    check(CLAIM, ended, intent=replace(REVISE, change="correction", target_ref="A-1"))
    with pytest.raises(TurnRefused):
        check(CLAIM, ended, intent=replace(REVISE, change="correction", target_ref="A-2"))


def test_a_change_of_the_world_is_one_claim() -> None:
    intent = replace(REVISE, change="world_change")
    check(CLAIM, intent=intent)
    with pytest.raises(TurnRefused):
        check(CLAIM, replace(CLAIM, handle="?b"), intent=intent)


@pytest.mark.parametrize(
    "intent", [Intent("feedback", "src-1"), replace(REVISE, change="misrecorded")]
)
def test_what_is_kept_only_claims_nothing(intent: Intent) -> None:
    check(EVIDENCE, intent=intent)
    with pytest.raises(TurnRefused):
        check(CLAIM, intent=intent)


# --- what a proposal comes to under its purpose ---------------------------------------------------

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HELD = KnownClaim("A-1", "Bo", "lives_in", "Oslo", "Place", "support", "Bo", NOON)


def lives(where: str, by: str = "Bo", **more: Any) -> Claim:
    return Claim("Bo", "lives_in", where, "Place", "support", by, 0, **more)


def under(change: Any, *claims: Claim, target: Any = HELD, **more: Any) -> Proposal:
    return fitted(
        Proposal(claims=claims, **more), Purpose(change, target), Background(claims=(HELD,))
    )


def test_a_correction_is_of_the_speakers_own_claim_in_its_slot() -> None:
    for target in (HELD, None):
        [claim] = under("correction", lives("Bergen"), target=target).claims
        assert (claim.change, claim.revises) == ("correction", ClaimRef(known="A-1"))
        [other] = under("correction", lives("Bergen", by="Eve"), target=target).claims
        assert other.change is None
        [same] = under("correction", lives("oslo"), target=target).claims
        assert same.change is None
    assert under("correction", lives("Bergen", by="Eve")).warnings
    assert not under("correction", lives("Bergen")).warnings


def test_a_named_target_is_the_only_one_that_is_corrected() -> None:
    away = lives("Bergen", change="correction", revises=ClaimRef(known="A-7"))
    owns = replace(away, predicate="owns", object="a boat")
    [first, second] = under("correction", lives("Bergen"), owns).claims
    assert first.revises == ClaimRef(known="A-1")
    assert (second.change, second.revises) == (None, None)


def test_a_change_of_the_world_takes_one_claim_and_no_retraction() -> None:
    gone = (Retraction(ClaimRef(known="A-1"), 0),)
    found = under(
        "world_change",
        lives("Bergen", change="correction", revises=ClaimRef(known="A-1")),
        Claim("Bo", "prefers", "tea", "Drink", "support", "Bo", 0),
        retractions=gone,
    )
    assert [(c.object, c.change) for c in found.claims] == [("Bergen", "world_change")]
    assert found.retractions == ()
    assert found.warnings
    unclear = under("world_change", lives("Bergen"), lives("Rome"))
    assert (unclear.claims, bool(unclear.warnings)) == ((), True)


def test_a_repair_takes_the_source_alone() -> None:
    report = replace(lives("Rome"), message=1)
    found = under("misrecorded", lives("Bergen", change="correction"), report)
    assert [(c.object, c.change) for c in found.claims] == [("Bergen", None)]
