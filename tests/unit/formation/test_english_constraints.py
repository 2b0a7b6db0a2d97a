"""Standing instructions, and their end."""

from __future__ import annotations

import pytest

from tests.unit.formation.spoken import formed


@pytest.mark.parametrize(
    "text",
    [
        "Always answer in French.",
        "Please never use emojis with me.",
        "From now on, give prices in euros.",
        "In future, please keep your answers short.",
        "I want you to always cite your sources.",
        "You should always ask before booking anything.",
        "Whenever I ask for a recipe, use metric units.",
        "When you write code for me, always use type hints.",
        "Don't use exclamation marks.",
        "Please don't suggest restaurants with seafood.",
        "Stop using emojis.",
        "Keep your answers under a hundred words.",
        "Only reply in English.",
        "Use metric units from now on.",
        "Could you always answer in French?",
        "Please address me formally at all times.",
        "All your answers must be in Dutch.",
    ],
)
def test_a_standing_instruction_is_kept_in_the_speakers_words(text: str) -> None:
    assert formed(text) == {f"rule: {text}"}


@pytest.mark.parametrize(
    ("given", "later"),
    [
        ("Always answer in French.", "Stop answering in French."),
        ("Never use emojis.", "Emojis are fine again."),
        ("Always reply in bullet points.", "You don't have to use bullet points any more."),
        ("Always reply in bullet points.", "Forget that rule."),
    ],
)
def test_one_taken_back_is_gone(given: str, later: str) -> None:
    assert formed(given, later) == set()


def test_a_new_language_of_reply_takes_the_place_of_the_old() -> None:
    assert formed("Always answer in French.", "Answer in German from now on.") == {
        "rule: Answer in German from now on."
    }


def test_orders_among_people_bind_no_assistant() -> None:
    assert formed("Ann: Always lock the gate, Bob.", "Bob: Don't leave the light on.") == set()
