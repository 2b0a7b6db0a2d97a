"""Schedules: rows that say when which job falls due (design section 3.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from storage.database import Transaction, sql

CatchUp = Literal["skip", "once"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """One schedule. `next_due` is the tick that comes next; None while it has never been seen."""

    id: str
    name: str
    space_id: str
    cron: str
    timezone: str
    kind: str
    payload: dict[str, Any]
    catch_up: CatchUp
    jitter_seconds: int
    paused: bool
    next_due: datetime | None
    last_due: datetime | None
    last_job: str | None
    created_at: datetime


_COLUMNS = ", ".join(field.name for field in fields(Schedule))


def insert(tx: Transaction, values: dict[str, Any], *, keep: bool) -> bool:
    """Add a schedule; with `keep` one of the same name stays as it is, and False is returned."""
    done = tx.execute(
        "insert into schedule (id, name, space_id, cron, timezone, kind, payload, catch_up,"
        " jitter_seconds, next_due) values (%(id)s, %(name)s, %(space_id)s, %(cron)s,"
        " %(timezone)s, %(kind)s, %(payload)s, %(catch_up)s, %(jitter_seconds)s, %(next_due)s)"
        + (" on conflict (name) do nothing" if keep else ""),
        {**values, "payload": Jsonb(values["payload"])},
    )
    return done.rowcount == 1


def by_name(tx: Transaction, name: str) -> Schedule | None:
    """The schedule of that name, its row locked."""
    cursor = tx.cursor(row_factory=class_row(Schedule))
    return cursor.execute(
        sql(f"select {_COLUMNS} from schedule where name = %s for update"), (name,)
    ).fetchone()


def all_schedules(tx: Transaction) -> list[Schedule]:
    """Every schedule, by name."""
    cursor = tx.cursor(row_factory=class_row(Schedule))
    return cursor.execute(sql(f"select {_COLUMNS} from schedule order by name")).fetchall()


def space_exists(tx: Transaction, space_id: str) -> bool:
    """Whether a schedule of that space has somewhere to work."""
    row = tx.execute("select 1 from space where space_id = %s", (space_id,)).fetchone()
    return row is not None


def database_time(tx: Transaction) -> datetime:
    """The database's present, by which everything falls due."""
    row = tx.execute("select now()").fetchone()
    assert row is not None
    return row[0]


def due(tx: Transaction, limit: int) -> tuple[datetime, Sequence[Schedule]]:
    """The database's time and the schedules due by it, locked, those of other leaders left out."""
    cursor = tx.cursor(row_factory=class_row(Schedule))
    found = cursor.execute(
        sql(
            f"select {_COLUMNS} from schedule where not paused and next_due <= now()"
            " order by next_due limit %s for update skip locked"
        ),
        (limit,),
    ).fetchall()
    return database_time(tx), found


def ticked(
    tx: Transaction,
    schedule_id: str,
    *,
    next_due: datetime | None,
    last_due: datetime | None,
    last_job: str | None,
) -> None:
    """Record a tick and the one that comes next; without a job, only the latter."""
    tx.execute(
        "update schedule set next_due = %s, last_due = coalesce(%s, last_due),"
        " last_job = coalesce(%s, last_job) where id = %s",
        (next_due, last_due, last_job, schedule_id),
    )


def set_paused(tx: Transaction, schedule_id: str, paused: bool, next_due: datetime | None) -> None:
    """Pause or resume; resuming starts with the next tick from now."""
    tx.execute(
        "update schedule set paused = %s, next_due = %s where id = %s",
        (paused, next_due, schedule_id),
    )


def remove(tx: Transaction, schedule_id: str) -> None:
    """Delete a schedule."""
    tx.execute("delete from schedule where id = %s", (schedule_id,))
