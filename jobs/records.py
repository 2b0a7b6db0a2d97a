"""Accepting a job together with the record of the conversation that it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobs import ledger
from jobs.ledger import Accepted
from storage import conversations
from storage.conversations import Collection
from storage.database import Scope, Transaction
from storage.principals import Principal


def accept(
    tx: Transaction,
    principal: Principal,
    kind: Collection,
    messages: Sequence[Mapping[str, Any]],
    *,
    extra: Mapping[str, Any],
    payload: Mapping[str, Any] | None = None,
    thread: str | None = None,
    **options: Any,
) -> Accepted:
    """Accept a job of `kind`, whose payload names the record, and write the record if it is new.

    `options` are those of `jobs.ledger.accept`, which says what is raised and what comes after the
    commit.
    """
    scope = Scope(principal.space_id)
    number = conversations.next_id(tx, scope)
    accepted = ledger.accept(
        tx, principal, kind, {"conversation": number, **(payload or {})}, **options
    )
    if accepted.created:
        conversations.create(
            tx,
            scope,
            number,
            kind,
            job_id=accepted.job.id,
            principal=principal.subject,
            messages=[dict(message) for message in messages],
            thread=thread,
            extra=dict(extra),
        )
    return accepted
