"""Digests by which a source is known again, whenever and under whatever key it comes.

They cover who said what, never when or in which batch, so that a source that was erased is refused
however it is sent again (contract memory-interface section 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from storage.canonical import digest


def is_message(payload: Any) -> bool:
    """Whether the payload of an evidence is a message as it was handed over."""
    return isinstance(payload, Mapping) and "content" in payload


def message_digest(message: Mapping[str, Any]) -> str:
    """The digest of one message: role, speaker and content."""
    role = message.get("role")
    return digest(
        {"role": role, "speaker": message.get("name") or role, "content": message.get("content")}
    )


def source_digest(kind: str, messages: Sequence[Mapping[str, Any]]) -> str:
    """The digest of a staged source as it was handed over."""
    return digest({"kind": kind, "messages": [dict(message) for message in messages]})
