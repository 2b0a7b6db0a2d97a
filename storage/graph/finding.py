"""Finding elements by what they say: for `SEARCH` and for Search Patterns of a query.

By words: every element that holds a word of the query is a hit. Its score is the share of the
query's words that it holds, each weighed by how rare it is among the elements of that kind, a bit
less in longer texts: 1 for all of them, and the same whatever else was found. A concept whose name
or key is exactly the query scores 1, too, also where that is a stop word.

By meaning (evidence alone has vectors): the score is the cosine, cut at 0; nothing bounds what is a
hit, so such a search is never exhaustive without looking at every message. Hybrid fuses the two
rankings; its score is the fused one by the best possible.

Scores order hits; they are no confidence and no belief.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from storage.database import Scope, Transaction, sql
from storage.graph import searchable
from storage.graph.errors import ConstraintViolation, SearchModeUnsupported
from storage.graph.schema import Schema
from storage.graph.state import NOW
from storage.search import bm25, index, vectors
from storage.search.analyser import terms
from storage.search.documents import DocumentKind
from storage.search.embedder import local_embedder
from storage.search.fusion import DEPTH, K
from storage.search.ranking import rank

Mode = Literal["keyword", "semantic", "hybrid"]
MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")

#: The collections that hold the elements of a kind.
COLLECTIONS: dict[str, tuple[DocumentKind, ...]] = {
    "CONCEPT": ("concept", "commitment", "constraint", "event"),
    "PROPOSITION": ("proposition",),
    "ASSERTION": ("claim",),
    "EVIDENCE": ("evidence",),
    "ACTIVITY": ("activity",),
}
#: Hits that one search ranks; beyond, the worst are left out and the search is not exhaustive.
MAX_RANKED = 10_000
#: Words of a query that count.
MAX_TERMS = 64
#: Characters of a query that are read.
MAX_QUERY = 4_000
#: Ranked hits whose elements are looked at in one go.
_CHUNK = 200
#: Characters of a hit's text that are shown.
_SNIPPET = 400


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is searched for. `kind` is the language's word, `type` and `predicate` its symbols."""

    kind: str
    query: str
    type: str | None = None
    predicate: str | None = None
    mode: Mode = "keyword"
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """One element that was found."""

    id: str
    score: float
    text: str
    name: str | None
    schema_ref: str | None


@dataclass(frozen=True, slots=True)
class Findings:
    """A page of hits, best first.

    `more`: there are further ones. `exhaustive`: with this page, every element that the search is
    about was seen; `reasons` say why not.
    """

    hits: tuple[Found, ...]
    more: bool
    exhaustive: bool
    reasons: tuple[str, ...]


def mode_of(mode: str) -> Mode:
    """The mode of that name; raises `SearchModeUnsupported` for none."""
    for known in MODES:
        if mode == known:
            return known
    raise SearchModeUnsupported(f"There is no mode {mode!r}; say one of {', '.join(MODES)}.")


def find(
    tx: Transaction, scope: Scope, schema: Schema, wanted: Wanted, *, limit: int, offset: int = 0
) -> Findings:
    """The hits from `offset` on, at most `limit`, in the present of the space."""
    test = _Test.of(schema, wanted)
    passed: list[Found] = []
    # few hits fall out, or more where they must be of a type; where many do, all are ranked
    first = offset + limit + 1 + (_CHUNK if test.narrows else 0)
    for depth in (first, MAX_RANKED):
        ranking = _ranking(tx, scope, wanted, min(depth, MAX_RANKED))
        passed = _passing(tx, scope, wanted, ranking, test, offset + limit + 1)
        # what was not ranked counts no more once the threshold is passed
        cut = ranking.cut and ranking.hits[-1].score >= (wanted.threshold or 0.0)
        if len(passed) > offset + limit or not cut or depth >= MAX_RANKED:
            break
    reasons = ranking.reasons
    if cut and len(passed) <= offset + limit:
        reasons = (*reasons, f"more than {MAX_RANKED} elements hold a word of the query")
    more = len(passed) > offset + limit
    if not searchable.complete(tx, scope):
        reasons = (*reasons, "elements of before this version are still being indexed")
    if more:
        reasons = (*reasons, "there are further pages")
    return Findings(tuple(passed[offset : offset + limit]), more, not reasons, reasons)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A hit in the order of scores: an element, or a document (0: none) that is to be looked up."""

    score: float
    document_id: int
    element_id: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class _Ranking:
    """Hits before their elements are looked at; `cut` when there are more than were ranked."""

    hits: Sequence[_Ranked]
    reasons: tuple[str, ...]
    cut: bool = False


@dataclass(frozen=True, slots=True)
class _Test:
    """The lineages that an element must have; None: any."""

    types: frozenset[str] | None
    predicates: frozenset[str] | None

    @classmethod
    def of(cls, schema: Schema, wanted: Wanted) -> _Test:
        if wanted.type is not None and wanted.kind != "CONCEPT":
            raise ConstraintViolation("WITH TYPE goes with SEARCH CONCEPT only.")
        if wanted.predicate is not None and wanted.kind not in ("PROPOSITION", "ASSERTION"):
            raise ConstraintViolation(
                "WITH PREDICATE goes with SEARCH PROPOSITION and SEARCH ASSERTION only."
            )
        return cls(
            None if wanted.type is None else schema.lineages("concept_type", wanted.type),
            None if wanted.predicate is None else schema.lineages("predicate", wanted.predicate),
        )

    @property
    def narrows(self) -> bool:
        return self.types is not None or self.predicates is not None

    def passes(self, type_lineage: str | None, predicate_lineage: str | None) -> bool:
        return (self.types is None or type_lineage in self.types) and (
            self.predicates is None or predicate_lineage in self.predicates
        )


def _ranking(tx: Transaction, scope: Scope, wanted: Wanted, depth: int) -> _Ranking:
    if wanted.mode == "keyword":
        return _by_words(tx, scope, wanted, depth)
    return _by_meaning(tx, scope, wanted)


def _by_words(tx: Transaction, scope: Scope, wanted: Wanted, depth: int) -> _Ranking:
    asked = list(dict.fromkeys(terms(wanted.query[:MAX_QUERY])))
    reasons: list[str] = []
    if not asked:
        reasons.append("the query has no word that is searched by")
    if len(asked) > MAX_TERMS or len(wanted.query) > MAX_QUERY:
        reasons.append("only the first words of the query count")
    held = index.collections(tx, scope)
    kinds = [kind for kind in COLLECTIONS[wanted.kind] if kind in held]
    if not all(held[kind].current for kind in kinds):
        reasons.append("some elements are indexed by an earlier version's rules")
    ranked = [
        _Ranked(score, id) for id, score in rank(tx, scope, kinds, asked[:MAX_TERMS], depth + 1)
    ]
    exact = _named(tx, scope, wanted.query) if wanted.kind == "CONCEPT" else []
    return _Ranking([*exact, *ranked[:depth]], tuple(reasons), len(ranked) > depth)


def _named(tx: Transaction, scope: Scope, query: str) -> list[_Ranked]:
    """Concepts whose name or key is the query itself, in the order of their ids."""
    rows = tx.execute(
        sql(
            f"""
            select id, name from (
                select v.id, v.name from element_ver v
                 where v.space_id = %(space)s and v.name = %(query)s and v.seq_to = {NOW}
                 limit %(limit)s) named
            union
            select e.id, e.key from (
                select id, key from element
                 where space_id = %(space)s and kind = 'C' and key = %(query)s
                 limit %(limit)s) e
            """
        ),
        {"space": scope.space_id, "query": query, "limit": MAX_RANKED},
    ).fetchall()
    found = {id: text for id, text in rows if id.startswith("C-")}
    return [_Ranked(1.0, 0, id, found[id]) for id in sorted(found, key=number)]


def number(element_id: str) -> int:
    """The number in an element's id, which orders elements of a kind by age."""
    return int(element_id.partition("-")[2])


def _by_meaning(tx: Transaction, scope: Scope, wanted: Wanted) -> _Ranking:
    if wanted.kind != "EVIDENCE":
        raise SearchModeUnsupported(
            f"{wanted.mode} search is offered for EVIDENCE only; other kinds have no vectors."
        )
    embedder = local_embedder()
    if embedder is None:
        raise SearchModeUnsupported(f"{wanted.mode} search is not available on this server.")
    covered = vectors.coverage(tx, scope, "evidence", embedder.id)
    reasons = [f"{wanted.mode} search ranks; it does not tell what is no hit"]
    if not covered.complete:
        reasons.append(f"{covered.indexed} of {covered.total} messages have a vector")
    near: list[bm25.Hit] = []
    if covered.indexed:
        query = embedder.embed([wanted.query[:MAX_QUERY]], "query")[0]
        near = vectors.search(tx, scope, "evidence", embedder.id, query, DEPTH)
    if wanted.mode == "semantic":
        return _Ranking(
            [_Ranked(max(0.0, min(1.0, hit.score)), hit.document_id) for hit in near],
            tuple(reasons),
        )
    worded = _by_words(tx, scope, wanted, DEPTH)
    score: dict[int, float] = {}
    for lane in ([hit.document_id for hit in worded.hits], [hit.document_id for hit in near]):
        for place, id in enumerate(lane, start=1):
            score[id] = score.get(id, 0.0) + (K + 1) / (2 * (K + place))
    order = sorted(score, key=lambda id: (-score[id], -id))
    return _Ranking([_Ranked(score[id], id) for id in order], (*reasons, *worded.reasons))


def _passing(
    tx: Transaction, scope: Scope, wanted: Wanted, ranking: _Ranking, test: _Test, most: int
) -> list[Found]:
    """The first `most` elements that pass, each once, merged concepts as what they became."""
    seen: set[str] = set()
    passed: list[Found] = []
    kinds = COLLECTIONS[wanted.kind]
    size = min(_CHUNK, most + 20)
    for start in range(0, len(ranking.hits), size):
        chunk = ranking.hits[start : start + size]
        texts = _texts(tx, scope, kinds, [one.document_id for one in chunk])
        named = [texts.get(one.document_id, (one.element_id, one.text)) for one in chunk]
        known = _elements(tx, scope, wanted.kind, [id for id, _ in named])
        for one, (element_id, text) in zip(chunk, named, strict=True):
            if wanted.threshold is not None and one.score < wanted.threshold:
                return passed
            element = known.get(element_id)
            if element is None or element.id in seen:
                continue
            seen.add(element.id)
            if test.passes(element.type_lineage, element.predicate_lineage):
                passed.append(Found(element.id, one.score, text, element.name, element.schema_ref))
            if len(passed) == most:
                return passed
    return passed


def _texts(
    tx: Transaction, scope: Scope, kinds: Sequence[DocumentKind], ids: Sequence[int]
) -> dict[int, tuple[str, str]]:
    """The element of each document and the beginning of its text."""
    rows = tx.execute(
        """
        select d.id, d.element_id, d.text
          from unnest(%(ids)s::bigint[]) as w (id)
          cross join unnest(%(kinds)s::text[]) as k (kind)
          cross join lateral (
            select id, element_id, left(text, %(most)s) as text from search_document
             where space_id = %(space)s and kind = k.kind and id = w.id offset 0
          ) d
        """,
        {
            "space": scope.space_id,
            "ids": [id for id in ids if id],
            "kinds": list(kinds),
            "most": _SNIPPET,
        },
    )
    return {id: (element_id, text) for id, element_id, text in rows}


@dataclass(frozen=True, slots=True)
class _Element:
    id: str
    schema_ref: str | None
    type_lineage: str | None
    predicate_lineage: str | None
    name: str | None


def _elements(
    tx: Transaction, scope: Scope, kind: str, ids: Sequence[str], depth: int = 0
) -> dict[str, _Element]:
    """What is known of elements in force, by the id that was asked for."""
    rows = tx.execute(
        sql(
            f"""
            select w.id, e.schema_ref, e.type_lineage, p.predicate_lineage, v.name, v.state,
                   m.target_id
              from unnest(%(ids)s::text[]) as w(id)
              join lateral (select * from element e
                     where e.space_id = %(space)s and e.id = w.id limit 1) e on true
              join lateral (select name, state from element_ver v where v.space_id = %(space)s
                     and v.id = w.id and v.seq_to = {NOW} limit 1) v on true
              left join lateral (select proposition_id from assertion a
                     where a.space_id = %(space)s and a.id = w.id limit 1) a
                on %(kind)s = 'ASSERTION'
              left join lateral (select predicate_lineage from proposition p
                     where p.space_id = %(space)s
                       and p.id = case when %(kind)s = 'ASSERTION' then a.proposition_id
                                       else w.id end limit 1) p
                on %(kind)s in ('ASSERTION', 'PROPOSITION')
              left join lateral (select target_id from merge_link m
                     where m.space_id = %(space)s and m.source_id = w.id limit 1) m
                on v.state = 'merged'
            """
        ),
        {"space": scope.space_id, "ids": list(ids), "kind": kind},
    ).fetchall()
    found = {
        id: _Element(id, schema_ref, type_lineage, predicate, name)
        for id, schema_ref, type_lineage, predicate, name, state, _ in rows
        if state == "active"
    }
    merged = {id: target for id, *_, target in rows if target is not None}
    if merged and depth < 64:
        became = _elements(tx, scope, kind, sorted(set(merged.values())), depth + 1)
        found.update({id: became[to] for id, to in merged.items() if to in became})
    return found
