"""The Dramatiq broker: carries job ids, nothing else; losing all of it loses only time.

Keys in Redis: Dramatiq's own under `<prefix>:` and the channel `<prefix>:wake`, on which a sender
names the queues that it filled (or `cancel`), so that idle workers need not poll. Settings that
differ from Dramatiq's defaults:

- `maintenance_chance` at its maximum and `heartbeat_timeout` of 15 s: with the defaults the
  messages of a killed worker come back only after many minutes.
- no middleware: retries, delays and time limits are the ledger's, because Dramatiq's delayed
  messages are stranded when Redis restarts.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker, _RedisConsumer
from redis.backoff import NoBackoff
from redis.retry import Retry

from jobs.kinds import QUEUES
from storage.jobs import Job
from storage.settings import settings

#: How long an idle consumer waits for a wake-up before it looks by itself, in seconds.
IDLE_SECONDS = 1.0
#: While a worker's threads are all busy its consumer only waits for one to finish.
BUSY_SECONDS = 0.05


class WakeUps:
    """Wake-ups for consumers, received on one subscription per process."""

    def __init__(self) -> None:
        self._events: dict[str, threading.Event] = defaultdict(threading.Event)
        self._on_cancel: list[Any] = []

    def event(self, queue: str) -> threading.Event:
        """The event that is set when `queue` may have work."""
        return self._events[queue]

    def on_cancel(self, call: Any) -> None:
        """Call `call()` when somebody asked for a running job to stop."""
        self._on_cancel.append(call)

    def listen(self, client: redis.Redis, stop: threading.Event) -> None:
        """Receive wake-ups until `stop`; while Redis is away, consumers fall back to polling."""
        while not stop.is_set():
            try:
                with client.pubsub(ignore_subscribe_messages=True) as pubsub:
                    pubsub.subscribe(wake_channel())
                    self._all()
                    while not stop.is_set():
                        message = pubsub.get_message(timeout=1.0)
                        if message is not None:
                            self._received(message["data"].decode())
            except redis.RedisError:
                stop.wait(1.0)

    def _received(self, text: str) -> None:
        for name in text.split():
            if name == "cancel":
                for call in self._on_cancel:
                    call()
            else:
                self._events[name].set()

    def _all(self) -> None:
        for event in list(self._events.values()):
            event.set()


class _WakingConsumer(_RedisConsumer):
    """Dramatiq's consumer, except that it waits for a wake-up where that one sleeps."""

    broker: LedgerBroker

    def __init__(self, broker: LedgerBroker, queue_name: str, prefetch: int, timeout: int) -> None:
        super().__init__(broker, queue_name, prefetch, 0)
        self._wake = broker.wake_ups.event(queue_name)

    def __next__(self) -> Any:
        self._wake.clear()
        message = super().__next__()
        if message is None:
            full = self.outstanding_message_count >= self.prefetch
            self._wake.wait(BUSY_SECONDS if full else IDLE_SECONDS)
        return message

    def ack(self, message: Any) -> None:
        super().ack(message)
        self._wake.set()

    def nack(self, message: Any) -> None:
        super().nack(message)
        self._wake.set()


class LedgerBroker(RedisBroker):
    """The broker of API, scheduler and workers."""

    def __init__(self) -> None:
        client = redis_client()
        super().__init__(
            client=client,
            middleware=[],
            namespace=settings().queue_prefix,
            maintenance_chance=1_000_000,
            heartbeat_timeout=15_000,
        )
        self.wake_ups = WakeUps()

    @property
    def consumer_class(self) -> type[_WakingConsumer]:
        """The consumer that waits for wake-ups."""
        return _WakingConsumer


def redis_client() -> redis.Redis:
    """A client of the configured server; it fails at once rather than waiting for it."""
    return redis.Redis.from_url(
        settings().redis_url,
        socket_timeout=5.0,
        socket_connect_timeout=2.0,
        health_check_interval=30,
        retry=Retry(NoBackoff(), 0),
    )


def wake_channel() -> str:
    """The channel that wakes idle workers."""
    return f"{settings().queue_prefix}:wake"


def message_of(kind: str, queue: str, jobs: Sequence[Job]) -> dramatiq.Message[None]:
    """The message that carries the ids of `jobs` to the actor of their kind.

    It also tells when the ledger sent them, by the database's clock, so that the sweeper can
    compare times of one clock only.
    """
    sent = min(job.dispatched_at.timestamp() for job in jobs if job.dispatched_at)
    return dramatiq.Message(
        queue_name=queue,
        actor_name=kind,
        args=([job.id for job in jobs],),
        kwargs={},
        options={"sent": sent},
    )


def oldest_sent(broker: LedgerBroker, queue: str) -> float | None:
    """When the ledger sent the oldest message that waits in `queue` (Unix seconds, database).

    None when the queue is empty. Messages are taken in order, so the first is the oldest, save
    for a few that came back from a killed worker.
    """
    key = f"{broker.namespace}:{queue}"
    for message_id in broker.client.lrange(key, 0, 0):
        raw = broker.client.hget(f"{key}.msgs", message_id)
        if isinstance(raw, bytes):
            return float(dramatiq.Message.decode(raw).options.get("sent", 0.0))
    return None


def depths(broker: LedgerBroker) -> dict[str, int]:
    """Messages that wait in each queue."""
    with broker.client.pipeline(transaction=False) as pipe:
        for queue in QUEUES:
            pipe.llen(f"{broker.namespace}:{queue}")
        return dict(zip(QUEUES, pipe.execute(), strict=True))
