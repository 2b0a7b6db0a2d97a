"""What a writer may do, and what the host holds a model to."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from storage.graph.changes import (
    Change,
    Citation,
    CreateActivity,
    CreateAssertion,
    CreateConcept,
    CreateEvidence,
    DefineSymbol,
    MergeConcept,
    Purge,
    SetRetention,
    Transition,
    UpdateConcept,
    UpdateRecord,
    UpsertConcept,
)
from storage.graph.errors import ConstraintViolation
from storage.graph.validity import ValidTime
from storage.kip.errors import (
    ActorBindingRequired,
    InvalidRequestEnvelope,
    KipError,
    NotAuthorized,
    UnsupportedCapability,
)
from storage.kip.mutation.authority import PERMISSIONS, Authority, RetractionNotAuthorized
from storage.kip.mutation.gates import Gates

AT = datetime(2026, 3, 1, tzinfo=UTC)
PIN = {"artifact_ref": "kip:strength-half-life-30d", "content_digest": "sha256:00"}
CAPTURED = frozenset({"E-1", "?msg1"})
MODEL = Gates(model=True, strength_policy=PIN)


def claim(**fields: Any) -> CreateAssertion:
    return CreateAssertion("?a", "P-1", "C-1", "stated", **fields)


def strength(**fields: Any) -> UpdateConcept:
    return UpdateConcept("C-1", facets={"MnemonicState": fields})


def refused(gates: Gates, *changes: Change) -> type[KipError] | None:
    try:
        gates.check(changes, CAPTURED)
    except KipError as error:
        return type(error)
    return None


@pytest.mark.parametrize("evidence", sorted(CAPTURED))
def test_a_claim_from_a_captured_message_is_dated(evidence: str) -> None:
    cited = (Citation(evidence),)
    assert refused(MODEL, claim(citations=cited)) is ConstraintViolation
    assert refused(MODEL, claim(citations=cited, asserted_at=AT)) is None
    assert refused(MODEL, claim(citations=cited, valid=ValidTime(AT))) is None
    assert refused(MODEL, claim(citations=(Citation("E-2"),))) is None
    assert refused(Gates(), claim(citations=cited)) is None


def test_a_strength_comes_with_its_anchor_and_the_policy_of_the_host() -> None:
    whole = {"memory_strength": 0.5, "last_metabolized_at": "x", "strength_policy": PIN}
    assert refused(MODEL, strength(memory_strength=0.5)) is ConstraintViolation
    assert refused(MODEL, strength(**whole)) is None
    assert refused(MODEL, strength(**{**whole, "strength_policy": {}})) is ConstraintViolation
    assert refused(MODEL, strength(salience=0.5)) is None
    assert refused(Gates(), strength(memory_strength=0.5)) is None


@pytest.mark.parametrize(
    "change",
    [
        CreateActivity("?x", "action_attempt", facets={"AttemptRecord": {}}),
        CreateEvidence("?e", "outcome", "x", facets={"OutcomeRecord": {}}),
        UpdateConcept("C-1", facets={"kip://profiles/cognitive-memory@2.0.0/GradingState": {}}),
        UpdateConcept("C-1", unset_facets={"WatchState": ("matched",)}),
        UpsertConcept("?c", id="C-1", facets={"LeaseState": {}}),
        CreateConcept("?c", "Skill", facets={"GradingState": {}}),
    ],
)
def test_facets_of_learning_are_no_models_to_write(change: Change) -> None:
    assert refused(MODEL, change) is UnsupportedCapability
    assert refused(Gates(), change) is None


@pytest.mark.parametrize(
    "change",
    [
        Transition("E-1", "corrected", "E-2"),
        UpdateRecord("?msg1", facets={"MemoryScope": {}}),
        SetRetention("E-1", {}),
        Purge("E-1"),
    ],
)
def test_a_model_leaves_captured_messages_as_they_are(change: Change) -> None:
    assert refused(MODEL, change) is NotAuthorized
    assert refused(Gates(), change) is None


def test_parameters_do_not_stand_in_for_captured_messages() -> None:
    with pytest.raises(InvalidRequestEnvelope):
        MODEL.bindings({"who", "msg1"}, {"msg1", "msg2"})
    MODEL.bindings({"who"}, {"msg1", "msg2"})


@pytest.mark.parametrize(
    ("change", "permission"),
    [
        (CreateConcept("?c", "Person"), "create"),
        (UpdateConcept("C-1"), "update"),
        (UpdateRecord("A-1"), "update"),
        (MergeConcept("C-1", "C-2"), "merge_identity"),
        (Purge("C-1"), "purge"),
        (SetRetention("C-1", {}), "manage_retention"),
        (SetRetention("C-1", {"legal_hold": True}), "manage_legal_hold"),
        (Transition("C-1", "archived"), "archive"),
        (Transition("C-1", "tombstoned"), "tombstone"),
        (Transition("A-1", "retracted"), "retract_own"),
        (Transition("A-1", "superseded", "A-2"), "supersede_own"),
        (DefineSymbol("predicate", "knows_of", {}), "propose_schema"),
    ],
)
def test_an_operation_needs_its_permission(change: Change, permission: str) -> None:
    Authority("all").change(change)
    Authority("one", permissions=PERMISSIONS).change(change)
    with pytest.raises(NotAuthorized) as refusal:
        Authority("few", permissions=PERMISSIONS - {permission}).change(change)
    assert refusal.value.data["permission"] == permission


def test_speaking_and_recording_are_two_permissions() -> None:
    speaker = Authority("me", actor="C-1", permissions=frozenset({"assert"}))
    speaker.speaks("C-1")
    with pytest.raises(NotAuthorized):
        speaker.speaks("C-2")
    recorder = Authority("me", "C-1", frozenset({"record_attributed_assertion"}))
    recorder.speaks("C-2")
    with pytest.raises(NotAuthorized):
        recorder.speaks("C-1")


def test_a_reserved_actor_needs_its_own_principal() -> None:
    with pytest.raises(ActorBindingRequired):
        Authority("me", actor="C-1", reserved=frozenset({"C-9"})).speaks("C-9")
    Authority("host", actor="C-9", reserved=frozenset({"C-9"})).speaks("C-9")
    few = PERMISSIONS - {"assert_as_actor"}
    with pytest.raises(NotAuthorized):
        Authority("host", "C-9", few, frozenset({"C-9"})).speaks("C-9")


def test_only_the_actor_or_its_recorder_ends_a_claim() -> None:
    own = Authority("me", "C-1", frozenset({"retract_own"}))
    own.revokes("C-1")
    with pytest.raises(RetractionNotAuthorized):
        own.revokes("C-2")
    Authority("recorder", permissions=frozenset({"record_attributed_assertion"})).revokes("C-2")
