"""The formation job: captured messages to memory, in one commit (design section 5.1).

What the Memory Interface asked for (`intents`) comes the same way: its intent narrows what may be
written (`purposes`, `gates`), its scope is put on everything that is (`scoping`), and a repair of a
recording ends in the same transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pipelines.formation import gates, scoping
from pipelines.formation.capture import conversation_of
from pipelines.formation.intents import Intent
from pipelines.formation.proposal import Conversation as Talk
from pipelines.formation.proposal import Encoder, Proposal
from pipelines.formation.purposes import NOT_SUPERSEDED
from pipelines.formation.sources import Gathered, check, gather
from pipelines.formation.writing import Source, Written, evidence_only, reference, write
from pipelines.work import Disposition, Effect, FollowUp, Result, Work
from storage import conversations, source_identity, staging
from storage.clock import now
from storage.conversations import Conversation
from storage.database import Scope, Transaction
from storage.errors import NotFound
from storage.graph.commit import Commit, commit, lock
from storage.graph.state import suppressed
from storage.repair import RecordingRepair, repair
from storage.settings import settings
from storage.source_digests import message_digest
from storage.source_identity import SourceIdentity

#: Vectors are made by a later job; many formations share one.
_EMBED = FollowUp("embed", {}, coalesce_key="embed")
_REPORTED = (
    "The report is kept as evidence and no claim was touched: name the wrong claim as target_ref "
    "to have its recording repaired."
)
_NOTHING_NEW = "Nothing new was in the source; nothing was written."
_MAX_REFS = 128


def run(work: Work, encoder: Encoder) -> Effect:
    """Form memory from the messages of the record that `payload.conversation` names.

    The encoder runs outside any transaction. What is stored and what became of it is decided by
    the commit: `formed` when it made or changed memory, `evidence_only` when it stored messages
    alone, `skipped` when all of it was known (or erased) before.

    Raises a `KipError` when the intent cannot be carried out as it stands.
    """
    started = now()
    conversation_id = int(work.payload["conversation"])
    intent = Intent.of(work.payload)
    with work.read() as tx:
        record = conversations.get(tx, work.scope, conversation_id, "formation")
        if record is None:
            raise NotFound("The conversation of this formation is gone.")
        found = gather(tx, work.scope, work.principal, intent, record)
    work.checkpoint()
    if intent.keeps_only:
        proposal, written = None, _kept(found, intent, work.payload)
    elif found.told_before and intent.operation == "observe":
        proposal, written = None, evidence_only(found.captured)
    else:
        proposal = encoder.encode(_conversation(found, record), found.reading.background)
        work.checkpoint()
        written = _written(found, proposal, intent, record, encoder.id, started)
    turn = _Turn(work.scope, work.principal, intent, record, found, proposal, written)
    return Effect(turn.apply)


def _conversation(found: Gathered, record: Conversation) -> Talk:
    return conversation_of(found.captured, record.extra.get("context", {}), found.purpose)


def _kept(found: Gathered, intent: Intent, payload: Mapping[str, Any]) -> Written:
    """The source as evidence, for what it was handed over for."""
    [first, *_] = found.captured
    if first.evidence is None:
        return evidence_only(found.captured)
    about = {name: value for name, value in payload["intent"].items() if name.endswith("_ref")}
    return reference(
        first, {**about, "operation": intent.operation, "scope": intent.scope.as_json()}
    )


def _written(
    found: Gathered,
    proposal: Proposal,
    intent: Intent,
    record: Conversation,
    encoder: str,
    started: datetime,
) -> Written:
    source = Source(
        record.id,
        record.extra.get("context", {}).get("topic"),
        encoder,
        proposal.model,
        started,
        now(),
        intent.change,
        bare=intent.interface,
    )
    return write(found.captured, proposal, found.reading, source)


@dataclass(frozen=True, slots=True)
class _Turn:
    """One run's outcome, ready to be committed; `apply` may run again after a rollback."""

    scope: Scope
    principal: str
    intent: Intent
    record: Conversation
    found: Gathered
    proposal: Proposal | None
    written: Written

    def apply(self, tx: Transaction) -> Result:
        """Commit everything, and say what came of it."""
        if self.intent.interface:
            lock(tx, self.scope)
            check(tx, self.scope, self.principal, self.intent, self.found.captured)
        turn = scoping.scoped(tx, self.scope, self.written.changes, self.intent.scope)
        gates.check(turn.changes, self.intent, turn.contexts, turn.facet)
        made = commit(tx, self.scope, self.principal, turn.changes, tx_class="formation")
        scoping.verify(made.ids, turn.expected)
        evidence = _changed(made, self.written.evidence)
        formed = _changed(made, self.written.formed)
        seq, head = made.seq, made.head_seq
        if self.found.repair is not None:
            record = self._repair(made)
            repaired = repair(tx, self.scope, self.principal, record)
            formed = [*record.replacement_refs, *record.invalidated_refs]
            seq, head = repaired.seq or seq, repaired.head_seq
        self._note_captured(tx, made)
        result, disposition = self._result(made, formed, evidence)
        self._settle(tx, result, disposition)
        wants_vectors = bool(evidence) and settings().embedder != "none"
        return Result(
            result,
            disposition,
            resolved_seq=seq,
            available_seq=head,
            follow_ups=(_EMBED,) if wants_vectors else (),
        )

    def _repair(self, made: Commit) -> RecordingRepair:
        """The repair, with the claims that this very commit puts in the wrong one's place."""
        assert self.found.repair is not None
        new = [ref for ref in _changed(made, self.written.formed) if ref in made.created]
        return replace(self.found.repair, replacement_refs=tuple(new))

    def _note_captured(self, tx: Transaction, made: Commit) -> None:
        refs = [made.ids[ref] for ref in self.written.evidence]
        if self.intent.staged is not None:
            staging.captured(tx, self.scope, self.intent.staged, refs)
        identity = SourceIdentity.of(self.record.extra)
        if identity is not None:
            source_identity.note(tx, self.scope, refs, identity.own_digest)

    def _result(
        self, made: Commit, formed: list[str], evidence: list[str]
    ) -> tuple[dict[str, Any], Disposition]:
        disposition: Disposition = (
            "formed" if formed else "evidence_only" if evidence else "skipped"
        )
        event = _changed(made, () if self.written.event is None else (self.written.event,))
        refs = [*formed, *event] if formed else [*evidence, *event]
        summary = "" if self.proposal is None else self.proposal.summary
        result: dict[str, Any] = {
            "conversation": self.record.id,
            "summary": summary,
            "memory_refs": refs,
            "warnings": list(self.written.warnings),
        }
        if self.intent.interface:
            result["memory_refs"] = refs[:_MAX_REFS]
            if disposition == "skipped" or not summary:
                result["summary"] = _summary(disposition, len(evidence))
            result["warnings"] = [*self.written.warnings, *self._warnings(disposition)]
            if self.intent.change == "misrecorded" and not self.intent.repairs:
                result["partial"] = True
        return result, disposition

    def _warnings(self, disposition: Disposition) -> list[str]:
        if self.intent.change == "misrecorded" and not self.intent.repairs:
            return [_REPORTED]
        warnings = [NOT_SUPERSEDED] if self.intent.change == "unspecified" else []
        return [*warnings, _NOTHING_NEW] if disposition == "skipped" else warnings

    def _settle(self, tx: Transaction, result: dict[str, Any], disposition: Disposition) -> None:
        self._unsay_erased(tx)
        conversations.settle(
            tx,
            self.scope,
            self.record.id,
            artifacts=[{"type": "memory", "disposition": disposition, **result}],
            usage=None if self.proposal is None else _tokens(self.proposal),
        )

    def _unsay_erased(self, tx: Transaction) -> None:
        """What was erased, and came again, is not kept by the record of its coming either."""
        said = [message_digest(message) for message in self.record.messages]
        identity = SourceIdentity.of(self.record.extra)
        by_source = frozenset() if identity is None else identity.excluded_by
        erased = suppressed(tx, self.scope, {*said, *by_source})
        if erased:
            whole = bool(erased & by_source)
            places = [place for place, digest in enumerate(said) if whole or digest in erased]
            conversations.unsay(tx, self.scope, self.record.id, places)


def _summary(disposition: Disposition, kept: int) -> str:
    """What the host says of a turn for which no encoder has words."""
    match disposition:
        case "formed":
            return "Memory was changed."
        case "evidence_only":
            return f"Kept {kept} message{'s' * (kept != 1)} as evidence."
    return "Nothing was written."


def _changed(made: Commit, refs: tuple[str, ...]) -> list[str]:
    """Those of the elements that this commit created or changed, once each, in order."""
    found = dict.fromkeys(made.ids.get(ref, ref) for ref in refs)
    return [ref for ref in found if ref in made.created or ref in made.changed]


def _tokens(proposal: Proposal) -> dict[str, int]:
    spent = proposal.usage
    return {
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "cached_tokens": spent.cached_tokens,
        "requests": spent.requests,
    }
