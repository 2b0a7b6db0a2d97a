"""Acting on a decision, as the host's dispatcher records it: one attempt, sent once.

An attempt is an `action_attempt` Activity with an `AttemptRecord`, and the row that says when and
how it was sent. Delivery into this very inbox (`inbox`) is durable once the record is committed;
that proves the record and nothing about anybody having read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from storage.clock import now, to_text
from storage.database import Scope, Transaction
from storage.errors import Conflict, NotFound
from storage.graph import state
from storage.graph.changes import ChangeSet, CreateActivity
from storage.graph.commit import commit, lock
from storage.graph.schema import local_name
from storage.ids import new_id
from storage.runtime.callers import CHANNEL

Kind = Literal["inbox", "external"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, without its words: the request is named by its digest.

    `control_domain` is who controls the action; its observers must be of another one.
    """

    kind: Kind
    request_digest: str
    control_domain: str
    task_family: str
    environment_digest: str
    selection_policy: Mapping[str, str]
    tool_versions: Mapping[str, str] = field(default_factory=dict)
    preconditions_satisfied: Literal["yes", "no", "unknown"] = "unknown"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A recorded attempt and its dispatch."""

    attempt_ref: str
    dispatch_ref: str
    gate_ref: str
    author: str
    control_domain: str
    kind: str
    request_digest: str
    dispatched_at: datetime
    delivered_at: datetime | None
    reconciled_at: datetime | None


def dispatch(
    tx: Transaction, scope: Scope, author: str, gate_ref: str, plan: Plan
) -> tuple[str, str]:
    """Record an attempt that a gate decided for; returns its Activity and its dispatch.

    Raises `NotFound` for a gate that there is not or that decided otherwise, `Conflict` for one
    that was acted on already, and what a commit raises.
    """
    lock(tx, scope)
    at = now()
    if record_of(tx, scope, gate_ref, "DecisionRecord").get("decision") != "act":
        raise NotFound("There is no such decision to act.")
    known = tx.execute(
        "select id from runtime_dispatch where space_id = %s and gate_ref = %s",
        (scope.space_id, gate_ref),
    ).fetchone()
    if known is not None:
        raise Conflict("This decision was acted on already.")
    ref, principal = new_id("dsp"), f"{CHANNEL}:{author}"
    made = commit(
        tx,
        scope,
        principal,
        ChangeSet(
            (
                CreateActivity(
                    "?attempt",
                    "action_attempt",
                    "completed",
                    at,
                    at,
                    inputs=(gate_ref,),
                    facets={
                        "AttemptRecord": {
                            "attempt_id": ref,
                            "decision_ref": gate_ref,
                            "applied_revisions": [],
                            "trial_ref": None,
                            "context": {"task_family": plan.task_family},
                            "environment_digest": plan.environment_digest,
                            "tool_versions": dict(plan.tool_versions),
                            "selection_policy": dict(plan.selection_policy),
                            "preconditions_satisfied": plan.preconditions_satisfied,
                            "started_at": to_text(at),
                        }
                    },
                ),
            )
        ),
        tx_class=CHANNEL,
    )
    attempt = made.ids["?attempt"]
    tx.execute(
        "insert into runtime_dispatch (space_id, id, attempt_ref, gate_ref, kind, request_digest,"
        " author, control_domain, dispatched_at, delivered_at)"
        " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        (
            scope.space_id,
            ref,
            attempt,
            gate_ref,
            plan.kind,
            plan.request_digest,
            principal,
            plan.control_domain,
            at,
            at if plan.kind == "inbox" else None,
        ),
    )
    return attempt, ref


def find(tx: Transaction, scope: Scope, attempt_ref: str) -> Attempt | None:
    """The attempt of that Activity, where its dispatch is known."""
    row = tx.execute(
        "select attempt_ref, id, gate_ref, author, control_domain, kind, request_digest,"
        " dispatched_at, delivered_at, reconciled_at from runtime_dispatch"
        " where space_id = %s and attempt_ref = %s",
        (scope.space_id, attempt_ref),
    ).fetchone()
    return None if row is None else Attempt(*row)


def reconcile(
    tx: Transaction, scope: Scope, attempt_ref: str, outcome_ref: str, status: str, at: datetime
) -> None:
    """Close a dispatch by the first terminal evidence of what came of it; done once."""
    tx.execute(
        "update runtime_dispatch set reconciled_at = %s, outcome_ref = %s, outcome_status = %s"
        " where space_id = %s and attempt_ref = %s and reconciled_at is null",
        (at, outcome_ref, status, scope.space_id, attempt_ref),
    )


def record_of(tx: Transaction, scope: Scope, activity: str, facet: str) -> dict[str, Any]:
    """A facet of an Activity, by its local name; empty where there is none."""
    stored = state.load(tx, scope, [activity]).get(activity)
    if stored is None or stored.kind != "X":
        return {}
    for ref, values in (stored.doc.get("facets") or {}).items():
        if local_name(ref) == facet:
            return dict(values)
    return {}
