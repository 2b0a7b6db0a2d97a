"""`POST /v1/{space}/probe`: whether a search finds anything, without a model."""

from __future__ import annotations

from typing import Annotated, Any

from flask import Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from api.admission import Admission
from api.memory.inputs import check_query
from api.memory.outputs import RpcResponse
from api.negotiation import answer
from api.routes import Answer, Routes
from storage import memory_metrics, probe_cache, probing, spaces
from storage.citations import cite
from storage.database import Scope, database
from storage.principals import Principal

routes = Routes("probe", tag="memory")


class ProbeInput(BaseModel):
    """What to look for, and how many hits to tell at most."""

    model_config = ConfigDict(strict=True, extra="ignore")
    query: Annotated[str, Field(min_length=1), AfterValidator(check_query)]
    limit: Annotated[int, Field(ge=1, le=probing.MAX_HITS)] = 8


class MemoryCitation(BaseModel):
    """An element in a few words; `source` is who claimed or said it."""

    entity: str
    type: str | None = None
    name: str | None = None
    confidence: float | None = None
    source: str | None = None
    created_at: str | None = None


class ProbeOutput(BaseModel):
    """Whether anything was found. That nothing was is no verdict on whether something is so."""

    found: bool
    negative_cached: bool
    search_exhaustive: bool | None = None
    hits: list[MemoryCitation] | None = None


@routes.add(
    "POST",
    "/v1/<space_id>/probe",
    summary="Try whether a search finds anything",
    body=ProbeInput,
    answers={200: Answer(RpcResponse[ProbeOutput], "What the words lead to.")},
    admits=Admission.LENIENT_READ,
)
def probe(caller: Principal, body: ProbeInput) -> Response:
    """By words alone, without a model. `search_exhaustive` says that there are no further hits.

    An exhaustive miss is remembered until the space changes; `negative_cached` says that this one
    was.
    """
    scope = Scope(caller.space_id)
    with database().transaction(scope, snapshot=True) as tx:
        head_seq = spaces.get(tx, scope).head_seq
        cached = probe_cache.known_miss(tx, scope, body.query)
        if not cached:
            probed = probing.probe(tx, scope, body.query, limit=body.limit)
            hits = cite(tx, scope, probed.hits)
    if cached:
        with database().transaction(scope) as tx:
            memory_metrics.count(tx, scope, "negative_cache_hits")
        return answer({"found": False, "negative_cached": True, "search_exhaustive": True})
    with database().transaction(scope) as tx:
        if probed.exhaustive and not hits:
            probe_cache.remember_miss(tx, scope, body.query, head_seq)
        memory_metrics.count(tx, scope, "probe_hits" if hits else "probe_misses")
    told: dict[str, Any] = {
        "found": bool(hits),
        "negative_cached": False,
        "search_exhaustive": probed.exhaustive,
        "hits": hits,
    }
    return answer(told)
