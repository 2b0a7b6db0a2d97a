"""The processing epoch of a space: a number that rises with all that changes what may be processed.

Whoever makes something of memory reads the epoch with what it reads, and asks for it again before
it writes, or tells, what it made. In between, somebody may have excluded a source, erased an
element or changed a record; the epoch is higher then, the work is void, and starts again.

It is raised in the transaction that accepts the change, before anything is written on account of
it: where a source is refused (`storage.erasure.elements.refuse`), where a commit erases
(`storage.graph.commit`), and where a product host changes a record (`pipelines.product.changes`).
Column `space.processing_epoch` (migration 0015; seed 003 section 9.1).
"""

from __future__ import annotations

from storage import probe_cache
from storage.database import Scope, Transaction
from storage.errors import Unavailable


class EpochChanged(Unavailable):
    """What the work had read may not be used any more; it is to be done again."""

    code = "processing_epoch_changed"
    default = "What may be processed has changed since this work began; it starts again."


def current(tx: Transaction, scope: Scope) -> int:
    """The epoch that the transaction sees; 0 where there is no such space."""
    return _read(tx, scope)


def advance(tx: Transaction, scope: Scope) -> None:
    """Raise the epoch, and drop what was not found before.

    The row of the space is locked from here to the end of the transaction.
    """
    tx.execute(
        "update space set processing_epoch = processing_epoch + 1 where space_id = %s",
        (scope.space_id,),
    )
    probe_cache.forget_misses(tx, scope)


def require(tx: Transaction, scope: Scope, epoch: int, *, still: bool) -> None:
    """See that the epoch is the one that was read; raises `EpochChanged`.

    `still`: it stays so until the transaction ends, because the space is locked as for a commit.
    For who tells something without it, the change came after the telling.
    """
    if still:
        tx.execute("select from space where space_id = %s for update", (scope.space_id,))
    if _read(tx, scope) != epoch:
        raise EpochChanged()


def _read(tx: Transaction, scope: Scope) -> int:
    row = tx.execute(
        "select processing_epoch from space where space_id = %s", (scope.space_id,)
    ).fetchone()
    return 0 if row is None else int(row[0])
