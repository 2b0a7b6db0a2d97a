"""What the Memory Interface asked for, as the payload of a formation job has it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pipelines.formation.proposal import ChangeKind
from storage.memory_scopes import UNSCOPED, MemoryScope

_EVIDENCE = re.compile(r"E-[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Intent:
    """One intent: which history it writes, from which source, in which scope.

    A formation that nobody asked for through the Memory Interface is a plain `observe` without a
    source. `after` are the jobs that must have succeeded before.
    """

    operation: Literal["observe", "revise", "feedback"] = "observe"
    source_ref: str | None = None
    scope: MemoryScope = UNSCOPED
    change: ChangeKind | None = None
    target_ref: str | None = None
    after: tuple[str, ...] = ()

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> Intent:
        """The intent of a job; a revision that names no kind of change is an unspecified one."""
        told = payload.get("intent")
        if told is None:
            return cls()
        change = told.get("change_kind")
        if told["operation"] == "revise" and change is None:
            change = "unspecified"
        return cls(
            told["operation"],
            told["source_ref"],
            MemoryScope.of(told.get("scope")),
            change,
            told.get("target_ref"),
            tuple(told.get("after") or ()),
        )

    @property
    def interface(self) -> bool:
        """Whether the Memory Interface asked for it."""
        return self.source_ref is not None

    @property
    def evidence(self) -> str | None:
        """The evidence that is its source, when that is not a staged one."""
        ref = self.source_ref
        return ref if ref is not None and _EVIDENCE.fullmatch(ref) else None

    @property
    def staged(self) -> str | None:
        """The staged source that it is about."""
        return None if self.evidence is not None else self.source_ref

    @property
    def repairs(self) -> bool:
        """Whether it mends a recording rather than telling a history."""
        return self.change == "misrecorded" and self.target_ref is not None

    @property
    def keeps_only(self) -> bool:
        """Whether the source is kept as evidence and nothing is read out of it."""
        reported = self.change == "misrecorded" and self.target_ref is None
        return self.operation == "feedback" or reported
