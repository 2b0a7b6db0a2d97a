"""What the host holds a turn to, whoever encoded it (seed 003 section 3).

A turn that breaks a gate writes nothing. A model may do better the next time, so its turn is tried
again as often as its job may be, and then fails by that name.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from pipelines.formation.intents import Intent
from pipelines.formation.scoping import SCOPED_TYPES
from storage.graph.changes import (
    ChangeSet,
    CreateAssertion,
    CreateConcept,
    CreateEvidence,
    Transition,
    UpsertConcept,
)
from storage.graph.errors import ConstraintViolation, SupersessionMismatch
from storage.memory_scopes import FACET

_ENDS_CLAIMS = ("superseded", "retracted")


class TurnRefused(ConstraintViolation):
    """What was proposed breaks a gate of its intent; nothing was written."""

    retry = True


class OtherScope(SupersessionMismatch):
    """The claim to be corrected belongs to another context set; trying again changes nothing."""

    retry = False


def check(
    changes: ChangeSet, intent: Intent, contexts: Set[str], facet: Mapping[str, Any] | None
) -> None:
    """Hold a turn to its intent and to its scope; `facet` is None for a turn without a scope.

    Raises `TurnRefused`.
    """
    ended = [c for c in changes.changes if isinstance(c, Transition) and c.to in _ENDS_CLAIMS]
    claims = [c for c in changes.changes if isinstance(c, CreateAssertion)]
    if intent.change in ("world_change", "misrecorded", "unspecified") and ended:
        raise TurnRefused(f"A turn of kind {intent.change} supersedes and retracts nothing.")
    if intent.change == "world_change" and len(claims) > 1:
        raise TurnRefused("A change of the world is written as one claim.")
    if intent.change == "correction" and intent.target_ref is not None:
        others = [c.target for c in ended if not c.target.startswith("?")]
        if any(target != intent.target_ref for target in others):
            raise TurnRefused("Only the claim that the correction names may be superseded.")
    if intent.keeps_only and claims:
        raise TurnRefused("This turn keeps its source and claims nothing.")
    for claim in claims:
        if frozenset(claim.contexts) != contexts:
            raise TurnRefused("Every claim of a turn carries the turn's contexts, and no others.")
    if facet is None:
        return
    for change in changes.changes:
        if not isinstance(change, CreateEvidence | CreateConcept | UpsertConcept):
            continue
        if _carries_scope(change) and dict(change.facets.get(FACET, {})) != dict(facet):
            raise TurnRefused(f"{change.handle} does not carry the scope of its turn.")


def _carries_scope(change: CreateEvidence | CreateConcept | UpsertConcept) -> bool:
    if isinstance(change, CreateEvidence):
        return True
    return change.type in SCOPED_TYPES and not _is_scope(change)


def _is_scope(change: UpsertConcept | CreateConcept) -> bool:
    """The Event that stands for a scope is of no scope itself."""
    return (change.key or "").startswith("memory_scope:")
