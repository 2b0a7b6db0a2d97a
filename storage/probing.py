"""Whether anything in a space is found by some words: no model, no vectors, no verdict.

Looked through are the elements that recall can tell of (concepts, claims, messages). A miss says
that these words lead nowhere, and not that something is untrue (seed 003, `POST /probe`).
"""

from __future__ import annotations

from dataclasses import dataclass

from storage.database import Scope, Transaction
from storage.graph.finding import Findings, Found, Wanted, find
from storage.graph.schema import Schema, environment
from storage.graph.symbols import local_name

#: Hits that a caller may ask for.
MAX_HITS = 50
_KINDS = ("CONCEPT", "ASSERTION", "EVIDENCE")
#: Concepts that are the space's own housekeeping and nothing that anybody told it.
_HOUSEKEEPING = frozenset({"SleepTask"})
#: Hits of one kind that are looked at, and how many at a time.
_LOOKED_AT, _PAGE = 1000, 100


@dataclass(frozen=True, slots=True)
class Probed:
    """The ids of hits, best first. `exhaustive`: there is nothing else that the words lead to."""

    hits: tuple[str, ...]
    exhaustive: bool


def probe(tx: Transaction, scope: Scope, query: str, *, limit: int) -> Probed:
    """Search all kinds by the words of `query`; `tx` should hold still (one snapshot)."""
    schema = environment(tx, scope)
    hits: list[Found] = []
    exhaustive = True
    for kind in _KINDS:
        told, complete = _of_kind(tx, scope, schema, Wanted(kind, query), limit)
        hits += told
        exhaustive = exhaustive and complete
    hits.sort(key=lambda hit: -hit.score)
    ids = tuple(hit.id for hit in hits[:limit])
    return Probed(ids, exhaustive and len(ids) == len(hits))


def _of_kind(
    tx: Transaction, scope: Scope, schema: Schema, wanted: Wanted, limit: int
) -> tuple[list[Found], bool]:
    """The first hits of one kind that count, and whether those are all."""
    told: list[Found] = []
    for offset in range(0, _LOOKED_AT, _PAGE):
        found: Findings = find(tx, scope, schema, wanted, limit=_PAGE, offset=offset)
        told += [hit for hit in found.hits if _counts(hit)]
        if len(told) > limit or not found.more:
            return told[:limit], found.exhaustive and len(told) <= limit
    return told, False


def _counts(hit: Found) -> bool:
    if hit.schema_ref is not None and local_name(hit.schema_ref) in _HOUSEKEEPING:
        return False
    return not (hit.name or "").startswith("$")
