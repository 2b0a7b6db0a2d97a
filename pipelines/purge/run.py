"""The purge job: elements that a caller named are erased, in one commit (`storage.forgetting`)."""

from __future__ import annotations

from pipelines.work import Effect, Result, Work
from storage.database import Transaction
from storage.forgetting import forget


def run(work: Work) -> Effect:
    """Erase the elements of `payload.entities`; the result is seed 003's `MemoryForgetReport`.

    All of it happens in the transaction that ends the job, so that a run that is repeated finds
    either nothing done or everything.
    """
    entities = [str(entity) for entity in work.payload["entities"]]

    def apply(tx: Transaction) -> Result:
        done = forget(tx, work.scope, work.principal, entities)
        return Result(
            done.as_json(dry_run=False),
            "erased" if done.erased else "skipped",
            resolved_seq=done.seq,
            available_seq=done.head_seq,
        )

    return Effect(apply)
