"""`GET /v1/{space}/memory_status`: what memory was used for, and what upkeep last came to."""

from __future__ import annotations

from typing import Any

from flask import Response
from pydantic import BaseModel, ConfigDict

from api.admission import Admission
from api.memory.outputs import RpcResponse, Usage
from api.negotiation import answer
from api.routes import Answer, Routes
from storage import maintenance_runs, memory_metrics, spaces, usage
from storage.database import Scope, database
from storage.principals import Principal

routes = Routes("status", tag="memory")

_OPEN = ConfigDict(extra="allow")


class MemoryMetrics(BaseModel):
    """Numbers since the space began; `updated_at` is in Unix milliseconds, 0: never."""

    recalls_completed: int
    entities_recalled: int
    probe_hits: int
    probe_misses: int
    negative_cache_hits: int
    self_test_tested: int
    self_test_grounded: int
    reencode_tasks: int
    corrections: int
    uncertainty_reports: int
    uncertainty_sum: float
    forgotten_entities: int
    updated_at: int


class MemoryGraphCounters(BaseModel):
    """How much there is; all but the first two are of the last quick or full maintenance."""

    concepts: int
    propositions: int
    unconsolidated: int | None = None
    orphans: int | None = None
    predicate_types: int | None = None
    as_of: int | None = None


class WatchSettlement(BaseModel):
    """`disarmed` includes expired ones; `deferred` waits for an evaluator, or for the stream."""

    fired: int
    conflicted: int
    disarmed: int
    deferred: int
    error: str | None = None


class CommitmentSettlement(BaseModel):
    """Commitments that are due, and those that this run has raised."""

    due: int
    raised: int
    error: str | None = None


class SkillSettlement(BaseModel):
    """Skills are judged by a trusted learning pipeline alone."""

    unsupported_reason: str | None = None
    graded: int
    transitions: int
    conflicted: int
    error: str | None = None


class RetentionSettlement(BaseModel):
    """What became of elements whose retention is over; `held` by a legal hold or a pin."""

    archived: int
    held: int
    refused: int
    remaining: int
    error: str | None = None


class Exposure(BaseModel):
    """How often an element was shown and used."""

    element_id: str
    retrieved: int
    used: int
    last_snapshot_seq: int


class MemorySettlementReport(BaseModel):
    """The last settlement."""

    settled_at: int
    revised_roots: list[dict[str, Any]] | None = None
    exposures: list[Exposure] | None = None
    exposures_truncated: bool | None = None
    new_corrections: int
    watches: WatchSettlement
    commitments: CommitmentSettlement
    skills: SkillSettlement
    correction_scan_error: str | None = None
    correction_scan_incomplete: bool
    correction_scan_through_seq: int
    retention: RetentionSettlement


class SelfTestReport(BaseModel):
    """The last self-test; `questions` says who worded them, `recall` how they were answered."""

    model_config = _OPEN
    tested_at: int
    tested: int
    grounded: int
    reencode_tasks: int
    usage: Usage


class SchemaAudit(BaseModel):
    """How often each predicate is used."""

    model_config = _OPEN
    audited_at: int
    predicates: dict[str, int] | None = None


class MemoryStatus(BaseModel):
    """Metrics, the rates that follow from them, and the last reports. No rate of nothing is told.

    `probe_hit_rate` is of all probes, `correction_rate` of all claims that were ever made.
    """

    metrics: MemoryMetrics
    groundability: float | None = None
    probe_hit_rate: float | None = None
    correction_rate: float | None = None
    avg_uncertainty: float | None = None
    maintenance_tokens_per_recall: float | None = None
    graph: MemoryGraphCounters
    last_settlement: MemorySettlementReport | None = None
    last_self_test: SelfTestReport | None = None
    last_shadow: dict[str, Any] | None = None
    last_schema_audit: SchemaAudit | None = None


@routes.add(
    "GET",
    "/v1/<space_id>/memory_status",
    summary="Read memory statistics and the last maintenance reports",
    answers={200: Answer(RpcResponse[MemoryStatus], "As it is now.")},
    admits=Admission.LENIENT_READ,
)
def memory_status(caller: Principal) -> Response:
    """Reads numbers and reports that are kept; nothing is settled or searched for it."""
    scope = Scope(caller.space_id)
    with database().transaction(scope, snapshot=True) as tx:
        counts = spaces.counts(tx, scope)
        metrics = memory_metrics.read(tx, scope)
        claims = memory_metrics.claims_made(tx, scope)
        upkeep = maintenance_runs.read(tx, scope)
        spent = usage.totals(tx, scope)["maintenance"]
    probes = metrics.probe_hits + metrics.probe_misses + metrics.negative_cache_hits
    tokens = spent["input_tokens"] + spent["output_tokens"]
    told: dict[str, Any] = {
        "metrics": metrics.as_json(),
        "groundability": _rate(metrics.self_test_grounded, metrics.self_test_tested),
        "probe_hit_rate": _rate(metrics.probe_hits, probes),
        "correction_rate": _rate(metrics.corrections, claims),
        "avg_uncertainty": _rate(metrics.uncertainty_sum, metrics.uncertainty_reports),
        "maintenance_tokens_per_recall": _rate(tokens, metrics.recalls_completed),
        "graph": {
            "concepts": counts.concepts,
            "propositions": counts.propositions,
            **(upkeep.graph or {}),
        },
        "last_settlement": upkeep.last_settlement,
        "last_self_test": upkeep.last_self_test,
        "last_shadow": upkeep.last_shadow,
        "last_schema_audit": upkeep.last_schema_audit,
    }
    return answer({name: value for name, value in told.items() if value is not None})


def _rate(part: float, whole: float) -> float | None:
    return part / whole if whole else None
