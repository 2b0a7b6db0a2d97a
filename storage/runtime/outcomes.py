"""Measurements of what came of an attempt, by observers under a registered contract.

A measurement that keeps the contract becomes, in one commit, Evidence with an `OutcomeRecord` and
an `outcome_observation` Activity; terminal evidence then closes the dispatch, in a step of its own
that a repeated request makes up for. One that comes too late becomes Evidence without such a record
and is no outcome of anything: it stays for who looks into the matter, its safety signal above all.
Attempts of learning are graded by a learning controller, and there is none here.

What memory contributed (`utility`) and the verification that a payload announces are kept within
the evidence, as they were told. Neither is turned into a score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from psycopg.rows import class_row

from storage.canonical import digest
from storage.clock import now, to_millis, to_text
from storage.database import Database, Scope, Transaction
from storage.errors import Conflict, IdempotencyConflict, InvalidInput, NotAuthorized, NotFound
from storage.graph import state
from storage.graph.changes import ChangeSet, CreateActivity, CreateEvidence, Link
from storage.graph.commit import commit, lock
from storage.ids import new_id
from storage.kip.errors import UnsupportedCapability
from storage.runtime import attempts, callers, conflicts
from storage.runtime.attempts import Attempt
from storage.runtime.callers import CHANNEL, RuntimeCaller
from storage.runtime.configuration import ObserverContract

OutcomeStatus = Literal["success", "partial", "failure", "aborted", "unknown"]
FORMAT = "anda-brain:observation-receipt-v1"
#: The class of evidence that came too late to be an outcome.
_MATERIAL = "artifact"


@dataclass(frozen=True, slots=True)
class Observation:
    """A measurement as it was told. `safety_signal` names a danger that was seen.

    `utility` has a `witness` (a ContributionWitness) or a `witness_ref`.
    """

    space_instance: str
    attempt_ref: str
    configuration_digest: str
    event_key: str
    observed_at: datetime
    metric: str
    window: str
    terminal: bool
    outcome_status: OutcomeStatus
    magnitude: float | None
    payload: Any
    correction_of: str | None
    safety_signal: str | None
    utility: Mapping[str, Any] | None = None

    @property
    def digest(self) -> str:
        """The digest of all that it says."""
        told = {} if self.utility is None else {"utility": self.utility}
        return digest(
            {
                **told,
                "space_instance": self.space_instance,
                "attempt_ref": self.attempt_ref,
                "observer_configuration_digest": self.configuration_digest,
                "event_key": self.event_key,
                "observed_at": to_text(self.observed_at),
                "metric": self.metric,
                "window": self.window,
                "terminal": self.terminal,
                "outcome_status": self.outcome_status,
                "magnitude": self.magnitude,
                "payload": self.payload,
                "correction_of": self.correction_of,
                "safety_signal": self.safety_signal,
            }
        )


@dataclass(frozen=True, slots=True)
class Receipt:
    """What came of a measurement."""

    receipt_id: str
    observer: str
    event_key: str
    body_digest: str
    attempt_ref: str
    received_at: datetime
    observed_at: datetime
    status: str
    native_committed: bool
    terminal: bool
    outcome_status: OutcomeStatus
    outcome_ref: str | None
    observation_ref: str | None
    reason: str | None
    safety_pending: bool

    def as_json(self, space_id: str, instance: str) -> dict[str, Any]:
        """The wire form, `ObservationReceipt` of seed 003."""
        return {
            "format": FORMAT,
            "receipt_id": self.receipt_id,
            "scope": {"space_id": space_id, "space_instance": instance},
            "event_key": self.event_key,
            "body_digest": self.body_digest,
            "observer": self.observer,
            "received_at_ms": to_millis(self.received_at),
            "observed_at": to_text(self.observed_at),
            "status": self.status,
            "native_committed": self.native_committed,
            # nobody here learns from it
            "learning_eligible": False,
            "outcome_status": self.outcome_status,
            "outcome_ref": self.outcome_ref,
            "observation_ref": self.observation_ref,
            "reason": self.reason,
            "safety_pending": self.safety_pending,
        }


#: The columns of `Receipt` in `runtime_outcome`.
COLUMNS = (
    "receipt_id, observer, event_key, body_digest, attempt_ref, received_at, observed_at, status,"
    " native_committed, terminal, outcome_status, outcome_ref, observation_ref, reason,"
    " safety_pending"
)


def observe(
    database: Database,
    scope: Scope,
    observer: RuntimeCaller,
    instance: str,
    observation: Observation,
) -> Receipt:
    """Take a measurement, in transactions of its own; the same one again has the same receipt.

    Raises `NotAuthorized` for who is no observer under that contract or grades its own action,
    `NotFound` for an attempt that there is not, `Conflict` for another space instance and for what
    the attempt or the contract does not allow, `InvalidInput` for a time to come,
    `IdempotencyConflict` for an event that was told differently before (that is kept), and
    `UnsupportedCapability` for an attempt of learning.
    """
    contract = contract_of(observer, observation.configuration_digest)
    if (contract.metric, contract.window) != (observation.metric, observation.window):
        raise Conflict("The contract is about another metric or window.")
    if observation.space_instance != instance:
        raise Conflict("This is not that instance of the space.")
    body_digest = observation.digest
    with database.transaction(scope) as tx:
        lock(tx, scope)
        at = now()
        known = _known(tx, scope, observer.principal, observation.event_key)
        if known is None:
            known = _take(tx, scope, observer, contract, observation, body_digest, at)
        elif known.body_digest != body_digest:
            conflicts.keep(
                tx, scope, "outcome", observer.principal, observation.event_key, body_digest
            )
            known = None
    if known is None:
        raise IdempotencyConflict("This event was told differently before; use a new event_key.")
    if known.native_committed and known.terminal and known.outcome_status != "unknown":
        assert known.outcome_ref is not None
        with database.transaction(scope) as tx:
            attempts.reconcile(
                tx, scope, known.attempt_ref, known.outcome_ref, known.outcome_status, now()
            )
    return known


def contract_of(observer: RuntimeCaller, configuration_digest: str) -> ObserverContract:
    """The contract under which a caller measures now; raises `NotAuthorized`."""
    contract = observer.runtime.contract(observer.principal, configuration_digest)
    if not observer.signed or "record_outcome" not in observer.roles or contract is None:
        raise NotAuthorized("This caller is not a registered observer of that configuration.")
    return contract


def _known(tx: Transaction, scope: Scope, observer: str, event_key: str) -> Receipt | None:
    return (
        tx.cursor(row_factory=class_row(Receipt))
        .execute(
            f"select {COLUMNS} from runtime_outcome"
            " where space_id = %s and observer = %s and event_key = %s",
            (scope.space_id, observer, event_key),
        )
        .fetchone()
    )


def _take(
    tx: Transaction,
    scope: Scope,
    observer: RuntimeCaller,
    contract: ObserverContract,
    observation: Observation,
    body_digest: str,
    at: datetime,
) -> Receipt:
    attempt = _attempt(tx, scope, observer, contract, observation, at)
    earlier = _corrected(tx, scope, observer, observation)
    _check_witness(tx, scope, observer, observation, attempt)
    late = at - observation.observed_at > timedelta(seconds=contract.lateness_seconds)
    receipt = new_id("obs")
    record = None if late else _record(contract, observation, attempt, receipt)
    evidence, activity = _commit(tx, scope, observer, observation, attempt, earlier, record, at)
    kept = Receipt(
        receipt,
        observer.principal,
        observation.event_key,
        body_digest,
        attempt.attempt_ref,
        at,
        observation.observed_at,
        "late" if late else "recorded" if observation.correction_of is None else "corrected",
        not late,
        observation.terminal,
        observation.outcome_status,
        None if late else evidence,
        activity,
        "told later than the contract allows" if late else None,
        observation.safety_signal is not None,
    )
    tx.execute(
        f"insert into runtime_outcome (space_id, contract_digest, correction_of, {COLUMNS})"
        f" values (%s, %s, %s, {', '.join(['%s'] * 15)})",
        (
            scope.space_id,
            contract.digest,
            observation.correction_of,
            *(getattr(kept, name.strip()) for name in COLUMNS.split(",")),
        ),
    )
    return kept


def _attempt(
    tx: Transaction,
    scope: Scope,
    observer: RuntimeCaller,
    contract: ObserverContract,
    observation: Observation,
    at: datetime,
) -> Attempt:
    """The attempt that is measured, where everything about it is as it must be."""
    attempt = attempts.find(tx, scope, observation.attempt_ref)
    record = attempts.record_of(tx, scope, observation.attempt_ref, "AttemptRecord")
    if attempt is None or not record:
        raise NotFound("There is no such attempt here.")
    _check_learning(record)
    decision = attempts.record_of(tx, scope, attempt.gate_ref, "DecisionRecord")
    if record["decision_ref"] != attempt.gate_ref or decision.get("decision") != "act":
        raise Conflict("No decision to act is behind this attempt.")
    if _author(tx, scope, attempt.attempt_ref) != (attempt.author, CHANNEL):
        raise Conflict("This attempt was not recorded by the runtime that sent it.")
    if attempt.author == observer.author or attempt.control_domain == contract.control_domain:
        raise NotAuthorized("Who acts does not measure what came of it.")
    if record["context"].get("task_family") != contract.task_family:
        raise Conflict("The contract is about another family of tasks.")
    if observation.observed_at > at:
        raise InvalidInput("An observation cannot lie in the future.", field="observed_at")
    if observation.observed_at < attempt.dispatched_at:
        raise Conflict("The attempt was sent later than that.")
    if attempt.kind == "inbox" and observation.outcome_status == "success":
        _check_delivery(attempt, observation)
    return attempt


def _check_learning(record: Mapping[str, Any]) -> None:
    if record.get("trial_ref") is not None or "assignment" in record:
        raise UnsupportedCapability(
            "This attempt belongs to learning, and no learning controller is installed."
        )


def _check_delivery(attempt: Attempt, observation: Observation) -> None:
    """Success of a delivery into the inbox: what was delivered, and not before it was."""
    payload = observation.payload
    told = payload.get("delivery_digest") if isinstance(payload, dict) else None
    if told != attempt.request_digest:
        raise Conflict("payload.delivery_digest is not the digest of what was delivered.")
    if attempt.delivered_at is None or observation.observed_at < attempt.delivered_at:
        raise Conflict("Nothing was delivered by then.")


def _author(tx: Transaction, scope: Scope, element: str) -> tuple[str, str] | None:
    row = tx.execute(
        "select origin ->> 'principal_id', origin ->> 'channel' from element"
        " where space_id = %s and id = %s",
        (scope.space_id, element),
    ).fetchone()
    return None if row is None else (row[0], row[1])


def _corrected(
    tx: Transaction, scope: Scope, observer: RuntimeCaller, observation: Observation
) -> str | None:
    """The evidence of the earlier event that this one corrects, as far as it is there.

    It stays as it is. Of an event that came too late, or whose evidence was erased, there is none;
    it can be corrected all the same.
    """
    if observation.correction_of is None:
        return None
    earlier = _known(tx, scope, observer.principal, observation.correction_of)
    if earlier is None or earlier.attempt_ref != observation.attempt_ref:
        raise Conflict("correction_of names no earlier event of this observer and attempt.")
    ref = earlier.outcome_ref
    return ref if ref is not None and ref in state.load(tx, scope, [ref]) else None


def _check_witness(
    tx: Transaction,
    scope: Scope,
    observer: RuntimeCaller,
    observation: Observation,
    attempt: Attempt,
) -> None:
    """A witness is about this very attempt, or evidence of the observer's own since then."""
    if observation.utility is None:
        return
    witness = observation.utility.get("witness")
    if witness is not None:
        about = (witness["attempt_ref"], witness["decision_ref"])
        if about != (attempt.attempt_ref, attempt.gate_ref):
            raise Conflict("The witness is about another attempt or decision.")
        if witness["recall_receipt"]["scope"] != {
            "space_id": scope.space_id,
            "space_instance": observation.space_instance,
        }:
            raise Conflict("The witness is about a recall elsewhere.")
        return
    ref = observation.utility["witness_ref"]
    author = None if ref not in state.load(tx, scope, [ref]) else _author(tx, scope, ref)
    if (
        author is None
        or not observer.wrote(author[0])
        or _made(tx, scope, ref) <= _made(tx, scope, attempt.attempt_ref)
    ):
        raise Conflict("witness_ref names no evidence of this observer since the attempt.")


def _made(tx: Transaction, scope: Scope, element: str) -> int:
    """The sequence of the commit that made an element."""
    row = tx.execute(
        "select created_seq from element where space_id = %s and id = %s",
        (scope.space_id, element),
    ).fetchone()
    assert row is not None
    return int(row[0])


def _record(
    contract: ObserverContract, observation: Observation, attempt: Attempt, receipt: str
) -> dict[str, Any]:
    """The `OutcomeRecord` of a measurement; what was not measured is not in it."""
    record: dict[str, Any] = {
        "task_family": contract.task_family,
        "attempt_ref": attempt.attempt_ref,
        "metric": contract.metric,
        "window": contract.window,
        "terminal": observation.terminal,
        "observation_key": receipt,
        "observer_config_digest": contract.configuration_digest,
        "outcome_status": observation.outcome_status,
    }
    if observation.magnitude is not None:
        record["magnitude"] = observation.magnitude
    return record


def _commit(
    tx: Transaction,
    scope: Scope,
    observer: RuntimeCaller,
    observation: Observation,
    attempt: Attempt,
    earlier: str | None,
    record: Mapping[str, Any] | None,
    at: datetime,
) -> tuple[str, str]:
    """The evidence and the activity of an observation; returns their ids.

    Without a `record` it is material, and no outcome.
    """
    payload = {
        "measured": observation.payload,
        "correction_of": earlier,
        "safety_signal": observation.safety_signal,
    }
    if observation.utility is not None:
        payload["utility"] = dict(observation.utility)
    inputs = (attempt.attempt_ref, *(() if earlier is None else (earlier,)))
    changes = (
        callers.person_change(observer, "?observer"),
        CreateEvidence(
            "?outcome",
            _MATERIAL if record is None else "outcome",
            payload,
            observed_at=observation.observed_at,
            facets={} if record is None else {"OutcomeRecord": dict(record)},
            links=(Link("source", "?observer"),),
        ),
        CreateActivity(
            "?observation",
            "late_observation" if record is None else "outcome_observation",
            "completed",
            at,
            at,
            inputs=inputs,
            outputs=("?outcome",),
            associated_actors=("?observer",),
        ),
    )
    made = commit(tx, scope, observer.author, ChangeSet(changes), tx_class=CHANNEL)
    return made.ids["?outcome"], made.ids["?observation"]
