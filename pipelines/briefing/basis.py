"""What a briefing stood on: the ProjectionBasis, one plan per channel, and pinned elements."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from pipelines.briefing.asked import Asked
from pipelines.briefing.reading import Found
from storage.canonical import digest
from storage.clock import to_text
from storage.graph.belief_identity import identity_version
from storage.graph.belief_trust import trust_version
from storage.graph.policies import DEFAULT, policy_of
from storage.graph.transactions import uri
from storage.kip.query.documents import documents
from storage.kip.snapshot import Snapshot

#: What the question was asked for, in the words of a basis.
_PURPOSES = {
    "answer": "answer_user",
    "action": "plan_action",
    "resume": "resume_task",
    "attention": "attention",
}


def projection_basis(
    snapshot: Snapshot, asked: Asked, found: Found, valid_at: datetime
) -> dict[str, Any]:
    """The coordinates of every belief of a briefing."""
    tx, scope, as_of = snapshot.tx, snapshot.scope, snapshot.as_of
    policy = policy_of(DEFAULT)
    ends = found.next_invalid_at
    return {
        "space_id": uri(scope.space_id),
        "snapshot_seq": snapshot.seq,
        "schema_environment_version": snapshot.schema_env_version,
        "identity_version": identity_version(tx, scope, as_of),
        "policy": {"id": policy.id, "version": policy.version},
        "trust_version": trust_version(tx, scope, as_of),
        # whoever may read a space reads all of it, so that a space has one view
        "authorization_view": digest(["authorization view", scope.space_id]),
        "context_refs": sorted(found.contexts),
        "purpose": _PURPOSES[asked.mode],
        "risk": "unspecified",
        "valid_at": to_text(valid_at),
        "next_invalid_at": None if ends is None else to_text(ends),
    }


def coverage_record(
    basis: Mapping[str, Any],
    head_seq: int,
    found: Found,
    asked: Asked,
    states: Mapping[str, str],
    *,
    preconditions: Collection[str],
    eligible: bool,
) -> dict[str, Any]:
    """RecallCoverage with one RecallPlan per channel; says nothing of what memory says.

    `preconditions` are the handles of items that are not settled.
    """
    plans = {}
    channels = {}
    for channel, plan in found.plans.items():
        complete = states[channel] != "incomplete"
        reason = None if complete else plan.reason or "budget"
        searched = plan.method == "approximate"
        plans[channel] = {
            "selector": plan.selector,
            "scope": asked.scope.as_json(),
            "method": plan.method,
            "snapshot_seq": basis["snapshot_seq"],
            "index_seq": head_seq if searched else None,
            "covered_through_seq": basis["snapshot_seq"],
            "authorization_view": basis["authorization_view"],
            "complete": complete,
            "truncation_reason": reason,
        }
        channels[channel] = {"completed": complete, "truncated": reason is not None}
    return {
        "basis": dict(basis),
        "channels": channels,
        "plans": plans,
        "unverified_preconditions": sorted(preconditions),
        "action_eligible": eligible,
    }


def versions(snapshot: Snapshot, ids: Collection[str]) -> dict[str, tuple[int, str]]:
    """Version and digest of elements as they are read at the snapshot."""
    return {
        id: (document["_system"]["version"] or 0, digest(document))
        for id, document in documents(snapshot, ids).items()
    }
