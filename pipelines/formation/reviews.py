"""What formation drafts is to be looked at by maintenance: one task for each new symbol."""

from __future__ import annotations

from datetime import datetime

from storage.clock import to_text
from storage.graph.changes import DefineSymbol, UpsertConcept
from storage.graph.symbols import DRAFT

#: Kinds of symbols as schema packages call them.
_KINDS = {"concept_type": "ConceptType", "predicate": "PredicateType"}


def schema_review(symbol: DefineSymbol, handle: str, at: datetime) -> UpsertConcept:
    """The SleepTask that reviews a drafted symbol; one that is there already stays as it is.

    Its key is `review_schema:<kind>:<ref>` (seed 003, `GET /schema/drafts`).
    """
    kind, ref = _KINDS[symbol.symbol_kind], f"{DRAFT}/{symbol.name}"
    return UpsertConcept(
        handle,
        type="SleepTask",
        key=f"review_schema:{kind}:{ref}",
        initial_attributes={
            "summary": f"Review the drafted {kind} {symbol.name}.",
            "task_class": "review_schema",
            "status": "pending",
            "created_at": to_text(at),
            "symbol_kind": kind,
            "symbol_ref": ref,
        },
    )
