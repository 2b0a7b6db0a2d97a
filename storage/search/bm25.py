"""Exact BM25 over the postings, in float8 throughout (literals else make PostgreSQL use numeric).

score(d) = Σ over the query's terms of  idf · tf·(k1+1) / (tf + k1·(1 − b + b·dl/avgdl)),
with idf = ln(1 + (N − df + ½)/(df + ½)). Each kind of document is scored as a corpus of its own.
Short turns of dialogue like less length normalisation than the textbook's b = 0.75.

A common word ("live", the name of somebody who always speaks) has tens of thousands of postings and
tells little. Long searches therefore find documents by their rare words and complete the best with
the common ones; when what was skipped could have come among the first 20, everything is read.

Joins are lateral with `offset 0`, here and wherever this package looks rows up by key: the planner
takes a space that is newer than its statistics for one row, and would else read all of it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from storage.database import Scope, Transaction, sql
from storage.search.documents import DocumentKind

K1 = 0.9
B = 0.3


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that a lane found; `score` is comparable within that lane and query only."""

    document_id: int
    element_id: str
    score: float
    text: str
    at: datetime | None


#: Up to so many postings a query is read whole; beyond, a word with more of them is common.
_CHEAP = 5_000
#: How many documents that hold rare words are completed with the common ones.
_COMPLETED = 1_000
#: So many first hits are exact whatever is skipped.
_EXACT = 20

_SEEK = sql(
    """
    with rare as materialized (
        select p.document_id id, sum(q.weight * p.tf / (p.tf + %(base)s + %(slope)s * p.dl)) score
        from unnest(%(ids)s::bigint[], %(weights)s::float8[]) as q (id, weight)
        cross join lateral (
            select document_id, tf, dl from search_posting
            where space_id = %(space)s and term_id = q.id offset 0
        ) p
        group by 1 order by score desc, id desc limit %(completed)s
    ), common as materialized (
        select r.id, sum(q.weight * p.tf / (p.tf + %(base)s + %(slope)s * p.dl)) score
        from rare r
        cross join unnest(%(common_ids)s::bigint[], %(common_weights)s::float8[]) as q (id, weight)
        cross join lateral (
            select tf, dl from search_posting
            where space_id = %(space)s and term_id = q.id and document_id = r.id offset 0
        ) p
        group by 1
    ), best as materialized (
        select r.id, r.score + coalesce(c.score, 0) score
        from rare r left join common c using (id)
        order by score desc, id desc limit %(limit)s
    )
    select b.id, d.element_id, b.score, d.text, d.at,
        (select min(score) from rare having count(*) = %(completed)s)
    from best b
    cross join lateral (
        select element_id, text, at from search_document
        where space_id = %(space)s and kind = %(kind)s and id = b.id offset 0
    ) d
    order by b.score desc, b.id desc
    """
)


@dataclass(frozen=True, slots=True)
class _Term:
    """A term of the query that the collection has: its postings and the most it can add."""

    term: str
    id: int
    df: int
    weight: float


def search(
    tx: Transaction,
    scope: Scope,
    kind: DocumentKind,
    terms: Sequence[str],
    limit: int,
    *,
    among: Collection[str] | None = None,
    k1: float = K1,
    b: float = B,
) -> list[Hit]:
    """The `limit` best documents of `kind` for analysed `terms`; of equals the newer comes first.

    Exact, save that past the first 20 hits of a long search a document may be left out that holds
    nothing but common words. With `among` only documents that hold one of those terms count.
    """
    average, found = _terms(tx, scope, kind, terms, k1)
    if among is not None:
        rare = [term for term in found if term.term in among]
        common = [term for term in found if term.term not in among]
        return _seek(tx, scope, kind, rare, common, limit, average, k1, b)[0]
    rare, common = _split(found)
    hits, bound = _seek(tx, scope, kind, rare, common, limit, average, k1, b)
    if common:
        # what was skipped has at best its rare words' score, and all that the common words can add
        skipped = sum(term.weight for term in common) + bound
        if len(hits) < min(limit, _EXACT) or hits[min(limit, _EXACT) - 1].score < skipped:
            hits, _ = _seek(tx, scope, kind, found, [], limit, average, k1, b)
    return hits


def _terms(
    tx: Transaction, scope: Scope, kind: DocumentKind, terms: Sequence[str], k1: float
) -> tuple[float, list[_Term]]:
    """The average length of a document, and those of the terms that some document holds."""
    rows = tx.execute(
        """
        select c.documents, c.length, t.term, t.id, t.df
        from search_collection c
        cross join lateral (
            select term, id, df from search_term
            where space_id = %(space)s and kind = %(kind)s and term = any(%(terms)s) offset 0
        ) t
        where c.space_id = %(space)s and c.kind = %(kind)s
        """,
        {"space": scope.space_id, "kind": kind, "terms": sorted(set(terms))},
    ).fetchall()
    found = [
        _Term(term, id, df, math.log(1 + (n - df + 0.5) / (df + 0.5)) * (k1 + 1))
        for n, _, term, id, df in rows
    ]
    return (rows[0][1] / rows[0][0] if rows else 1.0), found


def _split(found: Sequence[_Term]) -> tuple[list[_Term], list[_Term]]:
    """Rare and common words; all are rare where reading them whole is cheap anyway."""
    if sum(term.df for term in found) <= _CHEAP:
        return list(found), []
    limit = max(_CHEAP, min(term.df for term in found))
    return [t for t in found if t.df <= limit], [t for t in found if t.df > limit]


def _seek(
    tx: Transaction,
    scope: Scope,
    kind: DocumentKind,
    rare: Sequence[_Term],
    common: Sequence[_Term],
    limit: int,
    average: float,
    k1: float,
    b: float,
) -> tuple[list[Hit], float]:
    """The best documents that hold a rare term, and the most that a skipped one's rare terms give.

    Each term adds weight · tf / (tf + k1·(1 − b) + k1·b/average · dl), which is less than weight.
    """
    if not rare:
        return [], 0.0
    rows = tx.execute(
        _SEEK,
        {
            "space": scope.space_id,
            "kind": kind,
            "ids": [term.id for term in rare],
            "weights": [term.weight for term in rare],
            "common_ids": [term.id for term in common],
            "common_weights": [term.weight for term in common],
            "base": k1 * (1 - b),
            "slope": k1 * b / average,
            "limit": limit,
            "completed": _COMPLETED if common else limit,
        },
    ).fetchall()
    bound = rows[0][5] if rows and common else None
    return [Hit(*row[:5]) for row in rows], bound or 0.0


def rarities(
    tx: Transaction, scope: Scope, kind: DocumentKind, terms: Sequence[str]
) -> dict[str, float]:
    """The idf of each of `terms` in `kind`; a term that no document holds is the rarest."""
    rows = tx.execute(
        """
        select q.term, ln(1::float8 + (c.documents - coalesce(t.df, 0) + 0.5::float8)
            / (coalesce(t.df, 0) + 0.5::float8))
        from unnest(%(terms)s::text[]) as q (term)
        join search_collection c on c.space_id = %(space)s and c.kind = %(kind)s
        left join lateral (
            select df from search_term
            where space_id = %(space)s and kind = %(kind)s and term = q.term offset 0
        ) t on true
        """,
        {"space": scope.space_id, "kind": kind, "terms": sorted(set(terms))},
    )
    return dict(rows.fetchall())


def documents(tx: Transaction, scope: Scope, element_ids: Sequence[str]) -> dict[str, Hit]:
    """The documents of elements, by element id, with score 0; those not indexed are left out."""
    if not element_ids:
        return {}
    rows = tx.execute(
        """
        select id, element_id, 0::float8, text, at from search_document
        where space_id = %s and element_id = any(%s)
        """,
        (scope.space_id, list(element_ids)),
    )
    return {row[1]: Hit(*row) for row in rows}
