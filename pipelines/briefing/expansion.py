"""Looking into a kept basis: the elements behind a briefing, in the versions that it was made of.

What has changed since, or was erased, is reported as unavailable and never told in a newer version.
An expansion grants nothing, writes nothing and is never fit to act on (contract 10.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.briefing import wording
from pipelines.briefing.asked import EXPANSION_TOKENS, Asked
from pipelines.briefing.basis import versions
from pipelines.briefing.points import CHANNELS, MOST_REFS
from pipelines.recall.packing import Candidate, Choice, pack
from storage import recall_bases
from storage.database import Scope, Transaction
from storage.graph.errors import NotFoundOrNotVisible
from storage.kip.query.documents import documents
from storage.kip.snapshot import open_snapshot
from storage.recall_bases import Pinned, RecallBase

_SLOT = "details.elements"


def expand(tx: Transaction, scope: Scope, asked: Asked) -> tuple[str, dict[str, Any]]:
    """The status of the answer, and the briefing that holds the details.

    Raises `NotFoundOrNotVisible` for a handle that is not the caller's, `ArtifactUnavailable` for a
    basis that is no longer kept, and `ResultLimitExceeded`.
    """
    ref, item = recall_bases.split(asked.target or "")
    base = recall_bases.get(tx, scope, asked.caller, ref)
    if base is None:
        raise NotFoundOrNotVisible("There is no such basis here.")
    pinned = [one for one in base.elements if item is None or one.item == item]
    if item is not None and not pinned:
        raise NotFoundOrNotVisible("There is no such item here.")
    pinned = list({one.element_id: one for one in reversed(pinned)}.values())[::-1]
    told = _elements(tx, scope, base, pinned[:MOST_REFS])
    whole = len(pinned) <= MOST_REFS and all(entry["available"] for entry in told)

    def frame(choice: Choice) -> Mapping[str, Any]:
        complete = whole and not choice.omitted
        states = base.detail["states"]
        return {
            "summary": wording.expanded(asked.target or ref),
            "items": [],
            "uncertainties": [],
            "coverage": {
                "complete": complete and "incomplete" not in states.values(),
                "scope": base.detail["scope"],
                "channels": {channel: states[channel] for channel in CHANNELS},
                "pending_receipts": [],
                "unverified_preconditions": [],
                "action_eligible": False,
            },
            "after": [],
            "details": {
                "basis": base.detail["basis"],
                "coverage": base.detail["coverage"],
                "elements": [],
            },
            "basis_ref": ref,
        }

    candidates = [Candidate("details", _SLOT, entry) for entry in told]
    packed = pack(frame, (_SLOT,), [], candidates, asked.tokens or EXPANSION_TOKENS)
    status = "succeeded" if whole and not packed.choice.omitted else "partial"
    return status, packed.document


def _elements(
    tx: Transaction, scope: Scope, base: RecallBase, pinned: list[Pinned]
) -> list[dict[str, Any]]:
    """Each element as it was, where it still is what it was."""
    snapshot = open_snapshot(tx, scope, as_of=base.snapshot_seq)
    ids = {one.element_id for one in pinned}
    then = documents(snapshot, ids)
    digests = versions(snapshot, ids)
    now = documents(open_snapshot(tx, scope), ids)
    told = []
    for one in pinned:
        current = now.get(one.element_id, {})
        entry: dict[str, Any] = {"ref": one.element_id}
        gone = current.get("governance", {}).get("purged") or not current
        erased = (current.get("payload") or {}).get("mode") == "purged"
        if gone or (erased and digests.get(one.element_id) != (one.version, one.digest)):
            reason = "erased"
        elif current["_system"]["version"] != one.version or digests[one.element_id] != (
            one.version,
            one.digest,
        ):
            reason = "changed"
        else:
            entry["element"] = then[one.element_id]
            reason = ""
        if reason:
            entry["reason"] = reason
        told.append({**entry, "version": one.version, "available": not reason})
    return told
