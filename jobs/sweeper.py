"""What finds lost work: expired leases, jobs that were never sent, jobs that Redis forgot.

Every pass is a set of conditional updates, so any number of sweepers may run at once; one leader
does, to save work (`jobs.scheduler`).
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import redis
import structlog
from dramatiq.errors import BrokerConnectionError

from jobs import ledger
from jobs.broker import LedgerBroker, oldest_sent
from jobs.dispatch import notify, send_runnable, sender
from jobs.kinds import QUEUES
from storage import jobs as table
from storage.database import database
from storage.jobs import Job
from storage.settings import settings

log = structlog.get_logger(__name__)

#: A job sent this long ago and not claimed may have been lost, in seconds; a job that only waits
#: in a worker's prefetch buffer is then sent twice, which its claim makes harmless.
LOST_SECONDS = 2.0
_LIMIT = 500


@dataclass(frozen=True, slots=True)
class Swept:
    """What one pass found."""

    expired: int = 0
    resent: int = 0
    sent: int = 0
    broker_away: bool = False

    def as_json(self) -> dict[str, int | bool]:
        """For receipts and logs."""
        return asdict(self)


class Sweeper:
    """One pass after another over the whole ledger."""

    def __init__(self, broker: LedgerBroker | None = None) -> None:
        self._broker = broker or sender().broker
        self._last = time.monotonic()
        self._expire_from = 0.0

    def sweep(self) -> Swept:
        """Return expired leases, then send everything that is due; raises when PostgreSQL is away.

        While the broker is away only the first half is done.
        """
        began = time.monotonic()
        lease = settings().lease_seconds
        if began - self._last > lease:
            # passes failed, or this process stood still: the workers may have been cut off too
            self._expire_from = began + lease
        expired = self._return_expired() if began >= self._expire_from else 0
        self._last = time.monotonic()
        try:
            resent = self._forget_lost()
            return Swept(expired, resent, self._send_due())
        except (redis.RedisError, BrokerConnectionError) as error:
            log.warning("sweep.broker_away", error=type(error).__name__)
            return Swept(expired, broker_away=True)

    def _return_expired(self) -> int:
        count = 0
        while True:
            told: list[Job] = []
            with database().ledger() as tx:
                found = table.expired(tx, settings().lease_seconds, _LIMIT)
                for job, died in found:
                    log.warning("job.lease_expired", job=job.id, worker=job.lease_owner, died=died)
                    told += ledger.after_lost_lease(tx, job, died=died)
            with database().ledger_statement(durable=False) as tx:
                notify(tx, {job.id: job.space_id for job in told})
            count += len(found)
            if len(found) < _LIMIT:
                return count

    def _forget_lost(self) -> int:
        """Count jobs that the broker no longer has as not sent.

        Age alone does not tell, because a deep backlog would be multiplied: a job is lost when it
        was sent before everything that its queue still holds.
        """
        count = 0
        for queue in QUEUES:
            oldest = oldest_sent(self._broker, queue)
            before = None if oldest is None else datetime.fromtimestamp(oldest, UTC)
            found = _LIMIT
            while found == _LIMIT:
                with database().ledger_statement(durable=False) as tx:
                    found = len(
                        table.forget_sent(
                            tx, queue, before=before, older_seconds=LOST_SECONDS, limit=_LIMIT
                        )
                    )
                count += found
        return count

    def _send_due(self) -> int:
        with database().ledger_statement(durable=False) as tx:
            return send_runnable(
                tx, self._broker, table.waiting_lanes(tx), table.waiting_queues(tx)
            )
