"""Text to terms, the same way for documents and for queries (design section 11, "BM25").

NFKC and casefold; words by Unicode class, with the scripts that write without spaces (Han, Kana,
Thai and its neighbours) cut out and segmented by ICU's dictionaries; stop words dropped; Latin
letters without their accents; Snowball stems by script. A word class that did not exclude Han
swallowed mixed runs whole and cost eight points of recall.

`version()` names everything that the outcome depends on. It is stored with each collection, and
documents analysed by another version are put in again by `index.reindex`.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.util import find_spec

import regex
import snowballstemmer

from storage.search.stop_words import STOP_WORDS

#: Grows with every change of the rules below or of the stop words.
_RULES = 1
#: Longer words are cut: they are noise (encoded data), and an index key has a bound.
_MAX_WORD = 64

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_RUN = regex.compile(
    rf"(?V1)(?P<unspaced>[{_UNSPACED}ー々]+)|(?P<word>[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}ー々]]+)"
)
_HAS_WORD = regex.compile(r"[\p{L}\p{N}]")
#: the first letter's script decides the stemmer; other scripts keep their words whole
_STEMMERS = (
    (regex.compile(r"\p{Latin}"), "english"),
    (regex.compile(r"\p{Cyrillic}"), "russian"),
    (regex.compile(r"\p{Greek}"), "greek"),
    (regex.compile(r"\p{Arabic}"), "arabic"),
    (regex.compile(r"\p{Armenian}"), "armenian"),
    (regex.compile(r"\p{Devanagari}"), "hindi"),
    (regex.compile(r"\p{Tamil}"), "tamil"),
)

#: a Snowball stemmer keeps the word it works on in itself
_stemming = threading.Lock()


@cache
def version() -> str:
    """The rules and the segmenter in one short text, such as `1+icu78.1`."""
    segmenter = "bigrams"
    if find_spec("icu4py") is not None:
        from icu4py import icu_version

        segmenter = f"icu{icu_version}"
    return f"{_RULES}+{segmenter}"


def terms(text: str) -> list[str]:
    """The index terms of `text` in order, repeats kept; empty when nothing can be searched."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    found: list[str] = []
    for match in _RUN.finditer(folded):
        word = match["word"]
        if word is not None:
            term = _term(word[:_MAX_WORD])
            if term:
                found.append(term)
        else:
            found.extend(piece for piece in _segments(match["unspaced"]) if piece not in STOP_WORDS)
    return found


@lru_cache(maxsize=65_536)
def _term(word: str) -> str | None:
    """One word as a term, or None for a stop word; cached, because a stem costs 25 µs."""
    if word in STOP_WORDS or not _HAS_WORD.search(word):
        return None
    for script, language in _STEMMERS:
        if script.match(word):
            if language == "english":
                word = _without_accents(word)
                if word in STOP_WORDS:
                    return None
            with _stemming:
                return _stemmer(language).stemWord(word) or word
    return word


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


@cache
def _stemmer(language: str) -> snowballstemmer.stemmer:
    return snowballstemmer.stemmer(language)


def _segments(run: str) -> Iterator[str]:
    """The words of a run without spaces, by ICU; else its characters and their pairs."""
    if version().endswith("bigrams"):
        yield from run
        yield from (run[i : i + 2] for i in range(len(run) - 1))
        return
    from icu4py.breakers import WordBreaker

    for piece in WordBreaker(run, "zh"):
        if _HAS_WORD.search(piece):
            yield piece[:_MAX_WORD]
