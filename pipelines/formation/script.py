"""Which language's rules read which part of a message.

A sentence without Han characters is English's, one without Latin words is Chinese's; one that
mixes both is divided at its commas, and each clause goes where its grammar belongs: "and I live in
深圳" and "我 live in 深圳" are English, "我在 Kestrel Maps 上班" is Chinese.
"""

from __future__ import annotations

from typing import Literal

import regex

from pipelines.formation.lexicon import word_set

Language = Literal["en", "zh"]

_HAN = regex.compile(r"[㐀-鿿]")
_LATIN_WORD = regex.compile(r"[A-Za-z][A-Za-z'’]*")
_SENTENCE = regex.compile(r"[^\n。！？!?；;.]+(?:[。！？!?；;]+|\.+(?=\s|$|[㐀-鿿])|\.|\n|$)|\n")
_CLAUSE = regex.compile(r"[^，,、；;]+[，,、；;]*\s*|[，,、；;]+")
#: words that only English sentences hold
_ENGLISH = word_set(
    "i i'm im i'll i've my me the a an and or but is are am was were in at on to of for from with "
    "that this it he she they we you your his her their live lives work works like love hate said "
    "says not no please always never will would can could should have has had do does don't "
    "lives works likes loves hates speaks studies prefers comes moved joined owns wants called "
    "named allergic who which because so as by our"
)
#: characters of Chinese grammar: a clause without any has only names and things in Han
_CHINESE = regex.compile(
    r"[我你您他她它们咱的了是在不也都很和跟与对把给会要请叫住吗吧呢这那有没就]"
)


def _language(clause: str) -> Language | None:
    """The language whose grammar the clause shows; None when it has words of neither."""
    han = len(_HAN.findall(clause))
    words = _LATIN_WORD.findall(clause)
    if not han:
        return "en" if words else None
    if not words:
        return "zh"
    english = sum(1 for w in words if w.lower().replace("’", "'") in _ENGLISH)
    if english and len(words) > 1 and not _CHINESE.search(clause):
        return "en"
    return "en" if english >= 2 or (english and han <= 4 and len(words) > 3) else "zh"


def segments(text: str) -> list[tuple[Language, str]]:
    """`text` divided between the two languages, in order; neighbours stay joined."""
    if not _HAN.search(text):
        return [("en", text)]
    if not _LATIN_WORD.search(text):
        return [("zh", text)]
    parts: list[tuple[Language, str]] = []

    def add(language: Language | None, piece: str) -> None:
        chosen = language or (parts[-1][0] if parts else "zh")
        if parts and parts[-1][0] == chosen:
            parts[-1] = (chosen, parts[-1][1] + piece)
        else:
            parts.append((chosen, piece))

    for match in _SENTENCE.finditer(text):
        sentence = match[0]
        if not (_HAN.search(sentence) and _LATIN_WORD.search(sentence)):
            add(_language(sentence), sentence)
            continue
        clauses = [m[0] for m in _CLAUSE.finditer(sentence)]
        languages = [_language(c) for c in clauses]
        first = next((x for x in languages if x), None)
        previous = first
        for clause, language in zip(clauses, languages, strict=True):
            words = _LATIN_WORD.findall(clause)
            if language == "en" and not _HAN.search(clause) and len(words) <= 3 and previous:
                language = previous  # "是 Brisbane, not Melbourne": no clause of its own
            add(language, clause)
            previous = language or previous
    return parts
