"""What a question asks for, read from its words."""

from __future__ import annotations

import pytest

from pipelines.recall.questions import read


@pytest.mark.parametrize(
    ("query", "predicate"),
    [
        ("Where does Ana live?", "lives_in"),
        ("Where is Ana based these days?", "lives_in"),
        ("Where is Ana?", "lives_in"),
        ("Who does Noor work for?", "works_for"),
        ("What does Noor do for a living?", "works_as"),
        ("What does Noor do?", "works_as"),
        ("What is Bob allergic to?", "allergic_to"),
        ("Which languages does Aino speak?", "speaks"),
        ("When is Lotte's birthday?", "born_on"),
        ("Who is Kirsten's boss?", "reports_to"),
        ("What's her husband called?", "partner_of"),
        ("Does Yael have a dog?", "has_pet"),
        ("Which time zone is Yael in?", "timezone"),
        ("What is Petra's favourite tea?", "prefers"),
        ("Is Petra vegan?", "follows_diet"),
        ("陆青住在哪里？", "lives_in"),
        ("陆青在哪儿？", "lives_in"),
        ("陆青对什么过敏？", "allergic_to"),
        ("王敏在哪家公司上班？", "works_for"),
        ("王敏的生日是哪天？", "born_on"),
        ("王敏喜欢喝什么？", "prefers"),
        ("王敏的妹妹是谁？", "sibling_of"),
        ("王敏会说什么语言？", "speaks"),
    ],
)
def test_question_words_lead_to_predicates(query: str, predicate: str) -> None:
    assert predicate in read(query).predicates


def test_where_alone_asks_for_a_place_and_with_a_verb_of_its_own_it_does_not() -> None:
    assert "lives_in" in read("Where's Ana now?").predicates
    assert read("Where do Ana and Bob want to go?").predicates == frozenset()


def test_i_and_my_are_the_counterparty_and_nobody_else() -> None:
    assert read("Where do I live?", ("Bob",)).names("Bob")
    assert read("我住在哪里？", ("陆青",)).names("陆青")
    assert not read("Where does Ana live?", ("Bob",)).names("Bob")
    assert not read("Where do I live?").names("Bob")
    assert not read("我们什么时候见面？", ("陆青",)).names("陆青")


@pytest.mark.parametrize(
    "query",
    [
        "What does this user prefer?",
        "Where is the user's office?",
        "这个用户的偏好是什么？",
        "该用户住在哪里？",
    ],
)
def test_an_agent_that_asks_for_the_counterparty_says_this_user(query: str) -> None:
    assert read(query, ("Bob",)).names("Bob")
    assert not read(query).names("Bob")


def test_a_name_is_named_by_one_of_its_words_or_whole_in_chinese() -> None:
    asked = read("Where does Silva live?")
    assert asked.names("Ana Silva")
    assert not asked.names("Bob")
    assert read("陆青住在哪里？").names("陆青")
    assert not read("陆青住在哪里？").names("陆明")


@pytest.mark.parametrize(
    "query",
    ["What did Bob promise to do?", "Any deadlines this week?", "陆青答应做什么？", "有什么待办？"],
)
def test_promises_are_asked_for(query: str) -> None:
    assert read(query).commitments


@pytest.mark.parametrize("query", ["Which rules should you follow?", "我有什么规矩？"])
def test_rules_are_asked_for(query: str) -> None:
    assert read(query).constraints


def test_the_past_is_asked_for_in_so_many_words() -> None:
    assert read("Where did Ana live before?").past
    assert read("陆青以前住在哪里？").past
    assert not read("Where does Ana live?").past


def test_the_kind_of_thing_is_read() -> None:
    assert read("Which drink does Ana prefer?").kinds == {"drink"}
    assert read("What is Ana's favorite color?").kinds == {"colour"}
    assert read("王敏喜欢喝什么？").kinds == {"drink"}
    assert read("What does Ana like?").kinds == frozenset()


def test_what_a_promise_is_about_is_what_is_left() -> None:
    assert read("When is the budget report due?").topic == {"budget", "report"}
    assert read("Any deadlines coming up?").topic == frozenset()
    assert read("What will Tomas bring?").topic == {"toma", "bring"}


def test_the_words_of_predicates_alone_find_no_claim() -> None:
    asked = read("Where does Ana live?")
    assert asked.specific == {"ana"}
    assert set(asked.claim_terms) >= {"ana", "live"}


def test_the_answer_is_in_the_language_of_the_question() -> None:
    assert read("陆青住在哪里？").language == "zh"
    assert read("Where does 陆青 live?").language == "en"
    assert read("Kestrel Maps 在哪里？").language == "zh"


def test_odd_questions_are_read_without_fault() -> None:
    for query in ("", "???", "🙂" * 100, "a" * 8000, "\u0000", "I " * 4000, "what " * 1600):
        read(query, "Bob")
