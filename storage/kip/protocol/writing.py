"""Runs mutations: each in a transaction of its own, whose outcome is told truly or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from storage.database import Transaction, database
from storage.errors import BrainError, DatabaseUnavailable
from storage.graph import outcomes, transactions
from storage.graph.commit import Commit, lock
from storage.kip.errors import PreconditionFailed
from storage.kip.language.ast_kml import Mutation
from storage.kip.mutation.apply import Applied, apply
from storage.kip.protocol import ingest
from storage.kip.protocol.answers import Outcome, failed
from storage.kip.protocol.caller import Caller
from storage.kip.protocol.deadlines import Deadline
from storage.kip.protocol.envelope import Request
from storage.kip.protocol.expectations import Expectations
from storage.kip.protocol.faults import unknown
from storage.kip.protocol.receipts import receipt
from storage.kip.snapshot import Snapshot, open_snapshot

#: The class of endpoints whose idempotency keys are one namespace.
ENDPOINT = "kml"


@dataclass(frozen=True, slots=True)
class Intent:
    """A mutation that is to be committed once.

    `digest` tells it from others under the same `key`; `mints` says that the request's evidence is
    made along with it; `as_of` is the state that the request reads, None for the present.
    """

    statement: Mutation
    digest: str
    key: str | None
    mints: bool
    as_of: int | None


@dataclass(frozen=True, slots=True)
class Written:
    """What came of a mutation, now or when its key was used first.

    `minted` holds the request's evidence by its keys; `moved` is the space's sequence and schema
    environment version after it, None when it did not change the space now.
    """

    outcome: Outcome
    minted: Mapping[str, Mapping[str, str]]
    moved: tuple[int, int] | None


def write(
    caller: Caller,
    intent: Intent,
    request: Request,
    *,
    deadline: Deadline,
    expected: Expectations,
) -> Written:
    """Commit a mutation, or give the outcome that its key is bound to.

    If the connection is lost while committing, the outcome is looked up on another one; if that
    cannot be done either, it is `OutcomeUnknown`. Raises what the mutation deserves, and
    `DatabaseUnavailable` when certainly nothing was committed.
    """
    committing: Applied | None = None
    try:
        with database().transaction(caller.scope) as tx:
            deadline.hold(tx)
            lock(tx, caller.scope)
            if (known := _known(tx, caller, intent)) is not None:
                return known
            snapshot = _expected(tx, caller, intent, expected)
            capture = ingest.changes(snapshot, request) if intent.mints else ()
            applied = apply(
                tx,
                caller.scope,
                caller.authority,
                intent.statement,
                capture=capture,
                dry_run=request.dry_run,
                request_digest=intent.digest,
            )
            if request.dry_run:
                return Written(_planned(caller, applied), {}, None)
            written = _written(caller, intent, request, applied)
            _keep(tx, caller, intent, written, applied.commit)
            committing = applied
        return written
    except DatabaseUnavailable as error:
        if committing is None:
            raise
        return _looked_up(caller, intent, written, committing.commit, error)


def _expected(tx: Transaction, caller: Caller, intent: Intent, expected: Expectations) -> Snapshot:
    """The present, if it is what the request was written for. Raises `PreconditionFailed`."""
    snapshot = open_snapshot(tx, caller.scope)
    expected.check(snapshot.head_seq, snapshot.schema_env_version)
    if intent.as_of is not None and intent.as_of != snapshot.head_seq:
        raise PreconditionFailed(
            f"The request reads sequence {intent.as_of}, and the space is at {snapshot.head_seq}.",
            data={"precondition": "snapshot_token", "actual": snapshot.head_seq},
        )
    return snapshot


def _written(caller: Caller, intent: Intent, request: Request, applied: Applied) -> Written:
    commit = applied.commit
    outcome = Outcome(
        "no_effect" if applied.no_effect else "succeeded",
        result=applied.result,
        receipt=receipt(
            caller,
            commit,
            request_digest=intent.digest,
            plan_digest=applied.plan_digest,
        ),
        context=_context(caller, commit),
        handles=applied.handles,
    )
    minted = ingest.minted(request, commit.ids) if intent.mints else {}
    moved = None if applied.no_effect else (commit.head_seq, commit.schema_env_version)
    return Written(outcome, minted, moved)


def _planned(caller: Caller, applied: Applied) -> Outcome:
    """What a dry run tells: what would change, without ids and sequences that mean nothing."""
    commit = applied.commit
    planned = [
        {
            name: value
            for name, value in change.as_json().items()
            if name in ("op", "kind", "schema_ref", "state", "touched")
            or (name in ("id", "old_version") and change.old_version)
        }
        for change in commit.changes
    ]
    effect = "no_effect" if applied.no_effect else "would_commit"
    result: dict[str, Any] = {"dry_run": True, "effect": effect, "changes": planned}
    if applied.result is not None:
        result["result"] = applied.result
    return Outcome(
        "no_effect" if applied.no_effect else "succeeded",
        result=result,
        context=_context(caller, commit),
        warnings=[{"code": "DryRun", "message": "Nothing was committed."}],
    )


def _context(caller: Caller, commit: Commit) -> dict[str, Any]:
    return {
        "space_id": transactions.uri(caller.scope.space_id),
        "snapshot_seq": _before(commit),
        "schema_environment_version": commit.schema_env_version,
    }


def _before(commit: Commit) -> int:
    """The sequence that the transaction saw."""
    return commit.head_seq if commit.seq is None else commit.seq - 1


def _keep(
    tx: Transaction, caller: Caller, intent: Intent, written: Written, commit: Commit
) -> None:
    """Bind the key to the outcome, in the transaction that it came of."""
    if intent.key is None:
        return
    outcome = written.outcome
    outcomes.keep(
        tx,
        caller.scope,
        caller.principal,
        ENDPOINT,
        intent.key,
        intent.digest,
        {
            "status": outcome.status,
            "result": outcome.result,
            "receipt": outcome.receipt,
            "context": outcome.context,
            "handles": outcome.handles,
            "minted": written.minted,
        },
        tx_id=commit.tx_id,
        at=commit.committed_at,
    )


def _known(tx: Transaction, caller: Caller, intent: Intent) -> Written | None:
    """What the key is bound to. Raises `IdempotencyConflict` for another request's key."""
    if intent.key is None:
        return None
    found = outcomes.find(tx, caller.scope, caller.principal, ENDPOINT, intent.key, intent.digest)
    if found is None:
        return None
    kept = found.outcome
    outcome = Outcome(
        kept["status"],
        result=kept["result"],
        receipt=kept["receipt"],
        context=kept["context"],
        handles=kept["handles"],
    )
    return Written(outcome, kept["minted"], None)


def _looked_up(
    caller: Caller, intent: Intent, written: Written, commit: Commit, error: Exception
) -> Written:
    """What became of a commit of which no answer came.

    The lock of the space is waited for, so that a commit that is still under way has ended.
    """
    if commit.tx_id is None and intent.key is None:
        # nothing was to change, so nothing can be in doubt
        return written
    try:
        with database().transaction(caller.scope) as tx:
            lock(tx, caller.scope)
            if commit.tx_id is None:
                there: object = outcomes.find(
                    tx, caller.scope, caller.principal, ENDPOINT, intent.key or "", intent.digest
                )
            else:
                there = tx.execute(
                    "select 1 from commit_record where space_id = %s and tx_id = %s",
                    (caller.scope.space_id, commit.tx_id),
                ).fetchone()
    except BrainError:
        return Written(failed(unknown(error)), {}, None)
    if there is None:
        raise error
    return written
