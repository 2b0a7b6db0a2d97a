"""What a space's memory was used for (seed 003, `MemoryMetrics`).

Counted from the tables that know it, where one does: recalls from their records, erased elements
from their stubs, corrections and self-tests from what upkeep notes beside its cursor, elements told
from the exposure log. Only what leaves no other trace has counters in `memory_metric` (migration
0012). A counter is spread over a few rows, so that requests at the same time do not wait for one
another.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from storage.clock import to_millis
from storage.database import Scope, Transaction

Counter = Literal[
    "probe_hits", "probe_misses", "negative_cache_hits", "uncertainty_reports", "uncertainty_sum"
]
_SLOTS = 8


@dataclass(frozen=True, slots=True)
class Metrics:
    """The numbers since the space began; `updated_at` is None when nothing was ever counted."""

    recalls_completed: int
    entities_recalled: int
    probe_hits: int
    probe_misses: int
    negative_cache_hits: int
    self_test_tested: int
    self_test_grounded: int
    reencode_tasks: int
    corrections: int
    uncertainty_reports: int
    uncertainty_sum: float
    forgotten_entities: int
    updated_at: datetime | None

    def as_json(self) -> dict[str, float]:
        """The wire form; times are Unix milliseconds, 0: never."""
        told: dict[str, float] = {
            name: getattr(self, name) for name in self.__slots__ if name != "updated_at"
        }
        return {**told, "updated_at": to_millis(self.updated_at) if self.updated_at else 0}


def count(tx: Transaction, scope: Scope, name: Counter, value: float = 1) -> None:
    """Add to a counter, in the transaction of what is counted."""
    tx.execute(
        "insert into memory_metric as m (space_id, name, slot, value) values (%s, %s, %s, %s)"
        " on conflict (space_id, name, slot)"
        " do update set value = m.value + excluded.value, updated_at = now()",
        (scope.space_id, name, random.randrange(_SLOTS), value),
    )


def report_uncertainty(tx: Transaction, scope: Scope, uncertainty: float) -> None:
    """Note how uncertain (0 to 1) a recall said that it was."""
    count(tx, scope, "uncertainty_reports")
    count(tx, scope, "uncertainty_sum", uncertainty)


def claims_made(tx: Transaction, scope: Scope) -> int:
    """How many assertions the space has numbered so far, erased ones among them."""
    row = tx.execute(
        "select coalesce((next_no ->> 'A')::bigint, 0) from space where space_id = %s",
        (scope.space_id,),
    ).fetchone()
    return 0 if row is None else int(row[0])


def read(tx: Transaction, scope: Scope) -> Metrics:
    """All numbers of a space."""
    space = {"space": scope.space_id}
    counters = tx.execute(
        "select name, sum(value), max(updated_at) from memory_metric"
        " where space_id = %(space)s group by name",
        space,
    ).fetchall()
    counted = {name: value for name, value, _ in counters}
    row = tx.execute(
        """
        select (select count(*) from conversation c where c.space_id = %(space)s
                   and c.collection = 'recall' and c.final_status = 'completed'),
               coalesce(u.exposed, 0) + (
                 select count(*) from exposure x where x.space_id = %(space)s
                    and x.id > coalesce(u.exposures_id, 0) and x.what = 'retrieved'),
               coalesce(u.self_tested, 0), coalesce(u.self_grounded, 0),
               coalesce(u.reencode_tasks, 0), coalesce(u.corrections, 0),
               (select count(*) from element e where e.space_id = %(space)s
                   and e.purged_seq is not null),
               (select max(c.updated_at) from conversation c where c.space_id = %(space)s
                   and c.collection = 'recall' and c.final_status = 'completed'),
               u.updated_at
          from (select %(space)s::text as space_id) s
          left join memory_upkeep u on u.space_id = s.space_id
        """,
        space,
    ).fetchone()
    assert row is not None
    recalls, exposed, tested, grounded, reencoded, corrections, forgotten, recalled_at, kept = row
    times = [at for at in (recalled_at, kept, *(at for _, _, at in counters)) if at is not None]
    return Metrics(
        recalls_completed=recalls,
        entities_recalled=exposed,
        probe_hits=round(counted.get("probe_hits", 0)),
        probe_misses=round(counted.get("probe_misses", 0)),
        negative_cache_hits=round(counted.get("negative_cache_hits", 0)),
        self_test_tested=tested,
        self_test_grounded=grounded,
        reencode_tasks=reencoded,
        corrections=corrections,
        uncertainty_reports=round(counted.get("uncertainty_reports", 0)),
        uncertainty_sum=float(counted.get("uncertainty_sum", 0)),
        forgotten_entities=forgotten,
        updated_at=max(times, default=None),
    )
