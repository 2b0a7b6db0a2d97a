"""`GET /v1/{space}/info`, `/status` and `/formation_status`: what a space holds."""

from __future__ import annotations

from typing import Any

from flask import Response

from api.admission import Admission
from api.memory.outputs import FormationStatus, RpcResponse, SpaceInfo
from api.negotiation import answer
from api.routes import Answer, Routes
from storage import maintenance_runs, spaces, usage
from storage.clock import to_millis
from storage.database import Scope, Transaction, database
from storage.kip.meta.memory_interface import descriptor
from storage.principals import Principal

routes = Routes("spaces", tag="spaces")


def _show(caller: Principal) -> Response:
    """What the space holds, how far its work is, and what models have cost it."""
    scope = Scope(caller.space_id)
    with database().transaction(scope, snapshot=True) as tx:
        return answer(space_info(tx, scope))


def space_info(tx: Transaction, scope: Scope) -> dict[str, Any]:
    """`SpaceInfo`; raises `NotFound`. There is no wiki yet, so that all its counts are 0."""
    space = spaces.get(tx, scope)
    used = usage.totals(tx, scope)
    told = {
        **formation_status_of(tx, scope),
        "owner": space.owner,
        "public": space.public,
        "tier": {"tier": space.tier, "updated_at": to_millis(space.tier_updated_at)},
        "db_stats": {"head_seq": space.head_seq, "created_at": to_millis(space.created_at)},
        "formation_usage": used["formation"],
        "recall_usage": used["recall"],
        "maintenance_usage": used["maintenance"],
        "memory_interface": descriptor(scope),
        "wiki_docs": 0,
        "wiki_chunks": 0,
        "wiki_versions": 0,
        "wiki_queries": 0,
        "wiki_digested": 0,
        "wiki_stale_docs": 0,
    }
    del told["formation_processing"], told["maintenance_processing"]
    for name in ("name", "description"):
        value = getattr(space, name)
        if value is not None:
            told[name] = value
    return told


def formation_status_of(tx: Transaction, scope: Scope) -> dict[str, Any]:
    """`FormationStatus`; raises `NotFound`."""
    counts = spaces.counts(tx, scope)
    return {
        "id": scope.space_id,
        "concepts": counts.concepts,
        "propositions": counts.propositions,
        "conversations": counts.conversations,
        "formation_processing": counts.formation_processing,
        "maintenance_processing": counts.maintenance_processing,
        "formation_processed_id": counts.formation_processed_id,
        "maintenance_processed_id": counts.maintenance_processed_id,
        "maintenance_at": maintenance_runs.last_runs(tx, scope),
    }


_INFO = {200: Answer(RpcResponse[SpaceInfo], "The space.")}


@routes.add(
    "GET",
    "/v1/<space_id>/info",
    summary="What a space holds",
    answers=_INFO,
    admits=Admission.LENIENT_READ,
)
def space_info_route(caller: Principal) -> Response:
    """What the space holds, how far its work is, and what models have cost it."""
    return _show(caller)


@routes.add(
    "GET",
    "/v1/<space_id>/status",
    summary="The same as /info",
    answers=_INFO,
    admits=Admission.LENIENT_READ,
)
def space_status_route(caller: Principal) -> Response:
    """Another name of `/info`."""
    return _show(caller)


@routes.add(
    "GET",
    "/v1/<space_id>/formation_status",
    summary="How far formation is",
    answers={200: Answer(RpcResponse[FormationStatus], "The status.")},
    admits=Admission.LENIENT_READ,
)
def formation_status(caller: Principal) -> Response:
    """For monitoring; whether one job is done, its receipt says."""
    scope = Scope(caller.space_id)
    with database().transaction(scope, snapshot=True) as tx:
        return answer(formation_status_of(tx, scope))
