"""The sentence or two that describe a conversation: who spoke, when, about what."""

from __future__ import annotations

import regex

from pipelines.formation.likeness import plain, terms
from pipelines.formation.masking import GONE, QUOTED
from pipelines.formation.proposal import Conversation

#: characters of the extract that a summary carries
_EXTRACT = 220
#: messages and sentences of one message that are weighed for the extract
_WEIGHED = 200
_SENTENCE = regex.compile(r"[^.!?。！？\n]{3,400}[.!?。！？]*")
_HAN = regex.compile(r"[㐀-鿿]")
_LATIN = regex.compile(r"[A-Za-z]")


def summary_of(conversation: Conversation) -> str:
    """Names the speakers, the day and the topic, and quotes the most telling sentence.

    Extractive: every word about the content is the conversation's own. In Chinese when Han
    characters outweigh Latin words, else in English. `conversation` is the masked one.
    """
    spoken = [m for m in conversation.messages if m.role in ("user", "assistant")]
    spoken = spoken or list(conversation.messages)
    if not spoken:
        return ""
    names = list(dict.fromkeys(m.speaker for m in spoken))
    text = " ".join(m.text[:2000] for m in spoken[:_WEIGHED])
    chinese = not text.isascii() and len(_HAN.findall(text)) * 3 > len(_LATIN.findall(text))
    first, last = spoken[0].at.date().isoformat(), spoken[-1].at.date().isoformat()
    extract = _telling(conversation)
    shown, more = names[:4], len(names) - 4
    if chinese:
        who = "、".join(shown) + (f"等{len(names)}人" if more > 0 else "")
        when = first if first == last else f"{first}至{last}"
        topic = f"，话题：{conversation.topic}" if conversation.topic else ""
        verb = "交谈" if len(names) > 1 else "说"
        return f"{when}，{who}{verb}{topic}{f'：{extract}' if extract else '。'}"
    who = ", ".join(shown[:-1]) + " and " + shown[-1] if len(shown) > 1 else shown[0]
    if more > 0:
        who = ", ".join(shown) + f" and {more} more"
    when = f"on {first}" if first == last else f"from {first} to {last}"
    topic = f" about {conversation.topic}" if conversation.topic else ""
    verb = "talked" if len(names) > 1 else "wrote"
    return f"{who} {verb} {when}{topic}{f': {extract}' if extract else '.'}"


def _telling(conversation: Conversation) -> str:
    """The sentence whose words the conversation repeats most, with a bonus for coming early."""
    sentences: list[tuple[str, frozenset[str]]] = []
    count: dict[str, int] = {}
    for m in conversation.messages[:_WEIGHED]:
        if m.role not in ("user", "assistant"):
            continue
        for match in list(_SENTENCE.finditer(m.text[:4000]))[:8]:
            sentence = match[0].strip(" \t-*•")
            if QUOTED in sentence or GONE in sentence or not plain(sentence):
                continue
            words = terms(sentence)
            if not words:
                continue
            sentences.append((sentence, words))
            for w in words:
                count[w] = count.get(w, 0) + 1
    if not sentences:
        return ""

    def weight(item: tuple[int, tuple[str, frozenset[str]]]) -> tuple[float, int]:
        place, (sentence, words) = item
        asks = sentence.endswith(("?", "？"))
        total = sum(count[w] for w in words) / (3 + len(words)) + min(len(words), 8) / 8
        return (total - (0.8 if asks else 0.0), -place)

    best = max(enumerate(sentences), key=weight)[1][0]
    return best if len(best) <= _EXTRACT else best[: _EXTRACT - 1].rstrip() + "…"
