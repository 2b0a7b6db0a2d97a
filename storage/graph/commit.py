"""The one way to write memory: lock the space, plan, write, and number the commit.

Per space, commits run one after the other; each that changes something takes the next `space_seq`,
without gaps, and leaves a commit record with its change envelope (contract kip-engine section 7).
A commit that changes nothing takes no sequence and leaves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from storage.clock import now
from storage.database import Scope, Transaction
from storage.errors import NotFound
from storage.graph.changes import ChangeSet
from storage.graph.planning.planned import Planned, WriteSet
from storage.graph.planning.planner import Planner
from storage.graph.planning.resolver import PLANES
from storage.graph.schema import BUILTIN, CORE, environment
from storage.graph.write import write
from storage.ids import new_id

ChangeOp = Literal["create", "update", "lifecycle"]


@dataclass(frozen=True, slots=True)
class ElementChange:
    """One element's entry in the change envelope; names what changed, never the values."""

    op: ChangeOp
    kind: str
    id: str
    old_version: int
    new_version: int
    schema_ref: str | None
    state_from: str | None
    state_to: str | None
    touched: tuple[str, ...]
    planes: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """The wire form, members without a value left out."""
        entry: dict[str, Any] = {
            "op": self.op,
            "kind": self.kind,
            "id": self.id,
            "old_version": self.old_version,
            "new_version": self.new_version,
        }
        if self.schema_ref is not None:
            entry["schema_ref"] = self.schema_ref
        if self.state_from != self.state_to:
            entry["state"] = {"from": self.state_from, "to": self.state_to}
        if self.touched:
            entry["touched"] = list(self.touched)
        if self.planes:
            entry["planes"] = dict(self.planes)
        return entry


@dataclass(frozen=True, slots=True)
class Commit:
    """What came of a change set. `seq` and `tx_id` are None when nothing changed.

    `head_seq` is the space's sequence after it. `ids` maps handles to elements, whether they were
    made now or before.
    """

    seq: int | None
    tx_id: str | None
    head_seq: int
    committed_at: datetime
    schema_env_version: int
    ids: Mapping[str, str]
    changes: tuple[ElementChange, ...] = ()
    created: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    drafts: tuple[str, ...] = field(default=())

    @property
    def effect(self) -> Literal["committed", "no_effect"]:
        """Whether anything changed."""
        return "no_effect" if self.seq is None else "committed"


def commit(
    tx: Transaction,
    scope: Scope,
    principal: str,
    changes: ChangeSet,
    *,
    tx_class: str,
    at: datetime | None = None,
) -> Commit:
    """Apply a change set in the caller's transaction, whole or not at all.

    `tx_class` names the path that writes (`formation`, `kml`, …) and goes into the elements'
    origin; `at` is the time of the commit (default: now; never before the last commit's).

    A creation whose `client_key` is known stands for what was made then, if it says the same;
    else it is a `ClientKeyConflict`. Raises a `KipError` when the change set cannot be applied as
    a whole, and `NotFound` for an unknown space; the caller's transaction is then to be rolled
    back, although nothing was written.
    """
    space = _lock(tx, scope)
    committed_at = max(at or now(), space.last_commit) if space.last_commit else at or now()
    schema = environment(tx, scope)
    planned = Planner(tx, scope, schema, space.counters, committed_at).plan(changes)
    if planned.empty:
        return Commit(
            None, None, space.head_seq, committed_at, space.schema_env_version, planned.ids
        )
    seq, tx_id = space.head_seq + 1, new_id("txn")
    version = space.schema_env_version + (1 if planned.drafts else 0)
    entries = tuple(_entry(element) for element in planned.elements)
    write(
        tx,
        scope,
        planned,
        seq=seq,
        tx_id=tx_id,
        at=committed_at,
        origin={"principal_id": principal, "channel": tx_class},
    )
    made = Commit(
        seq,
        tx_id,
        seq,
        committed_at,
        version,
        planned.ids,
        entries,
        frozenset(e.id for e in planned.elements if e.new),
        frozenset(e.id for e in planned.elements if not e.new),
        tuple(draft.name for draft in planned.drafts),
    )
    _record(tx, scope, planned, made, tx_class, principal)
    return made


@dataclass(frozen=True, slots=True)
class _Space:
    head_seq: int
    schema_env_version: int
    counters: dict[str, int]
    last_commit: datetime | None


def _lock(tx: Transaction, scope: Scope) -> _Space:
    """Lock the space row to the end of the transaction: one writer a space."""
    row = tx.execute(
        "select head_seq, schema_env_version, next_no from space where space_id = %s for update",
        (scope.space_id,),
    ).fetchone()
    if row is None:
        raise NotFound("There is no such space.")
    head_seq, version, counters = row
    last = tx.execute(
        "select committed_at from commit_record where space_id = %s and space_seq = %s",
        (scope.space_id, head_seq),
    ).fetchone()
    return _Space(head_seq, version, counters, last[0] if last else None)


def _entry(element: Planned) -> ElementChange:
    """Number the planes of an element and describe its change."""
    bumped = _bump_planes(element)
    before = element.before
    lifecycle = element.touched & {"status", "state"}
    op: ChangeOp
    if before is None:
        op = "create"
    elif lifecycle == element.touched:
        op = "lifecycle"
    else:
        op = "update"
    # lifecycle of claims, evidence and activities is their status, else the element's own state
    by_status = element.status is not None and "state" not in element.touched
    was = None if before is None else (before.status if by_status else before.state)
    return ElementChange(
        op=op,
        kind=element.kind,
        id=element.id,
        old_version=0 if before is None else before.version,
        new_version=element.version,
        schema_ref=element.schema_ref,
        state_from=was,
        state_to=element.status if by_status else element.state,
        touched=() if op == "create" else tuple(sorted(element.touched)),
        planes=bumped,
    )


def _bump_planes(element: Planned) -> dict[str, Any]:
    """Raise the counter of every plane that is touched; all of them when it is created."""
    planes = dict(element.planes)
    facets = dict(planes.get("facets", {}))
    bumped: dict[str, Any] = {}
    for plane in PLANES:
        if (element.new and element.kind == "C") or any(
            path.startswith(f"{plane}.") for path in element.touched
        ):
            bumped[plane] = planes[plane] = planes.get(plane, 0) + 1
    # a path is facets.<exact ref>.<member>, and a ref has dots of its own
    touched = {
        path.removeprefix("facets.").rpartition(".")[0]
        for path in element.touched
        if path.startswith("facets.")
    }
    for ref in touched:
        facets[ref] = facets.get(ref, 0) + 1
        bumped.setdefault("facets", {})[ref] = facets[ref]
    if facets:
        planes["facets"] = facets
    element.planes = planes
    return bumped


def _record(
    tx: Transaction, scope: Scope, planned: WriteSet, made: Commit, tx_class: str, principal: str
) -> None:
    """Write the commit record and move the space on to it."""
    assert made.seq is not None
    tx.execute(
        """
        insert into commit_record (space_id, space_seq, tx_id, snapshot_seq, committed_at, tx_class,
                                   principal, schema_env_version, changes)
        values (%s, %s, %s, %s, %s, %s, %s, %s, %s)
        """,
        (
            scope.space_id,
            made.seq,
            made.tx_id,
            made.seq - 1,
            made.committed_at,
            tx_class,
            principal,
            made.schema_env_version,
            json.dumps([entry.as_json() for entry in made.changes], ensure_ascii=False),
        ),
    )
    if planned.drafts:
        lock = {"packages": [CORE, *BUILTIN], "drafts": [draft.name for draft in planned.drafts]}
        tx.execute(
            "insert into schema_env (space_id, version, seq_from, lock) values (%s, %s, %s, %s)",
            (scope.space_id, made.schema_env_version, made.seq, json.dumps(lock)),
        )
    tx.execute(
        "update space set head_seq = %s, schema_env_version = %s, next_no = %s, updated_at = now()"
        " where space_id = %s",
        (made.seq, made.schema_env_version, json.dumps(planned.counters), scope.space_id),
    )
