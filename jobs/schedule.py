"""Cron: schedules fall due by the database's clock and become jobs, each tick once.

A tick is accepted with the idempotency key `schedule:<id>:<due time>` in the same transaction
that moves the schedule on, so that it fires once however many schedulers run or crash. Cron
expressions are read in the schedule's time zone: a local time that a change to daylight saving
skips fires at the end of the gap, one that occurs twice fires once.
"""

from __future__ import annotations

import hashlib
import zoneinfo
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from cronsim import CronSim, CronSimError

from jobs import ledger
from jobs.failpoints import failpoint
from jobs.kinds import SYSTEM_SPACE, kind_of, validated
from jobs.ledger import Accepted, Idempotency
from storage import schedules as table
from storage.clock import to_text
from storage.database import Transaction
from storage.errors import BrainError, Conflict, InvalidInput, NotFound
from storage.ids import new_id
from storage.jobs import Job
from storage.principals import system
from storage.schedules import CatchUp, Schedule

log = structlog.get_logger(__name__)

#: Names that people use for common expressions.
ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
#: A tick that is later than this was missed: nobody was there to take it (seconds).
MISSED_SECONDS = 60.0
_LIMIT = 100


@dataclass(frozen=True, slots=True)
class _Default:
    name: str
    cron: str
    kind: str


DEFAULTS = (
    _Default("maintenance", "17 * * * *", "maintain_spaces"),
    _Default("retention", "23 3 * * *", "retention"),
    _Default("lost-work", "*/5 * * * *", "sweep"),
)


def next_tick(cron: str, timezone: str, after: datetime) -> datetime:
    """The first tick after `after`, in UTC.

    Raises `InvalidInput` for an expression or zone that cannot be read, and for one that never
    falls due.
    """
    try:
        zone = zoneinfo.ZoneInfo(timezone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(f"There is no time zone {timezone!r}.", field="timezone") from None
    try:
        ticks = CronSim(ALIASES.get(cron, cron), after.astimezone(zone))
        return next(ticks).astimezone(UTC)
    except (CronSimError, StopIteration):
        raise InvalidInput(
            f"{cron!r} is no cron expression that falls due.", field="cron"
        ) from None


def add(
    tx: Transaction,
    name: str,
    cron: str,
    kind: str,
    *,
    space_id: str = SYSTEM_SPACE,
    timezone: str = "UTC",
    payload: dict[str, Any] | None = None,
    catch_up: CatchUp = "once",
    jitter_seconds: int = 0,
    keep: bool = False,
) -> bool:
    """Add a schedule. Raises `InvalidInput` for a bad one and `Conflict` for a name in use.

    With `keep` a schedule of that name stays as it is, and False is returned.
    """
    if not 1 <= len(name) <= 100 or not name.isprintable():
        raise InvalidInput("A schedule's name has 1 to 100 printable characters.", field="name")
    if not 0 <= jitter_seconds <= 86400:
        raise InvalidInput("The jitter lies between 0 and 86400 seconds.", field="jitter_seconds")
    if space_id != SYSTEM_SPACE and not table.space_exists(tx, space_id):
        raise NotFound("There is no such space.")
    if not keep and table.by_name(tx, name) is not None:
        raise Conflict(f"There is a schedule named {name!r} already.")
    return table.insert(
        tx,
        {
            "id": new_id("sch"),
            "name": name,
            "space_id": space_id,
            "cron": cron,
            "timezone": timezone,
            "kind": kind_of(kind).name,
            "payload": validated(kind_of(kind), payload or {}),
            "catch_up": catch_up,
            "jitter_seconds": jitter_seconds,
            "next_due": next_tick(cron, timezone, table.database_time(tx)),
        },
        keep=keep,
    )


def ensure_defaults(tx: Transaction) -> None:
    """Add the schedules that every installation has; pause one to be rid of it."""
    for default in DEFAULTS:
        add(tx, default.name, default.cron, default.kind, jitter_seconds=0, keep=True)


def pause(tx: Transaction, name: str, *, paused: bool) -> None:
    """Pause or resume the schedule; raises `NotFound`."""
    schedule = _named(tx, name)
    at = table.database_time(tx)
    upcoming = None if paused else next_tick(schedule.cron, schedule.timezone, at)
    table.set_paused(tx, schedule.id, paused, upcoming)


def remove(tx: Transaction, name: str) -> None:
    """Delete the schedule; raises `NotFound`."""
    table.remove(tx, _named(tx, name).id)


def run_now(tx: Transaction, name: str, *, key: str | None = None) -> Accepted:
    """Accept the schedule's job at once, beside its ticks; raises `NotFound`.

    `key` makes repeated calls one (a system's cron that fires twice within its minute).
    """
    schedule = _named(tx, name)
    idempotency = Idempotency(f"cron:{schedule.id}:{key}", {"run": key}) if key else None
    return _accept(tx, schedule, idempotency, None, {"schedule": schedule.name, "by": "operator"})


def tick(tx: Transaction) -> list[Job]:
    """Accept the jobs of all schedules that are due; announce them after the commit."""
    at, schedules = table.due(tx, _LIMIT)
    jobs = []
    for schedule in schedules:
        try:
            with tx.transaction():
                jobs += _tick_one(tx, schedule, at)
        except BrainError as error:
            # of a newer version, or no longer valid: the others go on, and it is tried again
            log.warning("schedule.error", schedule=schedule.name, code=error.code)
    if jobs:
        failpoint("before_tick_commit", "schedule")
    return jobs


def _tick_one(tx: Transaction, schedule: Schedule, at: datetime) -> list[Job]:
    due = _due_tick(schedule, at)
    accepted = None
    if due is not None:
        accepted = _accept(
            tx,
            schedule,
            Idempotency(f"schedule:{schedule.id}:{to_text(due)}", {"due": to_text(due)}),
            due + timedelta(seconds=jitter(schedule, due)),
            {"schedule": schedule.name, "due": to_text(due)},
            # ticks that nobody worked on yet do not pile up
            coalesce_key=f"schedule:{schedule.id}" if kind_of(schedule.kind).lane else None,
        )
    table.ticked(
        tx,
        schedule.id,
        next_due=next_tick(schedule.cron, schedule.timezone, at),
        last_due=due,
        last_job=accepted.job.id if accepted else None,
    )
    return [accepted.job] if accepted else []


def _due_tick(schedule: Schedule, at: datetime) -> datetime | None:
    """The tick to fire at `at`: the latest one due, if the catch-up policy takes it."""
    assert schedule.next_due is not None
    latest = schedule.next_due
    # look back ever farther from `at`, so that a long downtime is not walked through tick by tick
    back = MISSED_SECONDS
    while at - timedelta(seconds=back) > latest:
        near = next_tick(schedule.cron, schedule.timezone, at - timedelta(seconds=back))
        if near <= at:
            latest = near
            break
        back *= 2
    while (following := next_tick(schedule.cron, schedule.timezone, latest)) <= at:
        latest = following
    late = (at - latest).total_seconds() > MISSED_SECONDS
    return None if late and schedule.catch_up == "skip" else latest


def jitter(schedule: Schedule, due: datetime) -> float:
    """The tick's delay in seconds: the same on every scheduler, spread over the range."""
    if schedule.jitter_seconds == 0:
        return 0.0
    seed = hashlib.sha256(f"{schedule.id}:{to_text(due)}".encode()).digest()
    return int.from_bytes(seed[:8]) / 2**64 * schedule.jitter_seconds


def _accept(
    tx: Transaction,
    schedule: Schedule,
    idempotency: Idempotency | None,
    available_at: datetime | None,
    detail: dict[str, Any],
    coalesce_key: str | None = None,
) -> Accepted:
    return ledger.accept(
        tx,
        system(schedule.space_id),
        schedule.kind,
        schedule.payload,
        operation=f"schedule:{schedule.kind}",
        idempotency=idempotency,
        available_at=available_at,
        detail=detail,
        coalesce_key=coalesce_key,
    )


def _named(tx: Transaction, name: str) -> Schedule:
    schedule = table.by_name(tx, name)
    if schedule is None:
        raise NotFound(f"There is no schedule named {name!r}.")
    return schedule
