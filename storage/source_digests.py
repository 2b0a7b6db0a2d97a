"""Digests by which a source is known again, whenever and under whatever key it comes.

They cover who said what, never when or in which batch, so that a source that was erased is refused
however it is sent again (contract memory-interface section 3).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from storage.canonical import digest
from storage.messages import is_text, named_speaker, text_of


def is_message(payload: Any) -> bool:
    """Whether the payload of an evidence is a message as it was handed over."""
    return isinstance(payload, Mapping) and "content" in payload


def message_digest(message: Mapping[str, Any]) -> str:
    """The digest of one message: role, speaker and content.

    How words are written down does not tell: in one text or in parts, with which white space, in
    composed or decomposed characters. What else is in a message with its text does.
    """
    role, content = message.get("role"), message.get("content")
    if content and is_text(content):
        content = " ".join(unicodedata.normalize("NFC", text_of(content)).split())
    speaker = named_speaker(message) or role
    return digest({"role": role, "speaker": speaker, "content": content})


def source_digest(kind: str, messages: Sequence[Mapping[str, Any]]) -> str:
    """The digest of a staged source as it was handed over."""
    return digest({"kind": kind, "messages": [dict(message) for message in messages]})
