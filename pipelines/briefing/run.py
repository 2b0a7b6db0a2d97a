"""The briefing job: a recall of the Memory Interface, from the question to a kept basis.

    one snapshot: scope, channels, beliefs → the words (a model, outside of any transaction)
      → pack into the tokens asked for → keep the basis, note what was told

The result column carries the whole answer; an erasure finds it by the elements of its basis
(`storage.recall_bases.briefing_jobs_citing`). A refusal is an answer, too: it is no failed job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.briefing.asked import Asked
from pipelines.briefing.basis import coverage_record, projection_basis, versions
from pipelines.briefing.briefing import Briefing, brief
from pipelines.briefing.expansion import expand
from pipelines.briefing.points import CHANNELS
from pipelines.briefing.reading import Found, read
from pipelines.briefing.turn import Told, summarise
from pipelines.ports import models
from pipelines.ports.embedder import Embedder, process_embedder
from pipelines.ports.models import LanguageModel
from pipelines.recall import questions
from pipelines.recall.evidence import Query
from pipelines.recall.packing import compact
from pipelines.work import Effect, Result, Work
from storage import recall_bases, scoped_memory, spaces
from storage.clock import from_millis, now, to_millis
from storage.database import Transaction
from storage.errors import ModelRejected, ModelUnavailable, Unavailable
from storage.graph.errors import KipError
from storage.kip.errors import as_kip
from storage.kip.snapshot import open_snapshot
from storage.recall_bases import Pinned
from storage.search import vectors
from storage.search.fusion import Weights
from storage.settings import settings

#: Characters of a question that are embedded; its time grows faster than its length.
_EMBEDDED = 500


class ErasedMeanwhile(Unavailable):
    """Something that the briefing tells of was erased while it was written."""

    code = "erased_meanwhile"
    default = "Memory was erased while it was being recalled; the recall starts again."


@dataclass(frozen=True, slots=True)
class _Space:
    """How this space wants its recalls searched."""

    weights: Weights
    embedded: bool


@dataclass(frozen=True, slots=True)
class _Read:
    """What the snapshot gave, and what it was."""

    found: Found
    basis: dict[str, Any]
    pins: Mapping[str, tuple[int, str]]
    seq: int
    head_seq: int


def run(work: Work, embedder: Embedder | None = None, model: LanguageModel | None = None) -> Effect:
    """Answer the recall of a `briefing` job.

    `embedder` and `model` stand in for those that settings and space name. The result has `status`,
    `briefing` and `warnings`, or `error`, as KIP writes one. The briefing is JSON in a text: its
    tokens were counted in the order of its members, which a jsonb column does not keep.
    """
    asked = Asked.of(work.principal, work.payload)
    try:
        if asked.detailed and asked.target is not None and recall_bases.is_ref(asked.target):
            return _expansion(work, asked)
        return _briefing(work, asked, embedder or process_embedder(), model)
    except KipError as error:
        refused = {"error": as_kip(error)}
        return Effect(lambda tx: Result(refused))


def _expansion(work: Work, asked: Asked) -> Effect:
    with work.read() as tx:
        status, briefing = expand(tx, work.scope, asked)
    told = {"status": status, "briefing": compact(briefing), "warnings": []}
    return Effect(lambda tx: Result(told))


def _briefing(
    work: Work, asked: Asked, embedder: Embedder | None, model: LanguageModel | None
) -> Effect:
    searches = asked.mode != "attention"
    with work.read() as tx:
        space = _space(tx, work, embedder if searches else None)
    work.checkpoint()
    query, warnings = _query(asked, embedder if searches else None, space.embedded)
    with work.read() as tx:
        known = _read(tx, work, asked, query, space.weights)
    work.checkpoint()
    told = Told("")
    if searches:
        told = summarise(work, asked, known.found, model or models.model_of(work, settings()))
    states = _states(asked, known.found, told)
    ref = recall_bases.new_ref()
    details = _details(asked, known, states) if asked.detailed else None
    made = brief(ref, asked, known.found, told.summary, states, details)
    warnings = [*known.found.warnings, *warnings]
    if told.fault is not None:
        warnings.append(f"Answered without the model: {told.fault}.")
    if told.summary and not made.summarised:
        warnings.append("The longer summary did not fit the tokens asked for.")
    status = "succeeded" if made.document["coverage"]["complete"] else "partial"
    if asked.pending:
        status = "pending"
    result = {"status": status, "briefing": compact(made.document), "warnings": warnings}
    pinned = _pinned(made, known)
    elements = sorted({one.element_id for one in pinned})
    record = {
        "basis": known.basis,
        "coverage": _coverage(asked, known, made),
        "scope": asked.scope.as_json(),
        "states": dict(made.states),
    }

    def apply(tx: Transaction) -> Result:
        if scoped_memory.erased_since(tx, work.scope, elements, known.head_seq):
            raise ErasedMeanwhile()
        recall_bases.keep(
            tx,
            work.scope,
            asked.caller,
            ref,
            job_id=work.job_id,
            snapshot_seq=known.seq,
            detail=record,
            elements=pinned,
        )
        scoped_memory.expose(tx, work.scope, elements, known.seq, now())
        return Result(result)

    return Effect(apply)


def _space(tx: Transaction, work: Work, embedder: Embedder | None) -> _Space:
    space = spaces.find(tx, work.scope)
    given = space.settings if space else {}
    embedded = embedder is not None and any(
        vectors.coverage(tx, work.scope, kind, embedder.id).indexed for kind in vectors.EMBEDDED
    )
    return _Space(Weights.of(given), embedded)


def _query(asked: Asked, embedder: Embedder | None, embedded: bool) -> tuple[Query, list[str]]:
    """The question for the lanes; without a vector where there is none to compare it with."""
    # nobody says who asks: "I" is who spoke without a name
    words = questions.read(asked.question, (questions.NAMELESS,))
    if embedder is None or not asked.question:
        return Query(words), []
    if not embedded:
        return Query(words, embedder.id), []
    try:
        vector = embedder.embed([words.query[:_EMBEDDED]], "query")[0]
    except (ModelUnavailable, ModelRejected) as error:
        return Query(words, embedder.id), [f"The search by meaning was skipped: {error.code}."]
    return Query(words, embedder.id, vector, embedder.near), []


def _read(tx: Transaction, work: Work, asked: Asked, query: Query, weights: Weights) -> _Read:
    snapshot = open_snapshot(tx, work.scope, as_of=asked.as_of, read_at=now())
    valid_at = asked.valid_at or _whole(snapshot.read_at)
    found = read(snapshot, asked, query, weights, valid_at)
    elements = {id for point in (*found.required, *found.ranked) for id in point.elements}
    if found.page is not None:
        elements.update(item.ref for item in found.page.items)
    return _Read(
        found,
        projection_basis(snapshot, asked, found, valid_at),
        versions(snapshot, elements),
        snapshot.seq,
        snapshot.head_seq,
    )


def _whole(at: datetime) -> datetime:
    return from_millis(to_millis(at))


def _states(asked: Asked, found: Found, told: Told) -> dict[str, str]:
    """What each channel has come to before tokens are counted."""
    states: dict[str, str] = {
        channel: found.plans[channel].state if channel in found.plans else "not_applicable"
        for channel in CHANNELS
    }
    if asked.mode != "attention" and (told.fault is not None or asked.failed):
        states["evidence"] = "incomplete"
    return states


def _details(asked: Asked, known: _Read, states: Mapping[str, str]) -> dict[str, Any]:
    record = coverage_record(
        known.basis, known.head_seq, known.found, asked, states, preconditions=(), eligible=False
    )
    return {"basis": known.basis, "coverage": record}


def _coverage(asked: Asked, known: _Read, made: Briefing) -> dict[str, Any]:
    return coverage_record(
        known.basis,
        known.head_seq,
        known.found,
        asked,
        made.states,
        preconditions=made.preconditions,
        eligible=made.eligible,
    )


def _pinned(made: Briefing, known: _Read) -> list[Pinned]:
    """The elements behind each item, and behind attention as item 0."""
    found = [(0, ref) for ref in made.attention]
    found += [(number, id) for number, point in made.points.items() for id in point.elements]
    return [Pinned(number, id, *known.pins[id]) for number, id in found if id in known.pins]
