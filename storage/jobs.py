"""The job table: each transition of a job as one statement, with its event row.

Tables: `job` (one row a job, also the outbox), `job_event` (one row a transition), `worker` (one
row an incarnation). Migration 0001 documents the states. Functions here decide nothing; policy
(retry or fail, lanes, kinds) is in `jobs.ledger`. Times are the database's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from storage.database import Scope, Transaction, sql
from storage.ids import is_id

JobState = Literal["accepted", "running", "succeeded", "failed", "cancelled"]
TERMINAL: frozenset[str] = frozenset({"succeeded", "failed", "cancelled"})


#: Operations whose receipts are never deleted (seed 003 section 3).
LASTING = ("observe", "revise", "feedback", "forget")


@dataclass(frozen=True, slots=True)
class Job:
    """A job row as it was read; see migration 0001 for what each column means."""

    id: str
    seq: int
    space_id: str
    kind: str
    queue: str
    lane: str | None
    state: JobState
    principal: str
    principal_kind: str
    payload: dict[str, Any]
    operation: str
    idem_key: str | None
    idem_digest: str | None
    coalesce_key: str | None
    coalesced_into: str | None
    after_id: str | None
    parent_id: str | None
    request_id: str | None
    receipt_ref: str
    accepted_seq: int
    attempt: int
    released: int
    max_attempts: int
    deaths: int
    fence: int
    lease_owner: str | None
    lease_until: datetime | None
    cancel_requested_at: datetime | None
    available_at: datetime
    dispatched_at: datetime | None
    accepted_at: datetime
    claimed_at: datetime | None
    finished_at: datetime | None
    progress: dict[str, Any] | None
    cursor: dict[str, Any] | None
    disposition: str | None
    resolved_seq: int | None
    available_seq: int | None
    result: dict[str, Any] | None
    error: dict[str, Any] | None

    @property
    def terminal(self) -> bool:
        """Whether the job has ended and its receipt is final."""
        return self.state in TERMINAL


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One transition of a job."""

    id: int
    at: datetime
    event: str
    attempt: int
    fence: int
    worker: str | None
    detail: dict[str, Any] | None


_COLUMNS = ", ".join(field.name for field in fields(Job))
_JOB_COLUMNS = ", ".join(f"job.{field.name}" for field in fields(Job))
_J_COLUMNS = ", ".join(f"j.{field.name}" for field in fields(Job))

_INSERT = f"""
with head as (
  select coalesce((select head_seq from space where space_id = %(space_id)s), 0) as seq
), j as (
  insert into job (id, space_id, kind, queue, lane, principal, principal_kind, payload, operation,
                   idem_key, idem_digest, coalesce_key, after_id, parent_id, request_id,
                   receipt_ref, accepted_seq, max_attempts, available_at)
  select %(id)s, %(space_id)s, %(kind)s, %(queue)s, %(lane)s, %(principal)s, %(principal_kind)s,
         %(payload)s, %(operation)s, %(idem_key)s, %(idem_digest)s, %(coalesce_key)s,
         %(after_id)s, %(parent_id)s, %(request_id)s, %(receipt_ref)s, head.seq,
         %(max_attempts)s, coalesce(%(available_at)s, now())
    from head
  on conflict do nothing
  returning {_COLUMNS}
), e as (
  insert into job_event (space_id, job_id, event, attempt, fence, detail)
  select space_id, id, 'accepted', attempt, fence, %(detail)s from j
)
select {_COLUMNS} from j
"""


def insert(tx: Transaction, values: dict[str, Any]) -> Job | None:
    """Insert an accepted job with its event; None when a unique key already holds another."""
    values = {**values, "payload": Jsonb(values["payload"]), "detail": _json(values["detail"])}
    return tx.cursor(row_factory=class_row(Job)).execute(sql(_INSERT), values).fetchone()


def by_idempotency(
    tx: Transaction, scope: Scope, principal: str, operation: str, key: str
) -> Job | None:
    """The job that this caller's key already stands for."""
    return _one(
        tx,
        f"select {_COLUMNS} from job where space_id = %s and principal = %s and operation = %s"
        " and idem_key = %s",
        (scope.space_id, principal, operation, key),
    )


def waiting_by_coalesce_key(tx: Transaction, scope: Scope, key: str) -> Job | None:
    """The one waiting job of `key`, which a further request joins.

    It is kept waiting until the transaction ends: a run that began earlier could miss what the
    joiner is about to commit.
    """
    return _one(
        tx,
        f"select {_COLUMNS} from job where space_id = %s and coalesce_key = %s"
        " and state = 'accepted' and coalesced_into is null for share",
        (scope.space_id, key),
    )


def get(tx: Transaction, scope: Scope, job_id: str) -> Job | None:
    """One job of the space."""
    return _one(
        tx,
        f"select {_COLUMNS} from job where space_id = %s and id = %s",
        (scope.space_id, job_id),
    )


def by_receipt(tx: Transaction, scope: Scope, principal: str, receipt_ref: str) -> Job | None:
    """The caller's job of that receipt; None for an unknown one and for anybody else's."""
    if not is_id(receipt_ref, "rcp"):
        return None
    return _one(
        tx,
        f"select {_COLUMNS} from job where receipt_ref = %s and space_id = %s and principal = %s",
        (receipt_ref, scope.space_id, principal),
    )


def get_any(tx: Transaction, job_id: str) -> Job | None:
    """One job of whichever space (ledger role)."""
    return _one(tx, f"select {_COLUMNS} from job where id = %s", (job_id,))


def lock(tx: Transaction, scope: Scope, job_id: str) -> Job | None:
    """One job, its row locked until the transaction ends."""
    return _one(
        tx,
        f"select {_COLUMNS} from job where space_id = %s and id = %s for update",
        (scope.space_id, job_id),
    )


def list_page(
    tx: Transaction,
    scope: Scope,
    *,
    kinds: Sequence[str] | None,
    states: Sequence[str] | None,
    lane: str | None,
    before_seq: int | None,
    limit: int,
) -> list[Job]:
    """Jobs of the space, newest first, older than `before_seq`."""
    return _many(
        tx,
        f"select {_COLUMNS} from job where space_id = %(space)s"
        " and (%(before)s::bigint is null or seq < %(before)s)"
        " and (%(kinds)s::text[] is null or kind = any(%(kinds)s))"
        " and (%(states)s::text[] is null or state = any(%(states)s))"
        " and (%(lane)s::text is null or lane = %(lane)s)"
        " order by seq desc limit %(limit)s",
        {
            "space": scope.space_id,
            "before": before_seq,
            "kinds": list(kinds) if kinds else None,
            "states": list(states) if states else None,
            "lane": lane,
            "limit": limit,
        },
    )


def children(tx: Transaction, scope: Scope, job_id: str) -> list[str]:
    """Ids of the jobs that restarted this one."""
    rows = tx.execute(
        "select id from job where space_id = %s and parent_id = %s order by seq",
        (scope.space_id, job_id),
    )
    return [row[0] for row in rows]


def events(
    tx: Transaction, scope: Scope, job_id: str, *, after: int = 0, limit: int = 1000
) -> list[JobEvent]:
    """Transitions of a job in order, those after event id `after`."""
    cursor = tx.cursor(row_factory=class_row(JobEvent))
    return cursor.execute(
        "select id, at, event, attempt, fence, worker, detail from job_event"
        " where space_id = %s and job_id = %s and id > %s order by id limit %s",
        (scope.space_id, job_id, after, limit),
    ).fetchall()


_CLAIMABLE = """j.state = 'accepted' and j.available_at <= now()
     and j.coalesced_into is null
     and (j.after_id is null or not exists (
           select 1 from job p where p.id = j.after_id and p.state <> 'succeeded'))
     and (j.lane is null or (not exists (
           select 1 from job r
            where r.space_id = j.space_id and r.lane = j.lane and r.state = 'running')
          and not exists (
           select 1 from job o
            where o.space_id = j.space_id and o.lane = j.lane and o.seq < j.seq
              and o.state in ('accepted', 'running') and o.coalesced_into is null)))"""

# A claim is one conditional UPDATE: a loser changes no row and drops its message. Only the head
# of a lane can be claimed; job_lane_running backs that up where two heads commit at once.
_CLAIM = f"""
with c as (
  update job as j
     set state = 'running', attempt = j.attempt + 1, fence = j.fence + 1,
         lease_owner = %(worker)s, lease_until = now() + make_interval(secs => %(lease)s),
         claimed_at = now(), progress = null
   where j.id = any(%(ids)s) and (j.deaths = 0 or %(isolated)s) and {_CLAIMABLE}
  returning {_J_COLUMNS}
), e as (
  insert into job_event (space_id, job_id, event, attempt, fence, worker)
  select space_id, id, 'claimed', attempt, fence, lease_owner from c
)
select {_COLUMNS} from c
"""


def claim(
    tx: Transaction, ids: Sequence[str], worker: str, lease_seconds: float, *, isolated: bool
) -> list[Job]:
    """Claim those of `ids` that are due, free and at the head of their lane.

    A job that has killed a worker is claimed only by a process that runs it alone (`isolated`).
    Raises psycopg's UniqueViolation when another worker took a lane in the same instant.
    """
    return _many(
        tx,
        _CLAIM,
        {"ids": list(ids), "worker": worker, "lease": lease_seconds, "isolated": isolated},
    )


def refused(tx: Transaction, ids: Sequence[str]) -> list[Job]:
    """Of `ids` that a claim did not get, those still waiting; they count as not sent again.

    Suspects (see `claimable_suspects`) stay as they are: they are about to be run alone.
    """
    return _many(
        tx,
        f"update job set dispatched_at = null where id = any(%s) and state = 'accepted'"
        f" and coalesced_into is null and deaths = 0 returning {_COLUMNS}",
        (list(ids),),
    )


def claimable_suspects(tx: Transaction, ids: Sequence[str]) -> list[str]:
    """Of `ids`, the jobs that have ended a worker before and could be claimed now, alone."""
    rows = tx.execute(
        f"select j.id from job j where j.id = any(%s) and j.deaths > 0 and {_CLAIMABLE}",
        (list(ids),),
    )
    return [row[0] for row in rows]


def beat(tx: Transaction, worker: str) -> None:
    """Say that the incarnation is alive."""
    tx.execute("update worker set beat_at = now() where id = %s", (worker,))


def heartbeat(
    tx: Transaction, worker: str, ids: Sequence[str], lease_seconds: float
) -> dict[str, bool]:
    """Extend this worker's leases; maps each job still held to whether it shall be cancelled.

    A row that somebody has locked (its own finishing transaction, a cancel) is not waited for:
    it would keep all others from being extended, and no sweep takes a locked row either.
    """
    tx.execute(
        "with mine as (select id from job where id = any(%(ids)s) and lease_owner = %(worker)s"
        " and state = 'running' for update skip locked)"
        " update job set lease_until = now() + make_interval(secs => %(lease)s)"
        " from mine where job.id = mine.id",
        {"worker": worker, "ids": list(ids), "lease": lease_seconds},
    )
    rows = tx.execute(
        "select id, cancel_requested_at is not null from job"
        " where id = any(%s) and lease_owner = %s and state = 'running'",
        (list(ids), worker),
    )
    return {row[0]: row[1] for row in rows}


def set_progress(tx: Transaction, job_id: str, fence: int, progress: dict[str, Any]) -> bool:
    """Record progress of a running attempt; False when the lease is lost."""
    done = tx.execute(
        "update job set progress = %s where id = %s and fence = %s and state = 'running'",
        (Jsonb(progress), job_id, fence),
    )
    return done.rowcount == 1


def set_cursor(tx: Transaction, job_id: str, fence: int, cursor: dict[str, Any]) -> bool:
    """Record the durable cursor of a batch; False when the lease is lost."""
    done = tx.execute(
        "update job set cursor = %s where id = %s and fence = %s and state = 'running'"
        " and cancel_requested_at is null",
        (Jsonb(cursor), job_id, fence),
    )
    return done.rowcount == 1


def hold(tx: Transaction, leases: dict[str, int], worker: str) -> dict[str, bool]:
    """Lock the jobs (id to fence) that `worker` still holds; maps id to cancel requested.

    The lock lasts to the end of the transaction, so that no sweep can take the job meanwhile.
    """
    rows = tx.execute(
        "select j.id, j.cancel_requested_at is not null from job j"
        " join unnest(%s::text[], %s::bigint[]) as l(id, fence)"
        "   on l.id = j.id and l.fence = j.fence"
        " where j.state = 'running' and j.lease_owner = %s order by j.id for update of j",
        (list(leases), list(leases.values()), worker),
    )
    return {row[0]: row[1] for row in rows}


# Ends jobs, and those that were folded into them, with the same outcome; records the runs of
# failed and cancelled ones (a successful run is recorded by its pipeline).
_END = f"""
with i as (
  select * from unnest(%(ids)s::text[], %(results)s::jsonb[], %(dispositions)s::text[],
                       %(resolved)s::bigint[], %(available)s::bigint[])
         as i(id, result, disposition, resolved_seq, available_seq)
), f as (
  update job as j
     set state = %(state)s, lease_owner = null, lease_until = null, finished_at = now(),
         result = i.result, disposition = i.disposition, resolved_seq = i.resolved_seq,
         available_seq = i.available_seq, error = %(error)s, deaths = j.deaths + %(death)s
    from i where j.id = i.id and j.state in ('accepted', 'running')
  returning {_J_COLUMNS}
), c as (
  update job as j
     set state = %(state)s, finished_at = now(), result = i.result,
         disposition = i.disposition, resolved_seq = i.resolved_seq,
         available_seq = i.available_seq, error = %(error)s
    from i where %(folded)s and j.coalesced_into = i.id and j.state = 'accepted'
  returning {_J_COLUMNS}
), e as (
  insert into job_event (space_id, job_id, event, attempt, fence, worker, detail)
  select space_id, id, %(event)s, attempt, fence, %(worker)s, %(detail)s from f
  union all
  select space_id, id, %(event)s, attempt, fence, null,
         jsonb_build_object('with', coalesced_into) from c
), r as (
  update conversation as v
     set final_status = e.status, failed_reason = %(reason)s, updated_at = now()
    from (select id, %(record)s::text as status from f
          union all select id, coalesce(%(record)s, 'completed') from c) as e
   where e.status is not null and v.job_id = e.id and v.final_status is null
)
select {_COLUMNS} from f union all select {_COLUMNS} from c
"""


@dataclass(frozen=True, slots=True)
class Ending:
    """How one job ends."""

    id: str
    result: dict[str, Any] | None = None
    disposition: str | None = None
    resolved_seq: int | None = None
    available_seq: int | None = None


def end(
    tx: Transaction,
    endings: Sequence[Ending],
    state: Literal["succeeded", "failed", "cancelled"],
    *,
    event: str | None = None,
    error: dict[str, Any] | None = None,
    worker: str | None = None,
    detail: dict[str, Any] | None = None,
    death: bool = False,
    folded: bool = True,
) -> list[Job]:
    """Bring jobs to a terminal state; the caller has locked them or checked their fence.

    What was `folded` into them ends with them, the same way.
    """
    return _many(
        tx,
        _END,
        {
            "ids": [ending.id for ending in endings],
            "results": [_json(ending.result) for ending in endings],
            "dispositions": [ending.disposition for ending in endings],
            "resolved": [ending.resolved_seq for ending in endings],
            "available": [ending.available_seq for ending in endings],
            "state": state,
            "event": event or state,
            "error": _json(error),
            "worker": worker,
            "detail": _json(detail),
            "death": int(death),
            "folded": folded,
            "record": None if state == "succeeded" else state,
            "reason": (error or {}).get("message"),
        },
    )


def lock_predecessor(tx: Transaction, scope: Scope, job_id: str) -> JobState | None:
    """The state of a job that another is about to follow, which it keeps until commit."""
    row = tx.execute(
        "select state from job where space_id = %s and id = %s for share",
        (scope.space_id, job_id),
    ).fetchone()
    return row[0] if row else None


def fail_successors(tx: Transaction, job_ids: Sequence[str], error: dict[str, Any]) -> list[Job]:
    """Fail the waiting jobs that name one of `job_ids` as their predecessor (one generation)."""
    rows = tx.execute(
        "select id from job where after_id = any(%s) and state = 'accepted' for update",
        (list(job_ids),),
    ).fetchall()
    if not rows:
        return []
    return end(tx, [Ending(row[0]) for row in rows], "failed", error=error)


# Back to waiting: retry, release and lease_expired differ in what they count.
_BACK = f"""
with b as (
  update job as j
     set state = 'accepted', lease_owner = null, lease_until = null, dispatched_at = null,
         available_at = now() + make_interval(secs => %(delay)s),
         released = j.released + %(released)s, deaths = j.deaths + %(death)s, error = %(error)s
   where j.id = %(id)s and j.fence = %(fence)s and j.state = 'running'
  returning {_J_COLUMNS}
), e as (
  insert into job_event (space_id, job_id, event, attempt, fence, worker, detail)
  select space_id, id, %(event)s, attempt, fence, %(worker)s, %(detail)s from b
)
select {_COLUMNS} from b
"""


def put_back(
    tx: Transaction,
    job: Job,
    event: Literal["retry_scheduled", "released", "lease_expired"],
    *,
    delay_seconds: float,
    error: dict[str, Any] | None = None,
    released: bool = False,
    death: bool = False,
    detail: dict[str, Any] | None = None,
) -> Job | None:
    """Make a running job wait again; None when its fence has moved on."""
    return _one(
        tx,
        _BACK,
        {
            "id": job.id,
            "fence": job.fence,
            "delay": delay_seconds,
            "released": int(released),
            "death": int(death),
            "error": _json(error),
            "event": event,
            "worker": job.lease_owner,
            "detail": _json(detail),
        },
    )


def fold_waiting(tx: Transaction, job: Job) -> None:
    """Fold the waiting job of the same coalesce key into `job`, which is about to wait again."""
    tx.execute(
        "with c as (update job set coalesced_into = %(id)s where space_id = %(space)s"
        " and coalesce_key = %(key)s and state = 'accepted' and coalesced_into is null"
        " and id <> %(id)s returning space_id, id, attempt, fence)"
        " insert into job_event (space_id, job_id, event, attempt, fence, detail)"
        " select space_id, id, 'coalesced', attempt, fence,"
        " jsonb_build_object('into', %(id)s::text) from c",
        {"id": job.id, "space": job.space_id, "key": job.coalesce_key},
    )


def hand_over(tx: Transaction, job: Job) -> list[Job]:
    """Let the oldest job that was folded into `job`, which has ended, wait in its place."""
    return _many(
        tx,
        "with heir as (select id from job where coalesced_into = %(id)s and state = 'accepted'"
        " order by seq limit 1), rest as (update job set coalesced_into = heir.id from heir"
        " where job.coalesced_into = %(id)s and job.state = 'accepted' and job.id <> heir.id)"
        " update job set coalesced_into = null, dispatched_at = null from heir"
        f" where job.id = heir.id returning {_JOB_COLUMNS}",
        {"id": job.id},
    )


def serialise_coalescing(tx: Transaction, space_id: str, key: str) -> None:
    """Take turns on a coalesce key until the transaction ends."""
    tx.execute(
        "select pg_advisory_xact_lock(hashtextextended(%s, 7))", (f"coalesce:{space_id}:{key}",)
    )


def request_cancel(tx: Transaction, job: Job, by: str) -> None:
    """Ask a running job to stop (its row is locked by the caller)."""
    tx.execute(
        "with j as (update job set cancel_requested_at = coalesce(cancel_requested_at, now())"
        " where id = %s and state = 'running' and cancel_requested_at is null"
        " returning space_id, id, attempt, fence, lease_owner)"
        " insert into job_event (space_id, job_id, event, attempt, fence, worker, detail)"
        " select space_id, id, 'cancel_requested', attempt, fence, lease_owner, %s from j",
        (job.id, Jsonb({"by": by})),
    )


def expired(tx: Transaction, lease_seconds: float, limit: int) -> list[tuple[Job, bool]]:
    """Lock running jobs whose lease has run out; the flag says that their worker is dead too.

    For one lease after PostgreSQL itself started nothing counts as expired: the workers could
    not send their heartbeats while it was away.
    """
    cursor = tx.cursor(row_factory=class_row(Job))
    jobs = cursor.execute(
        sql(
            f"select {_COLUMNS} from job where state = 'running' and lease_until < now()"
            " and pg_postmaster_start_time() < now() - make_interval(secs => %s)"
            " order by lease_until limit %s for update skip locked"
        ),
        (lease_seconds, limit),
    ).fetchall()
    alive = {
        row[0]
        for row in tx.execute(
            "select id from worker where id = any(%s) and stopped_at is null"
            " and beat_at > now() - make_interval(secs => %s)",
            ([job.lease_owner for job in jobs], lease_seconds),
        )
    }
    return [(job, job.lease_owner not in alive) for job in jobs]


def held_by(tx: Transaction, worker: str) -> list[Job]:
    """Lock the running jobs of a worker that is known to be dead."""
    return _many(
        tx,
        f"select {_COLUMNS} from job where lease_owner = %s and state = 'running'"
        " order by id for update",
        (worker,),
    )


# What may be sent now: of each lane its head, of each (space, queue) without lanes the oldest up
# to a window, so that one space's backlog never fills the broker ahead of another's.
_TAKE_LANES = f"""
with h as (
  select h.* from unnest(%(spaces)s::text[], %(lanes)s::text[]) as w(space_id, lane)
  cross join lateral (
    select j.id from job j
     where j.space_id = w.space_id and j.lane = w.lane
       and j.state in ('accepted', 'running') and j.coalesced_into is null
     order by j.seq limit 1) as h
   where not exists (
     select 1 from job r
      where r.space_id = w.space_id and r.lane = w.lane and r.state = 'running')
)
update job as j set dispatched_at = clock_timestamp() from h
 where j.id = h.id and j.state = 'accepted' and j.dispatched_at is null
   and j.available_at <= now() and j.kind = any(%(kinds)s)
   and (j.after_id is null or not exists (
         select 1 from job p where p.id = j.after_id and p.state <> 'succeeded'))
returning {_J_COLUMNS}
"""
_TAKE_QUEUES = f"""
with d as (
  select d.id from unnest(%(spaces)s::text[], %(queues)s::text[]) as w(space_id, queue)
  cross join lateral (
    select j.id from job j
     where j.space_id = w.space_id and j.queue = w.queue and j.lane is null
       and j.state = 'accepted' and j.dispatched_at is null and j.available_at <= now()
       and j.coalesced_into is null and j.kind = any(%(kinds)s)
       and (j.after_id is null or not exists (
             select 1 from job p where p.id = j.after_id and p.state <> 'succeeded'))
     order by j.seq
     limit greatest(0, %(window)s - (
       select count(*) from (
         select 1 from job s where s.space_id = w.space_id and s.queue = w.queue
            and s.state = 'accepted' and s.dispatched_at is not null limit %(window)s) as sent
     ))) as d
)
update job as j set dispatched_at = clock_timestamp() from d
 where j.id = d.id and j.state = 'accepted' and j.dispatched_at is null
returning {_J_COLUMNS}
"""


def take_lanes(
    tx: Transaction, lanes: Sequence[tuple[str, str]], kinds: Sequence[str]
) -> list[Job]:
    """Mark the due heads of (space, lane) pairs as sent and return them, if of known `kinds`."""
    ordered = sorted(lanes)
    return _many(
        tx,
        _TAKE_LANES,
        {
            "spaces": [space for space, _ in ordered],
            "lanes": [lane for _, lane in ordered],
            "kinds": list(kinds),
        },
    )


def take_queues(
    tx: Transaction, queues: Sequence[tuple[str, str]], window: int, kinds: Sequence[str]
) -> list[Job]:
    """Mark due lane-less jobs of (space, queue) pairs as sent, up to `window` each.

    In order, so that two senders of the same pairs never deadlock.
    """
    ordered = sorted(queues)
    return _many(
        tx,
        _TAKE_QUEUES,
        {
            "spaces": [space for space, _ in ordered],
            "queues": [queue for _, queue in ordered],
            "window": window,
            "kinds": list(kinds),
        },
    )


def untake(tx: Transaction, ids: Sequence[str]) -> None:
    """The broker could not be reached: these still wait to be sent."""
    tx.execute(
        "update job set dispatched_at = null where id = any(%s) and state = 'accepted'",
        (list(ids),),
    )


# Loose index scans: one index probe for each distinct lane or (space, queue), however long
# their backlogs are.
_WAITING_LANES = """
with recursive w as (
  (select space_id, lane from job where state in ('accepted', 'running') and lane is not null
    order by space_id, lane limit 1)
  union all
  select n.space_id, n.lane from w cross join lateral (
    select j.space_id, j.lane from job j
     where j.state in ('accepted', 'running') and j.lane is not null
       and (j.space_id, j.lane) > (w.space_id, w.lane)
     order by j.space_id, j.lane limit 1) as n
)
select space_id, lane from w
"""
_WAITING_QUEUES = """
with recursive w as (
  (select space_id, queue from job
    where state = 'accepted' and dispatched_at is null and lane is null
    order by space_id, queue limit 1)
  union all
  select n.space_id, n.queue from w cross join lateral (
    select j.space_id, j.queue from job j
     where j.state = 'accepted' and j.dispatched_at is null and j.lane is null
       and (j.space_id, j.queue) > (w.space_id, w.queue)
     order by j.space_id, j.queue limit 1) as n
)
select space_id, queue from w
"""


def waiting_lanes(tx: Transaction) -> list[tuple[str, str]]:
    """All lanes with open jobs."""
    return [(row[0], row[1]) for row in tx.execute(_WAITING_LANES)]


def waiting_queues(tx: Transaction) -> list[tuple[str, str]]:
    """All (space, queue) pairs with jobs that were not sent yet."""
    return [(row[0], row[1]) for row in tx.execute(_WAITING_QUEUES)]


def forget_sent(
    tx: Transaction, queue: str, *, before: datetime | None, older_seconds: float, limit: int
) -> list[Job]:
    """Jobs sent to `queue` that the broker no longer has: they count as not sent again.

    `before` is when the oldest message still queued was sent (None: the queue is empty). Only
    jobs sent earlier than that, and at least `older_seconds` ago, can have been lost.
    """
    return _many(
        tx,
        "update job set dispatched_at = null where id in ("
        " select id from job where queue = %s and state = 'accepted' and dispatched_at is not null"
        " and dispatched_at < least(%s::timestamptz, now() - make_interval(secs => %s))"
        " order by dispatched_at limit %s for update skip locked)"
        f" returning {_COLUMNS}",
        (queue, before, older_seconds, limit),
    )


def delete_finished(tx: Transaction, *, older_days: float, limit: int) -> int:
    """Delete terminal jobs (and their events) that ended more than `older_days` ago.

    Those of `LASTING` operations stay: their keys and receipts live as long as their space.
    """
    row = tx.execute(
        "with d as (delete from job where id in (select id from job where finished_at <"
        " now() - make_interval(secs => %s) and operation <> all(%s) limit %s"
        " for update skip locked) returning id),"
        " e as (delete from job_event where job_id in (select id from d))"
        " select count(*) from d",
        (older_days * 86400, list(LASTING), limit),
    ).fetchone()
    assert row is not None
    return int(row[0])


def census(tx: Transaction) -> list[tuple[str, str, str, int]]:
    """Open jobs by (queue, kind, state), for metrics and `brainstem jobs`."""
    rows = tx.execute(
        "select queue, kind, state, count(*) from job where state in ('accepted', 'running')"
        " group by 1, 2, 3 order by 1, 2, 3"
    )
    return [(row[0], row[1], row[2], row[3]) for row in rows]


def spaces_changed_since_last(tx: Transaction, kind: str) -> list[str]:
    """Spaces that were written to since the last successful job of `kind` was accepted."""
    rows = tx.execute(
        "select s.space_id from space s where s.head_seq > coalesce((select max(j.accepted_seq)"
        " from job j where j.space_id = s.space_id and j.kind = %s and j.state = 'succeeded'), 0)"
        " order by s.space_id",
        (kind,),
    )
    return [row[0] for row in rows]


def oldest_waiting(tx: Transaction) -> list[tuple[str, float]]:
    """Seconds that the oldest due job of each queue has waited."""
    rows = tx.execute(
        "select queue, extract(epoch from now() - min(available_at))::float8 from job"
        " where state = 'accepted' and available_at <= now() group by 1 order by 1"
    )
    return [(row[0], row[1]) for row in rows]


def register_worker(
    tx: Transaction,
    worker: str,
    *,
    host: str,
    pid: int,
    role: str,
    queues: Sequence[str],
    threads: int,
    version: str,
) -> None:
    """Record a new incarnation of a process."""
    tx.execute(
        "insert into worker (id, host, pid, role, queues, threads, version)"
        " values (%s, %s, %s, %s, %s, %s, %s)",
        (worker, host, pid, role, list(queues), threads, version),
    )


def stop_worker(tx: Transaction, worker: str) -> None:
    """Record that an incarnation has ended in good order."""
    tx.execute(
        "update worker set stopped_at = now() where id = %s and stopped_at is null", (worker,)
    )


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """One incarnation of a process; `alive` when its heartbeat is recent."""

    id: str
    host: str
    pid: int
    role: str
    queues: list[str]
    threads: int
    version: str
    started_at: datetime
    beat_at: datetime
    stopped_at: datetime | None
    alive: bool


def workers(tx: Transaction, *, lease_seconds: float, limit: int = 200) -> list[WorkerRow]:
    """Incarnations, newest first."""
    cursor = tx.cursor(row_factory=class_row(WorkerRow))
    return cursor.execute(
        "select id, host, pid, role, queues, threads, version, started_at, beat_at, stopped_at,"
        " stopped_at is null and beat_at > now() - make_interval(secs => %s) as alive"
        " from worker order by started_at desc limit %s",
        (lease_seconds, limit),
    ).fetchall()


def delete_workers(tx: Transaction, *, older_days: float) -> int:
    """Delete the rows of incarnations that have been silent for `older_days`."""
    return tx.execute(
        "delete from worker where beat_at < now() - make_interval(secs => %s)",
        (older_days * 86400,),
    ).rowcount


def _json(value: Any) -> Jsonb | None:
    return None if value is None else Jsonb(value)


def _one(tx: Transaction, text: str, params: Any) -> Job | None:
    return tx.cursor(row_factory=class_row(Job)).execute(sql(text), params).fetchone()


def _many(tx: Transaction, text: str, params: Any) -> list[Job]:
    return tx.cursor(row_factory=class_row(Job)).execute(sql(text), params).fetchall()
