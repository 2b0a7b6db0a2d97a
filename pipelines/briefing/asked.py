"""What a briefing is asked for, as the payload of its job says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from storage.clock import parse_text
from storage.memory_scopes import MemoryScope

Mode = Literal["answer", "action", "resume", "attention"]
#: Tokens of a briefing, and of an expansion, unless the caller says.
BRIEFING_TOKENS, EXPANSION_TOKENS = 4096, 65_536


@dataclass(frozen=True, slots=True)
class Asked:
    """A recall after the door: its receipts are the caller's own and have been waited for.

    `after` are their progress views, `written` the elements that the finished ones wrote. `target`
    is an element, or the handle of a kept basis or of an item of one.
    """

    caller: str
    mode: Mode
    query: str | None
    goal: str | None
    target: str | None
    detailed: bool
    scope: MemoryScope
    valid_at: datetime | None
    as_of: int | None
    after: tuple[dict[str, Any], ...]
    written: tuple[str, ...]
    cursor: str | None
    tokens: int | None

    @classmethod
    def of(cls, caller: str, payload: Mapping[str, Any]) -> Asked:
        """Read the payload of a `briefing` job."""
        time = payload.get("time") or {}
        valid_at = time.get("valid_at")
        return cls(
            caller=caller,
            mode=payload.get("mode", "answer"),
            query=payload.get("query"),
            goal=payload.get("goal"),
            target=payload.get("target_ref"),
            detailed=payload.get("detail") == "evidence",
            scope=MemoryScope.of(payload.get("scope")),
            valid_at=None if valid_at is None else parse_text(valid_at),
            as_of=time.get("as_of_seq"),
            after=tuple(payload.get("after") or ()),
            written=tuple(payload.get("written") or ()),
            cursor=payload.get("attention_cursor"),
            tokens=payload.get("max_output_tokens"),
        )

    @property
    def question(self) -> str:
        """All that the memory is searched by; empty where nothing is asked in words."""
        return "\n".join(part for part in (self.query, self.goal) if part)

    @property
    def pending(self) -> tuple[str, ...]:
        """Receipts whose work has not ended."""
        return tuple(
            one["receipt_ref"] for one in self.after if one["phase"] in ("recorded", "processed")
        )

    @property
    def failed(self) -> tuple[str, ...]:
        """Receipts whose work has failed."""
        return tuple(one["receipt_ref"] for one in self.after if one["phase"] == "failed")
