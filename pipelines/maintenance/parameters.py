"""What one run goes by: its explicit parameters, then the space's policy, then the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from storage.memory_policy import MemoryPolicy


@dataclass(frozen=True, slots=True)
class Parameters:
    """The same for settlement and for a model (seed 003, POST /maintenance)."""

    stale_event_threshold_days: int
    unconsolidated_max_backlog: int
    orphan_max_count: int

    def as_json(self) -> dict[str, int]:
        """The members by name."""
        return {name: getattr(self, name) for name in self.__slots__}


def effective(policy: MemoryPolicy, explicit: Mapping[str, Any]) -> Parameters:
    """The policy's values, with those that the request gave in their place; nothing is stored."""
    told = {
        name: explicit[name] if explicit.get(name) is not None else getattr(policy, name)
        for name in Parameters.__slots__
    }
    return Parameters(**told)
