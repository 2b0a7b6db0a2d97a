"""When maintenance of a space last ran, from its job rows (seed 003, `MaintenanceAt`)."""

from __future__ import annotations

from storage.database import Scope, Transaction


def last_runs(tx: Transaction, scope: Scope) -> dict[str, int]:
    """Unix milliseconds of the last finished run by scope, and of the last start; 0: never.

    As far back as job rows are kept.
    """
    told = {"daydream": 0, "full": 0, "quick": 0, "start_at": 0}
    rows = tx.execute(
        "select payload ->> 'scope',"
        " (extract(epoch from max(finished_at) filter (where state = 'succeeded')) * 1000)::bigint,"
        " (extract(epoch from max(claimed_at)) * 1000)::bigint"
        " from job where space_id = %s and kind = 'maintenance' group by 1",
        (scope.space_id,),
    )
    for name, finished, started in rows:
        if name in told:
            told[name] = finished or 0
        told["start_at"] = max(told["start_at"], started or 0)
    return told
