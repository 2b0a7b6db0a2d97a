"""What was said: ranked evidence for a question, how well it is supported, and telling passages."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import regex

from pipelines.recall.questions import Asked
from storage.clock import to_text
from storage.database import Scope, Transaction
from storage.search import bm25, vectors
from storage.search.analyser import terms
from storage.search.bm25 import Hit
from storage.search.fusion import DEPTH, Weights, fuse
from storage.search.index import Collection
from storage.search.vectors import Coverage

#: Messages of each lane that are looked at where some may not be told of.
SCOPED_DEPTH = 300
#: Messages of a space beyond which who speaks says too little to search by.
_SMALL = 2_000
#: Sources that an answer lists.
SOURCES = 20
#: The share of a question's words, weighed by rarity, that one message must hold to be on topic.
#: Measured on LoCoMo's first half, against its questions asked of other people: with the vector
#: rule below, 87 % of what can be answered passes, and 29 % of what cannot.
_ENOUGH = 0.45
#: What a message must hold at least where its vector says that it is on topic.
_LITTLE = 0.25
#: Hits whose words are weighed.
_WEIGHED = 20
_PASSAGE = 280
#: Characters of a message that a source shows.
_EXCERPT = 1000
#: a point ends a sentence before a blank, and not after "Dr"
_SENTENCE = regex.compile(
    r"(?:[^.!?。！？\n]|[.!?]+(?=[^\s.!?])"
    r"|(?<=\b(?:Dr|Mr|Mrs|Ms|Prof|St|No|vs|etc|approx|e\.g|i\.e|\p{Lu}))\.(?=\s))+[.!?。！？]*"
)


@dataclass(frozen=True, slots=True)
class Query:
    """A question ready for the lanes: its words and, where an embedder is at hand, its vector.

    `near` is the cosine from which that embedder calls a passage on topic; None: never.
    """

    asked: Asked
    embedder: str | None = None
    vector: np.ndarray | None = None
    near: float | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Ranked messages, best first, and whether the best of them are about the question at all."""

    hits: tuple[Hit, ...]
    supported: tuple[Hit, ...]
    rarity: Mapping[str, float]
    lexical_complete: bool
    vector: Coverage | Literal["absent"]
    vector_asked: bool

    def coverage(self) -> dict[str, Any]:
        """What each lane covered, in the words of the answer's `coverage`."""
        lanes: dict[str, Any] = {"lexical": {"complete": self.lexical_complete}}
        match self.vector:
            case Coverage() as lane:
                lanes["vector"] = {
                    "complete": lane.complete and (self.vector_asked or not lane.total),
                    "indexed": lane.indexed,
                    "total": lane.total,
                    "embedder": lane.embedder,
                }
            case absent:
                lanes["vector"] = absent
        return lanes


def gather(
    tx: Transaction,
    scope: Scope,
    query: Query,
    weights: Weights,
    collection: Collection | None,
    cited: Sequence[Hit],
    *,
    admits: Callable[[Set[str]], Set[str]] | None = None,
) -> Evidence:
    """Run the lanes over messages in the caller's snapshot and fuse them.

    `collection` is the state of the messages' index; None when the space has no message. `cited`
    are the messages that answering claims cite, a lane of its own. `admits` says which messages may
    be told of; the lanes then look deeper, for what others stand before them.
    """
    words = query.asked.terms
    depth = DEPTH if admits is None else SCOPED_DEPTH
    lexical = bm25.search(tx, scope, "evidence", words, depth)
    small = collection is not None and collection.documents <= _SMALL
    if not lexical and small and query.asked.alike and query.asked.counterparty:
        # "How old am I?": nobody says "old", and who asks is who spoke
        own = [term for name in query.asked.counterparty for term in terms(name)]
        lexical = bm25.search(tx, scope, "evidence", own, SCOPED_DEPTH)
        lexical = [hit for hit in lexical if query.asked.is_alike(hit.text)]
    near: list[Hit] = []
    covered: Coverage | Literal["absent"] = "absent"
    if query.embedder is not None:
        covered = vectors.coverage(tx, scope, "evidence", query.embedder)
        if covered.indexed and query.vector is not None:
            near = vectors.search(tx, scope, "evidence", query.embedder, query.vector, depth)
    if admits is not None:
        seen = admits({hit.element_id for hit in (*lexical, *near)})
        lexical = [hit for hit in lexical if hit.element_id in seen]
        near = [hit for hit in near if hit.element_id in seen]
    hits = fuse(lexical, near, weights, SOURCES, cited=cited)
    asking = query.asked.asking
    rarity = bm25.rarities(tx, scope, "evidence", [w for w in words if w not in asking])
    rarity = _without_kinds(rarity, query.asked, 0 if collection is None else collection.documents)
    cosines = {hit.document_id: hit.score for hit in near}
    supported = [
        hit
        for hit in hits[:_WEIGHED]
        if _on_topic(hit, rarity, query.asked.alike, cosines.get(hit.document_id), query.near)
    ]
    return Evidence(
        tuple(hits),
        tuple(supported),
        rarity,
        lexical_complete=collection is None or collection.current,
        vector=covered,
        vector_asked=query.vector is not None,
    )


_NONE: Mapping[str, regex.Pattern[str]] = {}


def share(
    text: str, rarity: Mapping[str, float], alike: Mapping[str, regex.Pattern[str]] = _NONE
) -> float:
    """How much of a question's words, weighed by their rarity, `text` holds: 0 to 1.

    A word with a pattern in `alike` is held where the pattern is found, too.
    """
    total = sum(rarity.values())
    if not total:
        return 0.0
    held = set(terms(text)).intersection(rarity)
    missing = rarity.keys() & alike.keys() - held
    held.update(word for word in missing if alike[word].search(text))
    return sum(rarity[word] for word in held) / total


def speaker_and_words(text: str) -> tuple[str | None, str]:
    """A message document's parts; its text is `Speaker: words`."""
    speaker, colon, words = text.partition(": ")
    return (speaker, words) if colon and len(speaker) <= 200 else (None, text)


def passage(
    text: str, rarity: Mapping[str, float], alike: Mapping[str, regex.Pattern[str]] = _NONE
) -> str:
    """The sentence of a message that holds most of the question's words, with its neighbour."""
    _, words = speaker_and_words(text)
    sentences = [match[0].strip() for match in _SENTENCE.finditer(words) if match[0].strip()]
    if not sentences:
        return words.strip()[:_PASSAGE]
    best = max(range(len(sentences)), key=lambda i: (share(sentences[i], rarity, alike), -i))
    told = sentences[best]
    for sentence in sentences[best + 1 :]:
        if len(told) + len(sentence) + 1 > _PASSAGE:
            break
        told += " " + sentence
    return told if len(told) <= _PASSAGE else told[: _PASSAGE - 1].rstrip() + "…"


def _excerpt(words: str, text: str, rarity: Mapping[str, float]) -> str:
    """A long message around the sentence that is on topic; a short one whole."""
    if len(words) <= _EXCERPT:
        return words
    at = max(0, words.find(passage(text, rarity).rstrip("…")) - _EXCERPT // 4)
    cut = words[at : at + _EXCERPT]
    return ("…" if at else "") + cut + ("…" if at + _EXCERPT < len(words) else "")


def sources(
    hits: Sequence[Hit], further: Sequence[Hit], rarity: Mapping[str, float]
) -> list[dict[str, Any]]:
    """The ranked sources of an answer, then messages that its claims cite beyond them.

    Of a long message the part around what is on topic; its whole is kept under `ref`.
    """
    known = {hit.element_id for hit in hits}
    ranked = [*hits, *(hit for hit in further if hit.element_id not in known)]
    told = []
    for hit in ranked:
        speaker, words = speaker_and_words(hit.text)
        told.append(
            {
                "ref": hit.element_id,
                "text": _excerpt(words, hit.text, rarity),
                "speaker": speaker,
                "at": to_text(hit.at) if hit.at else None,
                "score": round(hit.score, 6),
            }
        )
    return told


def _without_kinds(rarity: dict[str, float], asked: Asked, documents: int) -> dict[str, float]:
    """Leave out a word for the kind that is asked for ("which music …") where nobody uses it.

    What is of the kind hardly ever says so, and no message could make up for the missing word.
    """
    unseen = math.log(1 + (documents + 0.5) / 0.5)
    kept = {
        word: rare
        for word, rare in rarity.items()
        if word not in asked.kind_words or not math.isclose(rare, unseen)
    }
    return kept if len(kept) > 1 else rarity


def _on_topic(
    hit: Hit,
    rarity: Mapping[str, float],
    alike: Mapping[str, regex.Pattern[str]],
    cosine: float | None,
    near: float | None,
) -> bool:
    held = share(hit.text, rarity, alike)
    if held >= _ENOUGH:
        return True
    return held >= _LITTLE and near is not None and cosine is not None and cosine >= near
