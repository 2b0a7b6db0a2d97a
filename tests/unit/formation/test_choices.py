"""One side of a choice just offered says as much as a whole sentence."""

from __future__ import annotations

import pytest

from tests.unit.formation.spoken import formed


@pytest.mark.parametrize(
    ("question", "answer", "item"),
    [
        ("Do you prefer tea or coffee?", "Tea, please.", "Ann prefers tea"),
        ("Which do you prefer, tea or coffee?", "Definitely coffee.", "Ann prefers coffee"),
        ("Do you prefer tea, coffee or cocoa?", "Cocoa!", "Ann prefers cocoa"),
        ("Would you rather have the aisle or the window?", "The aisle.", "Ann prefers aisle"),
        (
            "Do you prefer the window seat or the aisle seat?",
            "Window.",
            "Ann prefers window seat",
        ),
        (
            "Do you prefer morning or evening calls?",
            "Evening ones.",
            "Ann prefers evening calls",
        ),
        ("Do you like jazz or opera more?", "opera", "Ann prefers opera"),
        ("Aisle or window?", "Window, always.", "Ann prefers window"),
        ("Do you live in Leeds or in York?", "In York, now.", "Ann lives_in York"),
        ("Do you work for Acme Ltd or for Bolt Ltd?", "For Bolt Ltd.", "Ann works_for Bolt Ltd"),
        ("Are you vegetarian or vegan?", "Vegan.", "Ann follows_diet vegan"),
        ("Are you allergic to nuts or to milk?", "Milk.", "Ann allergic_to milk"),
        ("Do you speak German or Dutch?", "Dutch.", "Ann speaks nl"),
        ("Is your manager Kim or Lee?", "Kim.", "Ann reports_to Kim"),
        ("你喜欢茶还是咖啡？", "咖啡。", "Ann prefers 咖啡"),
        ("你平时喜欢喝茶还是喝咖啡？", "喝茶。", "Ann prefers 茶"),
        ("红茶还是绿茶，你更喜欢哪个？", "绿茶。", "Ann prefers 绿茶"),
        ("你住在成都还是重庆？", "重庆。", "Ann lives_in 重庆"),
        ("你对花生还是牛奶过敏？", "牛奶。", "Ann allergic_to 牛奶"),
        ("你会说粤语还是闽南语？", "粤语。", "Ann speaks yue"),
    ],
)
def test_the_chosen_side_is_claimed(question: str, answer: str, item: str) -> None:
    assert formed(f"@Aide: {question}", answer) == {item}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Do you prefer tea or coffee?", "Neither."),
        ("Do you prefer tea or coffee?", "Both."),
        ("Do you prefer tea or coffee?", "Depends."),
        ("Do you prefer tea or coffee?", "Water."),
        ("Do you prefer tea or coffee?", "The first."),
        ("Tea or coffee?", "Tea."),
        ("Shall I book the train or the bus?", "The bus."),
        ("Should I write in English or German?", "German."),
        ("Is it Monday or Tuesday?", "Tuesday."),
        ("你喜欢茶还是咖啡？", "都喜欢。"),
        ("你喜欢茶还是咖啡？", "水。"),
        ("你要茶还是咖啡？", "茶。"),
        ("明天去还是后天去？", "明天。"),
    ],
)
def test_other_answers_and_choices_of_the_moment_claim_nothing(question: str, answer: str) -> None:
    assert formed(f"@Aide: {question}", answer) == set()


def test_nobody_answers_their_own_question() -> None:
    assert formed("Do you prefer tea or coffee?", "Tea.") == set()
