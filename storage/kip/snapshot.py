"""Where a command reads: one space, one coordinate of its history, and its schema of then."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from storage.clock import now
from storage.database import Scope, Transaction
from storage.errors import NotFound
from storage.graph.schema import Schema, environment_of
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
        """
        select s.head_seq, e.version, e.seq_from, e.digest, e.packages
          from space s
          left join lateral (
            select version, seq_from, digest, lock -> 'packages' as packages from schema_env e
             where e.space_id = s.space_id and (%(seq)s::bigint is null or e.seq_from <= %(seq)s)
             order by e.version desc limit 1) e on true
         where s.space_id = %(space)s
        """,
        {"space": scope.space_id, "seq": as_of},
    ).fetchone()
    if row is None:
        raise NotFound("There is no such space.")
    head_seq, env_version = row[:2]
    seq = head_seq if as_of is None else as_of
    if not 0 <= seq <= head_seq:
        raise HistoricalSnapshotUnavailable(f"This space has no state at sequence {seq}.")
    schema = environment_of(tx, scope, None if env_version is None else row[2:])
    # a space that never changed its vocabulary has no row, and is at its first environment
    return Snapshot(tx, scope, schema, head_seq, seq, env_version or 1, read_at or now())
