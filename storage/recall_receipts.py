"""Receipts of recalls: which elements were told, in which versions (seed 003 section 4.6).

A receipt is metadata: ids, versions, numbers and digests, and no word of what was told. It is kept
with the record of its run (`conversation.extra`), so that an erasure that cleans the record takes
it along. A caller gets the reference of one; the receipt itself is for a trusted host.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from storage import conversations
from storage.canonical import digest
from storage.database import Scope, Transaction, sql
from storage.graph.state import version

FORMAT = "brainstem:recall-receipt-v1"
#: The member of a record's `extra` that holds the receipt.
MEMBER = "recall_receipt"


@dataclass(frozen=True, slots=True)
class RecallReceipt:
    """A receipt; `body` names its own `id` and `scope`."""

    body: Mapping[str, Any]

    @property
    def id(self) -> str:
        """Its handle."""
        return str(self.body["id"])

    @property
    def digest(self) -> str:
        """The digest of the whole receipt."""
        return digest(self.body)

    def as_ref(self) -> dict[str, Any]:
        """The wire form, `RecallReceiptRef` of seed 003."""
        return {"id": self.id, "digest": self.digest, "scope": dict(self.body["scope"])}

    def as_extra(self) -> dict[str, Any]:
        """What a record keeps of it, among its `extra`."""
        return {MEMBER: dict(self.body)}


def pins(
    tx: Transaction, scope: Scope, ids: Collection[str], seq: int
) -> dict[str, tuple[int, str]]:
    """Version and digest of elements as they were at `seq`; what was erased since has none."""
    rows = tx.execute(
        sql(
            f"""
            select w.id, v.version, jsonb_build_array(w.id, v.version, e.schema_ref, e.key, v.name,
                   v.status, v.doc, to_jsonb(p), to_jsonb(a), o.content_digest)
              from unnest(%(ids)s::text[]) as w(id)
              join lateral (select * from element e where e.space_id = %(space)s and e.id = w.id
                     and e.purged_seq is null limit 1) e on true
              join {version("v", "w.id", seq)} on true
              left join lateral (select * from proposition p
                     where p.space_id = %(space)s and p.id = w.id limit 1) p on e.kind = 'P'
              left join lateral (select * from assertion a
                     where a.space_id = %(space)s and a.id = w.id limit 1) a on e.kind = 'A'
              left join lateral (select * from evidence o
                     where o.space_id = %(space)s and o.id = w.id limit 1) o on e.kind = 'E'
            """
        ),
        {"space": scope.space_id, "ids": sorted(set(ids)), "seq": seq},
    ).fetchall()
    return {id: (number, digest(content)) for id, number, content in rows}


def for_conversation(tx: Transaction, scope: Scope, conversation_id: int) -> RecallReceipt | None:
    """The receipt of a recall, for a trusted host; None where there is none, or not any more."""
    record = conversations.get(tx, scope, conversation_id, "recall")
    body = None if record is None else record.extra.get(MEMBER)
    return None if body is None else RecallReceipt(body)
