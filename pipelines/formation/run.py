"""The formation job: captured messages to memory, in one commit (design section 5.1)."""

from __future__ import annotations

from pipelines.formation.capture import Captured, capture, conversation_of
from pipelines.formation.proposal import Encoder, Proposal
from pipelines.formation.reading import Reading, read
from pipelines.formation.writing import Source, Written, evidence_only, write
from pipelines.work import Disposition, Effect, FollowUp, Result, Work
from storage import conversations
from storage.clock import now
from storage.conversations import Conversation
from storage.database import Scope, Transaction
from storage.errors import NotFound
from storage.graph.commit import Commit, commit
from storage.search import index
from storage.search.documents import Document
from storage.settings import settings

#: Vectors are made by a later job; many formations share one.
_EMBED = FollowUp("embed", {}, coalesce_key="embed")


def run(work: Work, encoder: Encoder) -> Effect:
    """Form memory from the messages of the record that `payload.conversation` names.

    The encoder runs outside any transaction. What is stored and what became of it is decided by
    the commit: `formed` when it made or changed memory, `evidence_only` when it stored messages
    alone, `skipped` when all of it was known (or erased) before.
    """
    started = now()
    conversation_id = int(work.payload["conversation"])
    with work.read() as tx:
        record = conversations.get(tx, work.scope, conversation_id, "formation")
        if record is None:
            raise NotFound("The conversation of this formation is gone.")
        captured = capture(record)
        reading = read(tx, work.scope, captured)
    captured = tuple(c for c in captured if c.digest not in reading.suppressed)
    work.checkpoint()
    if all(c.digest in reading.known for c in captured):
        proposal, written = None, evidence_only(captured)
    else:
        proposal = _encode(encoder, captured, record, reading)
        work.checkpoint()
        source = Source(
            conversation_id,
            record.extra.get("context", {}).get("topic"),
            encoder.id,
            proposal.model,
            started,
            now(),
        )
        written = write(captured, proposal, reading, source)

    def apply(tx: Transaction) -> Result:
        return _apply(tx, work.scope, work.principal, record, proposal, written)

    return Effect(apply)


def _encode(
    encoder: Encoder, captured: tuple[Captured, ...], record: Conversation, reading: Reading
) -> Proposal:
    context = record.extra.get("context", {})
    return encoder.encode(conversation_of(captured, context), reading.background)


def _apply(
    tx: Transaction,
    scope: Scope,
    principal: str,
    record: Conversation,
    proposal: Proposal | None,
    written: Written,
) -> Result:
    made = commit(tx, scope, principal, written.changes, tx_class="formation")
    changed = made.created | made.changed
    documents = [
        Document(made.ids.get(d.ref, d.ref), d.kind, d.text, d.embed_text, d.at)
        for d in written.documents
        if made.ids.get(d.ref, d.ref) in changed
    ]
    gone = {made.ids.get(ref, ref) for ref in written.withdrawn} & changed
    index.put(tx, scope, [d for d in documents if d.element_id not in gone])
    if gone - made.created:
        index.remove(tx, scope, sorted(gone - made.created))
    formed = _changed(made, written.formed)
    evidence = _changed(made, written.evidence)
    disposition: Disposition = "formed" if formed else "evidence_only" if evidence else "skipped"
    event = [] if written.event is None else [made.ids[written.event]]
    summary = "" if proposal is None else proposal.summary
    result = {
        "conversation": record.id,
        "summary": summary,
        "memory_refs": [*formed, *event] if formed else [*evidence, *event],
        "warnings": list(written.warnings),
    }
    conversations.settle(
        tx,
        scope,
        record.id,
        artifacts=[{"type": "memory", "disposition": disposition, **result}],
        usage=None if proposal is None else _tokens(proposal),
    )
    wants_vectors = bool(documents) and settings().embedder != "none"
    return Result(
        result,
        disposition,
        resolved_seq=made.seq,
        available_seq=made.head_seq,
        follow_ups=(_EMBED,) if wants_vectors else (),
    )


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
