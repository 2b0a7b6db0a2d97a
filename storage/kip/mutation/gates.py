"""What the host holds a model to that writes memory; trusted writers pass freely (seed, part 1).

The gates look at the change set, so that they hold however a statement was spelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from storage.canonical import canonical_json
from storage.graph.changes import (
    Change,
    CreateActivity,
    CreateAssertion,
    Purge,
    PurgePayload,
    SetRetention,
    Transition,
    UpdateRecord,
)
from storage.graph.errors import ConstraintViolation
from storage.graph.schema import local_name
from storage.kip.errors import InvalidRequestEnvelope, NotAuthorized, UnsupportedCapability

#: Facets that runtimes of learning write, never a model.
RUNTIME_FACETS = frozenset(
    {
        "GradingState",
        "OutcomeRecord",
        "WatchState",
        "LeaseState",
        "DecisionRecord",
        "AttemptRecord",
        "TrialRecord",
        "EvaluationRecord",
        "RecallCoverage",
        "RecordingRepair",
        "ProcedureAssessment",
        "RestoreReport",
    }
)


#: Activities that only protected transactions of the host append.
PROTECTED_CLASSES = frozenset({"recording_repair", "erasure_review"})


@dataclass(frozen=True, slots=True)
class Gates:
    """Which gates hold. `model` switches them on.

    `strength_policy` is the pin that a written strength must name, None for any pin.
    """

    model: bool = False
    strength_policy: Mapping[str, Any] | None = None

    def bindings(self, given: Iterable[str], captured: Iterable[str]) -> None:
        """Refuse parameters that would stand in for what the host captured.

        Raises `InvalidRequestEnvelope`.
        """
        if taken := sorted(set(given) & set(captured)):
            raise InvalidRequestEnvelope(f":{taken[0]} is bound to a captured message already.")

    def check(self, changes: Iterable[Change], captured: frozenset[str]) -> None:
        """Hold a model's changes to the gates; `captured` is evidence that the host made.

        Raises `ConstraintViolation`, `NotAuthorized`, `UnsupportedCapability`.
        """
        if not self.model:
            return
        for change in changes:
            self._facets(change)
            match change:
                case CreateActivity(activity_class=name) if name in PROTECTED_CLASSES:
                    raise NotAuthorized(f"An activity of class {name} is the host's to record.")
                case CreateAssertion():
                    self._dated(change, captured)
                case (
                    Transition(target=target)
                    | UpdateRecord(target=target)
                    | SetRetention(target=target)
                    | Purge(target=target)
                    | PurgePayload(target=target)
                ) if target in captured:
                    raise NotAuthorized("A captured message stays as the host captured it.")

    def _dated(self, claim: CreateAssertion, captured: frozenset[str]) -> None:
        """A claim from a message is dated: by when it was made, or by when it began to hold."""
        if (
            claim.asserted_at is None
            and claim.valid.start is None
            and any(citation.evidence in captured for citation in claim.citations)
        ):
            raise ConstraintViolation(
                "A claim that cites a captured message says at, or valid.from.",
                data={"hint": "Write at: the time of the message."},
            )

    def _facets(self, change: Change) -> None:
        written = {**getattr(change, "facets", {})}
        for name in (*written, *getattr(change, "unset_facets", ())):
            if local_name(name) in RUNTIME_FACETS:
                raise UnsupportedCapability(f"{name} is written by its runtime alone.")
        for name, values in written.items():
            if local_name(name) != "MnemonicState" or "memory_strength" not in values:
                continue
            if not {"last_metabolized_at", "strength_policy"} <= set(values):
                raise ConstraintViolation(
                    "memory_strength is written with last_metabolized_at and strength_policy."
                )
            pin = self.strength_policy
            if pin is not None and canonical_json(values["strength_policy"]) != canonical_json(pin):
                raise ConstraintViolation(
                    "strength_policy is the host's.", data={"strength_policy": dict(pin)}
                )
