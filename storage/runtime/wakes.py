"""What is in the inbox: wakes, each with what was decided about it and what came of that.

A wake is a Watch that fired, or an answer to what was asked about one; both stand in the order of
the commits that made them. Its id is the digest of its `wake_ref`, told as the hexadecimal digits
alone and taken with or without what names the digest. Who may see a wake is looked up
anew each time: the audience, and whether what its decision rests on is still there. Where evidence
behind a decision was erased, the item stays and the decision is withheld.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg.rows import class_row

from storage.canonical import canonical_json, digest_bytes
from storage.clock import to_text
from storage.database import Scope, Transaction
from storage.graph import state
from storage.graph.schema import local_name
from storage.graph.state import Stored
from storage.runtime import callers
from storage.runtime.callers import RuntimeCaller

State = Literal["pending", "running", "blocked", "completed", "cancelled"]

#: Items of a page, unless fewer are asked for, and at most; and the bytes of their JSON.
PAGE, MOST, MAX_BYTES = 20, 50, 256 * 1024
#: Bytes of a decision that are told; a longer one is withheld.
_DECISION = 32 * 1024
_SUMMARY = 4096
_WATCH = "kip://profiles/cognitive-memory/Watch"
_ASSIGNED = "kip://profiles/cognitive-memory/assigned_to"
#: Wakes that one step of a walk looks at, and steps of a page: then it ends with what was found.
_LOOK, _STEPS = 100, 50
_ENVELOPE = 1024
_DIGEST = "sha256:"
_ID = re.compile(r"(?:sha256:)?([0-9a-f]{64})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Wake:
    """A recorded wake."""

    id: str
    wake_ref: str
    fire_ref: str
    parent_id: str | None
    created_seq: int


@dataclass(frozen=True, slots=True)
class Gate:
    """The last decision about a wake, and why. The rest is of an ask."""

    wake_id: str
    gate_ref: str
    rationale_ref: str | None
    question_ref: str | None
    recipient: str | None
    deadline: datetime | None
    answered_by: str | None


@dataclass(frozen=True, slots=True)
class Dispatch:
    """An attempt on its way, and what became of it."""

    gate_ref: str
    id: str
    attempt_ref: str
    kind: str
    request_digest: str
    dispatched_at: datetime
    delivered_at: datetime | None
    reconciled_at: datetime | None
    outcome_ref: str | None
    outcome_status: str | None


@dataclass(frozen=True, slots=True)
class Item:
    """A wake as one caller sees it, `AttentionItem` of seed 003."""

    wake: Wake
    watch_ref: str
    summary: str
    state: State
    reason: str | None
    gate: Gate | None
    decision: dict[str, Any] | None
    dispatch: Dispatch | None
    clarification: dict[str, Any] | None

    @property
    def asks(self) -> bool:
        """Whether somebody may be answered."""
        return self.gate is not None and self.gate.recipient is not None

    def as_json(self) -> dict[str, Any]:
        """The wire form."""
        sent, parent = self.dispatch, self.wake.parent_id
        return {
            "id": self.wake.id.removeprefix(_DIGEST),
            "wake_ref": self.wake.wake_ref,
            "parent_id": None if parent is None else parent.removeprefix(_DIGEST),
            "watch_ref": self.watch_ref,
            "fire_activity_ref": self.wake.fire_ref,
            "summary": self.summary,
            "state": self.state,
            "reason": self.reason,
            "decision": self.decision,
            "decision_ref": None if self.gate is None else self.gate.gate_ref,
            "attempt_ref": None if sent is None else sent.attempt_ref,
            "dispatch_ref": None if sent is None else sent.id,
            "clarification": self.clarification,
            "delivery": None if sent is None else _delivery(sent),
        }


@dataclass(frozen=True, slots=True)
class Page:
    """Visible items after a position, of the wakes up to `seq`.

    `position` is where to go on, None when all were walked.
    """

    items: tuple[Item, ...]
    seq: int
    position: tuple[int, str] | None


def page(
    tx: Transaction,
    scope: Scope,
    caller: RuntimeCaller,
    at: datetime,
    *,
    seq: int,
    after: tuple[int, str] = (0, ""),
    limit: int = PAGE,
) -> Page:
    """The next items that the caller may see; of wakes recorded up to `seq`, as they are now."""
    found: list[Item] = []
    size = _ENVELOPE
    position = after
    for _ in range(_STEPS):
        rows = _after(tx, scope, position, seq)
        items = _items(tx, scope, caller, rows, at)
        for wake in rows:
            item = items.get(wake.id)
            if item is not None:
                size += len(canonical_json(item.as_json()).encode()) + 1
                if len(found) == limit or (found and size > MAX_BYTES):
                    return Page(tuple(found), seq, position)
                found.append(item)
            position = (wake.created_seq, wake.id)
        if len(rows) < _LOOK:
            return Page(tuple(found), seq, None)
    return Page(tuple(found), seq, position)


def find(
    tx: Transaction, scope: Scope, caller: RuntimeCaller, wake_id: str, at: datetime
) -> Item | None:
    """A wake that the caller may see; None for any other."""
    wake = get(tx, scope, wake_id)
    return None if wake is None else _items(tx, scope, caller, [wake], at).get(wake.id)


def get(tx: Transaction, scope: Scope, wake_id: str) -> Wake | None:
    """A wake, whoever may see it."""
    spelled = _ID.fullmatch(wake_id)
    if spelled is None:
        return None
    cursor = tx.cursor(row_factory=class_row(Wake))
    return cursor.execute(
        "select id, wake_ref, fire_ref, parent_id, created_seq from runtime_wake"
        " where space_id = %s and id = %s",
        (scope.space_id, _DIGEST + spelled[1]),
    ).fetchone()


def open_child(tx: Transaction, scope: Scope, parent: Wake, receipt: str, seq: int) -> str:
    """Record the wake that an answer opens; returns its id."""
    ref = f"{parent.wake_ref}/answers/{receipt}"
    wake_id = digest_bytes(ref.encode())
    tx.execute(
        "insert into runtime_wake (space_id, id, wake_ref, fire_ref, parent_id, created_seq)"
        " values (%s, %s, %s, %s, %s, %s)",
        (scope.space_id, wake_id, ref, parent.fire_ref, parent.id, seq),
    )
    return wake_id


def _after(tx: Transaction, scope: Scope, position: tuple[int, str], seq: int) -> list[Wake]:
    cursor = tx.cursor(row_factory=class_row(Wake))
    return cursor.execute(
        """
        select id, wake_ref, fire_ref, parent_id, created_seq from runtime_wake
         where space_id = %(space)s and created_seq >= %(from)s and created_seq <= %(seq)s
           and (created_seq > %(from)s or id > %(id)s)
         order by created_seq, id limit %(look)s
        """,
        {
            "space": scope.space_id,
            "from": position[0],
            "id": position[1],
            "seq": seq,
            "look": _LOOK,
        },
    ).fetchall()


def _items(
    tx: Transaction,
    scope: Scope,
    caller: RuntimeCaller,
    wakes: Sequence[Wake],
    at: datetime,
) -> dict[str, Item]:
    """The visible ones of some wakes."""
    fires = {wake.fire_ref for wake in wakes}
    gates = _gates(tx, scope, [wake.id for wake in wakes])
    activities = {*fires, *(gate.gate_ref for gate in gates.values())}
    inputs: dict[str, set[str]] = {}
    for edge in state.edges_from(tx, scope, activities, ["inputs"]):
        inputs.setdefault(edge.source, set()).add(edge.target)
    words = {ref for gate in gates.values() for ref in _words(gate)}
    there = state.load(tx, scope, {*activities, *words, *_union(inputs.values())})
    decisions = {ref: _decision(there.get(ref)) for ref in activities - fires}
    named = _union(_named(decision) for decision in decisions.values()) - there.keys()
    there |= state.load(tx, scope, named)
    watches = {
        fire: watch for fire in fires if (watch := _watch(inputs.get(fire, ()), there)) is not None
    }
    assigned: dict[str, set[str]] = {}
    for edge in state.edges_from(tx, scope, set(watches.values()), [_ASSIGNED]):
        assigned.setdefault(edge.source, set()).add(edge.target)
    sent = _dispatches(tx, scope, [gate.gate_ref for gate in gates.values()])
    own = callers.person(tx, scope, caller)
    texts = _texts(tx, scope, words)
    found = {}
    for wake in wakes:
        watch = watches.get(wake.fire_ref)
        if watch is None or wake.fire_ref not in there:
            continue
        gate = gates.get(wake.id)
        audience = {watch, *assigned.get(watch, ())}
        if not _may_see(caller, own, audience, gate):
            continue
        decision, rests_on = None, inputs.get(wake.fire_ref, set())
        if gate is not None:
            decision = decisions.get(gate.gate_ref)
            rests_on = {*rests_on, *inputs.get(gate.gate_ref, ()), *_named(decision)}
            rests_on |= set(_words(gate))
            if decision is not None and gate.rationale_ref is not None:
                decision = {**decision, "rationale": texts.get(gate.rationale_ref)}
        whole = all(_present(there.get(ref)) for ref in rests_on)
        found[wake.id] = _item(
            wake,
            there[watch],
            gate,
            decision if whole else None,
            sent.get(gate.gate_ref) if gate is not None else None,
            texts.get(gate.question_ref or "") if gate is not None and whole else None,
            at,
            whole=whole,
        )
    return found


def _may_see(
    caller: RuntimeCaller, own: str | None, audience: Collection[str], gate: Gate | None
) -> bool:
    if caller.audience is None or own in audience or caller.audience & set(audience):
        return True
    return gate is not None and gate.recipient == caller.principal


def _item(
    wake: Wake,
    watch: Stored,
    gate: Gate | None,
    decision: dict[str, Any] | None,
    sent: Dispatch | None,
    question: str | None,
    at: datetime,
    *,
    whole: bool,
) -> Item:
    word, reason = _state(watch, gate, decision, sent, at)
    clarification = None
    if gate is not None and gate.recipient is not None:
        assert gate.deadline is not None
        clarification = {
            "question_ref": gate.question_ref,
            "question": question,
            "recipient": gate.recipient,
            "deadline": to_text(gate.deadline),
            "state": _ask_state(gate, at),
        }
    if not whole:
        reason = "evidence_unavailable"
    elif decision is not None and len(canonical_json(decision).encode()) > _DECISION:
        decision, reason = None, "decision_too_large"
    attributes = watch.doc.get("attributes") or {}
    return Item(
        wake,
        watch.id,
        str(attributes.get("summary") or watch.id)[:_SUMMARY],
        word,
        reason,
        gate,
        decision,
        sent,
        clarification,
    )


def _state(
    watch: Stored,
    gate: Gate | None,
    decision: Mapping[str, Any] | None,
    sent: Dispatch | None,
    at: datetime,
) -> tuple[State, str | None]:
    if sent is not None:
        # an action has consequences whatever became of the watch
        if sent.reconciled_at is not None:
            return "completed", sent.outcome_status
        return "running", "dispatched"
    if gate is not None and gate.answered_by is not None:
        return "completed", "clarification_answered"
    if watch.state != "active":
        return "cancelled", "watch_not_active"
    if gate is None:
        return "pending", None
    if gate.recipient is not None:
        if _ask_state(gate, at) == "open":
            return "blocked", "awaiting_clarification"
        return "pending", "clarification_expired"
    match None if decision is None else decision.get("decision"):
        case "silence":
            return "completed", "silence"
        case "act":
            return "pending", "awaiting_dispatch"
        case _:
            return "pending", "deferred"


def _ask_state(gate: Gate, at: datetime) -> str:
    if gate.answered_by is not None:
        return "answered"
    assert gate.deadline is not None
    return "open" if at < gate.deadline else "expired"


def _delivery(sent: Dispatch) -> dict[str, Any]:
    return {
        "kind": sent.kind,
        "request_digest": sent.request_digest,
        "dispatched_at": to_text(sent.dispatched_at),
        "delivered_at": None if sent.delivered_at is None else to_text(sent.delivered_at),
        "outcome_ref": sent.outcome_ref,
        "outcome_status": sent.outcome_status,
    }


def _present(stored: Stored | None) -> bool:
    """Whether something that a decision rests on is there, its bytes included."""
    return stored is not None and not (stored.evidence is not None and stored.evidence.purged)


def _watch(refs: Collection[str], there: Mapping[str, Stored]) -> str | None:
    for ref in sorted(refs):
        stored = there.get(ref)
        if stored is not None and stored.type_lineage == _WATCH:
            return ref
    return None


def _decision(gate: Stored | None) -> dict[str, Any] | None:
    for ref, values in ((gate.doc.get("facets") or {}) if gate is not None else {}).items():
        if local_name(ref) == "DecisionRecord":
            return dict(values)
    return None


def _named(decision: Mapping[str, Any] | None) -> set[str]:
    if decision is None:
        return set()
    return {*decision.get("retrieved_refs", ()), *decision.get("used_refs", ())}


def _union(sets: Collection[set[str]] | Any) -> set[str]:
    return set().union(*sets)


def _gates(tx: Transaction, scope: Scope, wakes: Sequence[str]) -> dict[str, Gate]:
    """The last decision about each of some wakes."""
    rows = (
        tx.cursor(row_factory=class_row(Gate))
        .execute(
            """
            select g.wake_id, g.gate_ref, g.rationale_ref, g.question_ref, g.recipient,
                   g.deadline, g.answered_by
              from unnest(%s::text[]) as w(id)
              join lateral (select * from runtime_gate g where g.space_id = %s
                     and g.wake_id = w.id order by number desc limit 1) g on true
            """,
            (list(wakes), scope.space_id),
        )
        .fetchall()
    )
    return {gate.wake_id: gate for gate in rows}


def _dispatches(tx: Transaction, scope: Scope, gates: Sequence[str]) -> dict[str, Dispatch]:
    rows = (
        tx.cursor(row_factory=class_row(Dispatch))
        .execute(
            """
            select d.gate_ref, d.id, d.attempt_ref, d.kind, d.request_digest, d.dispatched_at,
                   d.delivered_at, d.reconciled_at, d.outcome_ref, d.outcome_status
              from unnest(%s::text[]) as w(id)
              join lateral (select * from runtime_dispatch d where d.space_id = %s
                     and d.gate_ref = w.id order by dispatched_at desc, id desc limit 1) d on true
            """,
            (list(gates), scope.space_id),
        )
        .fetchall()
    )
    return {sent.gate_ref: sent for sent in rows}


def _words(gate: Gate) -> list[str]:
    """The evidence that a gate made: why, and what it asks."""
    return [ref for ref in (gate.rationale_ref, gate.question_ref) if ref is not None]


def _texts(tx: Transaction, scope: Scope, refs: Collection[str]) -> dict[str, str]:
    """What gates said, by the evidence that holds it."""
    rows = tx.execute(
        "select id, payload #>> '{inline,content}' from evidence"
        " where space_id = %s and id = any(%s)",
        (scope.space_id, sorted(refs)),
    )
    return {ref: text for ref, text in rows if text is not None}
