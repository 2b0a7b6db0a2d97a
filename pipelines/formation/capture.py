"""Messages become Evidence, verbatim, before anybody interprets them (design section 5.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, get_args

from pipelines.formation.proposal import Conversation, Purpose, Utterance
from storage.canonical import digest
from storage.clock import from_millis, parse_text, to_text
from storage.conversations import Conversation as Record
from storage.memory_scopes import UNSCOPED, MemoryScope
from storage.messages import is_text, named_speaker, text_of
from storage.source_digests import message_digest
from storage.source_identity import SourceIdentity

Role = Literal["system", "user", "assistant", "tool"]

_ROLES: tuple[Role, ...] = get_args(Role)
#: The evidence class of a message, by its role.
CLASSES: dict[Role, str] = {
    "user": "user_statement",
    "assistant": "agent_statement",
    "tool": "tool_result",
    "system": "message",
}
_ROLE_OF: dict[str, Role] = {evidence_class: role for role, evidence_class in CLASSES.items()}
#: Roles whose speakers are people (an assistant is one, as far as claims go).
SPEAKING: frozenset[Role] = frozenset({"user", "assistant"})


@dataclass(frozen=True, slots=True)
class Captured:
    """One message that says something.

    `payload` is the message as it was sent. `digest` tells whether it is the same message again:
    it covers who spoke in which role, what was said, when, and in which scope. `excluded_by` are
    the digests under which it, or the conversation that it came in, may have been excluded.
    `evidence` is the evidence that it is already, when it was not captured now.
    """

    utterance: Utterance
    role: Role
    evidence_class: str
    payload: dict[str, Any]
    digest: str
    excluded_by: frozenset[str]
    evidence: str | None = None


def capture(record: Record, scope: MemoryScope = UNSCOPED) -> tuple[Captured, ...]:
    """The messages of a formation that have a text, in the order in which they were sent.

    A message without a time has the input's, else that of the record (seed 003, FormationInput).
    What is said in a scope is another record than the same words without it. A user without a name
    is who the message's `user` says, else the context's counterparty.
    """
    given = record.extra.get("timestamp")
    fallback = parse_text(given) if isinstance(given, str) else record.created_at
    counterparty = (record.extra.get("context") or {}).get("counterparty")
    captured = (_capture(message, fallback, scope, counterparty) for message in record.messages)
    identity = SourceIdentity.of(record.extra)
    by_source = frozenset() if identity is None else identity.excluded_by
    return tuple(
        replace(found, excluded_by=found.excluded_by | by_source)
        for found in captured
        if found is not None
    )


def recaptured(
    evidence: str,
    evidence_class: str,
    payload: Any,
    content_digest: str | None,
    at: datetime,
    source: str | None = None,
) -> Captured | None:
    """An evidence as the message that it holds; None for one that holds no text.

    `source` is who said it, where the message itself does not name them.
    """
    message = payload if isinstance(payload, dict) else {"content": payload}
    if "role" not in message:
        message = {"role": _ROLE_OF.get(evidence_class, "user"), **message}
    found = _capture({**message, "timestamp": None}, at, UNSCOPED, source)
    if found is None:
        return None
    known = found.digest if content_digest is None else content_digest
    excluded_by = found.excluded_by | {known}
    return replace(
        found,
        evidence_class=evidence_class,
        digest=known,
        excluded_by=excluded_by,
        evidence=evidence,
    )


def conversation_of(
    captured: Sequence[Captured], context: Mapping[str, Any], purpose: Purpose | None = None
) -> Conversation:
    """What an encoder reads: indexes into `messages` are those of `captured`."""
    return Conversation(
        purpose=purpose,
        messages=tuple(c.utterance for c in captured),
        topic=context.get("topic"),
        counterparty=context.get("counterparty"),
        agent=context.get("agent"),
    )


def _capture(
    message: dict[str, Any], fallback: datetime, scope: MemoryScope, counterparty: str | None
) -> Captured | None:
    content = message.get("content")
    text = text_of(content)
    if not text.strip():
        return None
    role = _role(message.get("role"))
    speaker = _speaker(message, role, counterparty)
    millis = message.get("timestamp")
    at = from_millis(millis) if isinstance(millis, int) else fallback
    said = {
        "role": role,
        "speaker": speaker,
        "said": text if is_text(content) else content,
        "at": to_text(at),
    }
    unscoped = digest(said)
    known = digest({**said, "scope": scope.as_json()}) if scope.handles else unscoped
    return Captured(
        Utterance(role=role, speaker=speaker, text=text, at=at),
        role,
        CLASSES[role],
        message,
        known,
        frozenset({known, unscoped, message_digest(message)}),
    )


def _speaker(message: Mapping[str, Any], role: Role, counterparty: str | None) -> str:
    """Who speaks. Two users who give no name are still two, where anything tells them apart."""
    counterparty = (counterparty or "") if role == "user" else ""
    named = named_speaker({**message, "role": role})
    return named or (counterparty if counterparty.strip() else role)


def _role(value: Any) -> Role:
    return next((role for role in _ROLES if role == value), "user")
