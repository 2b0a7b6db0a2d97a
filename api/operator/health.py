"""`/healthz` (this process answers) and `/readyz` (requests can be served), which mean it."""

from __future__ import annotations

import psycopg
import redis
import structlog
from flask import Response

from api.negotiation import plain
from api.operator.outputs import Health, Readiness
from api.routes import Routes, json_only
from jobs.broker import redis_client
from storage.database import database
from storage.errors import DatabaseUnavailable, Unavailable
from storage.settings import settings

log = structlog.get_logger(__name__)
routes = Routes("health", tag="operator")

#: Databases that were seen at the newest revision; a schema never goes back.
_migrated: set[str] = set()


@routes.add(
    "GET", "/healthz", summary="Is this process alive?", answers={200: json_only(Health, "It is.")}
)
def healthz() -> Response:
    """Asks nobody else, so that a restart is only asked for where it helps."""
    return plain({"status": "ok"})


@routes.add(
    "GET",
    "/readyz",
    summary="Can requests be served?",
    answers={
        200: json_only(Readiness, "They can; `degraded` when Redis is away and work starts late."),
        503: json_only(Readiness, "The database is away, or not migrated."),
    },
)
def readyz() -> Response:
    """Ready is: the database answers and is at the newest revision.

    Redis being away only delays the start of jobs, which are accepted all the same.
    """
    checks = {"database": _database(), "redis": _redis()}
    if checks["database"] != "ok":
        body = {"status": "unavailable", "checks": checks}
        return plain(body, status=503, headers={"Retry-After": "2"})
    return plain({"status": "ready" if checks["redis"] == "ok" else "degraded", "checks": checks})


def _database() -> str:
    try:
        with database().ledger_statement() as tx:
            tx.execute("select 1")
        url = settings().database_url
        if url not in _migrated:
            if not _is_migrated():
                return "not migrated"
            _migrated.add(url)
    except (Unavailable, psycopg.Error) as error:
        log.warning("ready.database", error=type(error).__name__)
        return "unavailable"
    return "ok"


def _is_migrated() -> bool:
    # imported where it is needed once: it brings a second of imports with it
    from sqlalchemy.exc import SQLAlchemyError

    from storage import migrations

    try:
        current, newest = migrations.state()
    except SQLAlchemyError as error:
        raise DatabaseUnavailable() from error
    return current == newest


def _redis() -> str:
    try:
        client = redis_client()
        try:
            client.ping()
        finally:
            client.close()
    except (redis.RedisError, ValueError) as error:
        log.warning("ready.redis", error=type(error).__name__)
        return "unavailable"
    return "ok"
