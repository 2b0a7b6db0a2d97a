"""Corrections, changes of the world and what is taken back, also against earlier memory."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pipelines.formation.proposal import (
    Background,
    ClaimRef,
    KnownClaim,
    KnownCommitment,
    KnownConstraint,
)
from tests.unit.formation.spoken import START, formed, proposed

MONTH = timedelta(days=30)


@pytest.mark.parametrize(
    "later",
    [
        "No wait, Bergen.",
        "Sorry, I meant Bergen.",
        "Bergen, I mistyped.",
        "*Bergen",
        "Not Oslo, Bergen.",
        "It's Bergen, not Oslo.",
        "Correction: I live in Bergen.",
        "Sorry, I live in Bergen, not Oslo.",
        "I said Oslo but I meant Bergen.",
    ],
)
def test_a_correction_leaves_only_the_right_value(later: str) -> None:
    assert formed("I live in Oslo.", later) == {"Ann lives_in Bergen"}


def test_a_correction_may_follow_in_the_same_sentence() -> None:
    assert formed("I live in Oslo, no wait, Bergen.") == {"Ann lives_in Bergen"}


@pytest.mark.parametrize("later", ["Sorry to hear that.", "No prob.", "No worries!", "Oops, busy."])
def test_a_turn_of_speech_corrects_nothing(later: str) -> None:
    assert formed("I love chess.", later) == {"Ann prefers chess"}


def test_a_slip_is_put_right_soon_or_by_name() -> None:
    chat = ("Nice day.", "Very warm.", "Too warm.")
    assert formed("I'm allergic to walnuts.", *chat, "Just kidding!") == {"Ann allergic_to walnuts"}
    assert formed("I'm allergic to walnuts.", *chat, "I was joking about the walnuts.") == set()
    assert formed("I live in Oslo.", *chat, "It's Bergen, not Oslo.") == {"Ann lives_in Bergen"}


def test_only_the_speaker_corrects_their_own_claim() -> None:
    assert formed("I live in Oslo.", "Bob: No, Bergen!") == {"Ann lives_in Oslo"}


def test_a_misheard_repetition_is_not_the_users_claim() -> None:
    assert formed(
        "I work for Brightwater Trust.",
        "@Aide: Noted, you work for Brightwell Trust.",
        "No, I said Brightwater, not Brightwell.",
    ) == {"Ann works_for Brightwater Trust"}


@pytest.mark.parametrize(
    "later",
    [
        "I was just kidding about the walnuts.",
        "Just kidding!",
        "The walnuts thing was a joke: that was a joke.",
    ],
)
def test_what_was_a_joke_is_gone(later: str) -> None:
    assert formed("I'm allergic to walnuts.", later) == set()


def test_only_the_named_part_is_taken_back() -> None:
    assert formed("I'm allergic to cats. I live in Oslo.", "The thing about cats was a joke.") == {
        "Ann lives_in Oslo"
    }


def test_a_second_taste_does_not_correct_the_first() -> None:
    assert formed("I love jazz.", "Actually, I love blues.") == {
        "Ann prefers jazz",
        "Ann prefers blues",
    }
    assert formed("I like tea.", "Sorry, I meant coffee.") == {"Ann prefers coffee"}


@pytest.mark.parametrize(
    ("before", "later", "items"),
    [
        ("I live in Oslo.", "I've moved to Bergen.", {"Ann lives_in Bergen"}),
        ("I live in Oslo.", "I live in Bergen now.", {"Ann lives_in Bergen"}),
        (
            "I work for Acme.",
            "I left Acme on 10 December and started at Globex on 15 December.",
            {"not Ann works_for Acme since 2026-12-10", "Ann works_for Globex since 2026-12-15"},
        ),
        ("I'm vegetarian.", "I'm vegan now.", {"Ann follows_diet vegan"}),
        ("I'm in the chess club.", "I left the chess club.", {"not Ann member_of chess club"}),
    ],
)
def test_a_change_of_the_world_keeps_the_old_claim(
    before: str, later: str, items: set[str]
) -> None:
    assert formed(before, MONTH, later) == formed(before) | items
    assert {c.change for c in proposed(before, MONTH, later).claims[1:]} == {"world_change"}


def _known(predicate: str, value: str, kind: str) -> Background:
    claim = KnownClaim("a1", "Ann", predicate, value, kind, "support", "Ann", START - MONTH)
    return Background(claims=(claim,))


def test_a_known_claim_is_corrected_changed_and_retracted_by_its_id() -> None:
    known = _known("lives_in", "Oslo", "Place")
    (corrected,) = proposed("It's Bergen, not Oslo.", background=known).claims
    assert (corrected.change, corrected.revises) == ("correction", ClaimRef(known="a1"))
    (moved,) = proposed("I moved to Bergen on Saturday.", background=known).claims
    assert (moved.change, moved.revises) == ("world_change", ClaimRef(known="a1"))
    assert moved.valid_from == "2026-11-28"
    allergy = _known("allergic_to", "walnuts", "Substance")
    proposal = proposed("I was joking about the walnuts.", background=allergy)
    assert [r.claim for r in proposal.retractions] == [ClaimRef(known="a1")]
    assert proposal.claims == ()


def test_another_speakers_known_claim_is_left_alone() -> None:
    known = _known("lives_in", "Oslo", "Place")
    (claim,) = proposed("Bob: I moved to Bergen.", background=known).claims
    assert (claim.subject, claim.change, claim.revises) == ("Bob", None, None)


def test_known_commitments_and_constraints_end_by_their_ids() -> None:
    background = Background(
        commitments=(KnownCommitment("c1", "pay the deposit", "Ann", None),),
        constraints=(KnownConstraint("k1", "Always reply in bullet points.", "Ann"),),
    )
    proposal = proposed(
        "I paid the deposit yesterday.", "You can stop with the bullet points now.",
        background=background,
    )  # fmt: skip
    (commitment,) = proposal.commitments
    assert (commitment.revises, commitment.status, commitment.message) == ("c1", "fulfilled", 0)
    (constraint,) = proposal.constraints
    assert (constraint.withdraws, constraint.message) == ("k1", 1)
