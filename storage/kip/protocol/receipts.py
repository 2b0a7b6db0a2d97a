"""Receipts: what a transaction came to, under a digest of its own (contract section 7)."""

from __future__ import annotations

from typing import Any

from storage.canonical import digest
from storage.graph import transactions
from storage.graph.commit import Commit
from storage.kip.protocol.caller import Caller


def receipt(
    caller: Caller, commit: Commit, *, request_digest: str, plan_digest: str
) -> dict[str, Any]:
    """The receipt of a commit; one without effect has no transaction and no sequence."""
    if commit.record is not None:
        return commit.record.receipt()
    made = {
        "status": "no_effect",
        "space_id": transactions.uri(caller.scope.space_id),
        "snapshot_seq": commit.head_seq,
        "transaction_class": "cognitive",
        "schema_environment_version": commit.schema_env_version,
        "origin": {"principal_id": caller.principal},
        "request_digest": request_digest,
        "semantic_plan_digest": plan_digest,
    }
    return {**made, "receipt_digest": digest(made)}
