"""The one way to write memory: lock the space, plan, write, and number the commit.

Per space, commits run one after the other; each that changes something takes the next `space_seq`,
without gaps, and leaves a record with its change envelope (`transactions`; contract kip-engine
section 7). A commit that changes nothing takes no sequence and leaves nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from storage import epochs
from storage.clock import now
from storage.database import Scope, Transaction, sql
from storage.errors import NotFound
from storage.graph import searchable, transactions
from storage.graph.changes import ChangeSet
from storage.graph.planning.planes import raised
from storage.graph.planning.planned import Planned, WriteSet
from storage.graph.planning.planner import Planner
from storage.graph.schema import environment, keep_environment
from storage.graph.transactions import KIND_WORDS, Record, TxClass
from storage.graph.write import write
from storage.ids import new_id

ChangeOp = Literal["create", "update", "lifecycle", "retention", "merge", "purge", "payload_purge"]


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
    refs: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The wire form, members without a value left out."""
        entry: dict[str, Any] = {"op": self.op, "kind": KIND_WORDS[self.kind], "id": self.id}
        if self.old_version:
            entry["old_version"] = self.old_version
        entry["new_version"] = self.new_version
        if self.kind == "C":
            entry["schema_ref"] = self.schema_ref
        if self.state_from != self.state_to:
            entry["state"] = {"from": self.state_from, "to": self.state_to}
        if self.refs:
            entry["refs"] = dict(self.refs)
        if self.touched:
            entry["touched"] = list(self.touched)
        if self.planes and self.op != "create":
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
    record: Record | None = None

    @property
    def effect(self) -> Literal["committed", "no_effect"]:
        """Whether anything changed."""
        return "no_effect" if self.seq is None else "committed"


@dataclass(frozen=True, slots=True)
class Locked:
    """A space as its lock holder found it; nobody else writes until the transaction ends."""

    head_seq: int
    schema_env_version: int
    identity_version: int
    counters: dict[str, int]
    last_commit: datetime | None


def lock(tx: Transaction, scope: Scope) -> Locked:
    """Lock the space to the end of the transaction: one writer a space.

    What is read after it is the state that a commit of this transaction is planned on. Raises
    `NotFound` for an unknown space.
    """
    return _space(tx, scope, " for update")


def commit(
    tx: Transaction,
    scope: Scope,
    principal: str,
    changes: ChangeSet,
    *,
    tx_class: str,
    at: datetime | None = None,
    request_digest: str | None = None,
) -> Commit:
    """Apply a change set in the caller's transaction, whole or not at all.

    `tx_class` names the path that writes (`formation`, `kml`, …): it goes into the elements' origin
    and the record's channel. `at` is the time of the commit (default: now; never before the last
    commit's), `request_digest` the digest of the request that asked for it.

    A creation whose `client_key` is known stands for what was made then, if it says the same;
    else it is a `ClientKeyConflict`. Raises a `KipError` when the change set cannot be applied as
    a whole, and `NotFound` for an unknown space; the caller's transaction is then to be rolled
    back, although nothing was written.
    """
    space = lock(tx, scope)
    committed_at, planned = _plan(tx, scope, space, changes, at)
    if planned.empty:
        return _quiet(space, committed_at, planned)
    seq, tx_id = space.head_seq + 1, new_id("txn")
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
    searchable.index(
        tx,
        scope,
        planned.elements,
        at=committed_at,
        wording={planned.ids.get(ref, ref): words for ref, words in changes.wording.items()},
    )
    if any(element.erased for element in planned.elements):
        # who has read it must neither write nor tell it
        epochs.advance(tx, scope)
    record = _record(
        tx,
        scope,
        space,
        planned,
        [entry.as_json() for entry in entries],
        tx_id=tx_id,
        at=committed_at,
        channel=tx_class,
        principal=principal,
        request_digest=request_digest,
    )
    return _made(planned, entries, record)


def preview(
    tx: Transaction, scope: Scope, changes: ChangeSet, *, at: datetime | None = None
) -> Commit:
    """What a commit would come to, planned on what the transaction sees; nothing is written.

    The ids of new elements are those that it would give at this moment. Its `seq` and `tx_id` are
    None. Raises what `commit` raises.
    """
    space = _space(tx, scope, "")
    committed_at, planned = _plan(tx, scope, space, changes, at)
    if planned.empty:
        return _quiet(space, committed_at, planned)
    entries = tuple(_entry(element) for element in planned.elements)
    version = space.schema_env_version + (1 if planned.drafts else 0)
    return _outcome(planned, entries, None, space.head_seq, committed_at, version)


def control(
    tx: Transaction,
    scope: Scope,
    space: Locked,
    *,
    principal: str,
    channel: str,
    tx_class: TxClass,
    schema_env_version: int,
) -> Record:
    """Take a sequence for a change of what memory is written with; the caller has the lock."""
    version = {"kind": "schema", "version": str(schema_env_version)}
    record = Record(
        scope.space_id,
        space.head_seq + 1,
        new_id("txn"),
        space.head_seq,
        _time(space, None),
        tx_class,
        channel,
        principal,
        None,
        None,
        schema_env_version,
        (),
        (version,),
    )
    transactions.write(tx, record)
    tx.execute(
        "update space set head_seq = %s, schema_env_version = %s, updated_at = now()"
        " where space_id = %s",
        (record.seq, schema_env_version, scope.space_id),
    )
    return record


def _space(tx: Transaction, scope: Scope, locking: Literal["", " for update"]) -> Locked:
    row = tx.execute(
        sql(
            "select head_seq, schema_env_version, identity_version, next_no from space"
            f" where space_id = %s{locking}"
        ),
        (scope.space_id,),
    ).fetchone()
    if row is None:
        raise NotFound("There is no such space.")
    last = tx.execute(
        "select committed_at from commit_record where space_id = %s and space_seq = %s",
        (scope.space_id, row[0]),
    ).fetchone()
    head_seq, schema_env_version, identity_version, counters = row
    at = last[0] if last else None
    return Locked(head_seq, schema_env_version, identity_version, counters, at)


def _time(space: Locked, at: datetime | None) -> datetime:
    """The time of a commit, never before the last one's."""
    wanted = at or now()
    return max(wanted, space.last_commit) if space.last_commit else wanted


def _plan(
    tx: Transaction, scope: Scope, space: Locked, changes: ChangeSet, at: datetime | None
) -> tuple[datetime, WriteSet]:
    committed_at = _time(space, at)
    schema = environment(tx, scope)
    return committed_at, Planner(tx, scope, schema, space.counters, committed_at).plan(changes)


def _quiet(space: Locked, at: datetime, planned: WriteSet) -> Commit:
    return Commit(None, None, space.head_seq, at, space.schema_env_version, planned.ids)


def _made(planned: WriteSet, entries: tuple[ElementChange, ...], record: Record) -> Commit:
    return _outcome(
        planned,
        entries,
        record,
        record.seq,
        record.committed_at,
        record.schema_env_version,
    )


def _outcome(
    planned: WriteSet,
    entries: tuple[ElementChange, ...],
    record: Record | None,
    head_seq: int,
    at: datetime,
    schema_env_version: int,
) -> Commit:
    return Commit(
        None if record is None else record.seq,
        None if record is None else record.tx_id,
        head_seq,
        at,
        schema_env_version,
        planned.ids,
        entries,
        frozenset(e.id for e in planned.elements if e.new),
        frozenset(e.id for e in planned.elements if not e.new),
        tuple(draft.name for draft in planned.drafts),
        record,
    )


def _entry(element: Planned) -> ElementChange:
    """Number the planes of an element and describe its change."""
    bumped: dict[str, Any] = {}
    if element.erased != "element":
        element.planes, bumped = raised(element)
    before = element.before
    # lifecycle of claims, evidence and activities is their status, else the element's own state
    by_status = element.status is not None and "_system.state" not in element.touched
    # a new element is told from its first state, which goes without saying
    was: str | None = "pending" if element.kind == "X" and by_status else "active"
    if before is not None:
        was = before.status if by_status else before.state
    op = _op(element)
    return ElementChange(
        op=op,
        kind=element.kind,
        id=element.id,
        old_version=0 if before is None else before.version,
        new_version=element.version,
        schema_ref=element.schema_ref,
        state_from=was,
        state_to=element.status if by_status else element.state,
        touched=() if op in ("create", "purge") else tuple(sorted(element.touched)),
        planes=bumped,
        refs={} if op == "purge" else _refs(element),
    )


def _op(element: Planned) -> ChangeOp:
    if element.erased is not None:
        return "purge" if element.erased == "element" else "payload_purge"
    if element.new:
        return "create"
    if "fields.merged_into" in element.touched:
        return "merge"
    if element.touched & {"fields.status", "_system.state"}:
        return "lifecycle"
    if all(path.startswith("retention.") for path in element.touched):
        return "retention"
    return "update"


def _refs(element: Planned) -> dict[str, str]:
    """What the entry of an element refers to."""
    if element.said is not None:
        return {"proposition": element.said.proposition}
    made = element.proposition
    if made is not None:
        return {"subject": made.subject, "predicate_ref": made.predicate_ref}
    if "fields.merged_into" in element.touched:
        return {"merged_into": element.doc["merged_into"]}
    return {}


def _record(
    tx: Transaction,
    scope: Scope,
    space: Locked,
    planned: WriteSet,
    entries: list[dict[str, Any]],
    *,
    tx_id: str,
    at: datetime,
    channel: str,
    principal: str,
    request_digest: str | None,
) -> Record:
    """Write the commit record and move the space on to it."""
    version = space.schema_env_version + (1 if planned.drafts else 0)
    identity = space.identity_version + (1 if planned.merges else 0)
    changed = []
    if planned.drafts:
        changed.append({"kind": "schema", "version": str(version)})
    if planned.merges:
        changed.append({"kind": "identity", "version": str(identity)})
    record = Record(
        scope.space_id,
        space.head_seq + 1,
        tx_id,
        space.head_seq,
        at,
        "cognitive" if planned.elements else "schema",
        channel,
        principal,
        request_digest,
        _plan_digest(planned, entries),
        version,
        tuple(entries),
        tuple(changed),
    )
    transactions.write(tx, record)
    if planned.drafts:
        keep_environment(tx, scope, planned.schema, version, record.seq)
    tx.execute(
        "update space set head_seq = %s, schema_env_version = %s, identity_version = %s,"
        " next_no = %s, updated_at = now() where space_id = %s",
        (record.seq, version, identity, json.dumps(planned.counters), scope.space_id),
    )
    return record


def _plan_digest(planned: WriteSet, entries: list[dict[str, Any]]) -> str:
    """A digest of what the commit makes of every element, and of every reference."""
    plan = hashlib.sha256(json.dumps(entries, sort_keys=True).encode())
    for element in planned.elements:
        plan.update(
            json.dumps(
                [element.id, element.key, element.name, element.doc], sort_keys=True
            ).encode()
        )
    for edge in (*planned.edges, *planned.ended):
        plan.update(f"{edge.source} {edge.field.ref} {edge.target} {edge.position}".encode())
    return f"sha256:{plan.hexdigest()}"
