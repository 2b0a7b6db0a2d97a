"""Transactions by their id or by the key of the request that they came of, and their receipts."""

from __future__ import annotations

import json
from typing import Any

from storage.canonical import digest
from storage.graph import outcomes, transactions
from storage.kip.errors import TransactionUnknown
from storage.kip.language.ast_meta import Verify
from storage.kip.meta.answered import Answered, Asking, needed

#: The class of endpoints that keyed mutations belong to.
ENDPOINT = "kml"


def by_id(asking: Asking, tx_id: str) -> dict[str, Any]:
    """The transaction of that id. Raises `TransactionUnknown`."""
    snapshot = asking.snapshot
    found = transactions.by_tx(snapshot.tx, snapshot.scope, tx_id)
    if found is None or found.seq > snapshot.seq:
        raise TransactionUnknown()
    return _told(found)


def by_key(asking: Asking, key: str) -> dict[str, Any]:
    """What came of the caller's request of that idempotency key. Raises `TransactionUnknown`.

    A request that changed nothing has no transaction: its status is `no_effect`.
    """
    snapshot = asking.snapshot
    found = outcomes.find(snapshot.tx, snapshot.scope, asking.caller, ENDPOINT, key)
    if found is None:
        days = outcomes.RETENTION.days
        raise TransactionUnknown(
            f"This key is not remembered; outcomes are kept for {days} days.",
            data={"expired": None, "retention_days": days},
        )
    if found.tx_id is None:
        return {
            "kip": "2.0",
            "space_id": transactions.uri(snapshot.scope.space_id),
            "status": "no_effect",
            "changes": [],
        }
    return by_id(asking, found.tx_id)


def verify_receipt(asking: Asking, statement: Verify) -> Answered:
    """Whether a receipt (its JSON text) is whole and one that this space gave out."""
    try:
        receipt = json.loads(needed(statement.value))
    except (ValueError, RecursionError):
        receipt = None
    if not isinstance(receipt, dict):
        return _verdict(False, "this is no JSON object")
    stated = receipt.pop("receipt_digest", None)
    try:
        whole = stated == digest(receipt)
    except ValueError:
        whole = False
    if not whole:
        return _verdict(False, "the digest is not that of the receipt")
    snapshot = asking.snapshot
    tx_id = receipt.get("tx_id")
    known = (
        transactions.by_tx(snapshot.tx, snapshot.scope, tx_id) if isinstance(tx_id, str) else None
    )
    if known is None or known.receipt() != {**receipt, "receipt_digest": stated}:
        return _verdict(False, "this space has not given it out")
    return _verdict(True, None)


def _verdict(valid: bool, reason: str | None) -> Answered:
    told: dict[str, Any] = {"valid": valid, "integrity": "digest", "signed": False}
    return Answered({**told, "reason": reason} if reason else told)


def _told(record: transactions.Record) -> dict[str, Any]:
    return {
        **record.envelope(),
        "snapshot_seq": record.snapshot_seq,
        "status": "committed",
    }
