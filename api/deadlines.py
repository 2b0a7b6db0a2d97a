"""Cutting off what arrives too slowly: a body that trickles must not keep a thread for ever.

The server's own time-out is for one read, and each byte that comes begins another. Here a read has
an end as a whole: when it is over, the receiving side of its connection is shut, so that the read
ends at once while the answer can still be sent. One thread a process watches them all; it sleeps
while nothing is read.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(eq=False, slots=True)
class Deadline:
    """One read: its end in monotonic seconds, and whether it was cut off there."""

    at: float
    connection: socket.socket
    over: bool = False


class Deadlines:
    """The reads of one process; safe for threads, and empty again in a forked child."""

    def __init__(self) -> None:
        self._start()
        os.register_at_fork(after_in_child=self._start)

    def _start(self) -> None:
        self._changed = threading.Condition()
        self._open: set[Deadline] = set()
        self._watching = False

    @contextlib.contextmanager
    def of(self, connection: socket.socket, seconds: float) -> Iterator[Deadline]:
        """Cut off what the block reads from `connection` after so many seconds."""
        deadline = Deadline(time.monotonic() + seconds, connection)
        with self._changed:
            earliest = min((one.at for one in self._open), default=deadline.at)
            self._open.add(deadline)
            if not self._watching:
                self._watching = True
                threading.Thread(target=self._watch, name="deadlines", daemon=True).start()
            elif deadline.at <= earliest:
                self._changed.notify()
        try:
            yield deadline
        finally:
            with self._changed:
                self._open.discard(deadline)

    def _watch(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for one in [one for one in self._open if one.at <= now]:
                    one.over = True
                    self._open.remove(one)
                    # gone already: then there is nothing to cut off
                    with contextlib.suppress(OSError):
                        one.connection.shutdown(socket.SHUT_RD)
                earliest = min((one.at for one in self._open), default=None)
                self._changed.wait(None if earliest is None else max(earliest - now, 0.0))


_deadlines = Deadlines()


def deadlines() -> Deadlines:
    """The deadlines of this process."""
    return _deadlines
