"""What a message says, and who says it, in any of the forms that clients send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: What the type of a text part is called.
TEXT_TYPES = frozenset({"text", "Text"})


def part_text(part: Any) -> str | None:
    """The text of a part of a message's content; None for a part that is no text."""
    if isinstance(part, Mapping) and part.get("type") in TEXT_TYPES:
        part = part.get("text")
    return part if isinstance(part, str) else None


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or its text parts, one a line."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(text for part in content if (text := part_text(part)))


def is_text(content: Any) -> bool:
    """Whether a content is nothing but text."""
    if isinstance(content, list):
        return all(part_text(part) is not None for part in content)
    return isinstance(content, str)


def named_speaker(message: Mapping[str, Any]) -> str | None:
    """Who speaks, where the message itself says so: its `name`, else a user's `user`."""
    named = (message.get("name"), message.get("user") if message.get("role") == "user" else None)
    return next((name for name in named if isinstance(name, str) and name.strip()), None)
