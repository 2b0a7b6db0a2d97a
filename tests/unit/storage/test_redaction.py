"""What is left of a value once its words are taken out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.erasure.closure import _quotes
from storage.erasure.redaction import ERASED, error, redacted

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    "kept",
    [
        "A-1",
        "C-123",
        "job-0198f2c4d5e6778899aabbccddeeff00",
        "sha256:" + "0" * 64,
        "2026-09-18T10:00:00.000Z",
        "",
        1,
        1.5,
        True,
        None,
    ],
)
def test_ids_numbers_times_and_digests_stay(kept: Any) -> None:
    assert redacted({"member": [kept]}) == {"member": [kept]}


@pytest.mark.parametrize("word", ["Ada", "A-1 and more", "A-1\n", "2026-09-18", "job-secret", " "])
def test_everything_else_goes(word: str) -> None:
    assert redacted({"member": {"deeper": [word]}}) == {"member": {"deeper": [ERASED]}}


def test_our_own_names_stay_and_only_as_strings() -> None:
    assert redacted({"type": "memory", "status": ["said"]}) == {
        "type": "memory",
        "status": [ERASED],
    }


@given(JSON)
def test_twice_is_once(value: Any) -> None:
    assert redacted(redacted(value)) == redacted(value)


def test_an_error_keeps_its_code() -> None:
    assert error({"code": "x", "message": "Ada said"}) == {"code": "x", "message": ERASED}
    assert error(None) is None


@pytest.mark.parametrize(
    ("told", "words", "quotes"),
    [
        (
            "Ada wrote on Monday: the zibbergnash meets the quoxlemire",
            "the zibbergnash meets",
            True,
        ),
        (
            "Ada wrote: I like the zibbergnash a lot",
            "Well, I like the zibbergnash a lot, I say",
            True,
        ),
        ("Ada and Bo talked on 2026-01-01.", "The zibbergnash meets the quoxlemire", False),
        ("Ada wrote: yes", "yes", True),
        ("Ada wrote", "  ", False),
    ],
)
def test_a_summary_quotes_what_it_repeats(told: str, words: str, quotes: bool) -> None:
    assert _quotes(told, words) is quotes
