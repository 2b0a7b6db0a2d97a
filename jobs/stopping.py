"""Being told to stop: SIGTERM and SIGINT, heard by the main thread of a process.

A signal handler that sets a `threading.Event` can deadlock: it may interrupt the main thread while
that holds the event's own lock, on its way into a wait. Here the handler does nothing; the
interpreter writes each signal to a pipe, and the main thread waits for the pipe.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from types import FrameType


class StopSignal:
    """Made once, in the main thread; `event` tells the other threads."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self._read, write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _heard)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the process is told to stop, at most `seconds`; main thread only."""
        if not self.event.is_set() and select.select([self._read], [], [], seconds)[0]:
            with contextlib.suppress(BlockingIOError):
                numbers = os.read(self._read, 64)
                if set(numbers) & {signal.SIGTERM, signal.SIGINT}:
                    self.event.set()
        return self.event.is_set()


def _heard(number: int, frame: FrameType | None) -> None:
    """The pipe has it."""
