"""What is taken back is not held; what only sounds like it stays."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.unit.formation.spoken import formed


@pytest.mark.parametrize(
    "later",
    [
        "Forget what I said about the castle.",
        "I was joking about the castle.",
        "The bit about the castle was made up.",
        "I made up the part about the castle.",
        "Kidding about the castle!",
        "Strike what I said about the castle.",
        "There is no castle, I made it up.",
        "The castle isn't real.",
        "That castle doesn't exist.",
        "You can forget the castle, I was only joking.",
        "What I told you about the castle wasn't true.",
        "Disregard the castle thing.",
        "That castle comment was a joke.",
        "I never owned a castle, I was teasing.",
        "None of that was true.",
        "That was a lie.",
        "I retract that.",
        "Please remove the castle from my profile.",
        "It's not true that I own a castle.",
    ],
)
def test_a_claim_taken_back_is_gone(later: str) -> None:
    assert formed("I own a castle.", later) == set()


@pytest.mark.parametrize(
    "later",
    [
        "The castle is a joke, so draughty.",
        "I'm not joking about the castle.",
        "No kidding!",
        "Don't forget the castle.",
        "Please don't forget that I own a castle.",
        "That's a lie Tom told.",
        "That is not true for everyone.",
        "Forget about the meeting.",
        "There is no milk.",
        "I take the bus.",
        "I love that joke.",
        "Bob: Forget what Ann said about the castle.",
    ],
)
def test_what_takes_back_nothing_leaves_the_claim(later: str) -> None:
    assert formed("I own a castle.", later) == {"Ann owns castle"}


def test_a_claim_is_named_by_its_topic_or_its_person() -> None:
    assert formed("I work for Acme Ltd.", "What I said about my job was made up.") == set()
    assert formed("I'm allergic to nuts.", "The allergy was a joke.") == set()
    assert formed("I have a dog called Rex.", "There is no dog.") == set()
    assert formed("I speak Welsh. I live in Oslo.", "The Welsh was a joke.") == {
        "Ann lives_in Oslo"
    }
    assert formed("My sister Ana lives in Rome.", "That about Ana was a joke.") == {
        "Ann sibling_of Ana"
    }


def test_within_one_message() -> None:
    assert formed("I own a castle. Just kidding.") == set()
    assert formed("I own a castle, just kidding.") == set()
    assert formed("I own a castle. Scratch that. I own a barn.") == {"Ann owns barn"}
    assert formed("Just kidding, I live in Oslo.") == {"Ann lives_in Oslo"}


def test_a_denial_soon_after_takes_the_claim_back_a_late_one_does_not() -> None:
    assert formed("I own a castle.", "Actually I don't own a castle.") == {"not Ann owns castle"}
    assert formed("I own a castle.", timedelta(days=400), "I don't own a castle.") == {
        "Ann owns castle",
        "not Ann owns castle",
    }


@pytest.mark.parametrize(
    "later",
    [
        "刚才说的游艇是开玩笑的。",
        "游艇的事是骗你的。",
        "我其实没有游艇。",
        "我说有游艇是瞎编的。",
        "别信我说的游艇。",
        "撤回刚才那句。",
        "忘掉游艇那件事吧。",
        "请忘记我说的游艇。",
        "游艇是我编的。",
        "刚才关于游艇的话请作废。",
        "刚才那句话请忽略。",
        "刚才的话当我没说。",
    ],
)
def test_a_claim_taken_back_in_chinese_is_gone(later: str) -> None:
    assert formed("我有一艘游艇。", later) == set()


@pytest.mark.parametrize(
    "later",
    ["我没开玩笑。", "我不是骗你的，游艇真的有。", "别忘了游艇的钥匙。", "游艇坏了，我被骗了。"],
)
def test_what_takes_back_nothing_in_chinese_leaves_the_claim(later: str) -> None:
    assert formed("我有一艘游艇。", later) == {"Ann owns 游艇"}
