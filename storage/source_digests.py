"""Digests by which a source is known again, whenever and under whatever key it comes.

They cover who said what, never when or in which batch, so that a source that was erased is refused
however it is sent again (contract memory-interface section 3).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from storage.canonical import digest


def is_message(payload: Any) -> bool:
    """Whether the payload of an evidence is a message as it was handed over."""
    return isinstance(payload, Mapping) and "content" in payload


def message_digest(message: Mapping[str, Any]) -> str:
    """The digest of one message: role, speaker and content.

    How words are written down does not tell: in one text or in parts, with which white space, in
    composed or decomposed characters. What else is in a message with its text does.
    """
    role = message.get("role")
    content = message.get("content")
    words = _words(content)
    said = content if words is None else " ".join(unicodedata.normalize("NFC", words).split())
    return digest({"role": role, "speaker": _speaker(message), "content": said})


def _words(content: Any) -> str | None:
    """The text of a content that is nothing but text; None for any other."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        return None
    texts = [_text(part) for part in content]
    return None if None in texts else "\n".join(text for text in texts if text)


def _text(part: Any) -> str | None:
    if isinstance(part, Mapping) and part.get("type") in ("text", "Text"):
        part = part.get("text")
    return part if isinstance(part, str) else None


def _speaker(message: Mapping[str, Any]) -> Any:
    role = message.get("role")
    named = (message.get("name"), message.get("user") if role == "user" else None)
    return next((name for name in named if isinstance(name, str) and name.strip()), role)


def source_digest(kind: str, messages: Sequence[Mapping[str, Any]]) -> str:
    """The digest of a staged source as it was handed over."""
    return digest({"kind": kind, "messages": [dict(message) for message in messages]})
