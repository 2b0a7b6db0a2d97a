"""`GET /v1/{space}/memory/plans/{plan}`: what an erasure was to take, and what was found after."""

from __future__ import annotations

from typing import Literal

from flask import Response
from pydantic import BaseModel

from api.admission import Admission
from api.memory.outputs import RpcResponse
from api.negotiation import answer
from api.routes import Answer, Routes
from storage import erasure_plans, spaces
from storage.database import Scope, database
from storage.graph.errors import NotFoundOrNotVisible
from storage.principals import Principal

routes = Routes("memory_plans", tag="memory interface")

State = Literal["pending", "erased", "held", "unavailable"]


class PlanTarget(BaseModel):
    """One thing that is to go."""

    ref: str
    surface: Literal["element", "payload", "summary", "replay", "index", "cache", "blob", "backup"]
    state: State


class ErasurePlan(BaseModel):
    """What is to go, and how far that is. `external_exports` have left the house already."""

    scope: Literal["payload_only", "semantic"]
    basis_seq: int
    source_event_refs: list[str]
    targets: list[PlanTarget]
    external_exports: list[str]
    status: Literal["pending", "partial", "blocked", "completed"]
    receipts: list[str]


class HostSurface(BaseModel):
    """A record beside memory that held a copy; `verified_at` is when it was looked at last."""

    surface: Literal[
        "staged_bytes",
        "formation_record",
        "recall_record",
        "usage_ledger",
        "probe_cache",
        "job_payload",
        "retained_basis",
    ]
    ref: str
    state: State
    verified_at: str | None


class PlanView(BaseModel):
    """A plan with its receipt and the copies in the house.

    Lists are bounded: what is not erased comes first. The totals count all that there is, whether
    it is listed or not.
    """

    plan_ref: str
    receipt_ref: str
    plan: ErasurePlan
    host_surfaces: list[HostSurface]
    source_event_refs_total: int
    targets_total: int
    external_exports_total: int
    receipts_total: int
    host_surfaces_total: int


@routes.add(
    "GET",
    "/v1/<space_id>/memory/plans/<plan_ref>",
    summary="Read an erasure plan",
    answers={200: Answer(RpcResponse[PlanView], "The plan and how far it is.")},
    raises=(NotFoundOrNotVisible,),
    admits=Admission.READ,
)
def get_plan(caller: Principal, plan_ref: str) -> Response:
    """For the caller whose request it is; to anybody else it does not exist."""
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        spaces.get(tx, scope)
        plan = erasure_plans.get(tx, scope, caller.subject, plan_ref)
    if plan is None:
        raise NotFoundOrNotVisible("There is no such plan here.")
    return answer(plan.as_json())
