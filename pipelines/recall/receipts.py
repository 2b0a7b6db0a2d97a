"""The receipt of one recall: what was told, pinned to the versions in which it was read.

A packet lists what it delivers; of a free answer only what it cites is known, and prose is no proof
of what its reader was told. Neither is ever complete, and neither permits an action.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storage import recall_receipts
from storage.canonical import digest_bytes
from storage.database import Scope, Transaction
from storage.ids import new_id
from storage.recall_receipts import RecallReceipt
from storage.runtime import callers
from storage.spaces import Space


@dataclass(frozen=True, slots=True)
class Told:
    """What left with an answer: `elements` by id, as they were read of `space`.

    `budget` is the receipt of a packet, None for a free answer. `usable` is False for a packet that
    says that it delivers nothing.
    """

    space: Space
    elements: Sequence[str]
    budget: Mapping[str, Any] | None = None
    usable: bool = True


def receipt(
    tx: Transaction, scope: Scope, conversation_id: int, content: str, told: Told
) -> RecallReceipt:
    """The receipt of an answer, in the transaction that ends its run.

    What was erased meanwhile is not pinned.
    """
    pins = recall_receipts.pins(tx, scope, told.elements, told.space.head_seq)
    delivery = "legacy_trace_only" if told.budget is None else "packet"
    return RecallReceipt(
        {
            "format": recall_receipts.FORMAT,
            "id": new_id("rcl"),
            "scope": {
                "space_id": scope.space_id,
                "space_instance": callers.instance_of(told.space),
            },
            "conversation": conversation_id,
            "delivery": delivery if told.usable else "nothing",
            "content_digest": digest_bytes(content.encode("utf-8", "surrogatepass")),
            "snapshot_seq": told.space.head_seq,
            "items": [
                {"id": id, "version": pins[id][0], "content_digest": pins[id][1]}
                for id in dict.fromkeys(told.elements)
                if id in pins
            ],
            "budget": None if told.budget is None else dict(told.budget),
            "semantic_complete": False,
            "action_ready": False,
        }
    )
