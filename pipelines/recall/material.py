"""What a budgeted recall reads before it plans: what must be told, and candidates for the question.

Required are the open commitments, the standing constraints and what the reader must be warned of.
The question itself goes through one bounded search among concepts; its hits, the claims that
answer, and the messages on topic are candidates (seed 003, "Recall budget contract").
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.recall import records
from pipelines.recall.evidence import Evidence
from pipelines.recall.questions import Asked
from pipelines.recall.records import Failure, Record
from storage.database import Scope, Transaction
from storage.graph import claims as graph
from storage.graph import finding
from storage.graph.claims import ClaimView, CommitmentView
from storage.graph.finding import MAX_QUERY, Found, Wanted
from storage.graph.keys import person_key
from storage.graph.state import load
from storage.graph.symbols import local_name
from storage.kip.meta.answered import Asking
from storage.kip.meta.primer import primer
from storage.kip.query.documents import documents
from storage.kip.snapshot import open_snapshot
from storage.search.analyser import terms

#: Open commitments, and constraints, that one recall reads; with more the required is incomplete.
MAX_REQUIRED = 256
#: Hits of the search among concepts, and how many of them may be procedures.
MAX_CONCEPTS, MAX_PROCEDURES = 16, 8
#: Claims that are candidates.
_CLAIMS = 20
#: The share of the question's words, weighed by rarity, that a concept holds which is on topic.
_ABOUT = 0.45
#: Concepts that are the space's own housekeeping and nothing that anybody told it.
_HOUSEKEEPING = frozenset({"SleepTask"})
_SCOPE_EVENT = "memory_scope"
#: The contract's channels that hold nothing here, or are not read.
UNCHECKED = ("notes", "history", "wiki")


@dataclass(frozen=True, slots=True)
class Material:
    """What was read in one snapshot. `failure` is a fixed code where a required read is not whole.

    `candidates` come best first; `found` are the ids that the search for the question gave.
    `primer` is for the planner alone. `queried`, `partial` and `omitted` are channels.
    """

    required: tuple[Record, ...]
    candidates: tuple[Record, ...]
    found: frozenset[str]
    primer: Mapping[str, Any]
    queried: tuple[str, ...]
    partial: tuple[str, ...]
    omitted: tuple[str, ...]
    failure: Failure | None = None


def read(
    tx: Transaction,
    scope: Scope,
    asked: Asked,
    *,
    caller: str,
    claims: Sequence[ClaimView],
    evidence: Evidence,
    counterparty: str | None,
    warnings: Collection[str],
    primed: bool,
) -> Material:
    """Read what a packet may hold, in the caller's snapshot; `primed`: the primer as well.

    `claims` are those that answer and `evidence` the messages found, both best first, of the same
    snapshot; `warnings` say what of the search was away.
    """
    snapshot = open_snapshot(tx, scope)
    promises = graph.commitments(tx, scope, limit=MAX_REQUIRED + 1)
    rules = graph.constraints(tx, scope, limit=MAX_REQUIRED + 1)
    failure: Failure | None = None
    wanted = Wanted("CONCEPT", asked.query[:MAX_QUERY])
    search = finding.find(tx, scope, snapshot.schema, wanted, limit=MAX_CONCEPTS)
    hits = [hit for hit in search.hits if _told(hit)]
    person = _person(tx, scope, counterparty)

    needed = {view.id for view in promises} | {rule.id for rule in rules}
    ids = {*needed, *(hit.id for hit in hits), *([person] if person else [])}
    known = {id: doc for id, doc in documents(snapshot, ids).items() if _speaks(doc)}
    if max(len(promises), len(rules)) > MAX_REQUIRED or not needed <= known.keys():
        failure = "recall_required_read_incomplete"
    procedures = [known[hit.id] for hit in hits if _is_procedure(known.get(hit.id))]
    if len(procedures) > MAX_PROCEDURES:
        failure = failure or "recall_procedure_window_incomplete"

    required = [_basis(snapshot.seq, scope.space_id)]
    required += [
        records.of_concept(
            known[view.id], priority="required", source=view.evidence, people=_people(view)
        )
        for view in promises
        if view.id in known
    ]
    required += [
        records.of_concept(
            known[rule.id],
            priority="required",
            source=rule.evidence,
            people={"by": rule.by} if rule.by else None,
        )
        for rule in rules
        if rule.id in known
    ]
    required += [records.of_procedure(doc) for doc in procedures]
    required += _warnings(evidence, warnings)
    required += [
        records.of_concept(known[hit.id], priority="warning")
        for hit in hits
        if hit.id not in needed and _warns(known.get(hit.id))
    ]
    needed.update(record.id for record in required)
    candidates = _answers(tx, scope, claims)
    relevant, late = _concepts(
        tx, scope, asked, [hit for hit in hits if hit.id not in needed and hit.id in known], known
    )
    candidates += relevant
    omitted = []
    if person is not None and person in known:
        if person not in {record.id for record in candidates} | needed:
            candidates.append(records.of_concept(known[person], channel="counterparty"))
    elif counterparty:
        omitted.append("counterparty")
    candidates += _messages(tx, scope, claims, evidence)
    candidates += late
    return Material(
        tuple(required),
        tuple(candidates),
        frozenset(record.id for record in (*relevant, *late)),
        primer(Asking(snapshot, caller), "full") if primed else {},
        ("primer", "counterparty", "kip", "procedures"),
        # a bounded search never vouches for the whole
        ("kip",),
        tuple(omitted),
        failure,
    )


def _told(hit: Found) -> bool:
    if hit.schema_ref is not None and local_name(hit.schema_ref) in _HOUSEKEEPING:
        return False
    return not (hit.name or "").startswith("$")


def _speaks(document: Mapping[str, Any]) -> bool:
    attributes = document.get("attributes") or {}
    return attributes.get("event_class") != _SCOPE_EVENT


def _is_procedure(document: Mapping[str, Any] | None) -> bool:
    return document is not None and records.is_procedure(document)


def _warns(document: Mapping[str, Any] | None) -> bool:
    return ((document or {}).get("attributes") or {}).get("insight_class") == "warning"


def _person(tx: Transaction, scope: Scope, counterparty: str | None) -> str | None:
    if not counterparty:
        return None
    key = person_key(counterparty)
    return graph.people(tx, scope, [key]).get(key)


def _people(view: CommitmentView) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if view.by:
        told["by"] = view.by
    if view.owed_to:
        told["owed_to"] = list(view.owed_to)
    return told


def _basis(seq: int, space_id: str) -> Record:
    """What the packet may be used for, in short; the whole primer is for the planner."""
    content = {
        "space_id": space_id,
        "snapshot_seq": seq,
        "scope": "retrieved candidates, not everything that is known",
        "required": "every open commitment and standing constraint is here",
        "action_ready": False,
    }
    return Record("basis", "primer", "required", content)


def _warnings(evidence: Evidence, warnings: Collection[str]) -> list[Record]:
    found = []
    if not evidence.lexical_complete:
        found.append(
            records.warning("search_index_incomplete", "what was not found may yet be there")
        )
    if warnings:
        found.append(records.warning("vector_search_unavailable", "searched by words alone"))
    return found


def _answers(tx: Transaction, scope: Scope, claims: Sequence[ClaimView]) -> list[Record]:
    views = claims[:_CLAIMS]
    stored = load(tx, scope, {view.id for view in views})
    return [records.of_claim(view, stored[view.id].version) for view in views if view.id in stored]


def _concepts(
    tx: Transaction,
    scope: Scope,
    asked: Asked,
    hits: Sequence[Found],
    known: Mapping[str, Mapping[str, Any]],
) -> tuple[list[Record], list[Record]]:
    """Hits of the search for the question: those to be told early, and procedures, told last."""
    ids = [hit.id for hit in hits]
    views = graph.commitments(tx, scope, ids=ids, statuses=graph.ALL_STATUSES)
    promises = {view.id: view for view in views}
    early: list[Record] = []
    late: list[Record] = []
    for hit in hits:
        document = known[hit.id]
        promise = promises.get(hit.id)
        procedure = records.is_procedure(document)
        record = records.of_concept(
            document,
            priority="unproven_procedure" if procedure else "relevant",
            source=promise.evidence if promise else (),
            people=_people(promise) if promise else None,
            apt=hit.score >= _ABOUT
            or _named(asked, hit.name)
            or (promise is not None and asked.past),
        )
        (late if procedure else early).append(record)
    return early, late


def _named(asked: Asked, name: str | None) -> bool:
    words = set(terms(name or ""))
    return bool(words) and words <= set(asked.terms)


def _messages(
    tx: Transaction, scope: Scope, claims: Sequence[ClaimView], evidence: Evidence
) -> list[Record]:
    """Messages: those on topic or cited by an answering claim first, then the others found."""
    cited = {ref for view in claims if view.stands for ref in view.evidence}
    supported = {hit.element_id for hit in evidence.supported}
    stored = load(tx, scope, {hit.element_id for hit in evidence.hits})
    found = [
        records.of_message(
            hit,
            stored[hit.element_id].version,
            evidence.rarity,
            supported=hit.element_id in supported or hit.element_id in cited,
        )
        for hit in evidence.hits
        if hit.element_id in stored
    ]
    return sorted(found, key=lambda record: not record.apt)
