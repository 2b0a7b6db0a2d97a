"""Who acts: the principal that a request or a job works for (design section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PrincipalKind = Literal["owner", "agent", "token", "anonymous", "operator", "system"]


#: What the subject of a signed token is written after.
SUBJECT_PREFIX = "user:"


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller, bound to one space.

    `subject` names the caller within the space (`user:…` of a signed token, `token:…`, `anonymous`)
    and owns the handles it makes (idempotency keys, receipts). `scopes` holds `read`, `write` or
    `*`. `labels` limits wiki reads; None means unrestricted.
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


def public_reader(space_id: str) -> Principal:
    """Anyone, in a public space: may read, and only what carries no label."""
    return Principal("anonymous", "anonymous", space_id, frozenset({"read"}), frozenset())


def of_subject(space_id: str, subject: str, scopes: frozenset[str]) -> Principal:
    """The subject of a signed token."""
    return Principal(f"{SUBJECT_PREFIX}{subject}", "agent", space_id, scopes)


def of_space_token(
    space_id: str, name: str, scopes: frozenset[str], labels: frozenset[str] | None
) -> Principal:
    """The holder of a space token; tokens are told apart by their names."""
    return Principal(f"token:{name}", "token", space_id, scopes, labels)


def system(space_id: str) -> Principal:
    """Brainstem itself: schedules and follow-up work."""
    return Principal("$system", "system", space_id, frozenset({"*"}))
