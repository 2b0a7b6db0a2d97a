"""Which claims a self-test asks for, and what it found (table `self_test_result`).

Asked for are claims that memory believes and that nothing has used. One that was asked for is
left alone for `RETEST`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from storage import maintenance_runs
from storage.database import Scope, Transaction, sql
from storage.graph.belief import Question
from storage.graph.claims import ClaimView, claims_for
from storage.graph.state import version
from storage.settlement.tasks import task
from storage.settlement.writing import commit_each

#: How long a claim that nothing used is left alone after a test.
RETEST = timedelta(days=30)
#: Claims looked at for each that is wanted.
_LOOK = 4


def candidates(
    tx: Transaction, scope: Scope, at: datetime, wanted: int
) -> tuple[list[ClaimView], str]:
    """The next claims to ask for, and how far claims were looked at for them.

    Claims are walked through by id from where the last test ended, and again from the start.
    """
    after = maintenance_runs.read(tx, scope).tested_after
    found, last = _walk(tx, scope, at, after, wanted)
    if len(found) < wanted and after:
        seen = {view.id for view in found}
        more, last = _walk(tx, scope, at, "", wanted - len(found))
        found += [view for view in more if view.id not in seen]
    return found, last


def record(
    tx: Transaction,
    scope: Scope,
    principal: str,
    at: datetime,
    results: Mapping[str, bool],
    after: str,
) -> int:
    """Keep what a test found; claims that were not found get a task. Says how many tasks are new.

    `results` says of each claim whether it was found, `after` how far claims were looked at.
    """
    tx.execute(
        "insert into self_test_result (space_id, element_id, tested_at, grounded)"
        " select %s, r.id, %s, r.grounded from unnest(%s::text[], %s::boolean[]) as r(id, grounded)"
        " on conflict (space_id, element_id)"
        " do update set tested_at = excluded.tested_at, grounded = excluded.grounded",
        (scope.space_id, at, list(results), list(results.values())),
    )
    made, _ = commit_each(
        tx,
        scope,
        principal,
        {
            id: (
                task(
                    "consolidate",
                    id,
                    f"Asked for in its own words, {id} is not found: encode it anew.",
                    {"element": id},
                ),
            )
            for id, grounded in results.items()
            if not grounded
        },
    )
    maintenance_runs.advance(tx, scope, tested_after=after, last_self_test_at=at)
    maintenance_runs.add(
        tx,
        scope,
        self_tested=len(results),
        self_grounded=sum(results.values()),
        reencode_tasks=len(made),
    )
    return len(made)


def _walk(
    tx: Transaction, scope: Scope, at: datetime, after: str, wanted: int
) -> tuple[list[ClaimView], str]:
    rows = tx.execute(
        sql(
            f"""
            select a.id from assertion a
              join {version("v", "a.id")} on v.status = 'active' and v.state = 'active'
               and v.recording = 'valid' and not v.quarantined
             where a.space_id = %(space)s and a.id > %(after)s and a.stance = 'support'
               and not exists (
                     select from self_test_result t where t.space_id = %(space)s
                        and t.element_id = a.id and t.tested_at > %(since)s)
               and not exists (
                     select from exposure x where x.space_id = %(space)s
                        and x.element_id = a.id and x.what = 'used')
             order by a.id limit %(limit)s
            """
        ),
        {
            "space": scope.space_id,
            "after": after,
            "since": at - RETEST,
            "limit": wanted * _LOOK,
        },
    ).fetchall()
    ids = [id for (id,) in rows]
    views = {view.id: view for view in claims_for(tx, scope, Question(valid_at=at), assertions=ids)}
    found: list[ClaimView] = []
    last = after
    for id in ids:
        if len(found) == wanted:
            return found, last
        last = id
        if id in views and views[id].stands:
            found.append(views[id])
    return found, last if len(ids) == wanted * _LOOK else ""
