"""Long-lived answers: how many a process holds, and how they end when it stops.

Each open stream (and each request that waits for a job) holds one of the server's threads, so
that beyond `api_streams` of them new ones are refused with 503, and ordinary requests go on being
answered. gunicorn waits for open streams when it is told to stop; they end themselves then, and
when the credential that opened them holds no more.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from api.errors import TooManyStreams
from storage.errors import Unavailable
from storage.settings import settings

#: How often a stream looks whether its credential still holds, in seconds.
LOOK_SECONDS = 5.0


class Standing:
    """Whether the caller of a stream would still be let in; looked at every `LOOK_SECONDS`."""

    def __init__(self, holds: Callable[[], bool]) -> None:
        self._holds = holds
        self._looked = time.monotonic()

    def ended(self) -> bool:
        """Whether the credential is known not to hold any more."""
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return False
        self._looked = time.monotonic()
        try:
            return not self._holds()
        except Unavailable:
            # a stream outlives the database being away
            return False


class Place:
    """One thread's permission to stay; give it back with `leave`."""

    def __init__(self, places: Places) -> None:
        self._places = places
        #: Called when the process is about to stop, so that a wait ends at once.
        self.wake: Callable[[], object] = lambda: None

    @property
    def closing(self) -> bool:
        """Whether the stream should end itself."""
        return self._places.closing

    def leave(self) -> None:
        """Give the place back; doing so twice changes nothing."""
        self._places.leave(self)


class Places:
    """The places of one sort in one process; `limit` says how many there are."""

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._open: set[Place] = set()
        self.closing = False

    def take(self) -> Place:
        """A place; raises `TooManyStreams` when all are taken."""
        place = Place(self)
        with self._lock:
            if self.closing or len(self._open) >= self._limit():
                raise TooManyStreams()
            self._open.add(place)
        return place

    def leave(self, place: Place) -> None:
        """Give `place` back."""
        with self._lock:
            self._open.discard(place)

    @contextmanager
    def taken(self) -> Iterator[Place]:
        """A place for the length of a block."""
        place = self.take()
        try:
            yield place
        finally:
            place.leave()

    @property
    def count(self) -> int:
        """How many are taken."""
        return len(self._open)

    def close(self) -> None:
        """Let all streams end themselves, and take no more."""
        self.closing = True
        for place in list(self._open):
            place.wake()


_places = Places(lambda: settings().api_streams)
_waits = Places(lambda: settings().api_waits)


def places() -> Places:
    """The places of this process for streams."""
    return _places


def waits() -> Places:
    """The places of this process for requests that wait; streams cannot take them all."""
    return _waits


def end_at_sigterm() -> None:
    """Let streams end when the server that loads us is told to stop.

    Only a server that handles SIGTERM itself (gunicorn) is given this: its own handler still runs.
    """
    before = signal.getsignal(signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        return

    def stop(number: int, frame: Any) -> None:
        _places.close()
        _waits.close()
        before(number, frame)

    signal.signal(signal.SIGTERM, stop)
