"""The worker process: Dramatiq's worker threads, our runner, and an orderly end.

Run as `python -m jobs.worker --queues interactive,memory --threads 8` or `brainstem worker`.
SIGTERM stops taking work, lets running jobs finish for `settings().shutdown_seconds`, then has
them stop at their next checkpoint, and gives back what is still not done.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections.abc import Callable, Sequence

import dramatiq
import structlog
from prometheus_client import start_http_server

from jobs.actors import PIPELINES, declare, warm
from jobs.broker import LedgerBroker, redis_client
from jobs.dispatch import flush, sender
from jobs.kinds import QUEUES
from jobs.logging import configure_logging
from jobs.runner import Runner, known_pipelines
from jobs.stopping import StopSignal
from storage.database import database, size_pools
from storage.errors import DatabaseUnavailable
from storage.settings import settings

log = structlog.get_logger(__name__)


def run_worker(queues: Sequence[str], threads: int) -> None:
    """Work on `queues` until SIGTERM or SIGINT."""
    stop = StopSignal()
    size_pools(threads + 4)
    runner = Runner(known_pipelines(PIPELINES), queues=queues, threads=threads)
    _start(runner, stop)
    if stop.event.is_set():
        return
    broker = LedgerBroker()
    sender().use(broker)
    broker.wake_ups.on_cancel(runner.beat_soon)
    declare(broker, runner)
    worker = dramatiq.Worker(broker, queues=set(queues), worker_threads=threads)
    # no more than it has threads for: what one worker holds and cannot run, another could
    worker.queue_prefetch = threads
    listener = threading.Thread(
        target=broker.wake_ups.listen,
        args=(redis_client(), stop.event),
        name="wake-ups",
        daemon=True,
    )
    listener.start()
    worker.start()
    if settings().worker_metrics_port:
        start_http_server(settings().worker_metrics_port, addr="127.0.0.1")
    threading.Thread(target=warm, args=(queues,), name="warm", daemon=True).start()
    log.info("worker.started", id=runner.id, queues=",".join(queues), threads=threads)
    while not stop.wait():
        pass
    log.info("worker.stopping", id=runner.id, running=runner.running)
    worker.stop(timeout=int(settings().shutdown_seconds * 1000))
    _finish(runner)


def run_only(job_id: str, parent: int) -> None:
    """Run one job that has ended a worker before, alone in this process, while `parent` lives."""
    stop = StopSignal()
    size_pools(3)
    runner = Runner(known_pipelines(PIPELINES), role="isolated", threads=1, isolated=True)
    if not _start(runner, stop, lambda: os.getppid() == parent):
        return
    work = threading.Thread(target=runner.run, args=([job_id],), name="job", daemon=True)
    work.start()
    while work.is_alive() and not stop.wait(0.05):
        if os.getppid() != parent:
            break
    _finish(runner)


def _start(runner: Runner, stop: StopSignal, wanted: Callable[[], bool] = lambda: True) -> bool:
    """Register the incarnation; until PostgreSQL answers there is nothing else to do.

    False when it is to stop, or not `wanted` any more, before that.
    """
    while not stop.event.is_set() and wanted():
        try:
            runner.start()
            return True
        except DatabaseUnavailable:
            log.warning("worker.database_away")
            stop.wait(1.0)
    return False


def _finish(runner: Runner) -> None:
    runner.stopping.set()
    deadline = time.monotonic() + 2.0
    while runner.running and time.monotonic() < deadline:
        time.sleep(0.02)
    runner.stop()
    flush()
    database().close()
    # a pipeline stuck in a native call must not keep the process: its job was given back
    os._exit(0)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(prog="brainstem worker", description=__doc__)
    parser.add_argument("--queues", default=",".join(QUEUES), help="comma-separated; all if absent")
    parser.add_argument("--threads", type=int, default=settings().worker_threads)
    parser.add_argument("--only", metavar="JOB", help=argparse.SUPPRESS)
    parser.add_argument("--parent", type=int, default=os.getppid(), help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    queues = [name for name in options.queues.split(",") if name]
    unknown = sorted(set(queues) - set(QUEUES))
    if unknown or not queues or options.threads < 1:
        parser.error(f"queues are of {', '.join(QUEUES)}; threads at least 1")
    configure_logging()
    if options.only:
        run_only(options.only, options.parent)
    else:
        run_worker(queues, options.threads)


if __name__ == "__main__":
    main()
