"""Promises, obligations, appointments and reminders, and what becomes of them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.unit.formation.spoken import formed

DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("I'll send you the slides by Friday.", "Ann: send you the slides @2026-12-04"),
        ("ill send the slides tomorrow", "Ann: send the slides @2026-12-01"),
        ("I promise to return the ladder on Sunday.", "Ann: return the ladder @2026-12-06"),
        ("I promise I'll return the ladder.", "Ann: return the ladder"),
        ("I'm going to repaint the shed in two weeks.", "Ann: repaint the shed @2026-12-14"),
        ("I'm gonna fix the sink tonight", "Ann: fix the sink @2026-11-30"),
        ("I need to renew my passport before 15 January.", "Ann: renew my passport @2027-01-15"),
        ("I've got to finish the report by EOD.", "Ann: finish the report @2026-11-30"),
        ("I plan to move to Galway in March.", "Ann: move to Galway @2027-03-31"),
        ("I'm supposed to give a talk on 3 December.", "Ann: give a talk @2026-12-03"),
        ("I'm meeting Tom on Wednesday.", "Ann: meeting Tom @2026-12-02"),
        ("I fly to Oslo on Saturday.", "Ann: fly to Oslo @2026-12-05"),
        ("I have an interview on Thursday.", "Ann: interview @2026-12-03"),
        ("My flight to Rome leaves on Friday.", "Ann: flight to Rome @2026-12-04"),
        (
            "Tomorrow I'll drop the books at the library.",
            "Ann: drop the books at the library @2026-12-01",
        ),
        ("I'll let you know by Tuesday.", "Ann: let you know @2026-12-01"),
        ("Remind me to call mum on Sunday.", "Ann: call mum @2026-12-06"),
        ("Please remind me tomorrow to buy stamps.", "Ann: buy stamps @2026-12-01"),
        ("Can you remind me to water the plants on Monday?", "Ann: water the plants @2026-12-07"),
        ("Don't let me forget to pay the rent on the 1st.", "Ann: pay the rent @2026-12-01"),
        ("Note to self: cancel the gym by Friday.", "Ann: cancel the gym @2026-12-04"),
        ("Thanks Bob, I'll pay the supplier on Friday.", "Ann: pay the supplier @2026-12-04"),
    ],
)
def test_a_commitment_is_read_with_its_due_date(text: str, item: str) -> None:
    assert formed(text) == {item}


def test_each_promise_belongs_to_its_speaker() -> None:
    assert formed("Ann: I'll order the cake.", "Bob: I'll bring the candles.") == {
        "Ann: order the cake",
        "Bob: bring the candles",
    }
    assert formed("@Aide: I'll send you the draft by Friday.") == {
        "Aide: send you the draft @2026-12-04"
    }


@pytest.mark.parametrize(
    ("later", "item"),
    [
        ("Painted the fence this morning.", "Ann: paint the fence @2026-12-06, fulfilled"),
        ("The fence is painted!", "Ann: paint the fence @2026-12-06, fulfilled"),
        ("Done!", "Ann: paint the fence @2026-12-06, fulfilled"),
        ("I've finished the fence.", "Ann: paint the fence @2026-12-06, fulfilled"),
        ("I won't paint the fence.", "Ann: paint the fence @2026-12-06, cancelled"),
        ("Can't do it after all.", "Ann: paint the fence @2026-12-06, cancelled"),
        ("Cancel that.", "Ann: paint the fence @2026-12-06, cancelled"),
        ("The fence painting is cancelled.", "Ann: paint the fence @2026-12-06, cancelled"),
        ("Let's make it Monday instead.", "Ann: paint the fence @2026-12-14"),
        ("I meant Saturday.", "Ann: paint the fence @2026-12-12"),
        ("I'll paint the fence on Friday instead.", "Ann: paint the fence @2026-12-11"),
        ("Got it!", "Ann: paint the fence @2026-12-06"),
        ("My friends are painting a mural.", "Ann: paint the fence @2026-12-06"),
        ("I broke the fence.", "Ann: paint the fence @2026-12-06"),
        ("I painted the shed.", "Ann: paint the fence @2026-12-06"),
        ("I haven't painted the fence yet.", "Ann: paint the fence @2026-12-06"),
    ],
)
def test_a_later_message_changes_it(later: str, item: str) -> None:
    assert formed("I'll paint the fence on Sunday.", 7 * DAY, later) == {item}


def test_somebody_else_may_release_from_a_promise() -> None:
    assert formed("I'll bring the cake.", "Bob: No need to bring the cake, Ann.") == {
        "Ann: bring the cake, cancelled"
    }


def test_a_day_that_does_not_suit_only_moves_it() -> None:
    assert formed(
        "I'll call the plumber on Tuesday.",
        "I can't make Tuesday, so I'll call the plumber on Wednesday.",
    ) == {"Ann: call the plumber @2026-12-02"}
