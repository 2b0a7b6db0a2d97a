"""From the ledger to the broker, after commit: one background sender per process.

Callers name what may have become runnable (a lane, or a queue of a space) and whose state has
changed; the sender gathers what comes in while it works, takes the runnable jobs from the ledger,
sends their ids and tells waiters. It is best effort: what is lost with the process, or in Redis,
the sweeper finds (`jobs.sweeper`).
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Iterable, Sequence

import psycopg
import redis
import structlog
from dramatiq.errors import BrokerConnectionError

from jobs.broker import LedgerBroker, message_of, wake_channel
from jobs.kinds import KINDS
from storage import jobs as table
from storage.database import Transaction, database
from storage.errors import Unavailable
from storage.jobs import Job
from storage.settings import settings

log = structlog.get_logger(__name__)

#: The PostgreSQL channel on which ended or changed jobs are named.
CHANNEL = "brainstem_jobs"
#: PostgreSQL takes less than 8000 bytes a notification; ids are ASCII.
_NOTIFY_BYTES = 7900
#: Lanes or queues that one statement takes from.
_TAKE = 500
_EXPECTED = (Unavailable, redis.RedisError, BrokerConnectionError, psycopg.Error)
#: A sender that was busy this lately gathers before it sends again, in seconds.
GATHER_SECONDS = 0.004
#: How long a sender waits before it tries again, in seconds.
RETRY_SECONDS = 0.5


class Sender:
    """Sends what became runnable and tells what changed, in batches, from one thread."""

    def __init__(self) -> None:
        self._broker: LedgerBroker | None = None
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._left = threading.Condition(self._lock)
        self._busy = False
        self._some = threading.Event()
        self._lanes: dict[tuple[str, str], None] = {}
        self._queues: dict[tuple[str, str], None] = {}
        self._changed: dict[str, str] = {}
        self._cancel = False
        self._thread: threading.Thread | None = None

    @property
    def broker(self) -> LedgerBroker:
        """The process's broker, made at first use."""
        if self._broker is None:
            self._broker = LedgerBroker()
        return self._broker

    def use(self, broker: LedgerBroker) -> None:
        """Send through `broker`, which the process already has (workers)."""
        self._broker = broker

    def announce(self, jobs: Iterable[Job]) -> None:
        """Call after commit with every job that was accepted, ended or put back; never blocks."""
        if self._pid != os.getpid():
            self._broker = None
            self._reset()
        with self._lock:
            for job in jobs:
                if job.lane is None:
                    self._queues[(job.space_id, job.queue)] = None
                else:
                    self._lanes[(job.space_id, job.lane)] = None
                self._changed[job.id] = job.space_id
                self._cancel |= job.state == "running" and job.cancel_requested_at is not None
            self._busy = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="sender", daemon=True)
                self._thread.start()
        self._some.set()

    def idle(self, seconds: float) -> None:
        """Wait, at most `seconds`, until nothing is left to send."""
        deadline = time.monotonic() + seconds
        with self._lock:
            while self._busy and self._left.wait(max(0.0, deadline - time.monotonic())):
                pass

    def _run(self) -> None:
        last = 0.0
        while True:
            self._some.wait()
            since = time.monotonic() - last
            if since < GATHER_SECONDS:
                # busy: a moment's patience makes one statement and one message of many
                time.sleep(GATHER_SECONDS - since)
            last = time.monotonic()
            self._some.clear()
            with self._lock:
                lanes, self._lanes = list(self._lanes), {}
                queues, self._queues = list(self._queues), {}
                changed, self._changed = self._changed, {}
                cancel, self._cancel = self._cancel, False
            try:
                # a mark of sending that is lost only has the sweeper send again
                with database().ledger_statement(durable=False) as tx:
                    notify(tx, changed)
                    changed = {}
                    send_runnable(tx, self.broker, lanes, queues)
                if cancel:
                    wake(self.broker, ["cancel"])
            except Exception as error:
                # whatever it was, the thread must live: nobody else sends for this process
                if isinstance(error, _EXPECTED):
                    log.warning("dispatch.failed", error=type(error).__name__)
                else:
                    log.exception("dispatch.failed")
                with self._lock:
                    self._lanes.update(dict.fromkeys(lanes))
                    self._queues.update(dict.fromkeys(queues))
                    self._changed = {**changed, **self._changed}
                    self._cancel |= cancel
                time.sleep(RETRY_SECONDS)
                self._some.set()
            with self._lock:
                self._busy = bool(self._changed or self._lanes or self._queues)
                self._left.notify_all()


def send_runnable(
    tx: Transaction,
    broker: LedgerBroker,
    lanes: Sequence[tuple[str, str]],
    queues: Sequence[tuple[str, str]],
) -> int:
    """Take the runnable jobs of the named lanes and queues and send them; returns how many.

    When the broker cannot be reached the jobs count as not sent, and the error is raised.
    """
    known, sent = list(KINDS), 0
    for start in range(0, len(lanes), _TAKE):
        sent += _send(tx, broker, table.take_lanes(tx, lanes[start : start + _TAKE], known))
    for start in range(0, len(queues), _TAKE):
        part = queues[start : start + _TAKE]
        window = settings().queue_window
        sent += _send(tx, broker, table.take_queues(tx, part, window, known))
    return sent


def _send(tx: Transaction, broker: LedgerBroker, jobs: list[Job]) -> int:
    if jobs:
        try:
            _enqueue(broker, jobs)
        except Exception:
            table.untake(tx, [job.id for job in jobs])
            raise
    return len(jobs)


def _enqueue(broker: LedgerBroker, jobs: list[Job]) -> None:
    for kind_name, group in itertools.groupby(
        sorted(jobs, key=lambda job: (job.kind, job.seq)), key=lambda job: job.kind
    ):
        kind = KINDS[kind_name]
        of_kind = list(group)
        for start in range(0, len(of_kind), kind.batch):
            part = of_kind[start : start + kind.batch]
            broker.enqueue(message_of(kind.name, kind.queue, part))
    wake(broker, sorted({job.queue for job in jobs}))


def wake(broker: LedgerBroker, names: Sequence[str]) -> None:
    """Wake idle workers of these queues (or, with `cancel`, all of them to look for one)."""
    broker.client.publish(wake_channel(), " ".join(names))


def notify(tx: Transaction, changed: dict[str, str]) -> None:
    """Tell waiters which jobs changed, `id space` a line, as many as a notification holds."""
    lines: list[str] = []
    size = 0
    for job_id, space_id in changed.items():
        line = f"{job_id} {space_id}"
        if size + len(line) >= _NOTIFY_BYTES:
            tx.execute("select pg_notify(%s, %s)", (CHANNEL, "\n".join(lines)))
            lines, size = [], 0
        lines.append(line)
        size += len(line) + 1
    if lines:
        tx.execute("select pg_notify(%s, %s)", (CHANNEL, "\n".join(lines)))


_sender = Sender()


def sender() -> Sender:
    """The process's sender."""
    return _sender


def announce(jobs: Iterable[Job]) -> None:
    """Call after commit with every job that was accepted, ended or put back."""
    _sender.announce(jobs)


def flush(seconds: float = 2.0) -> None:
    """Wait until what was announced has been sent (processes that are about to exit)."""
    _sender.idle(seconds)
