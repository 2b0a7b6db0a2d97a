"""The maintenance job: index, settlement, state of affairs, self-test, model (see the package).

    the index → stages by rule, batch by batch → self-test → model → one commit ends it:
    the reports of the space, the run's record, the receipt

Every batch and the end are fenced. Nothing sweeps `memory_strength`; it decays when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from pipelines.formation.reviews import schema_review
from pipelines.maintenance import consolidation, index, self_test
from pipelines.maintenance.parameters import Parameters, effective
from pipelines.maintenance.stages import Planned, run_stages
from pipelines.ports import models
from pipelines.ports.models import LanguageModel
from pipelines.work import Effect, FollowUp, Result, Work
from storage import conversations, maintenance_runs, memory_policy, spaces
from storage.byok import ByokUnreadable
from storage.clock import now, to_millis
from storage.database import Scope, Transaction
from storage.errors import InvalidInput
from storage.graph import outcomes
from storage.principals import system
from storage.settings import settings
from storage.settlement import (
    audit,
    backlog,
    commitments,
    corrections,
    exposures,
    retention,
    tasks,
    watches,
)

#: Why no Skill is judged (seed 003 section 1).
NO_LEARNING = "No trusted learning pipeline is installed, so no Skill is graded or moved."
_ZERO = {"input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "requests": 0}


def run(work: Work, model: LanguageModel | None = None) -> Effect:
    """Maintain the space as `payload.scope` says; `model` stands in for the configured one.

    The result holds what was done: the index's numbers, `settlement`, and by scope `backlog`,
    `tasks`, `schema_audit`, `self_test`, `consolidation`. A part that failed says so with `error`.
    """
    scope_name = str(work.payload.get("scope", "daydream"))
    with work.read() as tx:
        space = spaces.get(tx, work.scope)
    policy = memory_policy.of(space.settings)
    parameters = effective(policy, work.payload.get("parameters") or {})
    report: dict[str, Any] = {
        "scope": scope_name,
        "parameters": parameters.as_json(),
        **index.bring_up_to_date(work),
    }
    at = now()
    told = run_stages(work, _stages(work, scope_name, parameters, at))
    chosen = model
    if chosen is None and scope_name != "quick":
        try:
            chosen = models.model_of(work, settings())
        except (InvalidInput, ByokUnreadable) as error:
            report["model_error"] = error.code
    if scope_name != "quick":
        told["self_test"] = self_test.run(work, policy, chosen)
    if scope_name == "full":
        assessment = _assessment(told)
        told["consolidation"] = consolidation.run(work, parameters, assessment, chosen)
    usage = _usage(told)
    report |= _report(told, at)

    def apply(tx: Transaction) -> Result:
        _conclude(tx, work.scope, told, report, at)
        conversation = work.payload.get("conversation")
        if conversation is not None:
            conversations.settle(
                tx,
                work.scope,
                int(conversation),
                artifacts=[{"type": "maintenance", **report}],
                usage=usage,
            )
        wants_vectors = FollowUp("embed", {}, coalesce_key="embed")
        return Result(
            {**report, "usage": usage},
            follow_ups=(wants_vectors,) if report["vectors_missing"] else (),
        )

    return Effect(apply)


def _stages(work: Work, scope_name: str, parameters: Parameters, at: datetime) -> list[Planned]:
    """The stages by rule; each step gets the transaction and what its stage has told so far."""
    # whoever asked: what is settled is the host's own doing
    scope, principal = work.scope, system(work.scope.space_id).subject

    def by_rule(step: Any, *arguments: Any, **more: Any) -> Any:
        return lambda tx, told: step(tx, scope, *arguments, told=told, **more)

    stages = [
        Planned("watches", by_rule(watches.settle, principal, at)),
        Planned("commitments", by_rule(commitments.settle, principal, at)),
        Planned("retention", by_rule(retention.settle, principal, at)),
        Planned("exposures", by_rule(exposures.batch)),
        Planned("outcomes", partial(_forget_outcomes, scope, at)),
    ]
    if scope_name != "daydream":
        stages += [
            Planned(
                "events",
                by_rule(
                    backlog.events,
                    principal,
                    at,
                    stale_days=parameters.stale_event_threshold_days,
                    most=parameters.unconsolidated_max_backlog,
                ),
            ),
            Planned(
                "orphans", by_rule(backlog.orphans, principal, most=parameters.orphan_max_count)
            ),
            Planned("audit", by_rule(audit.audit, principal, at, review=schema_review)),
            Planned("tasks", by_rule(tasks.settle, principal, at)),
        ]
    # last, so that it reads what the others wrote
    return [*stages, Planned("corrections", by_rule(corrections.scan, principal))]


def _forget_outcomes(
    scope: Scope, at: datetime, tx: Transaction, told: dict[str, Any]
) -> tuple[dict[str, Any], bool]:
    """Remove the outcomes of keyed requests that are older than they are kept."""
    return {**told, "forgotten": outcomes.forget(tx, scope, at - outcomes.RETENTION)}, True


def _report(told: Mapping[str, dict[str, Any]], at: datetime) -> dict[str, Any]:
    """What the run tells; members of seed 003 `MemorySettlementReport` under `settlement`."""
    scan = told["corrections"]
    settlement: dict[str, Any] = {
        "settled_at": to_millis(at),
        "revised_roots": scan.get("revised_roots", []),
        "exposures": told["exposures"].get("exposures", []),
        "exposures_truncated": told["exposures"].get("truncated", False),
        "new_corrections": scan.get("new_corrections", 0),
        "watches": _counts(told["watches"], "fired", "conflicted", "disarmed", "deferred"),
        "commitments": _counts(told["commitments"], "due", "raised"),
        "skills": {
            "unsupported_reason": NO_LEARNING,
            "graded": 0,
            "transitions": 0,
            "conflicted": 0,
        },
        "correction_scan_incomplete": scan.get("incomplete", True) or "error" in scan,
        "correction_scan_through_seq": scan.get("through", 0),
        "retention": _counts(told["retention"], "archived", "held", "refused", "remaining"),
    }
    if "error" in scan:
        settlement["correction_scan_error"] = scan["error"]
    report: dict[str, Any] = {"settlement": settlement}
    if "events" in told:
        report["backlog"] = {
            **_counts(told["events"], "unconsolidated", "stale", "tasks"),
            **{
                {"tasks": "orphan_tasks"}.get(name, name): value
                for name, value in _counts(told["orphans"], "orphans", "tasks").items()
            },
        }
        report["schema_audit"] = {
            name: told["audit"][name]
            for name in ("audited_at", "predicates", "reviews", "error")
            if name in told["audit"]
        }
        report["tasks"] = {
            **_counts(told["tasks"], "released", "completed", "cancelled"),
            "open": told["tasks"].get("open", {}),
        }
    for name in ("self_test", "consolidation"):
        if told.get(name):
            report[name] = told[name]
    return report


def _assessment(told: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The state of affairs as a model is told it, with what the stages by rule failed at."""
    return {
        "unconsolidated": told["events"].get("unconsolidated", 0),
        "stale_events": told["events"].get("stale", 0),
        "orphans": told["orphans"].get("orphans", 0),
        "settlement_errors": {
            name: stage["error"] for name, stage in told.items() if "error" in stage
        },
    }


def _counts(told: Mapping[str, Any], *names: str) -> dict[str, Any]:
    counts = {name: told.get(name, 0) for name in names}
    return {**counts, "error": told["error"]} if "error" in told else counts


def _conclude(
    tx: Transaction,
    scope: Scope,
    told: Mapping[str, dict[str, Any]],
    report: Mapping[str, Any],
    at: datetime,
) -> None:
    """Keep the run's reports, and when something falls due next."""
    settlement = dict(report["settlement"])
    through = maintenance_runs.read(tx, scope).corrections_seq
    settlement["correction_scan_through_seq"] = through
    report["settlement"]["correction_scan_through_seq"] = through
    graph = None
    if "unconsolidated" in told.get("events", {}):
        graph = {
            "unconsolidated": told["events"]["unconsolidated"],
            "orphans": told["orphans"].get("orphans", 0),
            "predicate_types": told["audit"].get("predicate_types", 0),
            "as_of": to_millis(at),
        }
    audited = report.get("schema_audit")
    tested = told.get("self_test", {})
    maintenance_runs.conclude(
        tx,
        scope,
        {
            "last_settlement": settlement,
            "last_self_test": tested if "tested_at" in tested else None,
            "last_schema_audit": audited if audited and "audited_at" in audited else None,
            "graph": graph,
        },
        next_due=_next_due(tx, scope, told, at),
    )
    maintenance_runs.drop_stages(tx, scope)


def _next_due(
    tx: Transaction, scope: Scope, told: Mapping[str, dict[str, Any]], at: datetime
) -> datetime | None:
    """When cron shall look again although nothing was written: `at` where something was left."""
    left = (
        told["retention"].get("remaining")
        or told["corrections"].get("incomplete")
        or told["exposures"].get("truncated")
        or not told["watches"].get("complete", True)
    )
    if left:
        return at
    kept = maintenance_runs.oldest_outcome(tx, scope)
    # a little later than it is kept, so that the run finds it over
    expiring = None if kept is None else kept + outcomes.RETENTION + timedelta(minutes=1)
    times = [part.next_due(tx, scope, at) for part in (watches, commitments, retention)]
    return min((time for time in (*times, expiring) if time is not None), default=None)


def _usage(told: Mapping[str, dict[str, Any]]) -> dict[str, int]:
    """Model tokens of the whole run."""
    used = [told.get(name, {}).get("usage", {}) for name in ("self_test", "consolidation")]
    return {name: sum(one.get(name, 0) for one in used) for name in _ZERO}
