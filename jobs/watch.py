"""Waiting for jobs without polling: one LISTEN connection per process, fanned out to threads.

A notification is only a hint, and dies with the connection: a waiter reads the row after it has
begun to listen, again whenever it is hinted at, and every few seconds besides. No waiter holds a
pooled connection while it waits. Design section 3.4.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import structlog

from jobs.dispatch import CHANNEL
from storage.database import LEDGER_ROLE, Scope, conninfo, database
from storage.errors import DatabaseUnavailable
from storage.jobs import Job, get

log = structlog.get_logger(__name__)

#: How often a waiter reads the row although nothing was heard, in seconds.
REREAD_SECONDS = 2.0


class Watch:
    """Hints that a job, or any job of a space, has changed."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._by_job: dict[str, set[threading.Event]] = defaultdict(set)
        self._by_space: dict[str, set[queue.SimpleQueue[str]]] = defaultdict(set)
        self._listening = threading.Event()
        self._thread: threading.Thread | None = None

    def _ensure(self) -> None:
        if self._pid != os.getpid():
            self._reset()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._listen, name="watch", daemon=True)
                self._thread.start()
        # without the server waiters fall back to re-reading, so this wait need not succeed
        self._listening.wait(1.0)

    @contextmanager
    def job(self, job_id: str) -> Iterator[threading.Event]:
        """An event that is set whenever the job may have changed."""
        self._ensure()
        event = threading.Event()
        with self._lock:
            self._by_job[job_id].add(event)
        try:
            yield event
        finally:
            with self._lock:
                self._by_job[job_id].discard(event)
                if not self._by_job[job_id]:
                    del self._by_job[job_id]

    @contextmanager
    def space(self, space_id: str) -> Iterator[queue.SimpleQueue[str]]:
        """A queue of ids of jobs of the space that may have changed."""
        self._ensure()
        changes: queue.SimpleQueue[str] = queue.SimpleQueue()
        with self._lock:
            self._by_space[space_id].add(changes)
        try:
            yield changes
        finally:
            with self._lock:
                self._by_space[space_id].discard(changes)
                if not self._by_space[space_id]:
                    del self._by_space[space_id]

    def _listen(self) -> None:
        while True:
            try:
                with psycopg.connect(conninfo(LEDGER_ROLE), autocommit=True) as conn:
                    conn.execute(f"listen {CHANNEL}")
                    self._listening.set()
                    self._wake_all()
                    for note in conn.notifies():
                        self._hear(note.payload)
            except (psycopg.Error, DatabaseUnavailable) as error:
                log.warning("watch.lost", error=type(error).__name__)
            self._listening.clear()
            time.sleep(0.5)

    def _hear(self, payload: str) -> None:
        with self._lock:
            for line in payload.split("\n"):
                job_id, _, space_id = line.partition(" ")
                for event in self._by_job.get(job_id, ()):
                    event.set()
                for changes in self._by_space.get(space_id, ()):
                    changes.put(job_id)

    def _wake_all(self) -> None:
        with self._lock:
            for events in self._by_job.values():
                for event in events:
                    event.set()


_watch = Watch()


def watch() -> Watch:
    """The process's watch."""
    return _watch


def wait_for(
    scope: Scope,
    job_id: str,
    timeout_seconds: float,
    *,
    until: Callable[[Job], bool] = lambda job: job.terminal,
) -> Job | None:
    """Wait until `until(job)` holds or the time is up; the job as last read, None if it is gone.

    Holds no connection while it waits.
    """
    deadline = time.monotonic() + timeout_seconds
    with _watch.job(job_id) as changed:
        while True:
            changed.clear()
            with database().transaction(scope) as tx:
                job = get(tx, scope, job_id)
            left = deadline - time.monotonic()
            if job is None or until(job) or left <= 0:
                return job
            changed.wait(min(left, REREAD_SECONDS))
