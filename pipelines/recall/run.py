"""The recall job: a question to an answer with sources (design section 5.2).

    read the question → embed it → one snapshot: lanes, beliefs, promises, rules
      → write the answer (a model where one is configured, else extraction) → settle the record

Nothing is written before the end, models and embedders are called outside transactions, and every
part that may be away (the embedder, the model, vectors not made yet) is named in the answer when it
was.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.formation.proposal import Usage as ModelUsage
from pipelines.ports import models
from pipelines.ports.embedder import Embedder, process_embedder
from pipelines.ports.models import LanguageModel
from pipelines.recall import budgeted, material, phrases, questions, receipts
from pipelines.recall.answers import (
    Statement,
    claim_statements,
    commitment_statements,
    constraint_statements,
    denials,
    quotations,
    relevant_claims,
)
from pipelines.recall.budgeted import Limits, Planner
from pipelines.recall.evidence import Evidence, Query, gather, sources, speaker_and_words
from pipelines.recall.follow_ups import followed_up
from pipelines.recall.material import Material
from pipelines.recall.meaning import meant
from pipelines.recall.questions import Asked
from pipelines.recall.receipts import Told
from pipelines.recall.synthesis import BelievedClaim, Passage, Synthesis, synthesise
from pipelines.work import Effect, Result, Work
from storage import conversations, memory_metrics, memory_policy, scoped_memory, spaces
from storage.byok import ByokUnreadable
from storage.citations import cite
from storage.clock import from_millis, now, to_text
from storage.database import Scope, Transaction
from storage.errors import InvalidInput, ModelMisbehaved, ModelRejected, ModelUnavailable, NotFound
from storage.graph import claims as graph
from storage.graph.belief import Question
from storage.graph.claims import ClaimView, CommitmentView, ConstraintView
from storage.graph.keys import person_key
from storage.graph.state import load
from storage.memory_policy import MemoryPolicy, RecallBudget
from storage.search import bm25, index, vectors
from storage.search.bm25 import Hit
from storage.search.documents import DocumentKind
from storage.search.fusion import Weights
from storage.settings import settings
from storage.spaces import Space

#: Claims that are re-read for their belief.
_CLAIMS = 30
#: Claims, promises and rules that the answer lists.
_LISTED = 20
#: Promises and rules of a space that are read whole; beyond that the index chooses.
_WHOLE = 100
#: Characters of a question that are embedded; its time grows faster than its length.
_EMBEDDED = 500
_MODEL_FAULTS = (ModelUnavailable, ModelRejected, ModelMisbehaved)
_MARKS = re.compile(r"\s*\[\d+\]")


@dataclass(frozen=True, slots=True)
class _Task:
    """What the record says is asked, and how this space wants it answered."""

    conversation: int
    query: str
    counterparty: tuple[str, ...]
    weights: Weights
    embedded: bool
    context: Mapping[str, Any]
    limits: Limits | None
    rounds: int
    structured: bool


@dataclass(frozen=True, slots=True)
class _Found:
    """All that one snapshot of the space holds on the question.

    `asked` is the question with those named whom it means; `updates` are later messages on what
    was said before.
    """

    space: Space
    asked: Asked
    evidence: Evidence
    updates: tuple[Hit, ...]
    claims: tuple[ClaimView, ...]
    commitments: tuple[CommitmentView, ...]
    constraints: tuple[ConstraintView, ...]
    texts: Mapping[str, Hit]


@dataclass(frozen=True, slots=True)
class _Known:
    """An element in words, as a model is shown it."""

    ref: str
    text: str
    status: str
    at: datetime | None
    evidence: tuple[str, ...]


def run(
    work: Work,
    embedder: Embedder | None = None,
    model: LanguageModel | None = None,
    policy: MemoryPolicy | None = None,
) -> Effect:
    """Answer the question of a recall record.

    `embedder`, `model` and `policy` stand in for those that settings and space name. The result is
    an `AgentOutput` (seed 003 section 7) with `found`, `answer` (its sentences with what they rest
    on), `claims`, `commitments`, `constraints`, `sources` (ranked; `[n]` in `content` counts in
    them from 1), `coverage` and `warnings`; where the record asks for it, `memories` and
    `uncertainty` too. Under a budget, of the space or of the question, it is a packet instead
    (`budgeted`). `recall_receipt` refers to what is kept of the delivery (`receipts`). Raises
    `NotFound` when the record is gone.
    """
    begun = time.monotonic()
    chosen = embedder or process_embedder()
    with work.read() as tx:
        task = _task(tx, work, chosen, policy)
    work.checkpoint()
    asked = questions.read(task.query, task.counterparty)
    query, warnings = _query(asked, chosen, task.embedded)
    if task.limits is not None:
        planner = budgeted.planner(work, model)
        with work.read() as tx:
            found = _search(tx, work.scope, query, task.weights)
            read = _material(tx, work, task, asked, found, warnings, planner)
        work.checkpoint()
        return _packet(work, task, task.limits, planner, read, found.space, begun)
    with work.read() as tx:
        found = _search(tx, work.scope, query, task.weights)
    work.checkpoint()
    statements = _extract(found)
    listed = sources(found.evidence.hits, _cited(statements, found), found.evidence.rarity)
    spent: list[ModelUsage] = []
    told, synthesis, faults = _synthesise(work, task, found, statements, listed, model, spent)
    output = _output(asked, found, told, listed, synthesis, [*warnings, *faults])
    # what a model that gave no answer has cost was spent all the same
    output["usage"] = _told_usage(models.total(*spent))
    if task.structured:
        output.update(_citations(work, found, told))
    artifact = {key: output[key] for key in output if key != "usage"}
    return _effect(work, task, output, artifact, Told(found.space, _refs(told)))


def _effect(
    work: Work, task: _Task, output: dict[str, Any], artifact: Mapping[str, Any], told: Told
) -> Effect:
    def apply(tx: Transaction) -> Result:
        receipt = receipts.receipt(tx, work.scope, task.conversation, output["content"], told)
        conversations.settle(
            tx,
            work.scope,
            task.conversation,
            add_messages=[{"role": "assistant", "content": output["content"]}],
            artifacts=[artifact],
            usage=output["usage"],
            # what was read in part is an answer, and says so itself
            failed_reason=None if output["found"] else output.get("failed_reason"),
            extra=receipt.as_extra(),
        )
        if output.get("uncertainty") is not None:
            memory_metrics.report_uncertainty(tx, work.scope, output["uncertainty"])
        scoped_memory.expose(
            tx, work.scope, dict.fromkeys(told.elements), told.space.head_seq, now()
        )
        return Result({**output, "recall_receipt": receipt.as_ref()})

    return Effect(apply)


def _material(
    tx: Transaction,
    work: Work,
    task: _Task,
    asked: Asked,
    found: _Found,
    warnings: Sequence[str],
    planner: Planner,
) -> Material:
    return material.read(
        tx,
        work.scope,
        asked,
        caller=work.principal,
        claims=found.claims,
        evidence=found.evidence,
        counterparty=task.context.get("counterparty"),
        warnings=warnings,
        primed=planner.model is not None,
    )


def _packet(
    work: Work,
    task: _Task,
    limits: Limits,
    planner: Planner,
    read: Material,
    space: Space,
    begun: float,
) -> Effect:
    """The answer under a budget: the packet, its receipts, and nothing else that was found."""
    packet = budgeted.deliver(
        work, limits, planner, read, task.query, task.context, rounds=task.rounds, begun=begun
    )
    receipt: dict[str, Any] = {"memory_budget": limits.receipt(packet.tokens)}
    if packet.failure is not None:
        receipt["failed_reason"] = packet.failure
    output = {
        "content": packet.content,
        "usage": _told_usage(packet.usage),
        "found": packet.found,
        **receipt,
    }
    # which elements were shown is kept with the record, so that it goes when one of them is erased
    told = Told(space, packet.elements, receipt["memory_budget"], packet.failure is None)
    return _effect(work, task, output, {**receipt, "elements": list(packet.elements)}, told)


def _citations(work: Work, found: _Found, told: Sequence[Statement]) -> dict[str, Any]:
    """`memories`, what the answer stands on, and `uncertainty`.

    That is the share of the cited claims that are contested or uncertain; absent where the answer
    cites no claim.
    """
    refs = _refs(told)
    with work.read() as tx:
        memories = cite(tx, work.scope, refs)
    claims = [view for view in found.claims if view.id in refs]
    if not claims:
        return {"memories": memories}
    doubtful = [view for view in claims if view.belief.status in ("contested", "uncertain")]
    return {"memories": memories, "uncertainty": round(len(doubtful) / len(claims), 4)}


def _refs(told: Sequence[Statement]) -> list[str]:
    """The elements that sentences tell, then the messages that they rest on."""
    elements = [ref for statement in told for ref in statement.elements]
    return list(dict.fromkeys([*elements, *(ref for s in told for ref in s.sources)]))


def _task(
    tx: Transaction, work: Work, embedder: Embedder | None, policy: MemoryPolicy | None
) -> _Task:
    number = int(work.payload["conversation"])
    record = conversations.get(tx, work.scope, number, "recall")
    if record is None:
        raise NotFound("There is no such recall.")
    asked = [m for m in record.messages if m.get("role") == "user"]
    if not asked:
        raise NotFound("The recall has no question.")
    context = record.extra.get("context") or {}
    space = spaces.find(tx, work.scope)
    given = space.settings if space else {}
    policy = policy or memory_policy.of(given)
    budget = record.extra.get("budget")
    embedded = embedder is not None and any(
        vectors.coverage(tx, work.scope, kind, embedder.id).indexed for kind in vectors.EMBEDDED
    )
    return _Task(
        number,
        str(asked[-1]["content"]),
        _names(tx, work.scope, context.get("counterparty")),
        Weights.of(given),
        embedded,
        context,
        budgeted.limits(
            policy.recall_budget,
            RecallBudget.model_validate(budget) if budget is not None else None,
        ),
        policy.recall_max_rounds,
        bool(record.extra.get("structured")),
    )


def _names(tx: Transaction, scope: Scope, counterparty: str | None) -> tuple[str, ...]:
    """What the counterparty goes by: as whom they are named here, and what they are called now.

    Without one it is the user whom nothing names.
    """
    if not counterparty:
        return (questions.NAMELESS,)
    key = person_key(counterparty)
    person = graph.people(tx, scope, [key]).get(key)
    called = None if person is None else load(tx, scope, [person])[person].name
    return tuple(dict.fromkeys(name for name in (counterparty, called) if name))


def _query(asked: Asked, embedder: Embedder | None, embedded: bool) -> tuple[Query, list[str]]:
    """The question for the lanes; without a vector where there is none to compare it with."""
    if embedder is None:
        return Query(asked), []
    if not embedded:
        return Query(asked, embedder.id), []
    try:
        vector = embedder.embed([asked.query[:_EMBEDDED]], "query")[0]
    except (ModelUnavailable, ModelRejected) as error:
        return Query(asked, embedder.id), [f"vector lane skipped: {error.code}"]
    return Query(asked, embedder.id, vector, embedder.near), []


def _search(tx: Transaction, scope: Scope, query: Query, weights: Weights) -> _Found:
    state = index.collections(tx, scope)

    def nearest(kind: DocumentKind, limit: int, asked: Asked) -> list[str]:
        if kind not in state or not state[kind].documents:
            return []
        hits = bm25.search(tx, scope, kind, asked.claim_terms, limit, among=asked.specific)
        return [hit.element_id for hit in hits]

    def found_for(asked: Asked) -> tuple[list[ClaimView], dict[str, Hit]]:
        ids = nearest("claim", _CLAIMS, asked)
        views = graph.claims_for(tx, scope, Question(valid_at=now()), assertions=ids)
        rank = {id: place for place, id in enumerate(ids)}
        views.sort(key=lambda view: rank.get(view.id, len(rank)))
        refs = sorted({ref for view in views for ref in view.evidence})
        return views, bm25.documents(tx, scope, refs)

    views, texts = found_for(query.asked)
    asked = meant(query.asked, views, texts)
    if asked.claim_terms != query.asked.claim_terms:
        views, texts = found_for(asked)

    def some(kind: DocumentKind) -> list[str] | None:
        whole = kind in state and state[kind].documents <= _WHOLE
        return None if whole or not asked.specific else nearest(kind, _LISTED, asked)

    claims = relevant_claims(asked, views, texts)
    cited = dict.fromkeys(ref for view in claims if view.stands for ref in view.evidence)
    evidence = gather(
        tx,
        scope,
        query,
        weights,
        state.get("evidence"),
        [texts[ref] for ref in cited if ref in texts],
    )
    updates: tuple[Hit, ...] = ()
    if not claims and evidence.supported:
        updates = followed_up(tx, scope, asked, evidence)
    texts.update((hit.element_id, hit) for hit in (*evidence.hits, *updates))
    commitments = _commitments(tx, scope, asked, some("commitment"))
    constraints = graph.constraints(tx, scope, ids=some("constraint"), limit=_WHOLE)
    further = {ref for view in commitments for ref in view.evidence}
    further.update(ref for rule in constraints for ref in rule.evidence)
    texts.update(bm25.documents(tx, scope, sorted(further.difference(texts))))
    return _Found(
        spaces.get(tx, scope),
        asked,
        evidence,
        updates,
        tuple(claims),
        tuple(commitments),
        tuple(constraints),
        texts,
    )


def _commitments(
    tx: Transaction, scope: Scope, asked: Asked, ids: Sequence[str] | None
) -> list[CommitmentView]:
    if asked.past or asked.promised:
        every = ("pending", "blocked", "fulfilled", "cancelled", "expired")
        return graph.commitments(tx, scope, ids=ids, statuses=every, limit=_WHOLE)
    return graph.commitments(tx, scope, ids=ids, limit=_WHOLE)


def _extract(found: _Found) -> list[Statement]:
    asked, rarity = found.asked, found.evidence.rarity
    claims = claim_statements(asked, found.claims)
    claims += denials(asked, found.claims, found.texts, rarity)
    promises = commitment_statements(asked, found.commitments, rarity)
    rules = constraint_statements(asked, found.constraints, rarity)
    if asked.commitments and promises:
        return [*promises, *rules]
    if asked.constraints and rules:
        return [*rules, *claims]
    return [*claims, *promises, *rules] or quotations(asked, found.evidence, found.updates)


def _cited(statements: Sequence[Statement], found: _Found) -> list[Hit]:
    refs = dict.fromkeys(ref for statement in statements for ref in statement.sources)
    return [found.texts[ref] for ref in refs if ref in found.texts]


def _synthesise(
    work: Work,
    task: _Task,
    found: _Found,
    statements: Sequence[Statement],
    listed: Sequence[dict[str, Any]],
    given: LanguageModel | None,
    spent: list[ModelUsage],
) -> tuple[list[Statement], Synthesis | None, list[str]]:
    """The sentences of the answer: a model's where one is configured and can, else `statements`.

    What its requests cost goes to `spent`.
    """

    def charge(usage: ModelUsage) -> None:
        spent.append(usage)
        work.charge(budgeted.charged(usage))

    try:
        model = given or models.model_of(work, settings())
    except (InvalidInput, ByokUnreadable) as error:
        return list(statements), None, [f"answered without the model: {error.code}"]
    if model is None or not listed:
        return list(statements), None, []
    oldest = from_millis(0)
    passages = [
        Passage(n, hit.text, speaker_and_words(hit.text)[0] or "", hit.at or oldest, hit.element_id)
        for n, hit in enumerate(_hits(listed, found), start=1)
    ]
    known = _known(found, statements)
    believed = [
        BelievedClaim(len(passages) + n, item.text, item.status, item.at or oldest, item.ref)
        for n, item in enumerate(known, start=1)
    ]
    try:
        written = synthesise(
            model,
            task.query,
            passages,
            believed,
            checkpoint=work.checkpoint,
            charge=charge,
        )
    except _MODEL_FAULTS as error:
        return list(statements), None, [f"answered without the model: {error.code}"]
    if written is None:
        return list(statements), None, ["answered without the model: no sentence had a source"]
    told = [_written(s.text, s.sources, listed, known) for s in written.sentences]
    return told, written, []


def _known(found: _Found, statements: Sequence[Statement]) -> list[_Known]:
    """What memory holds on the question beside messages: claims, and promises and rules told."""
    told = {element for statement in statements for element in statement.elements}
    items = [
        _Known(
            view.id, phrases.claim(view, "en"), view.belief.status, view.asserted_at, view.evidence
        )
        for view in found.claims[:_LISTED]
    ]
    items += [
        _Known(view.id, phrases.commitment(view, "en"), view.status, view.created_at, view.evidence)
        for view in found.commitments
        if view.id in told
    ]
    items += [
        _Known(rule.id, phrases.constraint(rule, "en"), "in force", rule.created_at, rule.evidence)
        for rule in found.constraints
        if rule.id in told
    ]
    return items


def _written(
    text: str,
    cited: Sequence[int],
    listed: Sequence[dict[str, Any]],
    known: Sequence[_Known],
) -> Statement:
    """A model's sentence with what its numbers stand for: messages, or elements and their own."""
    refs: list[str] = []
    elements: list[str] = []
    for n in cited:
        if n <= len(listed):
            refs.append(listed[n - 1]["ref"])
            elements.append(listed[n - 1]["ref"])
        else:
            item = known[n - len(listed) - 1]
            refs.extend(item.evidence)
            elements.append(item.ref)
    return Statement(_MARKS.sub("", text), tuple(dict.fromkeys(refs)), tuple(elements))


def _hits(listed: Sequence[dict[str, Any]], found: _Found) -> list[Hit]:
    hits = {hit.element_id: hit for hit in found.evidence.hits}
    return [hits.get(source["ref"]) or found.texts[source["ref"]] for source in listed]


def _output(
    asked: Asked,
    found: _Found,
    told: Sequence[Statement],
    listed: Sequence[dict[str, Any]],
    synthesis: Synthesis | None,
    warnings: Sequence[str],
) -> dict[str, Any]:
    number = {source["ref"]: n for n, source in enumerate(listed, start=1)}
    lines = [
        phrases.sentence(
            statement.text,
            sorted(number[ref] for ref in statement.sources if ref in number),
            asked.language,
        )
        for statement in told
    ]
    return {
        "content": "\n".join(lines) or phrases.nothing(asked.language),
        "usage": {},
        "model": synthesis.model if synthesis else None,
        "found": bool(lines),
        "answer": [
            {"text": s.text, "sources": list(s.sources), "elements": list(s.elements)} for s in told
        ],
        "claims": [_claim(view) for view in found.claims[:_LISTED]],
        "commitments": [_commitment(view) for view in found.commitments[:_LISTED]],
        "constraints": [_constraint(view) for view in found.constraints[:_WHOLE]],
        "sources": list(listed),
        "coverage": found.evidence.coverage(),
        "warnings": list(warnings),
    }


def _told_usage(usage: ModelUsage) -> dict[str, int]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "requests": usage.requests,
    }


def _claim(view: ClaimView) -> dict[str, Any]:
    return {
        "ref": view.id,
        "subject": view.subject,
        "predicate": view.predicate,
        "object": view.object,
        "stance": view.stance,
        "status": view.belief.status,
        "asserted_by": view.asserted_by,
        "asserted_at": to_text(view.asserted_at),
        "valid_time": view.valid.as_json(),
        "evidence_refs": list(view.evidence),
    }


def _commitment(view: CommitmentView) -> dict[str, Any]:
    return {
        "ref": view.id,
        "summary": view.summary,
        "status": view.status,
        "by": view.by,
        "owed_to": list(view.owed_to),
        "due_at": to_text(view.due_at) if view.due_at else None,
        "evidence_refs": list(view.evidence),
    }


def _constraint(view: ConstraintView) -> dict[str, Any]:
    return {
        "ref": view.id,
        "text": view.text,
        "by": view.by,
        "evidence_refs": list(view.evidence),
    }
