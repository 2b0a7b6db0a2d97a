"""Text to terms: the rules that recall stands on."""

from __future__ import annotations

import sys

import pytest

from storage.search import analyser
from storage.search.analyser import terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ana's moving to Valparaíso, don't forget!", ["ana", "move", "valparaiso", "forget"]),
        ("ＡＢＣ straße", ["abc", "strass"]),
        ("user_id 42", ["user", "id", "42"]),
        ("陆青对什么过敏？", ["陆", "青", "过敏"]),
        ("Петя любит кошку", ["пет", "люб", "кошк"]),
        ("", []),
        ("the of and 的 了 ?!", []),
    ],
)
def test_text_becomes_terms_without_stop_words_and_endings(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_letters_and_han_that_touch_are_parted() -> None:
    assert terms("2017有什么好看的小说") == ["2017", "好看", "小说"]
    assert "kestrel" in terms("我在Kestrel上班")


def test_a_query_meets_its_document_in_another_form() -> None:
    assert set(terms("Where do the universities move?")) <= set(terms("The university is moving."))
    assert set(terms("過敏")) == set(terms("過敏"))


def test_scripts_without_spaces_are_segmented() -> None:
    assert terms("東京へ行きます")[0] == "東京"
    assert len(terms("สวัสดีครับผมชื่อ")) > 1


def test_a_very_long_word_is_cut_and_still_found_by_itself() -> None:
    word = "x" * 100_000
    assert terms(word) == terms(word + " ")
    assert len(terms(word)[0]) <= 64


def test_without_icu_characters_and_pairs_stand_in_and_the_version_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_icu = analyser.version()
    monkeypatch.setattr(analyser, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "icu4py.breakers", None)
    analyser.version.cache_clear()
    try:
        assert analyser.version() != with_icu
        assert terms("花生酱") == ["花", "生", "酱", "花生", "生酱"]
    finally:
        monkeypatch.undo()
        analyser.version.cache_clear()
    assert analyser.version() == with_icu
