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
    """Keep that an event was told twice, differently; once for each other body.

    In a transaction that holds the lock of the space.
    """
    key = (scope.space_id, inbox, principal, event_key, body_digest)
    tx.execute(
        """
        insert into runtime_conflict (space_id, inbox, principal, event_key, body_digest, at)
        select %s, %s, %s, %s, %s, %s where not exists (
          select from runtime_conflict where space_id = %s and inbox = %s and principal = %s
             and event_key = %s and body_digest = %s)
        """,
        (*key, now(), *key),
    )
