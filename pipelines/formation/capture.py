"""Messages become Evidence, verbatim, before anybody interprets them (design section 5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from pipelines.formation.proposal import Conversation, Utterance
from storage.canonical import digest
from storage.clock import from_millis, parse_text, to_text
from storage.conversations import Conversation as Record

Role = Literal["system", "user", "assistant", "tool"]

_ROLES: tuple[Role, ...] = get_args(Role)
#: The evidence class of a message, by its role.
CLASSES: dict[Role, str] = {
    "user": "user_statement",
    "assistant": "agent_statement",
    "tool": "tool_result",
    "system": "message",
}
#: Roles whose speakers are people (an assistant is one, as far as claims go).
SPEAKING: frozenset[Role] = frozenset({"user", "assistant"})


@dataclass(frozen=True, slots=True)
class Captured:
    """One message that says something.

    `payload` is the message as it was sent. `digest` tells whether it is the same message again:
    it covers who spoke in which role, what was said, and when.
    """

    utterance: Utterance
    role: Role
    evidence_class: str
    payload: dict[str, Any]
    digest: str


def capture(record: Record) -> tuple[Captured, ...]:
    """The messages of a formation that have a text, in the order in which they were sent.

    A message without a time has the input's, else that of the record (seed 003, FormationInput).
    """
    given = record.extra.get("timestamp")
    fallback = parse_text(given) if isinstance(given, str) else record.created_at
    captured = (_capture(message, fallback) for message in record.messages)
    return tuple(found for found in captured if found is not None)


def conversation_of(captured: Sequence[Captured], context: dict[str, Any]) -> Conversation:
    """What an encoder reads: indexes into `messages` are those of `captured`."""
    return Conversation(
        messages=tuple(c.utterance for c in captured),
        topic=context.get("topic"),
        counterparty=context.get("counterparty"),
        agent=context.get("agent"),
    )


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or its text parts, one a line."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(text for part in content if (text := _part_text(part)))


def _part_text(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and part.get("type") in ("text", "Text"):
        text = part.get("text")
        return text if isinstance(text, str) else None
    return None


def _capture(message: dict[str, Any], fallback: datetime) -> Captured | None:
    content = message.get("content")
    text = text_of(content)
    if not text.strip():
        return None
    role = _role(message.get("role"))
    speaker = str(message.get("name") or role)
    millis = message.get("timestamp")
    at = from_millis(millis) if isinstance(millis, int) else fallback
    plain = isinstance(content, str) or all(_part_text(part) is not None for part in content or ())
    return Captured(
        Utterance(role=role, speaker=speaker, text=text, at=at),
        role,
        CLASSES[role],
        message,
        digest(
            {
                "role": role,
                "speaker": speaker,
                "said": text if plain else content,
                "at": to_text(at),
            }
        ),
    )


def _role(value: Any) -> Role:
    return next((role for role in _ROLES if role == value), "user")
