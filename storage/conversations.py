"""Records of formation, recall and maintenance runs. Table `conversation` (migration 0001).

A record's status is that of its job until the run's own transaction settles it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from storage.database import Scope, Transaction, sql
from storage.errors import NotFound

Collection = Literal["formation", "recall", "maintenance"]
COLLECTIONS: tuple[Collection, ...] = ("formation", "recall", "maintenance")

_STATUS = """coalesce(c.final_status, case j.state
    when 'accepted' then 'submitted' when 'running' then 'working'
    when 'succeeded' then 'completed' else j.state end, 'submitted')"""
_COLUMNS = f"""c.id, c.collection, c.job_id, c.principal, c.thread, c.label, c.messages,
    c.resources, c.artifacts, c.extra, {_STATUS} as status,
    coalesce(c.failed_reason, case when j.state in ('failed', 'cancelled')
                              then j.error ->> 'message' end) as failed_reason,
    c.usage, c.created_at, c.updated_at"""
_FROM = " from conversation c left join job j on j.space_id = c.space_id and j.id = c.job_id"


@dataclass(frozen=True, slots=True)
class Conversation:
    """One run, as it was read."""

    id: int
    collection: Collection
    job_id: str | None
    principal: str
    thread: str | None
    label: str | None
    messages: list[dict[str, Any]]
    resources: list[Any]
    artifacts: list[Any]
    extra: dict[str, Any]
    status: str
    failed_reason: str | None
    usage: dict[str, int] | None
    created_at: datetime
    updated_at: datetime


def next_id(tx: Transaction, scope: Scope) -> int:
    """A new conversation id; ids grow, with gaps. Raises `NotFound` without such a space."""
    row = tx.execute(
        "select nextval('conversation_id') from space where space_id = %s", (scope.space_id,)
    ).fetchone()
    if row is None:
        raise NotFound("There is no such space.")
    return int(row[0])


def create(
    tx: Transaction,
    scope: Scope,
    conversation_id: int,
    collection: Collection,
    *,
    job_id: str,
    principal: str,
    messages: Sequence[dict[str, Any]],
    thread: str | None = None,
    extra: dict[str, Any] | None = None,
) -> None:
    """Insert the record of a run, in the transaction that accepts its job."""
    tx.execute(
        "insert into conversation (space_id, id, collection, job_id, principal, thread, messages,"
        " extra) values (%s, %s, %s, %s, %s, %s, %s, %s)",
        (
            scope.space_id,
            conversation_id,
            collection,
            job_id,
            principal,
            thread,
            Jsonb(list(messages)),
            Jsonb(extra or {}),
        ),
    )


def get(
    tx: Transaction, scope: Scope, conversation_id: int, collection: Collection | None = None
) -> Conversation | None:
    """One record, or None; with `collection` only one of that collection."""
    cursor = tx.cursor(row_factory=class_row(Conversation))
    return cursor.execute(
        sql(
            f"select {_COLUMNS} {_FROM} where c.space_id = %s and c.id = %s"
            " and (%s::text is null or c.collection = %s)"
        ),
        (scope.space_id, conversation_id, collection, collection),
    ).fetchone()


def list_page(
    tx: Transaction,
    scope: Scope,
    collection: Collection,
    *,
    before_id: int | None,
    limit: int,
) -> list[Conversation]:
    """Records of one collection, newest first, older than `before_id`."""
    cursor = tx.cursor(row_factory=class_row(Conversation))
    return cursor.execute(
        sql(
            f"select {_COLUMNS} {_FROM} where c.space_id = %s and c.collection = %s"
            " and (%s::bigint is null or c.id < %s) order by c.id desc limit %s"
        ),
        (scope.space_id, collection, before_id, before_id, limit),
    ).fetchall()


def settle(
    tx: Transaction,
    scope: Scope,
    conversation_id: int,
    *,
    add_messages: Sequence[dict[str, Any]] = (),
    artifacts: Sequence[Any] = (),
    usage: dict[str, int] | None = None,
    label: str | None = None,
    failed_reason: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Complete the record of a run, in the transaction that ends its job.

    `failed_reason` says why a run that came to its end has no answer; `extra` joins what the record
    has of that name.
    """
    tx.execute(
        "update conversation set final_status = %s, failed_reason = %s,"
        " messages = messages || %s::jsonb, artifacts = artifacts || %s::jsonb,"
        " usage = %s, label = coalesce(%s, label), extra = extra || %s, updated_at = now()"
        " where space_id = %s and id = %s",
        (
            "completed" if failed_reason is None else "failed",
            failed_reason,
            Jsonb(list(add_messages)),
            Jsonb(list(artifacts)),
            None if usage is None else Jsonb(usage),
            label,
            Jsonb(dict(extra or {})),
            scope.space_id,
            conversation_id,
        ),
    )


def unsay(tx: Transaction, scope: Scope, conversation_id: int, places: Sequence[int]) -> None:
    """Take the words out of some messages of a record, by their places from 0.

    Who spoke, and when, stays.
    """
    tx.execute(
        """
        update conversation c set messages = (
          select jsonb_agg(case when n - 1 = any(%s) then
                   jsonb_strip_nulls(jsonb_build_object('role', m -> 'role', 'timestamp',
                                                        m -> 'timestamp', 'content', ''))
                   else m end order by n)
            from jsonb_array_elements(c.messages) with ordinality as e(m, n))
         where c.space_id = %s and c.id = %s
        """,
        (sorted(places), scope.space_id, conversation_id),
    )


def follow_job(tx: Transaction, scope: Scope, old_job: str, new_job: str) -> None:
    """Let the record of a failed run follow the job that restarts it."""
    tx.execute(
        "update conversation set job_id = %s, final_status = null, failed_reason = null,"
        " updated_at = now() where space_id = %s and job_id = %s",
        (new_job, scope.space_id, old_job),
    )
