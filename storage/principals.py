"""Who acts: the principal that a request or a job works for (design section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PrincipalKind = Literal["owner", "agent", "token", "anonymous", "operator", "system"]


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller, bound to one space.

    `subject` names the caller within the space and owns the handles it makes (idempotency keys,
    receipts). `scopes` holds `read`, `write` or `*`. `labels` limits wiki reads; None means
    unrestricted.
    """

    subject: str
    kind: PrincipalKind
    space_id: str
    scopes: frozenset[str]
    labels: frozenset[str] | None = None
    features: frozenset[str] = frozenset()


def anonymous(space_id: str) -> Principal:
    """The caller of a development server, which has no keys yet and listens on loopback only."""
    return Principal("anonymous", "anonymous", space_id, frozenset({"*"}))


def system(space_id: str) -> Principal:
    """Brainstem itself: schedules and follow-up work."""
    return Principal("$system", "system", space_id, frozenset({"*"}))
