"""Staged sources: what a caller hands over before it asks for memory of it (seed 003 section 3).

Table `staged_source`. A source belongs to the caller who staged it; to anybody else it does not
exist. Staging the same under the same key answers the same handle.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg.rows import class_row

from storage.canonical import digest
from storage.clock import now, to_text
from storage.database import Scope, Transaction
from storage.graph import state
from storage.graph.errors import SourceSuppressed
from storage.ids import is_id, new_id
from storage.kip.errors import IdempotencyConflict
from storage.source_digests import message_digest, source_digest

SourceKind = Literal["message", "tool_trace", "artifact"]
_COLUMNS = (
    "ref, caller, kind, messages, message_digests, source_digest, given_observed_at, observed_at,"
    " source_order, captured_at, state, evidence_refs"
)


@dataclass(frozen=True, slots=True)
class StagedSource:
    """A source as it is kept. `messages` is None once it was erased."""

    ref: str
    caller: str
    kind: SourceKind
    messages: list[dict[str, Any]] | None
    message_digests: list[str]
    source_digest: str
    given_observed_at: datetime | None
    observed_at: datetime
    source_order: dict[str, Any] | None
    captured_at: datetime
    state: Literal["staged", "captured", "erased"]
    evidence_refs: list[str]


def stage(
    tx: Transaction,
    scope: Scope,
    caller: str,
    *,
    key: str,
    kind: SourceKind,
    messages: Sequence[Mapping[str, Any]],
    observed_at: datetime | None,
    order: Mapping[str, Any] | None,
) -> StagedSource:
    """Keep a source, or find it by its key.

    A retry that leaves `observed_at` out has the time of the first. Raises `IdempotencyConflict`
    for a key that stands for something else, and `SourceSuppressed` for what was erased and must
    not come back; then nothing is kept and no key is bound.
    """
    meaning = digest({"kind": kind, "messages": list(messages), "order": order})
    known = _by_key(tx, scope, caller, key, meaning, observed_at)
    if known is not None:
        return known
    digests = [message_digest(message) for message in messages]
    whole = source_digest(kind, messages)
    if state.suppressed(tx, scope, {whole, *digests}):
        raise SourceSuppressed(
            "This source was erased and is not taken again.",
            data={"reason": "source_suppressed"},
        )
    captured_at = now()
    tx.execute(
        """
        insert into staged_source (space_id, ref, caller, idem_key, idem_digest, kind, messages,
                                   message_digests, source_digest, given_observed_at, observed_at,
                                   source_order, captured_at)
        values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
        on conflict (space_id, caller, idem_key) do nothing
        """,
        (
            scope.space_id,
            new_id("src"),
            caller,
            key,
            meaning,
            kind,
            json.dumps(list(messages), ensure_ascii=False),
            digests,
            whole,
            observed_at,
            observed_at or captured_at,
            None if order is None else json.dumps(order, ensure_ascii=False),
            captured_at,
        ),
    )
    found = _by_key(tx, scope, caller, key, meaning, observed_at)
    assert found is not None
    return found


def get(tx: Transaction, scope: Scope, caller: str, ref: str) -> StagedSource | None:
    """The caller's source of that handle; None for an unknown and for anybody else's."""
    if not is_id(ref, "src"):
        return None
    return (
        tx.cursor(row_factory=class_row(StagedSource))
        .execute(
            f"select {_COLUMNS} from staged_source"
            " where space_id = %s and ref = %s and caller = %s",
            (scope.space_id, ref, caller),
        )
        .fetchone()
    )


def captured(tx: Transaction, scope: Scope, ref: str, evidence: Sequence[str]) -> None:
    """Note which evidence a source has become, too; an erased one stays erased.

    A source that is handed over in several scopes becomes an evidence in each.
    """
    tx.execute(
        "update staged_source set state = 'captured', evidence_refs = evidence_refs || array("
        "select n.id from unnest(%s::text[]) with ordinality as n(id, place)"
        " where n.id <> all(evidence_refs) order by n.place)"
        " where space_id = %s and ref = %s and state <> 'erased'",
        (list(evidence), scope.space_id, ref),
    )


def erase(tx: Transaction, scope: Scope, refs: Sequence[str]) -> int:
    """Remove the messages of sources; how many had any."""
    done = tx.execute(
        "update staged_source set state = 'erased', messages = null, source_order = null"
        " where space_id = %s and ref = any(%s) and state <> 'erased'",
        (scope.space_id, list(refs)),
    )
    return done.rowcount


def as_json(source: StagedSource) -> dict[str, Any]:
    """The wire form, seed 003 `StagedSource`."""
    told: dict[str, Any] = {
        "source_ref": source.ref,
        "source_digest": source.source_digest,
        "captured_at": to_text(source.captured_at),
        "observed_at": to_text(source.observed_at),
        "kind": source.kind,
        "state": source.state,
        "evidence_refs": source.evidence_refs,
    }
    if source.messages is not None:
        told["messages"] = source.messages
    if source.source_order is not None:
        told["order"] = source.source_order
    return told


def _by_key(
    tx: Transaction,
    scope: Scope,
    caller: str,
    key: str,
    meaning: str,
    observed_at: datetime | None,
) -> StagedSource | None:
    row = tx.execute(
        "select ref, idem_digest, given_observed_at from staged_source"
        " where space_id = %s and caller = %s and idem_key = %s",
        (scope.space_id, caller, key),
    ).fetchone()
    if row is None:
        return None
    ref, known, given = row
    if known != meaning or (observed_at is not None and given not in (None, observed_at)):
        raise IdempotencyConflict("This key was used for another source; use a new key.")
    return get(tx, scope, caller, ref)
