"""SEARCH: grounding words in elements. Its hits are candidates, neither beliefs nor proofs."""

from __future__ import annotations

from typing import Any

from storage.graph import finding
from storage.graph.finding import Findings, Wanted
from storage.graph.symbols import KIND_NAMES
from storage.kip.errors import HistoricalSearchUnavailable
from storage.kip.language.ast_meta import Search
from storage.kip.language.ast_terms import Literal, Scalar
from storage.kip.meta.answered import Answered, Asking, Cursors, limit_of, needed, text

#: Hits of a page without LIMIT.
_PAGE = Literal(10)
SCORE_SEMANTICS = {
    "keyword": "share of the query's words, weighed by rarity",
    "semantic": "cosine of query and message, cut at 0",
    "hybrid": "fused reciprocal ranks, of the best possible",
}
#: The result context's extension that says how far a search can be trusted to be whole.
EXTENSION = "brainstem/search"


def search(asking: Asking, statement: Search) -> Answered:
    """A page of hits, best first: id, kind, score, and what helps to choose among them.

    The cursor is good while the space stays as it is. Raises `HistoricalSearchUnavailable`,
    `SearchModeUnsupported`, `ConstraintViolation` for a modifier that does not suit the kind.
    """
    snapshot = asking.snapshot
    if statement.as_of is not None or snapshot.as_of is not None:
        raise HistoricalSearchUnavailable("The search index holds the present alone.")
    wanted = Wanted(
        statement.kind,
        needed(statement.query),
        text(statement.type),
        text(statement.predicate),
        finding.mode_of(text(statement.mode) or "keyword"),
        _share(statement.threshold),
    )
    cursors = Cursors(asking, "SEARCH", _asked(wanted), pinned=snapshot.seq)
    begin = cursors.read(statement.cursor) or 0
    limit = limit_of(statement.limit or _PAGE)
    found = finding.find(
        snapshot.tx, snapshot.scope, snapshot.schema, wanted, limit=limit, offset=begin
    )
    end = begin + len(found.hits)
    return Answered(
        [_row(hit) for hit in found.hits],
        cursors.make(end) if found.more and limit else None,
        {"search": _context(asking, wanted, found)},
    )


def _row(hit: finding.Found) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": hit.id,
        "kind": KIND_NAMES[hit.id[0]].lower(),
        "score": round(hit.score, 6),
        "snippet": hit.text,
    }
    if hit.name is not None:
        row["name"] = hit.name
    if hit.schema_ref is not None:
        row["schema_ref"] = hit.schema_ref
    return row


def _context(asking: Asking, wanted: Wanted, found: Findings) -> dict[str, Any]:
    seq = asking.snapshot.seq
    return {
        # the words of a commit are indexed by the commit; vectors follow, and the reasons tell
        "index_seq": seq,
        "current_space_seq": seq,
        "consistency": "transactional" if wanted.mode == "keyword" else "eventual",
        "mode": wanted.mode,
        "score_semantics": SCORE_SEMANTICS[wanted.mode],
        "extensions": {
            EXTENSION: {
                "search_exhaustive": found.exhaustive,
                "coverage": {
                    "states": ["active"],
                    "more_pages": found.more,
                    "not_exhaustive_because": list(found.reasons),
                },
            }
        },
    }


def _asked(wanted: Wanted) -> list[Any]:
    return [
        wanted.kind,
        wanted.query,
        wanted.type,
        wanted.predicate,
        wanted.mode,
        wanted.threshold,
    ]


def _share(value: Scalar | None) -> float | None:
    return value.value if isinstance(value, Literal) else None  # type: ignore[return-value]
