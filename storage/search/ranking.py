"""Documents by the share of a query's words that they hold: a score from 0 to 1.

A word adds its idf times min(1, tf·(k1+1) / (tf + k1·(1 − b + b·dl/avgdl))), and the sum is divided
by the idf of all words of the query, also of those that no document holds. So a score says the
same whatever else was found, as the sums of `bm25` do not; and several collections count as one
corpus.

Words that many documents hold are read for the documents that hold a rare one, and by themselves
only when a document without a rare word could still be among the best.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from storage.database import Scope, Transaction, sql
from storage.search.bm25 import K1, B
from storage.search.documents import DocumentKind

#: Up to so many postings are read whole; beyond, a word with more of them is common.
_CHEAP = 5_000
#: The most that a score is rounded by: scores are told in billionths, so that ties are ties.
_UNIT = 1e9

_ADDS = """q.weight * least(1::float8, p.tf * %(k)s::float8
                       / (p.tf + %(base)s::float8 + %(slope)s::float8 * p.dl))"""
_RANK = sql(
    f"""
    with held as materialized (
        select p.document_id id, sum({_ADDS}) score
          from unnest(%(ids)s::bigint[], %(weights)s::float8[]) as q (id, weight)
          cross join lateral (
            select document_id, tf, dl from search_posting
             where space_id = %(space)s and term_id = q.id offset 0
          ) p
         group by 1
    )
    select h.id, (1e9 * (h.score + case when %(completing)s then (
        select coalesce(sum({_ADDS}), 0)
          from unnest(%(common_ids)s::bigint[], %(common_weights)s::float8[]) as q (id, weight)
          cross join lateral (
            select tf, dl from search_posting
             where space_id = %(space)s and term_id = q.id and document_id = h.id offset 0
          ) p) else 0 end))::bigint score
      from held h order by score desc, h.id desc limit %(limit)s
    """
)


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of the query in one collection: its postings, and its share of the query."""

    id: int
    df: int
    weight: float


def rank(
    tx: Transaction,
    scope: Scope,
    kinds: Sequence[DocumentKind],
    terms: Sequence[str],
    limit: int,
) -> list[tuple[int, float]]:
    """(document id, score) of the `limit` best documents of several kinds, best first.

    Exact; of equals the newer comes first. Every document that holds a word is a hit.
    """
    documents, length = _sizes(tx, scope, kinds)
    if not documents or not terms:
        return []
    found = _words(tx, scope, kinds, terms, documents)
    average = max(1.0, length / documents)
    rare, common = _split(found)
    hits = _read(tx, scope, rare, common, average, limit)
    if common:
        skipped = sum(word.weight for word in common)
        if len(hits) < limit or hits[-1][1] < skipped:
            hits = _read(tx, scope, found, [], average, limit)
    return [(id, min(1.0, score)) for id, score in hits]


def _words(
    tx: Transaction,
    scope: Scope,
    kinds: Sequence[DocumentKind],
    terms: Sequence[str],
    documents: int,
) -> list[_Word]:
    rows = tx.execute(
        """
        select t.term, t.id, t.df
          from unnest(%(kinds)s::text[]) as k (kind)
          cross join lateral (
            select term, id, df from search_term
             where space_id = %(space)s and kind = k.kind and term = any(%(terms)s) offset 0
          ) t
        """,
        {"space": scope.space_id, "kinds": list(kinds), "terms": list(terms)},
    ).fetchall()
    frequency = dict.fromkeys(terms, 0)
    for term, _, df in rows:
        frequency[term] += df
    rarity = {
        term: math.log(1 + (documents - df + 0.5) / (df + 0.5)) for term, df in frequency.items()
    }
    total = sum(rarity.values())
    return [_Word(id, df, rarity[term] / total) for term, id, df in rows]


def _split(found: Sequence[_Word]) -> tuple[list[_Word], list[_Word]]:
    """Rare and common words; all are rare where reading them whole is cheap anyway."""
    if sum(word.df for word in found) <= _CHEAP:
        return list(found), []
    limit = max(_CHEAP, min(word.df for word in found))
    return [w for w in found if w.df <= limit], [w for w in found if w.df > limit]


def _read(
    tx: Transaction,
    scope: Scope,
    words: Sequence[_Word],
    common: Sequence[_Word],
    average: float,
    limit: int,
) -> list[tuple[int, float]]:
    """The best of the documents that hold one of `words`, with what `common` ones add."""
    if not words:
        return []
    rows = tx.execute(
        _RANK,
        {
            "space": scope.space_id,
            "ids": [word.id for word in words],
            "weights": [word.weight for word in words],
            "completing": bool(common),
            "common_ids": [word.id for word in common],
            "common_weights": [word.weight for word in common],
            "k": K1 + 1,
            "base": K1 * (1 - B),
            "slope": K1 * B / average,
            "limit": limit,
        },
    )
    return [(id, score / _UNIT) for id, score in rows]


def _sizes(tx: Transaction, scope: Scope, kinds: Sequence[DocumentKind]) -> tuple[int, int]:
    """How many documents the collections hold, and how many words."""
    row = tx.execute(
        "select coalesce(sum(documents), 0)::bigint, coalesce(sum(length), 0)::bigint"
        " from search_collection where space_id = %s and kind = any(%s)",
        (scope.space_id, list(kinds)),
    ).fetchone()
    assert row is not None
    return row[0], row[1]
