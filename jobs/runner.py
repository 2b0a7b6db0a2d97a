"""How a worker runs a job: claim, run the pipeline, commit effect and outcome together.

One `Runner` per worker process. It owns the process's incarnation id, the leases it holds and the
thread that extends them. Worker threads call `Runner.run(ids)` with what a message carried; a
second delivery of the same id does nothing, because the claim is one conditional UPDATE.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import structlog

from jobs import ledger
from jobs.dispatch import announce
from jobs.failpoints import failpoint
from jobs.kinds import KINDS, kind_of
from pipelines.work import Effect, FollowUp, Result, Usage
from storage import epochs
from storage import jobs as table
from storage import usage as usage_table
from storage.database import Scope, Transaction, database
from storage.epochs import EpochChanged
from storage.errors import (
    BrainError,
    Cancelled,
    DatabaseUnavailable,
    Interrupted,
    LeaseLost,
    Unavailable,
)
from storage.ids import new_id
from storage.jobs import Ending, Job
from storage.principals import Principal
from storage.settings import settings
from storage.version import VERSION

log = structlog.get_logger(__name__)

Pipeline = Callable[["Attempt"], Effect]

#: How often one attempt writes its progress at most, in seconds.
PROGRESS_SECONDS = 0.5
#: How soon a heartbeat that failed is sent again, in seconds.
BEAT_RETRY_SECONDS = 0.5
#: How long a stopping worker waits for a process that runs a job alone, in seconds.
CHILD_GRACE_SECONDS = 3.0
_COMMIT_TRIES = 3


class InternalError(Unavailable):
    """A fault of ours during an attempt; the job is tried again, the log has the trace."""

    code = "internal_error"
    default = "The job met an unexpected error on our side."


@dataclass(slots=True)
class Attempt:
    """One claimed job while it runs; what pipelines see as `pipelines.work.Work`."""

    job: Job
    stopping: threading.Event
    lost: threading.Event = field(default_factory=threading.Event)
    cancelled: threading.Event = field(default_factory=threading.Event)
    usages: list[Usage] = field(default_factory=list)
    seen: float = field(default_factory=time.monotonic)
    cancel_seen: float | None = None
    _told: float = 0.0
    _cursor: dict[str, Any] | None = None
    _epoch: int | None = None

    @property
    def scope(self) -> Scope:
        """The tenant the job works for."""
        return Scope(self.job.space_id)

    @property
    def job_id(self) -> str:
        """The job's id; external services get it as idempotency key."""
        return self.job.id

    @property
    def kind(self) -> str:
        """The kind's name."""
        return self.job.kind

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self.job.attempt

    @property
    def principal(self) -> str:
        """Whose job it is."""
        return self.job.principal

    @property
    def payload(self) -> dict[str, Any]:
        """The validated payload."""
        return self.job.payload

    @property
    def cursor(self) -> dict[str, Any] | None:
        """The durable cursor of the last committed batch, of this or an earlier attempt."""
        return self._cursor if self._cursor is not None else self.job.cursor

    def checkpoint(self) -> None:
        """Stop here if the lease is lost, the job is cancelled or the worker is shutting down."""
        self.seen = time.monotonic()
        if self.lost.is_set():
            raise LeaseLost()
        if self.cancelled.is_set():
            raise Cancelled()
        if self.stopping.is_set():
            raise Interrupted()

    def progress(self, done: int, total: int, note: str = "") -> None:
        """Tell watchers how far the run is; also a checkpoint."""
        self.checkpoint()
        now = time.monotonic()
        if now - self._told < PROGRESS_SECONDS and done < total:
            return
        self._told = now
        told = {"done": done, "total": total, **({"note": note} if note else {})}
        with database().ledger_statement() as tx:
            if not table.set_progress(tx, self.job.id, self.job.fence, told):
                raise LeaseLost()
        announce([self.job])

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A read-only transaction on one snapshot of the space.

        Raises `EpochChanged` for work that reads to make something of it, when what it read before
        may not be used any more.
        """
        with database().transaction(self.scope, snapshot=True) as tx:
            if kind_of(self.kind).reads is not None:
                seen = epochs.current(tx, self.scope)
                if self._epoch not in (None, seen):
                    raise EpochChanged()
                self._epoch = seen
            yield tx

    def hold_epoch(self, tx: Transaction) -> None:
        """See that what this attempt has read may still be used; raises `EpochChanged`."""
        if self._epoch is not None:
            still = kind_of(self.kind).reads == "to_write"
            epochs.require(tx, self.scope, self._epoch, still=still)

    def given_up(self, now: float) -> bool:
        """Whether the run has said nothing for too long, or has not heard that it is cancelled.

        Its lease is then extended no more, so that the sweep decides; what it computes is lost.
        """
        config = settings()
        if self.cancel_seen is not None and now - self.cancel_seen > 2 * config.lease_seconds:
            return True
        return now - self.seen > config.stall_seconds

    def commit_batch(self, apply: Callable[[Transaction], Any], cursor: dict[str, Any]) -> Any:
        """Commit a batch and its cursor together, under the fence."""
        self.checkpoint()
        with database().transaction(self.scope) as tx:
            if not table.set_cursor(tx, self.job.id, self.job.fence, cursor):
                raise LeaseLost()
            self.hold_epoch(tx)
            answer = apply(tx)
        self._cursor = cursor
        failpoint("after_batch", self.kind)
        return answer

    def charge(self, usage: Usage) -> None:
        """Charge model usage to this attempt, however it ends."""
        self.usages.append(usage)


class Runner:
    """Runs jobs in this process and keeps their leases alive."""

    def __init__(
        self,
        pipelines: dict[str, Pipeline],
        *,
        role: str = "worker",
        queues: Sequence[str] = (),
        threads: int = 1,
        isolated: bool = False,
    ) -> None:
        self.id = new_id("wrk")
        self.stopping = threading.Event()
        self._pipelines = pipelines
        self._role, self._queues, self._threads = role, queues, threads
        self._isolated = isolated
        self._lock = threading.Lock()
        self._held: dict[str, Attempt] = {}
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._beat_now = threading.Event()
        self._ended = threading.Event()

    def start(self) -> None:
        """Record this incarnation and begin to send heartbeats."""
        with database().ledger() as tx:
            table.register_worker(
                tx,
                self.id,
                host=socket.gethostname(),
                pid=os.getpid(),
                role=self._role,
                queues=self._queues,
                threads=self._threads,
                version=VERSION,
            )
        threading.Thread(target=self._beat, name="heartbeat", daemon=True).start()

    def beat_soon(self) -> None:
        """Look for cancel requests now rather than at the next heartbeat."""
        self._beat_now.set()

    def stop(self) -> None:
        """Release what still runs, so that nothing is left in limbo, and say goodbye."""
        self.stopping.set()
        with self._lock:
            children = list(self._children.values())
        for child in children:
            child.terminate()
        with self._lock:
            held, self._held = self._held, {}
        for attempt in held.values():
            attempt.lost.set()
            self._conclude(attempt, Interrupted())
        self._ended.set()
        for child in children:
            # each gives its job back by itself; whoever is slower loses it by its lease
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(CHILD_GRACE_SECONDS)
        try:
            with database().ledger() as tx:
                table.stop_worker(tx, self.id)
        except DatabaseUnavailable:
            log.warning("worker.goodbye_unheard")

    @property
    def running(self) -> int:
        """How many jobs run in this process now."""
        return len(self._held)

    def run(self, ids: Sequence[str]) -> None:
        """Claim and run what a message carried; returns when those jobs have ended or gone back."""
        try:
            claimed, refused, suspects = self._claim(ids)
        except DatabaseUnavailable:
            # the ids are still in the ledger; the sweeper sends them when the database is back
            log.warning("claim.database_away")
            return
        attempts = [Attempt(job, self.stopping) for job in claimed]
        with self._lock:
            self._held.update({attempt.job_id: attempt for attempt in attempts})
        announce(job for job in refused if job.lane is not None)
        self._run_claimed(attempts)
        for job_id in suspects:
            self._run_alone(job_id)

    def _claim(self, ids: Sequence[str]) -> tuple[list[Job], list[Job], list[str]]:
        """Claim what may run here; also what was refused, and what must run alone."""
        with database().ledger_statement() as tx:
            claimed = ledger.claim(ids, self.id, tx, isolated=self._isolated)
            missing = sorted(set(ids) - {job.id for job in claimed})
            if not missing:
                return claimed, [], []
            refused = table.refused(tx, missing)
            # a process that runs one job alone never starts another
            return claimed, refused, [] if self._isolated else table.claimable_suspects(tx, missing)

    def _run_alone(self, job_id: str) -> None:
        """Run a job that has ended a worker before in a process of its own.

        If it does so again, it takes nothing else with it. One process at a time for one job.
        """
        with self._lock:
            if job_id in self._children or self.stopping.is_set():
                return
            command = ["-m", "jobs.worker", "--only", job_id, "--parent", str(os.getpid())]
            # a group of its own: who kills the worker's group ends no innocent run, which sees
            # that its parent is gone and gives the job back
            child = subprocess.Popen([sys.executable, *command], start_new_session=True)
            self._children[job_id] = child
        try:
            child.wait()
        finally:
            with self._lock:
                del self._children[job_id]

    def _run_claimed(self, attempts: list[Attempt]) -> None:
        done: list[tuple[Attempt, Effect]] = []
        for attempt in attempts:
            failpoint("after_claim", attempt.kind)
            try:
                attempt.checkpoint()
                effect = self._pipelines[attempt.kind](attempt)
                attempt.checkpoint()
                done.append((attempt, effect))
            except BrainError as error:
                self._conclude(attempt, error)
            except BaseException:
                # also what is no Exception (a panic of native code, an exit): nothing that a
                # pipeline raises may leave its job behind
                log.exception("job.error", job=attempt.job_id, kind=attempt.kind)
                self._conclude(attempt, InternalError())
        by_space: dict[str, list[tuple[Attempt, Effect]]] = {}
        for one in done:
            by_space.setdefault(one[0].job.space_id, []).append(one)
        for group in by_space.values():
            self._commit(group)

    def _commit(self, done: list[tuple[Attempt, Effect]]) -> None:
        """Apply effects and finish, all in one transaction; one by one where that fails."""
        failpoint("before_commit", done[0][0].kind)
        try:
            told = self._commit_once(done)
        except LeaseLost:
            if len(done) == 1:
                self._drop(done[0][0])
                return
            for one in done:
                self._commit([one])
            return
        except BaseException as error:
            if len(done) > 1:
                for one in done:
                    self._commit([one])
                return
            if isinstance(error, BrainError):
                self._conclude(done[0][0], error)
            else:
                log.exception("job.commit_error", job=done[0][0].job_id)
                self._conclude(done[0][0], InternalError())
            return
        for attempt, _ in done:
            self._release(attempt)
        failpoint("after_commit_before_ack", done[0][0].kind)
        announce(told)

    def _commit_once(self, done: list[tuple[Attempt, Effect]]) -> list[Job]:
        scope = done[0][0].scope
        told: list[Job] = []
        with database().transaction(scope) as tx:
            leases = {attempt.job_id: attempt.job.fence for attempt, _ in done}
            held = table.hold(tx, leases, self.id)
            endings = []
            for attempt, effect in done:
                if held.get(attempt.job_id) is None:
                    raise LeaseLost()
                if held[attempt.job_id]:
                    raise Cancelled()
                attempt.hold_epoch(tx)
                result = effect.apply(tx)
                for usage in attempt.usages:
                    usage_table.add(tx, scope, usage)
                told += self._follow_ups(tx, attempt, result.follow_ups)
                endings.append(_ending(attempt, result))
            told += table.end(tx, endings, "succeeded", worker=self.id)
            failpoint("inside_commit", done[0][0].kind)
        return told

    def _follow_ups(
        self, tx: Transaction, attempt: Attempt, follow_ups: Sequence[FollowUp]
    ) -> list[Job]:
        principal = Principal(attempt.principal, "system", attempt.job.space_id, frozenset())
        return [
            ledger.accept(
                tx,
                principal,
                follow_up.kind,
                follow_up.payload,
                coalesce_key=follow_up.coalesce_key,
                detail={"follows": attempt.job_id},
            ).job
            for follow_up in follow_ups
        ]

    def _conclude(self, attempt: Attempt, error: BrainError) -> None:
        """Record how an unsuccessful attempt ends; if that fails too, the sweeper does it."""
        if isinstance(error, LeaseLost):
            self._drop(attempt)
            return
        log.info("job.ended", job=attempt.job_id, kind=attempt.kind, code=error.code)
        for again in range(_COMMIT_TRIES):
            try:
                with database().transaction(attempt.scope) as tx:
                    job = table.lock(tx, attempt.scope, attempt.job_id)
                    if job is None or job.fence != attempt.job.fence or job.state != "running":
                        break
                    for usage in attempt.usages:
                        usage_table.add(tx, attempt.scope, usage)
                    told = ledger.after_error(tx, job, error)
                self._release(attempt)
                announce(told)
                return
            except (DatabaseUnavailable, psycopg.Error) as failure:
                log.warning(
                    "job.ending_unrecorded", job=attempt.job_id, error=type(failure).__name__
                )
                if self.stopping.wait(0.2 * 2**again):
                    break
        self._drop(attempt)

    def _drop(self, attempt: Attempt) -> None:
        log.warning(
            "job.lease_lost", job=attempt.job_id, kind=attempt.kind, fence=attempt.job.fence
        )
        self._release(attempt)

    def _release(self, attempt: Attempt) -> None:
        with self._lock:
            if self._held.get(attempt.job_id) is attempt:
                del self._held[attempt.job_id]

    def _beat(self) -> None:
        config = settings()
        pause = config.heartbeat_seconds
        while not self._ended.is_set():
            self._beat_now.wait(pause)
            self._beat_now.clear()
            try:
                self._beat_once()
                pause = config.heartbeat_seconds
            except Exception as error:
                # soon again: the lease runs on meanwhile
                log.warning("heartbeat.failed", error=type(error).__name__)
                pause = min(BEAT_RETRY_SECONDS, config.heartbeat_seconds)

    def _beat_once(self) -> None:
        now = time.monotonic()
        with self._lock:
            held = dict(self._held)
        for job_id in [job_id for job_id, attempt in held.items() if attempt.given_up(now)]:
            attempt = held.pop(job_id)
            if not attempt.lost.is_set():
                log.error("job.given_up", job=job_id, kind=attempt.kind)
                attempt.lost.set()
        with database().ledger_statement() as tx:
            table.beat(tx, self.id)
            kept = table.heartbeat(tx, self.id, list(held), settings().lease_seconds)
        for job_id, attempt in held.items():
            if job_id not in kept:
                attempt.lost.set()
            elif kept[job_id] and attempt.cancel_seen is None:
                attempt.cancel_seen = now
                attempt.cancelled.set()


def _ending(attempt: Attempt, result: Result) -> Ending:
    return Ending(
        attempt.job_id,
        result=result.result,
        disposition=result.disposition,
        resolved_seq=result.resolved_seq,
        available_seq=result.available_seq,
    )


def known_pipelines(pipelines: dict[str, Pipeline]) -> dict[str, Pipeline]:
    """Check that every kind has its pipeline and the other way round."""
    if set(pipelines) != set(KINDS):
        raise LookupError(f"kinds without a pipeline: {set(KINDS) ^ set(pipelines)}")
    return {name: pipelines[kind_of(name).name] for name in pipelines}
