"""What the API counts of itself: requests, how long they took, and open streams.

Several processes serve one port and a scrape reaches any one of them, so each writes its numbers
to a file every second (when they changed), and whoever is asked adds the files up. They lie in
the data folder, in one folder for each server (named after the parent process); the numbers of a
process that ended stay counted for as long as its server lives. Where no file can be written,
each process tells its own numbers only.
"""

from __future__ import annotations

import bisect
import contextlib
import json
import os
import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from api.streams import places
from storage.settings import settings

log = structlog.get_logger(__name__)

#: Upper bounds of the latency histogram, in seconds.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_WRITE_SECONDS = 1.0


@dataclass(slots=True)
class Numbers:
    """Totals, by `method route status` and by route."""

    requests: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    buckets: dict[str, list[int]] = field(default_factory=dict)
    streams: int = 0

    def add(self, other: dict[str, Any]) -> None:
        """Add the numbers of another process."""
        for name, count in other["requests"].items():
            self.requests[name] = self.requests.get(name, 0) + count
        for route, seconds in other["seconds"].items():
            self.seconds[route] = self.seconds.get(route, 0.0) + seconds
        for route, counts in other["buckets"].items():
            mine = self.buckets.setdefault(route, [0] * (len(BOUNDS) + 1))
            for index, count in enumerate(counts):
                mine[index] += count
        self.streams += other["streams"]

    def as_json(self) -> dict[str, Any]:
        """The numbers as another process adds them."""
        return {
            "requests": self.requests,
            "seconds": self.seconds,
            "buckets": self.buckets,
            "streams": self.streams,
        }


class Measures:
    """The numbers of this process, and the way to those of its siblings."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._mine = Numbers()
        self._dirty = threading.Event()
        self._writer: threading.Thread | None = None

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        name = f"{method} {route} {status}"
        slot = bisect.bisect_left(BOUNDS, seconds)
        mine = self._mine
        with self._lock:
            mine.requests[name] = mine.requests.get(name, 0) + 1
            mine.seconds[route] = mine.seconds.get(route, 0.0) + seconds
            counts = mine.buckets.get(route)
            if counts is None:
                counts = mine.buckets[route] = [0] * (len(BOUNDS) + 1)
            counts[slot] += 1
            if self._writer is None:
                self._writer = threading.Thread(target=self._write, name="measures", daemon=True)
                self._writer.start()
        self._dirty.set()

    def total(self) -> Numbers:
        """The numbers of all processes of this server, as of a second ago, and ours as of now."""
        found = Numbers()
        found.add(self._snapshot())
        for path in self._folder.glob("*.json"):
            if path.stem != str(os.getpid()):
                with contextlib.suppress(OSError, ValueError, KeyError):
                    other = json.loads(path.read_text(encoding="utf-8"))
                    found.add(other if _alive(int(path.stem)) else {**other, "streams": 0})
        return found

    def _snapshot(self) -> dict[str, Any]:
        with self._lock:
            self._mine.streams = places().count
            told: dict[str, Any] = json.loads(json.dumps(self._mine.as_json()))
        return told

    def _write(self) -> None:
        pause = threading.Event()
        path = self._folder / f"{os.getpid()}.json"
        draft = path.with_suffix(".draft")
        try:
            while True:
                self._dirty.wait()
                self._dirty.clear()
                draft.write_text(json.dumps(self._snapshot()), encoding="utf-8")
                draft.replace(path)
                pause.wait(_WRITE_SECONDS)
        except OSError as error:
            log.warning("measures.alone", error=type(error).__name__)


def open_measures() -> Measures:
    """The measures of this process, its siblings' folder made and those of dead servers removed."""
    parent = settings().data / "measures"
    folder = parent / str(os.getppid())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for other in parent.iterdir():
            if other.name.isdigit() and not _alive(int(other.name)):
                shutil.rmtree(other, ignore_errors=True)
    except OSError as error:
        log.warning("measures.alone", error=type(error).__name__)
    return Measures(folder)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
