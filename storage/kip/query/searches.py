"""SEARCH patterns: retrieval is run first, its hits are a table that the query joins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from storage.graph import finding
from storage.graph.finding import Wanted
from storage.kip.errors import HistoricalSearchUnavailable, ResourceExhausted, fault
from storage.kip.language.ast_patterns import Block, SearchPattern
from storage.kip.language.ast_terms import Literal, Scalar
from storage.kip.language.walking import every
from storage.kip.query.limits import MAX_HITS
from storage.kip.snapshot import Snapshot

_LETTERS = {"CONCEPT": "C", "PROPOSITION": "P", "ASSERTION": "A", "EVIDENCE": "E", "ACTIVITY": "X"}


@dataclass(frozen=True, slots=True)
class Hits:
    """What a search found, best first: elements of one kind, each with its score."""

    ids: list[str]
    scores: list[float]
    kind: str
    mode: str


def run(snapshot: Snapshot, where: Block) -> Mapping[int, Hits]:
    """Run the searches of a query; by the identity of their clauses.

    Raises `HistoricalSearchUnavailable`, `SearchModeUnsupported`, `ResourceExhausted`, and what
    types and predicates deserve.
    """
    return {id(clause): _run(snapshot, clause) for clause in every(where, SearchPattern)}


def _run(snapshot: Snapshot, clause: SearchPattern) -> Hits:
    if snapshot.as_of is not None:
        raise fault(HistoricalSearchUnavailable, "SEARCH finds the present only.", clause.at)
    limit = _number(clause.limit)
    if limit > MAX_HITS:
        raise fault(ResourceExhausted, f"A search gives at most {MAX_HITS} hits.", clause.at)
    threshold = clause.threshold
    wanted = Wanted(
        clause.kind,
        _text(clause.query) or "",
        _text(clause.type),
        _text(clause.predicate),
        finding.mode_of(_text(clause.mode) or "keyword"),
        float(threshold.value) if isinstance(threshold, Literal) else None,  # type: ignore[arg-type]
    )
    found = finding.find(snapshot.tx, snapshot.scope, snapshot.schema, wanted, limit=limit)
    return Hits(
        [hit.id for hit in found.hits],
        [hit.score for hit in found.hits],
        _LETTERS[clause.kind],
        wanted.mode,
    )


def _text(value: Scalar | None) -> str | None:
    return value.value if isinstance(value, Literal) and isinstance(value.value, str) else None


def _number(value: Scalar) -> int:
    assert isinstance(value, Literal)
    assert isinstance(value.value, int)
    return value.value
