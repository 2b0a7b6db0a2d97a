"""Decisions about wakes, as the host's gate records them. A record grants nothing.

A decision is an `action_gate` Activity with a `DecisionRecord`, whose inputs are what fired and
what was used. An ask also fixes whom it asks, and until when. What is asked, and why it was decided
so, are Evidence that the gate made: it is erased with what the decision used, and by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from storage.clock import now
from storage.database import Scope, Transaction
from storage.errors import Conflict, InvalidInput, NotFound
from storage.graph import policies
from storage.graph.changes import Change, ChangeSet, CreateActivity, CreateEvidence
from storage.graph.commit import commit, lock
from storage.runtime import wakes
from storage.runtime.callers import CHANNEL

#: Longest question and rationale, in characters.
MAX_QUESTION = 4096


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked, of which native principal, and until when."""

    question: str
    recipient: str
    deadline: datetime


@dataclass(frozen=True, slots=True)
class Decision:
    """What a gate decided, and why. `ask` goes with the decision "ask" and with no other."""

    decision: Literal["act", "ask", "defer", "silence"]
    rationale: str | None = None
    retrieved_refs: tuple[str, ...] = ()
    used_refs: tuple[str, ...] = ()
    ask: Ask | None = None


def decide(tx: Transaction, scope: Scope, author: str, wake_id: str, decision: Decision) -> str:
    """Record a decision in the caller's transaction; returns the gate's Activity.

    `author` names the gate; its commits are of `runtime:<author>`. Raises `NotFound` for a wake
    that there is not, `Conflict` for one that was answered or acted on already, `InvalidInput`
    for an ask that is none, and what a commit raises.
    """
    space = lock(tx, scope)
    at = now()
    _check(decision, at)
    wake = wakes.get(tx, scope, wake_id)
    if wake is None:
        raise NotFound("There is no such wake.")
    if _settled(tx, scope, wake.id):
        raise Conflict("This wake was answered or acted on already.")
    words = {"?why": decision.rationale, "?question": decision.ask and decision.ask.question}
    policy = policies.policy_of(policies.DEFAULT)
    changes: list[Change] = [
        CreateEvidence(
            handle,
            "agent_statement",
            {"role": "assistant", "name": author, "content": text},
            observed_at=at,
        )
        for handle, text in words.items()
        if text is not None
    ]
    made_here = tuple(handle for handle, text in words.items() if text is not None)
    changes.append(
        CreateActivity(
            "?gate",
            "action_gate",
            "completed",
            at,
            at,
            inputs=tuple(dict.fromkeys((wake.fire_ref, *decision.used_refs))),
            outputs=made_here,
            facets={
                "DecisionRecord": {
                    "decision": decision.decision,
                    "rationale": None,
                    "retrieved_refs": list(decision.retrieved_refs),
                    "used_refs": list(decision.used_refs),
                    "applied_revisions": [],
                    "basis": {
                        "space_id": scope.space_id,
                        "snapshot_seq": space.head_seq,
                        "schema_environment_version": space.schema_env_version,
                        "policy": {"id": policy.id, "version": policy.version},
                    },
                }
            },
        )
    )
    made = commit(tx, scope, f"{CHANNEL}:{author}", ChangeSet(tuple(changes)), tx_class=CHANNEL)
    gate = made.ids["?gate"]
    ask = decision.ask
    tx.execute(
        "insert into runtime_gate (space_id, gate_ref, wake_id, decided_at, rationale_ref,"
        " question_ref, recipient, deadline) values (%s, %s, %s, %s, %s, %s, %s, %s)",
        (
            scope.space_id,
            gate,
            wake.id,
            at,
            made.ids.get("?why"),
            made.ids.get("?question"),
            None if ask is None else ask.recipient,
            None if ask is None else ask.deadline,
        ),
    )
    return gate


def _check(decision: Decision, at: datetime) -> None:
    if (decision.decision == "ask") != (decision.ask is not None):
        raise InvalidInput("An ask says what, whom and until when; nothing else does.")
    if decision.rationale is not None and not 0 < len(decision.rationale) <= MAX_QUESTION:
        raise InvalidInput(f"A rationale has 1 to {MAX_QUESTION} characters.")
    ask = decision.ask
    if ask is None:
        return
    if not ask.question.strip() or len(ask.question) > MAX_QUESTION or not ask.recipient:
        raise InvalidInput(f"A question has 1 to {MAX_QUESTION} characters and a recipient.")
    if ask.deadline <= at:
        raise InvalidInput("The deadline of an ask lies in the future.")


def _settled(tx: Transaction, scope: Scope, wake_id: str) -> bool:
    row = tx.execute(
        """
        select exists (select from runtime_gate g where g.space_id = %(space)s
                          and g.wake_id = %(wake)s
                          and (g.answered_by is not null or exists (
                            select from runtime_dispatch d where d.space_id = %(space)s
                               and d.gate_ref = g.gate_ref)))
        """,
        {"space": scope.space_id, "wake": wake_id},
    ).fetchone()
    assert row is not None
    return bool(row[0])
