"""How many model calls run at once, over all processes and machines (seed 003 section 10).

A slot is a session advisory lock `(CLASS, i)` with `0 <= i < limit`, held on one connection that
the process keeps outside its pools and on which no transaction is ever open. The server frees a
lock when its session ends, so a killed holder leaves nothing behind: no lease, no sweeping.
Should the connection break while calls are running, those calls go on; their slots are taken again
on the next connection where they are still free, else the limit is exceeded until those calls end.

Session locks need a session: behind a pooler in transaction mode, point DATABASE_URL at PostgreSQL
itself.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
from collections.abc import Callable, Iterator

import psycopg
from psycopg.rows import TupleRow

from storage.database import APP_ROLE, conninfo, is_outage
from storage.errors import DatabaseUnavailable

#: the first key of the advisory locks; no other part of the product locks under it
CLASS = 0x4C4D_0001
#: seconds between two tries of one waiter, from and to; a slot freed in this process wakes at once
_FIRST_WAIT, _LONGEST_WAIT = 0.01, 0.25

_TAKE = (
    "select slot from unnest(%s::int[]) as slot where pg_try_advisory_lock(%s::int, slot) limit 1"
)
_RETAKE = "select slot from unnest(%s::int[]) as slot where pg_try_advisory_lock(%s::int, slot)"
_FREE = "select pg_advisory_unlock(%s::int, %s::int)"
_NOTICE_DEATH = (
    "set tcp_keepalives_idle = 30",
    "set tcp_keepalives_interval = 10",
    "set tcp_keepalives_count = 3",
)


class Slots:
    """The slots of one limit, as this process sees them. Safe for threads and after fork."""

    def __init__(self, limit: int, *, lock_class: int = CLASS) -> None:
        self.limit = limit
        self._class = lock_class
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._connection: psycopg.Connection[TupleRow] | None = None
        #: slots that a thread of this process uses
        self._used: set[int] = set()
        #: those of them that the present connection has locked
        self._locked: set[int] = set()

    @contextlib.contextmanager
    def slot(self, checkpoint: Callable[[], None] | None = None) -> Iterator[int]:
        """Holds one slot for the block; waits for it as long as need be.

        `checkpoint` is called between tries; what it raises ends the wait and leaves here. Raises
        `DatabaseUnavailable` when PostgreSQL does not answer.
        """
        taken = self._wait(checkpoint)
        try:
            yield taken
        finally:
            self._release(taken)

    def close(self) -> None:
        """Gives the connection back; with it every lock that is still held."""
        with self._changed:
            self._drop()

    def _wait(self, checkpoint: Callable[[], None] | None) -> int:
        if self._pid != os.getpid():
            # the parent's socket is not ours to close: its copy here goes with the reference
            self._start()
        wait = _FIRST_WAIT
        while True:
            if checkpoint is not None:
                checkpoint()
            with self._changed:
                taken = self._try()
                if taken is not None:
                    return taken
                self._changed.wait(wait * (0.5 + random.random()))
            wait = min(wait * 2, _LONGEST_WAIT)

    def _try(self) -> int | None:
        free = [i for i in range(self.limit) if i not in self._used]
        if not free:
            return None
        random.shuffle(free)
        row = self._take(free)
        if row is None:
            return None
        self._used.add(row[0])
        self._locked.add(row[0])
        return int(row[0])

    def _take(self, free: list[int]) -> TupleRow | None:
        """One try to lock a slot. A session that rested, and was cut off meanwhile, is replaced."""
        rested = self._connection is not None and not self._used
        try:
            return self._connect().execute(_TAKE, (free, self._class)).fetchone()
        except psycopg.OperationalError as error:
            self._drop()
            if not is_outage(error):
                raise
            if rested:
                return self._take(free)
            raise DatabaseUnavailable(retry_after=2.0) from error

    def _release(self, taken: int) -> None:
        with self._changed:
            self._used.discard(taken)
            if taken in self._locked and self._connection is not None:
                self._locked.discard(taken)
                try:
                    self._connection.execute(_FREE, (self._class, taken))
                except psycopg.OperationalError:
                    # the session is gone, and its locks with it: that frees the slot too
                    self._drop()
            self._changed.notify()

    def _connect(self) -> psycopg.Connection[TupleRow]:
        if self._connection is None or self._connection.closed:
            self._drop()
            self._connection = psycopg.connect(
                conninfo(APP_ROLE, application_name="brainstem-models"), autocommit=True
            )
            for statement in _NOTICE_DEATH:
                self._connection.execute(statement)
            if self._used:
                rows = self._connection.execute(_RETAKE, (sorted(self._used), self._class))
                self._locked = {row[0] for row in rows.fetchall()}
        return self._connection

    def _drop(self) -> None:
        self._locked = set()
        if self._connection is not None:
            self._connection.close()
            self._connection = None


_shared: dict[int, Slots] = {}
_shared_lock = threading.Lock()


def model_slots(limit: int) -> Slots:
    """The process's slots for model calls under `limit`."""
    with _shared_lock:
        return _shared.setdefault(limit, Slots(limit))
