"""What maintenance of a space has done and how far it has come.

Tables of migration 0012: `memory_upkeep` (one row a space: cursors, totals, the last reports),
`maintenance_stage` (the stages of a run that has not ended). Neither holds words of memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from storage.database import Scope, Transaction, sql

Report = Literal["last_settlement", "last_self_test", "last_shadow", "last_schema_audit", "graph"]
_REPORTS: tuple[Report, ...] = (
    "last_settlement",
    "last_self_test",
    "last_shadow",
    "last_schema_audit",
    "graph",
)


@dataclass(frozen=True, slots=True)
class Upkeep:
    """How far upkeep has come.

    `corrections_seq` is the last transaction read whole for corrections, `corrections_entry` the
    entries read of the one after it; `exposures_id` the last row read of the exposure log,
    `tested_after` the last claim that a self-test looked at.
    """

    corrections_seq: int = 0
    corrections_entry: int = 0
    exposures_id: int = 0
    tested_after: str = ""
    last_self_test_at: datetime | None = None
    last_settlement: dict[str, Any] | None = None
    last_self_test: dict[str, Any] | None = None
    last_shadow: dict[str, Any] | None = None
    last_schema_audit: dict[str, Any] | None = None
    graph: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a run: what it has come to so far, and whether that is all."""

    name: str
    told: dict[str, Any]
    done: bool


def last_runs(tx: Transaction, scope: Scope) -> dict[str, int]:
    """Unix milliseconds of the last finished run by scope, and of the last start; 0: never.

    As far back as job rows are kept (seed 003, `MaintenanceAt`).
    """
    told = {"daydream": 0, "full": 0, "quick": 0, "start_at": 0}
    rows = tx.execute(
        "select payload ->> 'scope',"
        " (extract(epoch from max(finished_at) filter (where state = 'succeeded')) * 1000)::bigint,"
        " (extract(epoch from max(claimed_at)) * 1000)::bigint"
        " from job where space_id = %s and kind = 'maintenance' group by 1",
        (scope.space_id,),
    )
    for name, finished, started in rows:
        if name in told:
            told[name] = finished or 0
        told["start_at"] = max(told["start_at"], started or 0)
    return told


def forming(tx: Transaction, scope: Scope) -> bool:
    """Whether a formation of the space runs at this moment."""
    row = tx.execute(
        "select exists (select from job where space_id = %s and lane = 'memory'"
        " and state = 'running' and kind = 'formation')",
        (scope.space_id,),
    ).fetchone()
    return row == (True,)


def formations_since(tx: Transaction, scope: Scope, *, most: int) -> int:
    """Formations that succeeded since maintenance last began, counted up to `most`."""
    row = tx.execute(
        """
        select count(*) from (
            select from job j where j.space_id = %(space)s and j.kind = 'formation'
               and j.state = 'succeeded' and j.seq > coalesce((
                     select max(m.seq) from job m where m.space_id = %(space)s
                        and m.kind = 'maintenance' and m.state in ('accepted', 'succeeded')), 0)
             limit %(most)s) f
        """,
        {"space": scope.space_id, "most": most},
    ).fetchone()
    return 0 if row is None else int(row[0])


def due(tx: Transaction) -> list[str]:
    """Spaces in which something falls due by now: a promise, a Watch, a retention (ledger role)."""
    rows = tx.execute("select space_id from memory_upkeep where next_due <= now() order by 1")
    return [space_id for (space_id,) in rows]


def oldest_outcome(tx: Transaction, scope: Scope) -> datetime | None:
    """When the oldest outcome of a keyed request was kept; None: there is none."""
    row = tx.execute(
        "select min(created_at) from idem where space_id = %s", (scope.space_id,)
    ).fetchone()
    return None if row is None else row[0]


def read(tx: Transaction, scope: Scope) -> Upkeep:
    """How far upkeep of a space has come."""
    found = (
        tx.cursor(row_factory=class_row(Upkeep))
        .execute(
            "select corrections_seq, corrections_entry, exposures_id, tested_after,"
            " last_self_test_at, last_settlement, last_self_test, last_shadow, last_schema_audit,"
            " graph"
            " from memory_upkeep where space_id = %s",
            (scope.space_id,),
        )
        .fetchone()
    )
    return found or Upkeep()


def add(tx: Transaction, scope: Scope, **numbers: int) -> None:
    """Add to totals of a space: `corrections`, `exposed`, `self_tested`, `self_grounded`,
    `reencode_tasks`."""
    _upsert(
        tx,
        scope,
        {name: value for name, value in numbers.items() if value},
        "{name} = memory_upkeep.{name} + excluded.{name}",
    )


def advance(tx: Transaction, scope: Scope, **cursors: int | str | datetime) -> None:
    """Move cursors of a space, in the transaction of what was read up to there."""
    _upsert(tx, scope, cursors, "{name} = excluded.{name}")


def conclude(
    tx: Transaction,
    scope: Scope,
    reports: Mapping[Report, Mapping[str, Any] | None],
    *,
    next_due: datetime | None,
) -> None:
    """Keep the reports of a run, in the transaction that ends it; None leaves the one before."""
    given: dict[str, Any] = {
        name: Jsonb(dict(told)) for name, told in reports.items() if told is not None
    }
    _upsert(tx, scope, {**given, "next_due": next_due}, "{name} = excluded.{name}")


def keep_report(tx: Transaction, scope: Scope, name: Report, told: Mapping[str, Any]) -> None:
    """Keep one report alone."""
    _upsert(tx, scope, {name: Jsonb(dict(told))}, "{name} = excluded.{name}")


_COLUMNS = frozenset(
    {
        *_REPORTS,
        *("corrections_seq", "corrections_entry", "corrections", "exposures_id", "exposed"),
        *("last_self_test_at", "self_tested", "self_grounded", "reencode_tasks", "next_due"),
        "tested_after",
    }
)


def _upsert(tx: Transaction, scope: Scope, values: Mapping[str, Any], assignment: str) -> None:
    if not values:
        return
    if unknown := values.keys() - _COLUMNS:
        raise ValueError(f"upkeep has no {', '.join(sorted(unknown))}")
    names = sorted(values)
    changes = ", ".join(assignment.format(name=name) for name in names)
    tx.execute(
        sql(
            f"insert into memory_upkeep (space_id, {', '.join(names)})"
            f" values (%(space_id)s, {', '.join(f'%({name})s' for name in names)})"
            f" on conflict (space_id) do update set {changes}, updated_at = now()"
        ),
        {"space_id": scope.space_id, **values},
    )


def stages(tx: Transaction, scope: Scope, job_id: str) -> dict[str, Stage]:
    """The stages of a run that has begun, by name."""
    rows = tx.execute(
        "select stage, told, done from maintenance_stage where space_id = %s and job_id = %s",
        (scope.space_id, job_id),
    )
    return {name: Stage(name, told, done) for name, told, done in rows}


def keep_stage(tx: Transaction, scope: Scope, job_id: str, stage: Stage) -> None:
    """Keep what a stage has come to, in the transaction of what it did."""
    tx.execute(
        "insert into maintenance_stage (space_id, job_id, stage, told, done)"
        " values (%s, %s, %s, %s, %s) on conflict (space_id, job_id, stage)"
        " do update set told = excluded.told, done = excluded.done",
        (scope.space_id, job_id, stage.name, json.dumps(stage.told), stage.done),
    )


def drop_stages(tx: Transaction, scope: Scope, *, other_than: str | None = None) -> None:
    """Drop the stages of a space's runs: all, or those of every run but one."""
    tx.execute(
        "delete from maintenance_stage where space_id = %s and (%s::text is null or job_id <> %s)",
        (scope.space_id, other_than, other_than),
    )
