"""The next batch of the exposure log, summed by element: what was shown, what was used.

It is the input of reinforcement and no part of memory; reading it writes nothing but its cursor.
"""

from __future__ import annotations

from typing import Any

from storage import maintenance_runs
from storage.database import Scope, Transaction

#: Rows of the log that one batch reads, and elements that it tells.
_ROWS, _ELEMENTS = 5_000, 200


def batch(tx: Transaction, scope: Scope, told: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Read the next rows of the log; returns `exposures` and whether they are `truncated`."""
    after = maintenance_runs.read(tx, scope).exposures_id
    rows = tx.execute(
        "select id, element_id, what, snapshot_seq from exposure where space_id = %s and id > %s"
        " order by id limit %s",
        (scope.space_id, after, _ROWS + 1),
    ).fetchall()
    found: dict[str, dict[str, Any]] = {}
    through, read, retrieved = after, 0, 0
    for row_id, element, what, seq in rows[:_ROWS]:
        if element not in found and len(found) == _ELEMENTS:
            break
        one = found.setdefault(
            element,
            {"element_id": element, "retrieved": 0, "used": 0, "last_snapshot_seq": seq},
        )
        if what in ("retrieved", "used"):
            one[what] += 1
        retrieved += what == "retrieved"
        one["last_snapshot_seq"] = max(one["last_snapshot_seq"], seq)
        through, read = row_id, read + 1
    maintenance_runs.advance(tx, scope, exposures_id=through)
    maintenance_runs.add(tx, scope, exposed=retrieved)
    told = {**told, "exposures": list(found.values()), "truncated": read < len(rows)}
    return told, True
