"""What every commit leaves behind: its record, the receipt that it gives, its change envelope.

Envelopes name elements, versions and paths, never values (contract kip-engine section 7). HISTORY,
CHANGES and DESCRIBE TRANSACTION read the same envelopes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from storage.canonical import digest
from storage.clock import to_text
from storage.database import Scope, Transaction, sql
from storage.graph.state import NOW

#: Transactions that write memory, and those that change what it is written with.
TxClass = Literal["cognitive", "schema", "identity"]
ControlKind = Literal["schema", "identity", "trust", "policy", "recording"]

#: Element kinds as envelopes spell them.
KIND_WORDS = {
    "C": "concept",
    "P": "proposition",
    "A": "assertion",
    "E": "evidence",
    "X": "activity",
}
#: Paths of records that were written before envelopes named planes of fields.
_OLD_PATHS = {
    "name": "fields.name",
    "aliases": "fields.aliases",
    "status": "fields.status",
    "state": "_system.state",
}


def uri(space_id: str) -> str:
    """The URI of a space, as envelopes and receipts name it."""
    return f"kip:space:{space_id}"


@dataclass(frozen=True, slots=True)
class Record:
    """One committed transaction. `changes` are envelope entries, `control` control changes.

    `channel` is the path that wrote it (`formation`, `kml`, …), `snapshot_seq` the state that it
    was planned on.
    """

    space_id: str
    seq: int
    tx_id: str
    snapshot_seq: int
    committed_at: datetime
    tx_class: str
    channel: str
    principal: str
    request_digest: str | None
    plan_digest: str | None
    schema_env_version: int
    changes: tuple[Mapping[str, Any], ...]
    control: tuple[Mapping[str, Any], ...] = ()
    result_digest: str | None = None

    def receipt(self) -> dict[str, Any]:
        """The receipt; `receipt_digest` covers everything else of it."""
        receipt: dict[str, Any] = {
            "status": "committed",
            "tx_id": self.tx_id,
            "space_id": uri(self.space_id),
            "snapshot_seq": self.snapshot_seq,
            "space_seq": self.seq,
            "committed_at": to_text(self.committed_at),
            "transaction_class": self.tx_class,
            "schema_environment_version": self.schema_env_version,
            "origin": {"principal_id": self.principal, "channel": self.channel},
        }
        for name, value in (
            ("request_digest", self.request_digest),
            ("semantic_plan_digest", self.plan_digest),
            ("result_digest", self.result_digest),
        ):
            if value is not None:
                receipt[name] = value
        return {**receipt, "receipt_digest": digest(receipt)}

    def envelope(self) -> dict[str, Any]:
        """The change envelope."""
        envelope: dict[str, Any] = {
            "kip": "2.0",
            "space_id": uri(self.space_id),
            "space_seq": self.seq,
            "tx_id": self.tx_id,
            "committed_at": to_text(self.committed_at),
            "transaction_class": self.tx_class,
            "schema_environment_version": self.schema_env_version,
            "changes": [dict(entry) for entry in self.changes],
            "extensions": {
                "anda/transition": {"snapshot_seq": self.snapshot_seq, "status": "committed"}
            },
        }
        if self.control:
            envelope["control_changes"] = [dict(change) for change in self.control]
        return envelope

    def narrowed(self, ids: Collection[str]) -> Record:
        """The same with nothing but the entries of some elements."""
        kept = tuple(entry for entry in self.changes if entry["id"] in ids)
        return replace(self, changes=kept)


def write(tx: Transaction, record: Record) -> None:
    """Keep the record of a commit, in its transaction."""
    tx.execute(
        """
        insert into commit_record (space_id, space_seq, tx_id, snapshot_seq, committed_at, tx_class,
                                   channel, principal, request_digest, plan_digest, result_digest,
                                   schema_env_version, changes, control)
        values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
        """,
        (
            record.space_id,
            record.seq,
            record.tx_id,
            record.snapshot_seq,
            record.committed_at,
            record.tx_class,
            record.channel,
            record.principal,
            record.request_digest,
            record.plan_digest,
            record.result_digest,
            record.schema_env_version,
            json.dumps(list(record.changes), ensure_ascii=False),
            json.dumps(list(record.control), ensure_ascii=False) if record.control else None,
        ),
    )


def by_tx(tx: Transaction, scope: Scope, tx_id: str) -> Record | None:
    """The transaction of that id."""
    return _one(tx, scope, "c.tx_id = %(tx)s", {"tx": tx_id})


def by_seq(tx: Transaction, scope: Scope, seq: int) -> Record | None:
    """The transaction that took that sequence."""
    return _one(tx, scope, "c.space_seq = %(seq)s", {"seq": seq})


def by_idempotency_key(
    tx: Transaction, scope: Scope, principal: str, endpoint: str, key: str
) -> Record | None:
    """The transaction that a principal's key was used for; None when none was committed.

    `storage.graph.outcomes` tells an unknown key from one whose request changed nothing.
    """
    return _one(
        tx,
        scope,
        "c.tx_id = (select i.tx_id from idem i where i.space_id = %(space)s"
        " and i.principal = %(principal)s and i.op_class = %(endpoint)s and i.key = %(key)s)",
        {"principal": principal, "endpoint": endpoint, "key": key},
    )


def seq_at(tx: Transaction, scope: Scope, at: datetime) -> int:
    """The last sequence committed at or before a time; 0 before the first."""
    row = tx.execute(
        "select space_seq from commit_record where space_id = %s and committed_at <= %s"
        " order by committed_at desc, space_seq desc limit 1",
        (scope.space_id, at),
    ).fetchone()
    return 0 if row is None else int(row[0])


def between(
    tx: Transaction,
    scope: Scope,
    *,
    after: int = 0,
    through: int = NOW,
    limit: int,
    element: str | None = None,
) -> list[Record]:
    """The transactions with `after` < sequence <= `through`, the oldest first, at most `limit`.

    With an `element`, those that changed it, narrowed to its entries.
    """
    if element is None:
        return _read(
            tx,
            scope,
            "c.space_seq > %(after)s and c.space_seq <= %(through)s"
            " order by c.space_seq limit %(limit)s",
            {"after": after, "through": through, "limit": limit},
        )
    seqs = sorted(seq for seq in _history(tx, scope, element) if after < seq <= through)[:limit]
    records = _read(tx, scope, "c.space_seq = any(%(seqs)s) order by c.space_seq", {"seqs": seqs})
    return [record.narrowed({element}) for record in records]


def knows(tx: Transaction, scope: Scope, element: str) -> bool:
    """Whether the space has, or had before it was purged, an element of that id."""
    row = tx.execute(
        "select true from element where space_id = %s and id = %s", (scope.space_id, element)
    ).fetchone()
    return row is not None


def _history(tx: Transaction, scope: Scope, element: str) -> set[int]:
    """The sequences at which an element changed, also those from before it was purged."""
    rows = tx.execute(
        """
        select v.seq_from from element_ver v where v.space_id = %(space)s and v.id = %(id)s
        union
        select e.created_seq from element e where e.space_id = %(space)s and e.id = %(id)s
        union
        select h::bigint
          from element e, jsonb_array_elements_text(coalesce(e.stub -> 'history', '[]')) as h
         where e.space_id = %(space)s and e.id = %(id)s
        """,
        {"space": scope.space_id, "id": element},
    )
    return {seq for (seq,) in rows}


def _one(tx: Transaction, scope: Scope, condition: str, values: Mapping[str, Any]) -> Record | None:
    found = _read(tx, scope, condition, values)
    return found[0] if found else None


def _read(tx: Transaction, scope: Scope, condition: str, values: Mapping[str, Any]) -> list[Record]:
    rows = tx.execute(
        sql(
            f"""
            select c.space_id, c.space_seq, c.tx_id, c.snapshot_seq, c.committed_at, c.tx_class,
                   c.channel, c.principal, c.request_digest, c.plan_digest, c.schema_env_version,
                   c.changes, coalesce(c.control, '[]'), c.result_digest
              from commit_record c where c.space_id = %(space)s and {condition}
            """
        ),
        {"space": scope.space_id, **values},
    ).fetchall()
    records = [_record(row) for row in rows]
    old = [record for record in records if record.channel is None]
    if not old:
        return records
    refs = _refs(tx, scope, {entry["id"] for record in old for entry in record.changes})
    return [_modern(record, refs) if record.channel is None else record for record in records]


def _record(row: tuple[Any, ...]) -> Record:
    space, seq, tx_id, snapshot, at, tx_class, channel, principal, *rest = row
    request, plan, version, changes, control, result = rest
    return Record(
        space_id=space,
        seq=seq,
        tx_id=tx_id,
        snapshot_seq=snapshot,
        committed_at=at,
        tx_class=tx_class,
        channel=channel,
        principal=principal,
        request_digest=request,
        plan_digest=plan,
        schema_env_version=version,
        changes=tuple(changes),
        control=tuple(control),
        result_digest=result,
    )


def _modern(record: Record, refs: Mapping[str, Mapping[str, str]]) -> Record:
    """A record of the earlier form, whose class was the channel and whose entries were others."""
    changes = []
    for old in record.changes:
        entry = {**old, "kind": KIND_WORDS[old["kind"]]}
        if not entry["old_version"]:
            del entry["old_version"]
        if old["op"] == "create" or entry["kind"] not in ("concept", "proposition"):
            entry.pop("planes", None)
        if entry["kind"] != "concept":
            entry.pop("schema_ref", None)
        if old["op"] != "lifecycle":
            entry.pop("state", None)
        if "touched" in entry:
            entry["touched"] = sorted(_OLD_PATHS.get(path, path) for path in old["touched"])
        if old["id"] in refs:
            entry["refs"] = dict(refs[old["id"]])
        changes.append(entry)
    return replace(record, tx_class="cognitive", channel=record.tx_class, changes=tuple(changes))


def _refs(tx: Transaction, scope: Scope, ids: Iterable[str]) -> dict[str, dict[str, str]]:
    """What entries of propositions and assertions refer to."""
    wanted: Sequence[str] = sorted(id for id in ids if id[0] in "PA")
    rows = tx.execute(
        """
        select w.id, p.subject_id, p.predicate_ref, a.proposition_id
          from unnest(%(ids)s::text[]) as w(id)
          left join lateral (select * from proposition p
                 where p.space_id = %(space)s and p.id = w.id limit 1) p on true
          left join lateral (select * from assertion a
                 where a.space_id = %(space)s and a.id = w.id limit 1) a on true
        """,
        {"space": scope.space_id, "ids": wanted},
    )
    return {
        id: {"proposition": about} if about else {"subject": subject, "predicate_ref": predicate}
        for id, subject, predicate, about in rows
        if about or subject
    }
