"""Leadership by a lease row: one holder at a time by the database's clock.

A session lock would stay with a stopped process for as long as its connection lives; a lease
runs out. What a leader does must be safe when two believe to lead for a moment.
"""

from __future__ import annotations

from storage.database import Transaction


def hold_leadership(tx: Transaction, name: str, owner: str, seconds: float) -> bool:
    """Take or keep the leadership of `name`; True while `owner` has it."""
    row = tx.execute(
        "insert into leader as l (name, owner, until)"
        " values (%s, %s, now() + make_interval(secs => %s))"
        " on conflict (name) do update set owner = excluded.owner, until = excluded.until"
        " where l.owner = excluded.owner or l.until < now() returning owner",
        (name, owner, seconds),
    ).fetchone()
    return row is not None


def give_up_leadership(tx: Transaction, name: str, owner: str) -> None:
    """Let another take over at once (orderly stop)."""
    tx.execute("delete from leader where name = %s and owner = %s", (name, owner))
