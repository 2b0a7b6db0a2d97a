"""What a formation works from: its messages, the claim that it is about, and what memory holds.

A source may have been excluded, erased or overtaken since its intent was accepted; then the turn
ends here, before anything is encoded, and again under the space's lock, before anything is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipelines.formation.capture import Captured, capture, recaptured
from pipelines.formation.gates import OtherScope
from pipelines.formation.intents import Intent
from pipelines.formation.proposal import KnownClaim, Purpose
from pipelines.formation.reading import Reading, claim_of, read
from storage import jobs, repair, staging
from storage.conversations import Conversation
from storage.database import Scope, Transaction
from storage.graph import claims, state
from storage.graph.errors import SourceSuppressed
from storage.graph.keys import folded
from storage.graph.state import Stored
from storage.kip.errors import NotAuthorized, PreconditionFailed, UnsupportedCapability
from storage.memory_scopes import contexts_of, elements
from storage.repair import RecordingRepair

_FAILED = ("failed", "cancelled")
_STALE = "The claim was replaced, withdrawn or erased before this revision was worked on."


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that a run needs of the space, read on one snapshot.

    `repair` is the repair to be made, still without its replacements.
    """

    captured: tuple[Captured, ...]
    reading: Reading
    purpose: Purpose | None = None
    repair: RecordingRepair | None = None

    @property
    def told_before(self) -> bool:
        """Whether every message was read for claims by an earlier formation."""
        return all(
            c.evidence is None and c.digest in self.reading.interpreted for c in self.captured
        )


def gather(
    tx: Transaction, scope: Scope, principal: str, intent: Intent, record: Conversation
) -> Gathered:
    """Read what a formation works from; raises what `check` raises.

    Also `OtherScope` and `PreconditionFailed` for a target that cannot be corrected here, and
    `UnsupportedCapability` or `NotAuthorized` for a recording that cannot be repaired.
    """
    captured = capture(record, intent.scope)
    if not intent.interface:
        reading = read(tx, scope, captured)
        kept = tuple(c for c in captured if not c.excluded_by & reading.suppressed)
        return Gathered(kept, reading)
    if intent.evidence is not None:
        captured = (_evidence(tx, scope, intent.evidence),)
    check(tx, scope, principal, intent, captured)
    if not captured:
        raise PreconditionFailed("The source holds no words any more.")
    contexts = contexts_of(intent.scope, elements(tx, scope, intent.scope))
    target = None if intent.target_ref is None else claim_of(tx, scope, intent.target_ref)
    mended = None
    if intent.change in ("correction", "misrecorded") and intent.target_ref is not None:
        stored = _target(tx, scope, intent, target, contexts)
        if intent.repairs:
            assert target is not None
            original, mended = _repair(tx, scope, principal, stored, target)
            captured = (original, *captured)
    purpose = Purpose(intent.change, target, intent.scope.as_json())
    return Gathered(captured, read(tx, scope, captured, contexts, target=target), purpose, mended)


def check(
    tx: Transaction, scope: Scope, principal: str, intent: Intent, captured: Sequence[Captured]
) -> None:
    """Whether the source may still be worked on.

    Raises `SourceSuppressed` for one that an erasure has excluded, and `PreconditionFailed` for one
    that is gone, or whose predecessors did not come to anything.
    """
    for job_id in intent.after:
        before = jobs.get(tx, scope, job_id)
        if before is not None and before.state in _FAILED:
            raise PreconditionFailed("An input that this one was to follow could not be processed.")
    if state.suppressed(tx, scope, {d for c in captured for d in c.excluded_by}):
        raise SourceSuppressed(
            "The source was erased before it was processed.", data={"reason": "source_suppressed"}
        )
    if intent.staged is not None:
        source = staging.get(tx, scope, principal, intent.staged)
        if source is None or source.messages is None:
            raise PreconditionFailed("The source was erased before it was processed.")


def _evidence(tx: Transaction, scope: Scope, element_id: str) -> Captured:
    """An existing evidence as the message that it holds."""
    row = tx.execute(
        "select o.evidence_class, o.payload -> 'inline', o.content_digest,"
        " coalesce(o.observed_at, e.created_at) from evidence o join element e"
        " on e.space_id = o.space_id and e.id = o.id where o.space_id = %s and o.id = %s",
        (scope.space_id, element_id),
    ).fetchone()
    known = claims.evidence(tx, scope, [element_id]).get(element_id)
    source = None if known is None else known.source
    found = None
    if row is not None and row[1] is not None:
        evidence_class, payload, content_digest, at = row
        found = recaptured(element_id, evidence_class, payload, content_digest, at, source)
    if found is None:
        raise PreconditionFailed("The evidence holds no words to be read.")
    return found


def _target(
    tx: Transaction,
    scope: Scope,
    intent: Intent,
    target: KnownClaim | None,
    contexts: frozenset[str] | None,
) -> Stored:
    """The claim that is corrected or was misrecorded, in the scope in which it was made."""
    assert intent.target_ref is not None
    stored = state.load(tx, scope, [intent.target_ref]).get(intent.target_ref)
    if stored is None or stored.assertion is None or target is None:
        raise PreconditionFailed(_STALE)
    if stored.assertion.contexts != contexts:
        raise OtherScope("A claim is revised within its own contexts only; nothing was written.")
    return stored


def _repair(
    tx: Transaction, scope: Scope, principal: str, target: Stored, claim: KnownClaim
) -> tuple[Captured, RecordingRepair]:
    """The source of a wrong recording, and the repair that is to be made of it."""
    if repair.recorder_of(tx, scope, [target.id]).get(target.id) != principal:
        raise NotAuthorized("Only who recorded a claim repairs its recording.")
    cited = state.edges_from(tx, scope, [target.id], ["evidence"])
    for edge in cited:
        source_digest = repair.source_digest_of(tx, scope, edge.target)
        if edge.role != "support" or source_digest is None:
            continue
        original = _evidence(tx, scope, edge.target)
        # what takes its place bears the time at which the claim was made
        utterance = replace(original.utterance, at=claim.asserted_at)
        original = replace(original, utterance=utterance)
        payload = repair.inline_payload(tx, scope, edge.target)
        spoken = folded(original.utterance.speaker) == folded(claim.asserted_by)
        return original, RecordingRepair(
            edge.target,
            source_digest,
            "/content" if isinstance(payload, dict) and "content" in payload else "",
            (target.id,),
            (),
            "extraction_error" if spoken else "attribution_error",
            {target.id: target.version},
        )
    raise UnsupportedCapability("The claim has no source whose bytes are kept; it stays as it is.")
