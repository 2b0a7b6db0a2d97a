"""Study, tastes, nicknames and misspelt cues in many words; and what only looks like them."""

from __future__ import annotations

import pytest

from pipelines.formation.english.spelling import capitalised, mended
from tests.unit.formation.spoken import formed


@pytest.mark.parametrize(
    "words",
    [
        "in my second year of geology at",
        "in my final year at",
        "doing a PhD in chemistry at",
        "doing geology at",
        "reading history at",
        "majoring in physics at",
        "a student at",
        "a second-year geology student at",
        "a first-year at",
        "a PhD candidate at",
        "enrolled at",
        "working on my master's at",
        "pursuing a degree in law at",
    ],
)
def test_ways_to_say_where_one_studies(words: str) -> None:
    found = formed(f"I'm {words} Harrowgate University.")
    assert "Ann studies_at Harrowgate University" in found
    assert not any("works_for" in x for x in found)


@pytest.mark.parametrize(
    "text",
    [
        "I'm in my third year at Acme Ltd.",
        "I did a PhD at Harrowgate University.",
        "I graduated from Harrowgate University in 2012.",
        "I'm giving a talk at Harrowgate University.",
        "I'm at Harrowgate University tomorrow.",
        "I'm reading a book at Harrowgate University.",
        "I'd like to study at Harrowgate University.",
        "I'm a senior lecturer at Harrowgate University.",
        "I'm a student advisor at Harrowgate University.",
    ],
)
def test_other_ties_to_a_university_are_no_studies(text: str) -> None:
    assert not any("studies_at" in x for x in formed(text))


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("For long trips I prefer trains to planes.", "Ann prefers trains"),
        ("On long flights, I prefer an aisle seat.", "Ann prefers aisle seat"),
        ("In the morning I prefer tea to coffee.", "Ann prefers tea"),
        ("When it rains, I prefer the bus.", "Ann prefers bus"),
        ("When travelling, I prefer hotels to hostels.", "Ann prefers hotels"),
        ("Given the choice, I prefer trains over planes.", "Ann prefers trains"),
        ("Between trains and planes I prefer trains.", "Ann prefers trains"),
        ("Trains rather than planes for me.", "Ann prefers trains"),
        ("I would rather take trains than planes.", "Ann prefers trains"),
        ("At parties I hate small talk.", "not Ann prefers small talk"),
        ("In winter I love skiing.", "Ann prefers skiing"),
    ],
)
def test_a_preference_may_have_an_occasion_before_it(text: str, item: str) -> None:
    assert formed(text) == {item}


@pytest.mark.parametrize(
    "text",
    [
        "For this trip I prefer the train.",
        "I prefer to walk.",
        "I'd rather not fly.",
        "If I have the choice, I prefer trains.",
        "In my novel I prefer trains.",
        "On Sunday evenings I like to cook.",
    ],
)
def test_single_occasions_and_acts_are_no_preferences(text: str) -> None:
    assert formed(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "My mates call me Bix.",
        "Most of my friends call me Bix.",
        "Everybody at work calls me Bix.",
        "My family has always called me Bix.",
        "Bix is what my friends call me.",
        "People know me as Bix.",
        "My nickname's Bix.",
        "In the band they call me Bix.",
        "I'm Benjamin, but you can call me Bix.",
        "Call me Bix for short.",
    ],
)
def test_ways_to_give_a_nickname(text: str) -> None:
    assert formed(text) == {"Ann also_known_as Bix"}


@pytest.mark.parametrize(
    "text",
    [
        "They called me Bix at school.",
        "My old nickname was Bix.",
        "I hate it when people call me Bix.",
        "Everyone calls the boss Kim.",
        "People call me crazy.",
        "Call me Monday.",
    ],
)
def test_past_refused_and_other_names_are_no_nicknames(text: str) -> None:
    assert formed(text) == set()


def test_the_nickname_of_another_person() -> None:
    assert formed('We call my brother Tom "Tommy".') == {
        "Ann sibling_of Tom",
        "Tom also_known_as Tommy",
    }
    assert formed("My sister Ana, everyone calls her Nan.") == {
        "Ann sibling_of Ana",
        "Ana also_known_as Nan",
    }


def test_slips_in_cue_words_are_put_right() -> None:
    assert formed(
        "hi, i liv in krakow, i work fro bluefern logistics and im alergic to peanutts"
    ) == {
        "Ann lives_in krakow",
        "Ann works_for Bluefern Logistics",
        "Ann allergic_to peanutts",
    }


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("i lve in leeds", "Ann lives_in leeds"),
        ("i wrok at bluefern logistics", "Ann works_for Bluefern Logistics"),
        ("im alergic too nuts", "Ann allergic_to nuts"),
        ("i'm allerigc to cats", "Ann allergic_to cats"),
        ("i hatte coffee", "not Ann prefers coffee"),
        ("i prefr tea", "Ann prefers tea"),
        ("i spek german", "Ann speaks de"),
        ("i live in new york", "Ann lives_in new york"),
    ],
)
def test_one_slip_at_a_time(text: str, item: str) -> None:
    assert formed(text) == {item}


@pytest.mark.parametrize(
    "text",
    [
        "i leave in the morning",
        "I leave in Berlin",
        "i life in berlin",
        "i work for free",
        "i work for peanuts",
        "i work for a bank",
        "i work at home office",
        "i live in denial",
        "i live in rented accommodation",
        "i live in a small town",
        "I lake tea",
        "I refer to tea",
        "I have a hat like that",
    ],
)
def test_other_words_are_left_alone(text: str) -> None:
    assert mended(text) == text
    assert formed(text) == set()


def test_capitals_are_given_back_only_where_none_are_written() -> None:
    assert capitalised("i work for acme corp") == "i work for Acme Corp"
    assert capitalised("Tom and i work for acme corp") == "Tom and i work for acme corp"
    assert capitalised("i work at night school") == "i work at night school"
