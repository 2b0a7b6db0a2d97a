"""Evidence of what came along with a request, made in the transaction that cites it.

The payload is kept as it came, and never passes through a command. An entry with a client key that
is known stands for the evidence that was made then (contract kip-engine section 7).
"""

from __future__ import annotations

from collections.abc import Mapping

from storage.graph.changes import CreateEvidence, Link
from storage.kip.binding import literal
from storage.kip.mutation.references import References
from storage.kip.protocol.envelope import IngestEntry, Request
from storage.kip.snapshot import Snapshot


def handles(request: Request) -> dict[str, str]:
    """The names of the handles that the evidence of a request has in its transaction, by key.

    No command can spell them.
    """
    return {entry.key: f"ingest#{entry.key}" for entry in request.ingest}


def changes(snapshot: Snapshot, request: Request) -> tuple[CreateEvidence, ...]:
    """What makes the evidence of a request; source actors are looked up in `snapshot`.

    Raises `NotFoundOrNotVisible` for an actor that is not there.
    """
    references = References(snapshot, {}, {})
    named = handles(request)
    return tuple(_evidence(entry, named[entry.key], references) for entry in request.ingest)


def _evidence(entry: IngestEntry, handle: str, references: References) -> CreateEvidence:
    links: tuple[Link, ...] = ()
    if entry.source_actor is not None:
        links = (Link("source", references.of(literal(entry.source_actor, 0, matched=True), {})),)
    return CreateEvidence(
        handle=f"?{handle}",
        evidence_class=entry.evidence_class,
        payload=entry.payload,
        media_type=entry.media_type,
        observed_at=entry.observed_at,
        client_key=entry.client_key,
        facets=entry.facets,
        links=links,
    )


def minted(request: Request, ids: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The parameters that name the evidence afterwards, from the ids of a commit's handles."""
    return {
        key: {"id": ids[f"?{handle}"]}
        for key, handle in handles(request).items()
        if f"?{handle}" in ids
    }
