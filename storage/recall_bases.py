"""Retained bases of recalls: what a briefing stood on, so that it can be looked into later.

Tables `recall_base` and `recall_base_element`. A base belongs to the caller whose recall it was; it
holds refs, versions and digests and no text, so that it is no copy of memory. After its time, or
when a space has too many, only the fact is kept that there was one (contract memory-interface
section 10.2).
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from psycopg.types.json import Jsonb

from storage.clock import now
from storage.database import Scope, Transaction
from storage.kip.errors import ArtifactUnavailable

#: How long a base is kept; all anonymous readers are one caller, who shares what it holds.
KEPT = timedelta(days=30)
KEPT_ANONYMOUS = timedelta(hours=1)
#: Bases of one space.
MOST = 10_000
#: Bases that one recall clears away at most.
_CLEARED = 20
_DIGITS = 39
_ANONYMOUS = "anonymous"


@dataclass(frozen=True, slots=True)
class Pinned:
    """An element behind an item, in the version that the item was made of.

    `item` counts from 1; 0 is the briefing as a whole.
    """

    item: int
    element_id: str
    version: int
    digest: str


@dataclass(frozen=True, slots=True)
class RecallBase:
    """A retained base; `detail` has `basis`, `coverage` and `scope`."""

    ref: str
    snapshot_seq: int
    detail: dict[str, Any]
    elements: tuple[Pinned, ...]


def new_ref() -> str:
    """A new handle: 129 random bits.

    In digits, which the encoding counts by threes: every handle is of as many tokens, so that what
    fits a budget does not depend on chance.
    """
    return f"bas-{secrets.randbelow(10**_DIGITS):0{_DIGITS}d}"


def split(ref: str) -> tuple[str, int | None]:
    """The base that a handle names, and the item of it, where it names one."""
    base, hash_, item = ref.partition("#")
    number = int(item) if hash_ and item.isascii() and item.isdigit() and len(item) < 6 else None
    return (base, number) if number is not None or not hash_ else (ref, None)


def is_ref(ref: str) -> bool:
    """Whether it has the shape of a base's or an item's handle; says nothing about existence."""
    base, _ = split(ref)
    return base.startswith("bas-") and len(base) == 4 + _DIGITS and base[4:].isdigit()


def keep(
    tx: Transaction,
    scope: Scope,
    caller: str,
    ref: str,
    *,
    job_id: str,
    snapshot_seq: int,
    detail: Mapping[str, Any],
    elements: Sequence[Pinned],
) -> None:
    """Keep a base, and clear away some that are over their time or their number."""
    at = now()
    until = at + (KEPT_ANONYMOUS if caller == _ANONYMOUS else KEPT)
    tx.execute(
        "insert into recall_base (space_id, ref, caller, job_id, snapshot_seq, created_at,"
        " expires_at, detail) values (%s, %s, %s, %s, %s, %s, %s, %s)",
        (scope.space_id, ref, caller, job_id, snapshot_seq, at, until, Jsonb(detail)),
    )
    tx.execute(
        "insert into recall_base_element (space_id, ref, item, position, element_id, version,"
        " digest) select %s, %s, n.item, n.position - 1, n.element_id, n.version, n.digest"
        " from unnest(%s::int[], %s::text[], %s::bigint[], %s::text[])"
        " with ordinality as n(item, element_id, version, digest, position)",
        (
            scope.space_id,
            ref,
            [one.item for one in elements],
            [one.element_id for one in elements],
            [one.version for one in elements],
            [one.digest for one in elements],
        ),
    )
    _clear(tx, scope)


def get(tx: Transaction, scope: Scope, caller: str, ref: str) -> RecallBase | None:
    """The caller's base of that handle; None for an unknown one and for anybody else's.

    Raises `ArtifactUnavailable` for one that is no longer kept.
    """
    row = tx.execute(
        "select snapshot_seq, detail, expires_at > %s from recall_base"
        " where space_id = %s and ref = %s and caller = %s",
        (now(), scope.space_id, ref, caller),
    ).fetchone()
    if row is None:
        return None
    snapshot_seq, detail, current = row
    if detail is None or not current:
        raise ArtifactUnavailable("This basis is no longer kept; ask again for a new one.")
    rows = tx.execute(
        "select item, element_id, version, digest from recall_base_element"
        " where space_id = %s and ref = %s order by item, position",
        (scope.space_id, ref),
    )
    return RecallBase(ref, snapshot_seq, detail, tuple(Pinned(*one) for one in rows))


def delivered(tx: Transaction, scope: Scope, elements: Collection[str]) -> list[str]:
    """The bases of briefings that told of any of these elements, oldest first."""
    return [ref for ref, _ in _citing(tx, scope, elements)]


def briefing_jobs_citing(tx: Transaction, scope: Scope, elements: Collection[str]) -> list[str]:
    """The jobs whose result is a briefing that told of any of these elements, oldest first.

    Such a job's `payload` (the question) and `result` (the briefing) are copies to be erased.
    """
    return list(dict.fromkeys(job for _, job in _citing(tx, scope, elements)))


def _citing(tx: Transaction, scope: Scope, elements: Collection[str]) -> list[tuple[str, str]]:
    return tx.execute(
        """
        select b.ref, b.job_id
          from (select distinct d.ref from unnest(%(ids)s::text[]) as w(id)
                  cross join lateral (select ref from recall_base_element d
                         where d.space_id = %(space)s and d.element_id = w.id offset 0) d) d
          cross join lateral (select ref, job_id, created_at from recall_base b
                 where b.space_id = %(space)s and b.ref = d.ref offset 0) b
         order by b.created_at, b.ref
        """,
        {"space": scope.space_id, "ids": sorted(elements)},
    ).fetchall()


def _clear(tx: Transaction, scope: Scope) -> None:
    """What is over its time or its number can be looked into no more.

    Its elements stay on record for as long again, so that an erasure finds who was told of them.
    """
    tx.execute(
        """
        update recall_base set detail = null
         where space_id = %(space)s and ref in (
          (select ref from recall_base
            where space_id = %(space)s and detail is not null and expires_at <= %(now)s
            order by expires_at limit %(some)s)
          union
          (select ref from (select ref, detail from recall_base where space_id = %(space)s
                             order by created_at desc offset %(most)s limit %(some)s) o
            where detail is not null))
        """,
        {"space": scope.space_id, "now": now(), "most": MOST, "some": _CLEARED},
    )
    tx.execute(
        """
        with gone as (
          delete from recall_base where space_id = %(space)s and ref in (
            select ref from recall_base where space_id = %(space)s and created_at < %(before)s
             order by created_at limit %(some)s for update skip locked)
          returning ref)
        delete from recall_base_element e using gone
         where e.space_id = %(space)s and e.ref = gone.ref
        """,
        {"space": scope.space_id, "before": now() - 2 * KEPT, "some": _CLEARED},
    )
