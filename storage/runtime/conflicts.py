"""Events that came again with another body: refused, and kept by digest."""

from __future__ import annotations

from typing import Literal

from storage.clock import now
from storage.database import Scope, Transaction


def keep(
    tx: Transaction,
    scope: Scope,
    inbox: Literal["response", "outcome"],
    principal: str,
    event_key: str,
    body_digest: str,
) -> None:
    """Keep that an event was told twice, differently."""
    tx.execute(
        "insert into runtime_conflict (space_id, inbox, principal, event_key, body_digest, at)"
        " values (%s, %s, %s, %s, %s, %s)",
        (scope.space_id, inbox, principal, event_key, body_digest, now()),
    )
