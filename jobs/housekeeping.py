"""Work of the system space: what keeps the ledger itself in order.

These pipelines are about job rows, so they live beside the ledger rather than in `pipelines`.
"""

from __future__ import annotations

from jobs import ledger
from jobs.dispatch import announce
from jobs.runner import Attempt
from jobs.sweeper import Sweeper
from pipelines.work import Effect, Result
from storage import jobs as table
from storage import maintenance_runs
from storage.database import database
from storage.principals import system
from storage.settings import settings

_BATCH = 2000
#: A worker that was silent this long is history, in days.
_WORKER_DAYS = 7.0


def noop(attempt: Attempt) -> Effect:
    """Do nothing, durably: what the ledger itself costs."""
    return Effect(lambda tx: Result())


def retention(attempt: Attempt) -> Effect:
    """Delete finished job rows, their events and silent workers, by the retention policy."""
    days = attempt.payload.get("days", settings().job_retention_days)
    deleted = 0
    while True:
        with database().ledger() as tx:
            count = table.delete_finished(tx, older_days=days, limit=_BATCH)
        deleted += count
        attempt.progress(deleted, deleted + count, "finished jobs deleted")
        if count < _BATCH:
            break
    with database().ledger() as tx:
        workers = table.delete_workers(tx, older_days=_WORKER_DAYS)
    told = {"jobs_deleted": deleted, "workers_deleted": workers}
    return Effect(lambda tx: Result(result=told))


def sweep(attempt: Attempt) -> Effect:
    """One pass over lost work, for installations that run no scheduler process."""
    told = Sweeper().sweep().as_json()
    return Effect(lambda tx: Result(result=told))


def maintain_spaces(attempt: Attempt) -> Effect:
    """Accept a maintenance job for each space that needs one.

    That is a space that changed since its last one, and one where time alone lets something fall
    due: a promise, a Watch, a retention, an outcome that was kept long enough.
    """
    with database().ledger() as tx:
        changed = table.spaces_changed_since_last(tx, "maintenance")
        due = sorted({*changed, *maintenance_runs.due(tx)})
    accepted = []
    for space_id in due:
        attempt.checkpoint()
        with database().ledger() as tx:
            accepted.append(
                ledger.accept(
                    tx,
                    system(space_id),
                    "maintenance",
                    {"trigger": "scheduled", "scope": "daydream"},
                    coalesce_key="maintenance:daydream",
                    detail={"follows": attempt.job_id},
                ).job
            )
    announce(accepted)
    told = {"spaces": len(accepted)}
    return Effect(lambda tx: Result(result=told))
