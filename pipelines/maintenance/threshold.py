"""Maintenance after many formations: the run that ends the last of them asks for it.

The threshold is the policy's `unconsolidated_max_backlog`: so many formations that succeeded since
maintenance was last asked for. The lane orders the run behind what waits already.
"""

from __future__ import annotations

from dataclasses import replace

from pipelines.work import Effect, FollowUp, Result, Work
from storage import maintenance_runs, memory_policy
from storage.database import Transaction

_SCOPE = "quick"


def counted(work: Work, effect: Effect) -> Effect:
    """A formation's effect, followed by maintenance where it is one formation too many."""

    def apply(tx: Transaction) -> Result:
        result = effect.apply(tx)
        most = memory_policy.read(tx, work.scope).unconsolidated_max_backlog
        # the formation that ends with this transaction counts, too
        if maintenance_runs.formations_since(tx, work.scope, most=most) + 1 < most:
            return result
        wanted = FollowUp(
            "maintenance",
            {"trigger": "threshold", "scope": _SCOPE},
            coalesce_key=f"maintenance:{_SCOPE}",
        )
        return replace(result, follow_ups=(*result.follow_ups, wanted))

    return Effect(apply)
