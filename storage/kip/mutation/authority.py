"""Who writes: the principal, the actor it is bound to, and what it may do (contract section 8).

A principal is whoever the host let in; the actor is the concept that it speaks as. Recording what
somebody said is not speaking as them: the first needs `record_attributed_assertion`, the second
`assert`, or `assert_as_actor` for an actor that is kept for somebody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from storage.graph.changes import (
    Change,
    CreateActivity,
    CreateAssertion,
    CreateConcept,
    CreateEvidence,
    DefineSymbol,
    EnsureProposition,
    MergeConcept,
    Purge,
    PurgePayload,
    SetRetention,
    Transition,
    UpdateConcept,
    UpdateRecord,
    UpsertConcept,
)
from storage.kip.errors import ActorBindingRequired, KipError, NotAuthorized
from storage.kip.mutation.gates import Gates

#: Everything that a writer may be allowed.
PERMISSIONS = frozenset(
    {
        "create",
        "update",
        "assert",
        "record_attributed_assertion",
        "assert_as_actor",
        "retract_own",
        "supersede_own",
        "merge_identity",
        "manage_retention",
        "manage_legal_hold",
        "archive",
        "tombstone",
        "purge",
        "propose_schema",
    }
)
_BY_OPERATION: Mapping[type, str] = {
    CreateConcept: "create",
    UpsertConcept: "create",
    EnsureProposition: "create",
    CreateEvidence: "create",
    CreateActivity: "create",
    UpdateConcept: "update",
    UpdateRecord: "update",
    MergeConcept: "merge_identity",
    SetRetention: "manage_retention",
    Purge: "purge",
    PurgePayload: "purge",
    DefineSymbol: "propose_schema",
}
_BY_STATE: Mapping[str, str] = {
    "archived": "archive",
    "tombstoned": "tombstone",
    "retracted": "retract_own",
    "superseded": "supersede_own",
}


class RetractionNotAuthorized(KipError):
    """Only the actor of a claim withdraws it, or somebody who records what that actor said."""

    code = "RetractionNotAuthorized"
    status = 403


@dataclass(frozen=True, slots=True)
class Authority:
    """A writer.

    `actor` is the id of the concept that the principal is bound to, None for no binding;
    `reserved` are the ids of actors that nobody may speak as who is not bound to them.
    """

    principal: str
    actor: str | None = None
    permissions: frozenset[str] = PERMISSIONS
    reserved: frozenset[str] = frozenset()
    gates: Gates = field(default_factory=Gates)

    def need(self, permission: str) -> None:
        """Raises `NotAuthorized` for a permission that the writer lacks."""
        if permission not in self.permissions:
            raise NotAuthorized(
                f"This needs the permission {permission}.", data={"permission": permission}
            )

    def change(self, change: Change) -> None:
        """Check what an operation needs, whoever the actors are. Raises `NotAuthorized`."""
        if isinstance(change, Transition):
            self.need(_BY_STATE.get(change.to, "update"))
        elif not isinstance(change, CreateAssertion):
            self.need(_BY_OPERATION[type(change)])
        if isinstance(change, SetRetention) and "legal_hold" in change.values:
            self.need("manage_legal_hold")

    def speaks(self, actor: str) -> None:
        """Check a claim by that actor. Raises `NotAuthorized`, `ActorBindingRequired`."""
        if actor in self.reserved:
            self.need("assert_as_actor")
            if actor != self.actor:
                raise ActorBindingRequired("Only who is bound to this actor speaks as it.")
        elif actor == self.actor:
            self.need("assert")
        else:
            self.need("record_attributed_assertion")

    def revokes(self, actor: str) -> None:
        """Check the end of that actor's claim. Raises `RetractionNotAuthorized`."""
        if actor != self.actor and not self.permissions & {
            "record_attributed_assertion",
            "assert_as_actor",
        }:
            raise RetractionNotAuthorized("This claim is somebody else's.")
