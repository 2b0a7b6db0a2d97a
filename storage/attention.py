"""What was raised to attention: watches that fired, and commitments that came due.

Each is raised by a commit: a `watch_fire` Activity, or a `commitment_review` Activity that names a
commitment. They stand in the order of (sequence of that commit, ref); a caller keeps how far it has
read as a cursor, which never expires (seed 003, `GET /v1/{space_id}/memory/attention`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from storage.clock import parse_text, to_text
from storage.database import Scope, Transaction, sql
from storage.errors import InvalidInput
from storage.graph.state import at_seq, version
from storage.kip.errors import CursorInvalid

#: Items of a page, unless fewer are asked for, and at most.
PAGE, MOST = 20, 50
START = "attention:start"
_WATCH = "kip://profiles/cognitive-memory/Watch"
_COMMITMENT = "kip://profiles/cognitive-memory/Commitment"
_WATCHES = "kip://profiles/cognitive-memory/watches"
_CURSOR = re.compile(r"attention:(?:start|-1|(\d{1,16})(?::(C-[1-9]\d{0,17}))?)", re.ASCII)
_SUMMARY = 4096
_TARGETS = 128
#: Raised items that one look reads; those out of scope are passed over.
_LOOK = 200


@dataclass(frozen=True, slots=True)
class Item:
    """A watch that fired or a commitment that came due, as `AttentionItem` of seed 003."""

    ref: str
    kind: str
    summary: str
    raised_seq: int
    due_at: str | None
    target_refs: tuple[str, ...]
    priority: float | None

    def as_json(self) -> dict[str, Any]:
        """The wire form; its last member is the number `raised_seq` or `priority`."""
        told: dict[str, Any] = {"ref": self.ref, "kind": self.kind, "summary": self.summary}
        if self.due_at is not None:
            told["due_at"] = self.due_at
        told["target_refs"] = list(self.target_refs)
        told["raised_seq"] = self.raised_seq
        if self.priority is not None:
            told["priority"] = self.priority
        return told


@dataclass(frozen=True, slots=True)
class Page:
    """Items after a cursor. `more`: there are further ones; `ends` says of each whether it is the
    last one of its commit."""

    items: tuple[Item, ...]
    ends: tuple[bool, ...]
    after: str
    more: bool

    def cursor(self, delivered: int) -> str:
        """How far a caller has read who was given the first `delivered` of the items."""
        if delivered == 0:
            return self.after
        last = self.items[delivered - 1]
        whole = f"attention:{last.raised_seq}"
        return whole if self.ends[delivered - 1] else f"{whole}:{last.ref}"


def page(
    tx: Transaction,
    scope: Scope,
    cursor: str | None,
    limit: int,
    *,
    seq: int | None = None,
    admits: Callable[[Collection[str]], set[str]] | None = None,
) -> Page:
    """The next `limit` items after `cursor`, at present or as of `seq`.

    `admits` says which of some refs are in the scope that is asked for; None: all are. Raises
    `CursorInvalid`.
    """
    after, position = _position(cursor)
    found: list[Item] = []
    while len(found) <= limit:
        rows = _raised(tx, scope, position, seq)
        if not rows:
            break
        last = rows[-1]
        position = (last.raised_seq, *_order(last.ref))
        if admits is not None:
            seen = admits({item.ref for item in rows})
            rows = [item for item in rows if item.ref in seen]
        found += rows
    items, rest = found[:limit], found[limit:]
    following = [*items[1:], *rest[:1]]
    ends = [
        n >= len(following) or following[n].raised_seq != item.raised_seq
        for n, item in enumerate(items)
    ]
    return Page(tuple(items), tuple(ends), after, bool(rest))


def _position(cursor: str | None) -> tuple[str, tuple[int, int, str]]:
    """A cursor as it is given back when nothing follows it, and what follows it."""
    match = _CURSOR.fullmatch(cursor or START)
    if match is None:
        raise CursorInvalid("This is no cursor of attention; leave it out to read from the start.")
    if match[1] is None:
        return cursor or START, (0, 0, "")
    if match[2] is None:
        return match[0], (int(match[1]) + 1, 0, "")
    return match[0], (int(match[1]), *_order(match[2]))


def _order(ref: str) -> tuple[int, str]:
    """Refs of a commit stand by their number."""
    return len(ref), ref


def _raised(
    tx: Transaction, scope: Scope, position: tuple[int, int, str], seq: int | None
) -> list[Item]:
    """The next items after a position, read as of `seq`."""
    rows = tx.execute(
        sql(
            f"""
            with raised as (
              select x.created_seq, x.activity_class, r.id, min(k.client_key) as client_key
                from (select 'watch_fire' as class, %(watch)s as lineage
                      union all select 'commitment_review', %(commitment)s) c
                cross join lateral (
                  select id, created_seq, activity_class from activity x
                   where x.space_id = %(space)s and x.activity_class = c.class
                     and x.created_seq >= %(from)s
                     and (%(seq)s::bigint is null or x.created_seq <= %(seq)s)
                   order by x.created_seq fetch first 400 rows with ties) x
                cross join lateral (
                  select distinct d.target_id as id from edge d
                   where d.space_id = %(space)s and d.source_id = x.id
                     and d.field_lineage in ('inputs', 'outputs') and {at_seq("d", seq)}) r
                join lateral (select 1 from element e where e.space_id = %(space)s
                       and e.id = r.id and e.kind = 'C' and e.type_lineage = c.lineage limit 1) e
                  on true
                left join lateral (select client_key from element k
                       where k.space_id = %(space)s and k.id = x.id limit 1) k on true
               -- beside what is raised, a fire names what has changed: the key tells them apart
               where k.client_key is null or not starts_with(k.client_key, c.class || ':')
                  or split_part(k.client_key, ':', 2) = r.id
               group by 1, 2, 3
            )
            select r.created_seq, r.activity_class, r.id, r.client_key, v.doc -> 'attributes',
                   array(select d.target_id from edge d
                          where d.space_id = %(space)s and d.source_id = r.id
                            and d.field_lineage = %(watches)s and {at_seq("d", seq)}
                          order by length(d.target_id), d.target_id limit {_TARGETS})
              from raised r
              join {version("v", "r.id", seq)} on v.state in ('active', 'archived')
             where (r.created_seq, length(r.id), r.id) > (%(from)s, %(length)s, %(ref)s)
             order by r.created_seq, length(r.id), r.id limit %(look)s
            """
        ),
        {
            "space": scope.space_id,
            "watch": _WATCH,
            "commitment": _COMMITMENT,
            "watches": _WATCHES,
            "seq": seq,
            "from": position[0],
            "length": position[1],
            "ref": position[2],
            "look": _LOOK,
        },
    )
    return [_item(*row) for row in rows]


def _item(
    raised_seq: int,
    activity_class: str,
    ref: str,
    key: str | None,
    attributes: dict[str, Any] | None,
    watched: Sequence[str],
) -> Item:
    given = attributes or {}
    fired = activity_class == "watch_fire"
    due = given.get("due_at")
    if not fired and key is not None and key.startswith(f"commitment_review:{ref}:"):
        # the time that it was raised for; by now it may have another
        due = key.removeprefix(f"commitment_review:{ref}:") or due
    priority = given.get("priority")
    return Item(
        ref,
        "watch_fired" if fired else "commitment_due",
        str(given.get("summary") or ref)[:_SUMMARY],
        raised_seq,
        _moment(due),
        tuple(watched) if fired else (ref,),
        priority if isinstance(priority, int | float) and not isinstance(priority, bool) else None,
    )


def _moment(text: Any) -> str | None:
    try:
        return to_text(parse_text(text)) if isinstance(text, str) else None
    except InvalidInput:
        return None
