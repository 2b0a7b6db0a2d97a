"""Where a command reads: one space, one coordinate of its history, and its schema of then."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from storage.clock import now
from storage.database import Scope, Transaction
from storage.errors import NotFound
from storage.graph.schema import Schema, environment
from storage.kip.errors import HistoricalSnapshotUnavailable


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A read coordinate in a transaction that holds still (REPEATABLE READ, or the space locked).

    `seq` is the coordinate and equals `head_seq` for the present; `read_at` is the world clock of
    the request: what computed members and beliefs without FOR TIME go by.
    """

    tx: Transaction
    scope: Scope
    schema: Schema
    head_seq: int
    seq: int
    schema_env_version: int
    read_at: datetime

    @property
    def as_of(self) -> int | None:
        """The coordinate for `storage.graph` reads: None for the present."""
        return None if self.seq == self.head_seq else self.seq


def open_snapshot(
    tx: Transaction, scope: Scope, *, as_of: int | None = None, read_at: datetime | None = None
) -> Snapshot:
    """The snapshot at `as_of` (None: the present).

    Raises `NotFound` for an unknown space and `HistoricalSnapshotUnavailable` for a sequence that
    the space has not reached or no longer keeps.
    """
    row = tx.execute(
        "select head_seq, schema_env_version from space where space_id = %s", (scope.space_id,)
    ).fetchone()
    if row is None:
        raise NotFound("There is no such space.")
    head_seq, env_version = row
    seq = head_seq if as_of is None else as_of
    if not 0 <= seq <= head_seq:
        raise HistoricalSnapshotUnavailable(f"This space has no state at sequence {seq}.")
    if seq != head_seq:
        found = tx.execute(
            "select version from schema_env where space_id = %s and seq_from <= %s"
            " order by version desc limit 1",
            (scope.space_id, seq),
        ).fetchone()
        env_version = found[0] if found else 1
    schema = environment(tx, scope, seq=None if seq == head_seq else seq)
    return Snapshot(tx, scope, schema, head_seq, seq, env_version, read_at or now())
