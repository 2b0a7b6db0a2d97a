"""Facts in plain English: one sentence, and all that it states."""

from __future__ import annotations

import pytest

from tests.unit.formation.spoken import formed


def _set(items: str) -> set[str]:
    return {i.strip() for i in items.split(";") if i.strip()}


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("I live in Berlin.", "Ann lives_in Berlin"),
        ("i live in berlin", "Ann lives_in berlin"),
        ("I'm living in Lyon these days.", "Ann lives_in Lyon"),
        ("We live in Graz, near the river.", "Ann lives_in Graz"),
        ("Since May 2022 I've lived in Ghent.", "Ann lives_in Ghent since 2022-05"),
        ("I've lived in Ghent since May 2022.", "Ann lives_in Ghent since 2022-05"),
        ("I currently reside in New York City.", "Ann lives_in New York City"),
        ("I moved from Oslo to Bergen in March.", "Ann lives_in Bergen since 2026-03"),
        ("Moved to Malmö on Saturday!", "Ann lives_in Malmö since 2026-11-28"),
        ("I live in a tiny flat in Leith.", "Ann lives_in Leith"),
        ("I live in northern Italy.", "Ann lives_in Italy"),
        ("My home is in Kisumu.", "Ann lives_in Kisumu"),
        ("I'm from Cork originally.", "Ann comes_from Cork"),
        ("I was born and raised in Trieste.", "Ann comes_from Trieste"),
        (
            "I'm from Cork, but I've lived in Lyon since 2018, "
            "where I work as a chef at Bistro Nord.",
            "Ann comes_from Cork; Ann lives_in Lyon since 2018; Ann works_as chef; "
            "Ann works_for Bistro Nord",
        ),
        ("I no longer live in Prague.", "not Ann lives_in Prague"),
        ("I moved out of Prague in August.", "not Ann lives_in Prague since 2026-08"),
        ("I used to live in Oslo, now I live in Bergen.", "Ann lives_in Bergen"),
        ("Ben lives in Kent.", "Ben lives_in Kent"),
        ("Tom and Ana live in Ghent.", "Tom lives_in Ghent; Ana lives_in Ghent"),
    ],
)
def test_homes_and_origins(text: str, items: str) -> None:
    assert formed(text) == _set(items)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        (
            "I work at Delta Robotics as a welder.",
            "Ann works_for Delta Robotics; Ann works_as welder",
        ),
        ("I work for a small startup called Blue Fern.", "Ann works_for Blue Fern"),
        ("I work in marketing at Tallis Group.", "Ann works_for Tallis Group"),
        (
            "I'm a software engineer at Kestrel Maps.",
            "Ann works_as software engineer; Ann works_for Kestrel Maps",
        ),
        ("I'm an electrician.", "Ann works_as electrician"),
        (
            "I've worked at Olive Grove Studio since 2019.",
            "Ann works_for Olive Grove Studio since 2019",
        ),
        ("I joined Acme Corp in 2021.", "Ann works_for Acme Corp since 2021"),
        (
            "I started at Tidewater Surveys on 1 October.",
            "Ann works_for Tidewater Surveys since 2026-10-01",
        ),
        ("I got laid off from Acme on Friday.", "not Ann works_for Acme since 2026-11-27"),
        ("I no longer work for Acme.", "not Ann works_for Acme"),
        (
            "My uncle Sorin is with Gable Joinery.",
            "Ann relative_of Sorin; Sorin works_for Gable Joinery",
        ),
        (
            "I'm head of design at Blue Fern.",
            "Ann works_as head of design; Ann works_for Blue Fern",
        ),
        ("I joined the chess club last week.", "Ann member_of chess club"),
        ("I sing in the Harbour Choir.", "Ann member_of Harbour Choir"),
        (
            "I've been a member of the Alpine Club since 2019.",
            "Ann member_of Alpine Club since 2019",
        ),
        ("I'm not in the tennis club.", "not Ann member_of tennis club"),
        ("I'm studying law at Ghent University.", "Ann studies_at Ghent University"),
        ("I'm a student at Ghent University.", "Ann studies_at Ghent University"),
    ],
)
def test_work_membership_and_study(text: str, items: str) -> None:
    assert formed(text) >= _set(items)
    assert not any("works_for Ghent" in i for i in formed(text))


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("I speak Portuguese and a little Greek.", "Ann speaks pt; Ann speaks el"),
        ("Mandarin is my first language.", "Ann speaks zh"),
        ("I'm a native Hungarian speaker.", "Ann speaks hu"),
        ("I can speak some Polish but not Czech.", "Ann speaks pl; not Ann speaks cs"),
        ("My timezone is Europe/Berlin.", "Ann timezone Europe/Berlin"),
        ("I'm on UTC+2.", "Ann timezone +02:00"),
        ("I'm in the Pacific time zone.", "Ann timezone America/Los_Angeles"),
        ("My birthday is on the 4th of July.", "Ann born_on --07-04"),
        ("I was born on 12 March 1988.", "Ann born_on 1988-03-12"),
        ("My son Leo's birthday is May 7.", "Ann parent_of Leo; Leo born_on --05-07"),
        ("Call me Sasha.", "Ann also_known_as Sasha"),
        ("Everyone calls me 'Kit'.", "Ann also_known_as Kit"),
        ("I go by Alex.", "Ann also_known_as Alex"),
    ],
)
def test_languages_birthdays_and_names(text: str, items: str) -> None:
    assert formed(text) == _set(items)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("I like tea, coffee and cocoa.", "Ann prefers tea; Ann prefers coffee; Ann prefers cocoa"),
        ("I prefer rye rather than wheat.", "Ann prefers rye"),
        ("I prefer tea over coffee in the morning.", "Ann prefers tea"),
        ("I'd prefer the window seat.", "Ann prefers window seat"),
        ("I love pizza but not pineapple.", "Ann prefers pizza; not Ann prefers pineapple"),
        ("I hate olives.", "not Ann prefers olives"),
        ("I don't like mushrooms.", "not Ann prefers mushrooms"),
        ("I'm not a fan of horror films.", "not Ann prefers horror films"),
        ("My favourite colour is green.", "Ann prefers green"),
        ("My least favourite vegetable is kale.", "not Ann prefers kale"),
        ("My wife Dana loves opera.", "Ann partner_of Dana; Dana prefers opera"),
        ("I'm really into pottery these days.", "Ann interested_in pottery"),
        ("My hobbies are chess and baking.", "Ann interested_in chess; Ann interested_in baking"),
        ("I'm not interested in football.", "not Ann interested_in football"),
        (
            "I'm allergic to peanuts and shellfish.",
            "Ann allergic_to peanuts; Ann allergic_to shellfish",
        ),
        ("I have a severe nut allergy.", "Ann allergic_to nut"),
        ("I'm not allergic to cats.", "not Ann allergic_to cats"),
        ("I've been vegetarian since 2015.", "Ann follows_diet vegetarian since 2015"),
        ("I'm no longer vegetarian.", "not Ann follows_diet vegetarian"),
        ("I eat halal.", "Ann follows_diet halal"),
        ("I've got a piano and a van.", "Ann owns piano; Ann owns van"),
        ("I sold my car last month.", "not Ann owns car since 2026-10"),
        ("We have two cats, Mia and Tux.", "Ann has_pet Mia; Ann has_pet Tux"),
        ("My dog's name is Fido.", "Ann has_pet Fido"),
    ],
)
def test_tastes_health_and_belongings(text: str, items: str) -> None:
    assert formed(text) == _set(items)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("I'm married to Dora.", "Ann partner_of Dora"),
        ("My husband is called Ravi.", "Ann partner_of Ravi"),
        ("I have two brothers, Ivo and Luka.", "Ann sibling_of Ivo; Ann sibling_of Luka"),
        ("My parents are Anna and Karl.", "Anna parent_of Ann; Karl parent_of Ann"),
        ("Paolo is my boss.", "Ann reports_to Paolo"),
        ("I report to Vera.", "Ann reports_to Vera"),
        ("My manager is no longer Karin.", "not Ann reports_to Karin"),
        ("Jonas is a friend of mine.", "Ann friend_of Jonas"),
        ("Mia and I are colleagues.", "Ann colleague_of Mia"),
        ("Ana is Tom's sister.", "Tom sibling_of Ana"),
        ("My sister Ana's husband Tom is a pilot.", "Ann sibling_of Ana; Ana partner_of Tom"),
        (
            "My aunt Rosa, who lives in Seville, is a baker.",
            "Ann relative_of Rosa; Rosa lives_in Seville; Rosa works_as baker",
        ),
        ("Petra, my cousin, lives in Zagreb.", "Ann relative_of Petra; Petra lives_in Zagreb"),
    ],
)
def test_ties_between_persons(text: str, items: str) -> None:
    assert formed(text) == _set(items)


def test_a_pronoun_means_the_one_person_who_fits() -> None:
    assert "Lena lives_in Ulm since 2026-03" in formed(
        "Bob: How is Lena doing?", "She moved to Ulm in March."
    )
    assert formed("Ada and Ngozi came to dinner. She lives in Lagos.") == set()
    assert "Ann reports_to Karin" in formed("I met Karin yesterday. She is my new boss.")


def test_an_answer_completes_the_question_before_it() -> None:
    assert formed("Bob: Where do you live?", "In Tartu.") == {"Ann lives_in Tartu"}
    assert formed("Bob: Any allergies?", "None!") == set()
    assert formed("@Aide: When is your birthday?", "March 4th.") == {"Ann born_on --03-04"}


def test_a_profile_may_come_as_labels() -> None:
    assert formed(
        "About me:\n- Location: Graz\n- Languages: German, English\n"
        "- Birthday: 3 May\n- Allergies: nuts"
    ) == {
        "Ann lives_in Graz",
        "Ann speaks de",
        "Ann speaks en",
        "Ann born_on --05-03",
        "Ann allergic_to nuts",
    }
