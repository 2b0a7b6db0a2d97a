"""Erased words are known again by their marks: long runs by parts, short texts as a whole."""

from __future__ import annotations

import json
import random

import pytest

from storage.erasure.quotations import NO_WORDS, Reader, Words

SAID = "The key lies under the third stone from the left, 鍵は左から三番目の石の下にあります。"


def finds(words: Words, value: object) -> bool:
    return Reader(words).finds(value)


@pytest.mark.parametrize("start", range(0, len(SAID) - 20))
def test_twenty_characters_in_a_row_are_found_wherever_they_are_taken_from(start: int) -> None:
    words = Words.said([SAID])
    assert finds(words, f"Did she say {SAID[start : start + 20]}?")


def test_fewer_than_sixteen_characters_in_a_row_are_nobodys() -> None:
    words = Words.said([SAID])
    for start in range(len(SAID) - 15):
        assert not finds(words, f"-{SAID[start : start + 15]}-")


@pytest.mark.parametrize(
    "value",
    [
        SAID.upper(),
        SAID.replace(" ", "\n  "),
        {"messages": [{"content": [{"type": "text", "text": SAID[3:40]}]}]},
        json.dumps({"answer": SAID[10:50]}),
        json.dumps(json.dumps([SAID[10:50]], ensure_ascii=True)),
    ],
)
def test_neither_case_nor_space_nor_wrapping_hides_the_words(value: object) -> None:
    assert finds(Words.said([SAID]), value)


def test_a_short_text_and_a_claim_are_found_as_a_whole_and_in_no_part() -> None:
    words = Words.said(["Ana is in Riga"], ["Ana Maria lives in Tartu, at the river"])
    assert finds(words, "I heard that ana is in RIGA today")
    assert finds(words, ["So Ana Maria lives in Tartu, at the river?"])
    assert not finds(words, "Ana is in Rig")
    assert not finds(words, "Ana Maria lives in Tartu, at the sea")


def test_what_anybody_may_say_is_no_mark() -> None:
    assert Words.said(["Yes, please", "", "   "], ["ok"]) == NO_WORDS
    assert not finds(NO_WORDS, "Yes, please")
    # in a script that says more with fewer signs, four are enough
    assert finds(Words.said(["鍵は石下"]), "「鍵は石下」と")


def test_marks_are_kept_and_read_again_without_the_words() -> None:
    words = Words.said([SAID, "Ana is in Riga"], ["Ana lives in Tartu"])
    kept = json.loads(json.dumps(words.as_json()))
    assert Words.of(kept) == words
    assert Words.of(None) == NO_WORDS
    assert not any(text in json.dumps(kept) for text in ("key", "stone", "Riga", "鍵"))


def test_more_words_than_can_be_known_are_known_less_closely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("storage.erasure.quotations._MOST", 100)
    letters = random.Random(7)
    said = "".join(letters.choice("abcdefghij") for _ in range(5_000))
    words = Words.said([said])
    assert len(words.stretches) <= 100
    # a long run of them is found all the same
    assert finds(words, said[1_000:1_070])
