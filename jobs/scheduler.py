"""The scheduler process: sweeps lost work and fires schedules, one leader among any number.

Run as `python -m jobs.scheduler` or `brainstem scheduler`.
"""

from __future__ import annotations

import os
import socket

import psycopg
import structlog

from jobs import schedule
from jobs.dispatch import announce
from jobs.logging import configure_logging
from jobs.stopping import StopSignal
from jobs.sweeper import Sweeper
from storage import jobs as table
from storage.database import database
from storage.errors import DatabaseUnavailable
from storage.ids import new_id
from storage.leadership import give_up_leadership, hold_leadership
from storage.settings import settings
from storage.version import VERSION

log = structlog.get_logger(__name__)

_LEADER = "scheduler"


class Scheduler:
    """One scheduler; only the leader does anything."""

    def __init__(self) -> None:
        self.id = new_id("wrk")
        self.leads = False
        self._registered = False
        self._sweeper = Sweeper()

    def register(self) -> None:
        """Record this incarnation and make sure that the default schedules exist."""
        with database().ledger() as tx:
            table.register_worker(
                tx,
                self.id,
                host=socket.gethostname(),
                pid=os.getpid(),
                role="scheduler",
                queues=[],
                threads=1,
                version=VERSION,
            )
            schedule.ensure_defaults(tx)
        self._registered = True

    def step(self) -> None:
        """Take or keep the lead; the leader sweeps and ticks. Raises when PostgreSQL is away."""
        if not self._registered:
            self.register()
        config = settings()
        with database().ledger() as tx:
            table.beat(tx, self.id)
            leads = hold_leadership(tx, _LEADER, self.id, max(3 * config.sweep_seconds, 3.0))
        if leads != self.leads:
            log.info("scheduler.leads" if leads else "scheduler.follows", id=self.id)
            self.leads = leads
        if not leads:
            return
        self._sweeper.sweep()
        with database().ledger() as tx:
            jobs = schedule.tick(tx)
        announce(jobs)

    def stop(self) -> None:
        """Hand the lead over at once."""
        try:
            with database().ledger() as tx:
                give_up_leadership(tx, _LEADER, self.id)
                table.stop_worker(tx, self.id)
        except DatabaseUnavailable:
            log.warning("scheduler.goodbye_unheard")


def main() -> None:
    """Run until SIGTERM or SIGINT."""
    configure_logging()
    stop = StopSignal()
    scheduler = Scheduler()
    while not stop.event.is_set():
        try:
            scheduler.step()
        except (DatabaseUnavailable, psycopg.Error) as error:
            log.warning("scheduler.database_away", error=type(error).__name__)
        except Exception:
            # one thing that is wrong must not keep everything else from being swept
            log.exception("scheduler.error")
        stop.wait(settings().sweep_seconds)
    scheduler.stop()


if __name__ == "__main__":
    main()
