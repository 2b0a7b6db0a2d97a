"""`brainstem doctor`: is everything there that Brainstem needs, and does it work."""

from __future__ import annotations

import json
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Literal

import typer

from deploy.commands.options import DataOption, JsonOption
from deploy.services import NotRunning, attach, use_data
from storage.errors import BrainError
from storage.settings import settings

_POSTGRES_MAJOR = 16
_REDIS_VERSION = (6, 2)
_DISK_BYTES = 1024**3


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: `warn` is worth a look, `fail` keeps Brainstem from working."""

    check: str
    status: Literal["ok", "warn", "fail"]
    detail: str


def examine() -> Iterator[Finding]:
    """Look at everything, on the services that the settings name."""
    yield _python()
    for check, look in (
        ("database", _database),
        ("redis", _redis),
        ("workers", _workers),
        ("disk", _disk),
    ):
        yield from _guarded(check, look)


def _guarded(check: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    import psycopg
    import redis

    try:
        yield from look()
    except (psycopg.Error, redis.RedisError, BrainError, OSError) as error:
        first = str(error).strip().partition("\n")[0]
        yield Finding(check, "fail", first or type(error).__name__)


def _python() -> Finding:
    fits = sys.version_info >= (3, 11)
    return Finding("python", "ok" if fits else "fail", f"{platform.python_version()} (3.11 needed)")


def _database() -> Iterator[Finding]:
    import psycopg

    from storage import migrations
    from storage.database import conninfo

    if not settings().database_url:
        yield Finding("database", "fail", NotRunning.default)
        return
    with psycopg.connect(conninfo(), autocommit=True) as conn:
        version = conn.info.server_version
        fits = version >= _POSTGRES_MAJOR * 10000
        detail = f"PostgreSQL {version // 10000}.{version % 10000} ({_POSTGRES_MAJOR} needed)"
        yield Finding("database", "ok" if fits else "fail", detail)
        rows = conn.execute("select extname, extversion from pg_extension").fetchall()
        extensions: dict[str, str] = dict(rows)
        for name in ("vector", "pg_trgm"):
            found = extensions.get(name)
            detail = found or f"missing: a superuser must run `create extension {name}`"
            yield Finding(f"extension {name}", "ok" if found else "fail", detail)
        for name in ("fsync", "full_page_writes"):
            row = conn.execute("select current_setting(%s)", [name]).fetchone()
            if row and row[0] != "on":
                yield Finding(f"database {name}", "fail", "off: a crash may lose accepted jobs")
    current, newest = migrations.state()
    up_to_date = current == newest
    detail = f"{current}" if up_to_date else f"{current} (newest {newest}): run `brainstem migrate`"
    yield Finding("schema", "ok" if up_to_date else "fail", detail)


def _redis() -> Iterator[Finding]:
    import redis

    if not settings().redis_url:
        yield Finding("redis", "fail", NotRunning.default)
        return
    with redis.Redis.from_url(settings().redis_url, socket_timeout=5.0) as client:
        info = client.info("server")
        assert isinstance(info, dict)
        name = "Valkey" if "valkey_version" in info else "Redis"
        version = str(info.get("valkey_version") or info["redis_version"])
        fits = tuple(int(part) for part in version.split(".")[:2]) >= _REDIS_VERSION
        yield Finding("redis", "ok" if fits else "fail", f"{name} {version} (6.2 needed)")
        try:
            policy = client.config_get("maxmemory-policy")
        except redis.ResponseError:
            yield Finding("redis eviction", "warn", "CONFIG is forbidden; it must be noeviction")
            return
        assert isinstance(policy, dict)
        kept = policy.get("maxmemory-policy") == "noeviction"
        detail = str(policy.get("maxmemory-policy"))
        if not kept:
            detail += ": must be noeviction, or messages are lost when memory is full"
        yield Finding("redis eviction", "ok" if kept else "fail", detail)


def _workers() -> Iterator[Finding]:
    from storage.database import database

    if not settings().database_url:
        return
    # a worker that missed three beats has lost its leases already or is about to
    silence = 3 * settings().heartbeat_seconds
    with database().ledger() as conn:
        rows = conn.execute(
            """select role, count(*) from worker where stopped_at is null
                 and beat_at > now() - make_interval(secs => %s) group by role order by role""",
            [silence],
        ).fetchall()
    database().close()
    if rows:
        yield Finding("workers", "ok", ", ".join(f"{count} {role}" for role, count in rows))
    else:
        detail = "none alive: jobs are accepted, but nothing runs them"
        yield Finding("workers", "warn", detail)


def _disk() -> Iterator[Finding]:
    place = settings().data
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    detail = f"{free / 1024**3:.1f} GiB free at {place}"
    yield Finding("disk", "ok" if free > _DISK_BYTES else "warn", detail)


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def doctor(data: DataOption = None, as_json: JsonOption = False) -> None:
        """Check Python, database, Redis, schema, workers and disk; exit code 1 on a failure."""
        try:
            attach(data)
        except NotRunning:
            use_data(data)
        findings = list(examine())
        healthy = all(finding.status != "fail" for finding in findings)
        if as_json:
            print(json.dumps({"healthy": healthy, "checks": [asdict(f) for f in findings]}))
        else:
            from rich.console import Console
            from rich.text import Text

            console = Console(highlight=False)
            colours = {"ok": "green", "warn": "yellow", "fail": "red"}
            for f in findings:
                mark = Text(f"{f.status:<5}", style=colours[f.status])
                console.print(mark, Text(f"{f.check:<18} {f.detail}"), soft_wrap=True)
        raise typer.Exit(0 if healthy else 1)
