"""The epistemic policies known here: how claims become belief, as data.

A policy says which claims count, what the trust in their actors makes of them, and by which rules
it prefers one value of a slot to its rivals. None weighs anything: no score enters, and two readers
of the same claims under the same policy believe the same. What holds in time (bounds, succession)
is no matter of policy (contract kip-engine section 4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from storage.graph.errors import ProjectionPolicyUnavailable

Rule = Literal["context_specificity", "first_person_testimony", "recency"]
Weight = Literal["strong", "weak"]

STRUCTURAL = "kip:structural"
MEMORY_DEFAULT = "kip:memory-default"
TEST_DETERMINISTIC = "test-deterministic"
#: What a question that names no policy is answered by: recall's own, so that a query and a recall
#: of the same memory believe the same.
DEFAULT = MEMORY_DEFAULT

#: Modes that count by themselves; the others only on request.
ORDINARY_MODES = frozenset({"observed", "stated", "inferred"})
#: The trust class of an actor whom no trust record names.
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Policy:
    """One version of one policy.

    `imported_from` are the trust classes whose imported claims count. `trust` says what the claims
    of each trust class are worth, absent classes nothing; an empty table says that trust plays no
    part. `precedence` are the rules by which a conflict in a slot is resolved, in order.
    """

    id: str
    version: str
    name: str
    description: str
    modes: frozenset[str] = ORDINARY_MODES
    imported_from: frozenset[str] = frozenset()
    trust: Mapping[str, Weight] = field(default_factory=dict)
    precedence: tuple[Rule, ...] = ()

    @property
    def uses_trust(self) -> bool:
        """Whether the trust in an actor matters at all."""
        return bool(self.trust)

    def weight(self, trust: str) -> Weight | None:
        """What a claim by an actor of that trust class is worth; None counts for nothing."""
        return self.trust.get(trust) if self.trust else "strong"

    def exclusion(self, mode: str, trust: str, asked: Iterable[str] = ()) -> str | None:
        """Why a claim of that mode and trust does not count, or None when it does.

        `asked` are modes that the question takes beyond the policy's own.
        """
        if mode == "imported":
            if trust not in self.imported_from:
                return "imported_not_endorsed"
        elif mode not in self.modes and mode not in asked:
            return f"{mode}_not_requested"
        return None if self.weight(trust) else "untrusted_source"

    def described(self) -> dict[str, Any]:
        """The policy as a JSON document (DESCRIBE EPISTEMIC POLICY)."""
        return {
            "id": self.id,
            "version": self.version,
            "name": self.name,
            "description": self.description,
            "default": self.id == DEFAULT,
            "deterministic": True,
            "score_model": "none",
            "score_semantics": None,
            "modes": sorted(self.modes),
            "modes_on_request": ["hypothetical", "predicted"],
            "imported_from_trust_classes": sorted(self.imported_from),
            "trust_classes": dict(sorted(self.trust.items())),
            "precedence": {
                "order": list(self.precedence),
                "outranked_status": "uncertain" if self.precedence else None,
            },
            "confidence_affects_status": False,
            "independence": "provenance_root_group",
        }


_ALL = (
    Policy(
        id=MEMORY_DEFAULT,
        version="1",
        name="Standard memory policy",
        description=(
            "The structural policy, and three rules for values of one slot that exclude each "
            "other: the more specific context, then the subject's own word against hearsay, then "
            "the value most recently claimed to hold. What loses is uncertain, never rejected."
        ),
        precedence=("context_specificity", "first_person_testimony", "recency"),
    ),
    Policy(
        id=STRUCTURAL,
        version="1",
        name="Structural policy",
        description=(
            "Lifecycle, world time, visibility, mode, stance and the independence of sources "
            "alone. Values of one slot that exclude each other stay contested."
        ),
    ),
    Policy(
        id=TEST_DETERMINISTIC,
        version="1",
        name="Deterministic conformance policy",
        description=(
            "For portable conformance tests only: the structural policy over trust classes. "
            "Claims of trusted actors decide, those of weakly trusted or unknown actors leave a "
            "belief uncertain at best, those of untrusted actors count for nothing."
        ),
        imported_from=frozenset({"trusted"}),
        trust=MappingProxyType(
            {"trusted": "strong", "weak": "weak", "low_trust": "weak", UNKNOWN: "weak"}
        ),
    ),
)
_BY_ID: Mapping[str, Policy] = MappingProxyType({policy.id: policy for policy in _ALL})


def policies() -> tuple[Policy, ...]:
    """Every policy, in order of its id."""
    return tuple(sorted(_ALL, key=lambda policy: policy.id))


def policy_of(policy_id: str) -> Policy:
    """The policy of that id. Raises `ProjectionPolicyUnavailable`."""
    found = _BY_ID.get(policy_id)
    if found is None:
        raise ProjectionPolicyUnavailable(f"There is no epistemic policy {policy_id!r}.")
    return found
