"""`GET /v1/{space}/schema/drafts`, `POST …/schema/promote`: the words that a space made up."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from flask import Response
from pydantic import BaseModel, ConfigDict, Field

from api.admission import Admission
from api.memory.outputs import RpcResponse
from api.negotiation import answer
from api.routes import Answer, Routes
from storage.database import Scope, database
from storage.graph import promotion
from storage.graph.errors import (
    SchemaSymbolAmbiguous,
    SchemaSymbolConflict,
    SchemaSymbolNotFound,
)
from storage.graph.promotion import DraftKind
from storage.graph.symbols import DRAFT
from storage.kip.snapshot import open_snapshot
from storage.principals import Principal

routes = Routes("schema", tag="memory")

SymbolKind = Literal["ConceptType", "PredicateType"]
_WIRE: dict[DraftKind, SymbolKind] = {
    "concept_type": "ConceptType",
    "predicate": "PredicateType",
}
_KINDS: dict[SymbolKind, DraftKind] = {wire: kind for kind, wire in _WIRE.items()}
#: Characters of a name or a ref.
_Symbol = Annotated[str, Field(min_length=1, max_length=1024)]


class DraftSymbol(BaseModel):
    """A drafted word; `ref` is what elements keep, `promoted_to` the lineage it is one with."""

    kind: SymbolKind
    name: str
    ref: str
    definition: dict[str, Any]
    promoted_to: str | None = None


class SchemaDrafts(BaseModel):
    """All words that the space drafted, types before predicates."""

    package_ref: Literal["kip://local/draft@0.0.0"]
    schema_environment_version: int
    symbols: list[DraftSymbol]


class PromoteInput(BaseModel):
    """Which draft is to be one with which installed symbol of its kind."""

    model_config = ConfigDict(strict=True, extra="ignore")
    kind: SymbolKind
    draft: Annotated[_Symbol, Field(alias="from", description="A local name or an exact ref.")]
    to: Annotated[
        _Symbol, Field(description="An exact ref, or a local name that only one package has.")
    ]


class Promoted(BaseModel):
    """The draft's exact ref, the symbol's, and the version from which they match as one."""

    promoted: str
    to: str
    schema_environment_version: int


@routes.add(
    "GET",
    "/v1/<space_id>/schema/drafts",
    summary="List drafted vocabulary",
    answers={200: Answer(RpcResponse[SchemaDrafts], "What the space drafted.")},
    admits=Admission.LENIENT_READ,
)
def schema_drafts(caller: Principal) -> Response:
    """Types and predicates that the space defined for itself, and what they were promoted to."""
    scope = Scope(caller.space_id)
    with database().transaction(scope, snapshot=True) as tx:
        snapshot = open_snapshot(tx, scope)
    symbols: list[dict[str, Any]] = []
    for draft in promotion.drafts(snapshot.schema):
        told: dict[str, Any] = {
            "kind": _WIRE[draft.kind],
            "name": draft.name,
            "ref": draft.ref,
            "definition": dict(draft.definition),
        }
        if draft.promoted_to is not None:
            told["promoted_to"] = draft.promoted_to
        symbols.append(told)
    return answer(
        {
            "package_ref": DRAFT,
            "schema_environment_version": snapshot.schema_env_version,
            "symbols": symbols,
        }
    )


@routes.add(
    "POST",
    "/v1/<space_id>/schema/promote",
    summary="Promote a draft",
    body=PromoteInput,
    answers={200: Answer(RpcResponse[Promoted], "What matches as one now.")},
    raises=(SchemaSymbolNotFound, SchemaSymbolAmbiguous, SchemaSymbolConflict),
    admits=Admission.MANAGEMENT,
)
def schema_promote(caller: Principal, body: PromoteInput) -> Response:
    """Elements keep the refs that they were written with; reads match both from now on.

    A draft is promoted once, and nothing is promoted by itself.
    """
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        made = promotion.promote(tx, scope, caller.subject, _KINDS[body.kind], body.draft, body.to)
    return answer(
        {
            "promoted": made.promoted,
            "to": made.to,
            "schema_environment_version": made.schema_env_version,
        }
    )
