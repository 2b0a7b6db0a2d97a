"""Reciprocal rank fusion: what several lanes rank high is ranked high.

score(d) = Σ over the lanes of  weight / (k + rank).  k = 10: with the textbook's 60 the fused list
lost to BM25 alone on dialogue. Where lanes come from is of no matter here; `Weights` are a space's
own (in `space.settings`), because on some corpora one lane is better than the fusion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storage.search.bm25 import Hit

K = 10
#: How deep each lane is read; 30 to 200 differ by less than .01 of recall.
DEPTH = 100


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each lane of a space counts. `recency` is mild: it parts what is otherwise even."""

    lexical: float = 1.0
    vector: float = 1.0
    claims: float = 1.0
    recency: float = 0.02

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Weights:
        """From `settings["recall"]["weights"]`; a member that is no sane number is the default."""
        recall = settings.get("recall")
        given = recall.get("weights") if isinstance(recall, Mapping) else None
        if not isinstance(given, Mapping):
            return cls()
        sane = {
            name: float(given[name])
            for name in ("lexical", "vector", "claims", "recency")
            if isinstance(given.get(name), int | float)
            and not isinstance(given[name], bool)
            and 0 <= given[name] <= 100
        }
        return cls(**sane)


def fuse(
    lexical: Sequence[Hit],
    vector: Sequence[Hit],
    weights: Weights,
    limit: int,
    *,
    cited: Sequence[Hit] = (),
) -> list[Hit]:
    """The `limit` best of all lanes, `score` being the fused one; the newer of equals first.

    `cited` is the lane of messages that claims cite which answer the question.
    """
    hits = {hit.document_id: hit for lane in (cited, vector, lexical) for hit in lane}
    newest = sorted(
        hits.values(),
        key=lambda hit: (hit.at is not None, hit.at, hit.document_id),
        reverse=True,
    )
    score = dict.fromkeys(hits, 0.0)
    for lane, weight in (
        (lexical, weights.lexical),
        (vector, weights.vector),
        (cited, weights.claims),
        (newest, weights.recency),
    ):
        _add(score, lane, weight)
    best = sorted(hits.values(), key=lambda hit: (-score[hit.document_id], -hit.document_id))
    return [
        Hit(hit.document_id, hit.element_id, score[hit.document_id], hit.text, hit.at)
        for hit in best[:limit]
    ]


def _add(score: dict[int, float], lane: Iterable[Hit], weight: float) -> None:
    for rank, hit in enumerate(lane, start=1):
        score[hit.document_id] += weight / (K + rank)
