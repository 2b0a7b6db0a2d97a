"""What of the Memory Interface this server offers, as its descriptor says it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from storage.database import Scope
from storage.settings import settings

TOKENIZER = "o200k_base@tiktoken-rs-0.12"
MAX_OUTPUT_TOKENS = 4096
MIN_RESPONSE_TOKENS = 256
#: What the bundle `memory_basic` consists of.
BASIC = frozenset({"observe", "recall", "revise", "feedback", "forget"})

_served: Callable[[], Collection[str]] = tuple


def served_by(intents: Callable[[], Collection[str]]) -> None:
    """Say where it is written which intents this process answers.

    A process in which nobody says so (a worker, a command) answers none, and its descriptor says
    that.
    """
    global _served
    _served = intents


def descriptor(scope: Scope | None = None) -> dict[str, Any]:
    """The descriptor of a space, or of the server (seed 003, MemoryDescriptor).

    A bundle is named when all of its intents are answered.
    """
    told: dict[str, Any] = {
        "kip_memory": "2.0",
        "bundles": ["memory_basic"] if BASIC.issubset(_served()) else [],
        "default_budget": {
            "max_output_tokens": MAX_OUTPUT_TOKENS,
            "deadline_ms": int(settings().wait_seconds * 1000),
        },
        "tokenizer": TOKENIZER,
        "minimum_response_tokens": MIN_RESPONSE_TOKENS,
    }
    if scope is not None:
        told["default_space"] = {"id": scope.space_id}
    return told
