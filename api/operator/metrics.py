"""`GET /metrics`: Prometheus text about the ledger (read now) and the API (`api.measures`)."""

from __future__ import annotations

from collections.abc import Iterable

from flask import Response, current_app
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from api.measures import BOUNDS, Measures
from api.routes import Answer, Routes
from storage import jobs as table
from storage.database import database
from storage.errors import Unavailable
from storage.settings import settings

routes = Routes("metrics", tag="operator")


@routes.add(
    "GET",
    "/metrics",
    summary="Metrics for Prometheus",
    answers={200: Answer(str, "Prometheus text format.", ("text/plain",))},
    admits="operator",
)
def metrics() -> Response:
    """Open jobs by queue, kind and state, waiting times, live workers, and HTTP requests.

    With the database away, `brainstem_database_up` is 0 and the ledger's numbers are missing.
    Answers callers of this machine; others show the token of a platform manager.
    """
    registry = CollectorRegistry()
    registry.register(_Collector(current_app.extensions["measures"]))
    return Response(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)


class _Collector:
    def __init__(self, measures: Measures) -> None:
        self._measures = measures

    def collect(self) -> Iterable[Metric]:
        """All families, read once."""
        yield from self._ledger()
        yield from self._http()

    def _ledger(self) -> Iterable[Metric]:
        up = GaugeMetricFamily("brainstem_database_up", "Whether the database answers.")
        try:
            with database().ledger() as tx:
                census = table.census(tx)
                oldest = table.oldest_waiting(tx)
                workers = table.workers(tx, lease_seconds=settings().lease_seconds)
        except Unavailable:
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        open_jobs = GaugeMetricFamily(
            "brainstem_jobs_open", "Open jobs.", labels=["queue", "kind", "state"]
        )
        for queue, kind, state, count in census:
            open_jobs.add_metric([queue, kind, state], count)
        yield open_jobs
        waiting = GaugeMetricFamily(
            "brainstem_jobs_oldest_waiting_seconds",
            "How long the oldest due job of a queue has waited.",
            labels=["queue"],
        )
        for queue, seconds in oldest:
            waiting.add_metric([queue], seconds)
        yield waiting
        alive = GaugeMetricFamily(
            "brainstem_workers_alive", "Processes with a recent heartbeat.", labels=["role"]
        )
        roles = [worker.role for worker in workers if worker.alive]
        for role in sorted({"worker", *roles}):
            alive.add_metric([role], roles.count(role))
        yield alive

    def _http(self) -> Iterable[Metric]:
        numbers = self._measures.total()
        requests = CounterMetricFamily(
            "brainstem_http_requests", "Requests answered.", labels=["method", "route", "status"]
        )
        for name, count in sorted(numbers.requests.items()):
            requests.add_metric(name.split(" "), count)
        yield requests
        latency = HistogramMetricFamily(
            "brainstem_http_request_seconds",
            "Time until the answer was made, streams until they began.",
            labels=["route"],
        )
        for route, counts in sorted(numbers.buckets.items()):
            below, buckets = 0, []
            for bound, count in zip((*map(str, BOUNDS), "+Inf"), counts, strict=True):
                below += count
                buckets.append((bound, below))
            latency.add_metric([route], buckets, numbers.seconds[route])
        yield latency
        streams = GaugeMetricFamily(
            "brainstem_http_streams_open", "Open streams and requests that wait for a job."
        )
        streams.add_metric([], numbers.streams)
        yield streams
