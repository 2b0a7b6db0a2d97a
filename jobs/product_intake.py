"""Taking in what a product host hands over, with the identity of its source (seed 003 section 9.1).

For a host that embeds this, beside `pipelines.product`: there is no route to it, and it
authenticates nobody. What is accepted is a formation like any other, a job of the ledger in the
memory lane of its space: it is formed once, whatever is killed meanwhile. The identity is the
host's to say and no message's (`storage.source_identity`); a source that was excluded is refused by
it as well as by its words, here and again when the job runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from jobs import dispatch, ledger, records
from jobs.ledger import Idempotency
from pipelines.product.changes import Caller
from storage import jobs
from storage.clock import to_millis
from storage.database import Database, Scope, Transaction
from storage.errors import InvalidInput, TooLarge
from storage.graph import state
from storage.graph.errors import SourceSuppressed
from storage.jobs import Job
from storage.principals import Principal
from storage.settings import settings
from storage.source_digests import message_digest
from storage.source_identity import MEMBER, SourceIdentity

#: What these jobs are accepted as.
OPERATION = "product_ingest"
#: Longest name, and longest id of an operation, in characters.
MAX_NAME = 256
_ROLES = ("system", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Spoken:
    """One message: who said what, and when (None: when it is taken in).

    Raises `InvalidInput` for a role that is none or a name that is too long, and for no words.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    name: str | None = None
    at: datetime | None = None

    def __post_init__(self) -> None:
        if self.role not in _ROLES:
            raise InvalidInput(f"A role is one of {', '.join(_ROLES)}.", field="role")
        if not self.content.strip():
            raise InvalidInput("A message has words.", field="content")
        if self.name is not None and not 0 < len(self.name) <= MAX_NAME:
            raise InvalidInput(f"A name has 1 to {MAX_NAME} characters.", field="name")

    def as_message(self) -> dict[str, Any]:
        """As the record of a conversation keeps it."""
        told: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.name is not None:
            told["name"] = self.name
        if self.at is not None:
            told["timestamp"] = to_millis(self.at)
        return told


@dataclass(frozen=True, slots=True)
class Ingested:
    """What was accepted; `job` is as it was read, with its result once it has ended."""

    operation_id: str
    conversation: int
    job: Job


def ingest_product(
    database: Database,
    scope: Scope,
    caller: Caller,
    operation_id: str,
    messages: Sequence[Spoken],
    source: SourceIdentity,
    *,
    topic: str | None = None,
) -> Ingested:
    """Accept messages to be remembered; the same operation again tells how far that is.

    Durable when it returns. Raises `SourceSuppressed` where the source, or one in its chain, or one
    of the messages is excluded, `IdempotencyConflict` for an operation that was something else,
    `InvalidInput`, `TooLarge`, and `NotFound` for an unknown space.
    """
    given = _bounded(operation_id, messages, topic)
    with database.transaction(scope) as tx:
        accepted = _accept(tx, scope, caller, operation_id, given, source, topic)
    if accepted.created:
        dispatch.announce([accepted.job])
    return Ingested(operation_id, int(accepted.job.payload["conversation"]), accepted.job)


def _bounded(
    operation_id: str, messages: Sequence[Spoken], topic: str | None
) -> list[dict[str, Any]]:
    limits = settings()
    if not 0 < len(operation_id) <= MAX_NAME or len(topic or "") > MAX_NAME:
        raise InvalidInput(f"An operation and a topic have at most {MAX_NAME} characters.")
    if not messages:
        raise InvalidInput("There is no message.", field="messages")
    if len(messages) > limits.max_messages:
        raise TooLarge(f"A formation takes at most {limits.max_messages} messages.")
    if any(len(one.content) > limits.max_message_chars for one in messages):
        raise TooLarge(f"A message has at most {limits.max_message_chars} characters.")
    return [one.as_message() for one in messages]


def _accept(
    tx: Transaction,
    scope: Scope,
    caller: Caller,
    operation_id: str,
    messages: list[dict[str, Any]],
    source: SourceIdentity,
    topic: str | None,
) -> ledger.Accepted:
    principal = Principal(caller.principal, "agent", scope.space_id, frozenset({"write"}))
    extra: dict[str, Any] = {MEMBER: source.as_json()}
    if topic is not None:
        extra["context"] = {"topic": topic}
    known = jobs.by_idempotency(tx, scope, principal.subject, OPERATION, operation_id)
    if known is None:
        # what was accepted before is answered for, whatever was excluded since
        _refuse_excluded(tx, scope, messages, source)
    return records.accept(
        tx,
        principal,
        "formation",
        messages,
        extra=extra,
        operation=OPERATION,
        idempotency=Idempotency(operation_id, {"messages": messages, **extra}),
    )


def _refuse_excluded(
    tx: Transaction, scope: Scope, messages: list[dict[str, Any]], source: SourceIdentity
) -> None:
    digests = {message_digest(message) for message in messages}
    if state.suppressed(tx, scope, source.excluded_by | digests):
        raise SourceSuppressed(
            "This source was excluded and is not taken in again.",
            data={"reason": "source_suppressed"},
        )
