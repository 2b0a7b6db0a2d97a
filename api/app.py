"""The Flask application: every route family, and what holds for each request.

The application does no work of its own: it validates, accepts durable jobs, and reads back. Who
may call what, `api.admission` says.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog
from flask import Flask, Response, g, request

from api import admission, errors, limits, openapi, request_id, streams
from api.measures import Measures, open_measures
from api.memory import (
    conversations,
    formation,
    kip,
    maintenance,
    probe,
    recall,
    recall_structured,
    retention,
    schema,
    status,
    users,
)
from api.memory_interface import attention, forget, intake, memory, plans, receipts, sources
from api.memory_interface import recall as memory_recall
from api.operator import documents, events, health, jobs, metrics, watch
from api.runtime import inbox, observations
from api.spaces import admin, byok, info, management, public, service
from jobs.logging import configure_logging
from storage.settings import settings

log = structlog.get_logger(__name__)

FAMILIES = (
    service.routes,
    public.routes,
    info.routes,
    formation.routes,
    recall.routes,
    recall_structured.routes,
    maintenance.routes,
    conversations.routes,
    kip.routes,
    probe.routes,
    status.routes,
    retention.routes,
    users.routes,
    schema.routes,
    watch.routes,
    jobs.routes,
    events.routes,
    admin.routes,
    management.routes,
    byok.routes,
    memory.routes,
    sources.routes,
    receipts.routes,
    plans.routes,
    attention.routes,
    inbox.routes,
    observations.routes,
    health.routes,
    metrics.routes,
    documents.routes,
)


def create_app() -> Flask:
    """A new application; gunicorn calls this in each of its processes."""
    configure_logging()
    app = Flask("brainstem", static_folder=None)
    app.url_map.strict_slashes = False
    app.config["MAX_CONTENT_LENGTH"] = settings().max_body_bytes
    app.config["SOCK_SERVER_OPTIONS"] = {
        "ping_interval": watch.PING_SECONDS,
        "max_message_size": watch.MAX_MESSAGE_BYTES,
    }
    intake.offer()
    forget.offer()
    memory_recall.offer()
    for family in FAMILIES:
        app.register_blueprint(family.blueprint)
    errors.register(app)
    operations = [operation for family in FAMILIES for operation in family.operations]
    app.extensions["openapi"] = openapi.document(operations)
    measures = app.extensions["measures"] = open_measures()
    app.before_request(_begin)
    limits.install(app)
    app.after_request(_finish(measures))
    streams.end_at_sigterm()
    if admission.authenticating():
        log.info("api.ready", authentication="required")
    else:
        log.warning("api.ready", authentication="none: anyone on this machine may do anything")
    return app


def _begin() -> Response | None:
    g.began = time.perf_counter()
    request_id.begin()
    busy = limits.refuse()
    if busy is None:
        admission.check_request()
    return busy


def _finish(measures: Measures) -> Callable[[Response], Response]:
    def finish(response: Response) -> Response:
        headers = response.headers
        headers[request_id.HEADER] = request_id.current()
        headers["X-Content-Type-Options"] = "nosniff"
        if "Cache-Control" not in headers:
            headers["Cache-Control"] = "no-store"
        route = request.url_rule.rule if request.url_rule is not None else "unmatched"
        seconds = time.perf_counter() - g.began
        measures.observe(request.method, route, response.status_code, seconds)
        return response

    return finish
