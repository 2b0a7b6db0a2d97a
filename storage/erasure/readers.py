"""Runs that may have read what is erased now, and so may still write a copy of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from storage.database import Scope, Transaction


def running(tx: Transaction, scope: Scope, *, but: str) -> dict[str, int]:
    """The jobs that run in the space now, with the fences of their attempts.

    Embedding writes numbers for texts that are there, and none for those that are gone.
    """
    rows = tx.execute(
        "select id, fence from job where space_id = %s and state = 'running' and id <> %s"
        " and kind <> 'embed'",
        (scope.space_id, but),
    )
    return dict(rows.fetchall())


def still_running(tx: Transaction, scope: Scope, before: Mapping[str, int]) -> list[str]:
    """Those of the attempts that have neither ended nor been given up."""
    rows = tx.execute(
        """
        select j.id from unnest(%s::text[], %s::bigint[]) as w(id, fence)
          join job j on j.space_id = %s and j.id = w.id and j.fence = w.fence
         where j.state = 'running'
        """,
        (list(before), list(before.values()), scope.space_id),
    )
    return [id for (id,) in rows]


def processing(tx: Transaction, scope: Scope, sources: Collection[str]) -> list[str]:
    """Jobs that are to form memory of staged sources and have not ended."""
    rows = tx.execute(
        "select id from job where space_id = %s and state in ('accepted', 'running')"
        " and kind = 'formation' and payload #>> '{intent,source_ref}' = any(%s)",
        (scope.space_id, list(sources)),
    )
    return [id for (id,) in rows]
