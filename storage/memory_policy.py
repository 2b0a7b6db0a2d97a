"""A space's memory policy: what its owner may set about upkeep and recall (`MemoryPolicy`).

It lies in the space's settings as it was given; what was not given has the default. A request's
explicit parameters come before it for that one run and change nothing here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from storage.database import Scope, Transaction
from storage.errors import NotFound

_MEMBER = "memory_policy"
_STRICT = ConfigDict(strict=True, extra="ignore", frozen=True)

#: Recalls that one shadow evaluation replays at most.
MAX_REPLAYED = 16
Fraction = Annotated[float, Field(ge=0, le=1)]


class RecallBudget(BaseModel):
    """Caps on a recall's tokens; a request may only tighten them."""

    model_config = _STRICT
    tokenizer: Literal["o200k_base@tiktoken-rs-0.12", "o200k_base@tiktoken-rs-0.12.0"] = (
        "o200k_base@tiktoken-rs-0.12"
    )
    max_tokens: int = Field(4096, ge=1, le=65_536)
    context_tokens: int = Field(49_152, ge=1, le=131_072)


class MemoryPolicy(BaseModel):
    """The members of seed 003; those that are called inert are kept for stored policies."""

    model_config = _STRICT
    version: int = Field(1, ge=1, le=2**32 - 1)
    memory_strength_decay_factor: float = Field(
        0.95, gt=0, le=1, description="Deprecated, inert: strength decays when it is read."
    )
    recall_reinforcement: Fraction = Field(0.1, description="Inert.")
    correction_penalty: float = Field(0.5, gt=0, le=1, description="Inert.")
    decay_floor: float = Field(0.3, ge=0, lt=1, description="Deprecated, inert.")
    stale_event_threshold_days: int = Field(
        7, ge=1, le=365, description="From this age an Event waits to be consolidated."
    )
    unconsolidated_max_backlog: int = Field(
        20, ge=1, le=10_000, description="Events that may wait; as many formations ask for upkeep."
    )
    orphan_max_count: int = Field(
        20, ge=1, le=10_000, description="Concepts without any tie that need no review."
    )
    self_test_queries_per_cycle: int = Field(
        4, ge=0, le=100, description="Questions of one self-test; 0: none."
    )
    self_test_token_budget: int = Field(
        20_000, ge=1000, le=1_000_000, description="Tokens that one self-test may send and get."
    )
    recall_search_threshold: float = Field(0.35, gt=0, le=1, description="Not used yet.")
    recall_max_rounds: int = Field(7, ge=1, le=50, description="Model requests of one recall.")
    recall_budget: RecallBudget | None = None
    shadow_replay_sample: int = Field(
        4, ge=1, le=MAX_REPLAYED, description="Recalls that a shadow evaluation replays."
    )


def of(settings: Mapping[str, Any]) -> MemoryPolicy:
    """The policy in a space's settings.

    Where a stored one no longer fits, its members that do still count.
    """
    stored = settings.get(_MEMBER)
    if not isinstance(stored, Mapping):
        return MemoryPolicy()
    given = dict(stored)
    while True:
        try:
            return MemoryPolicy.model_validate(given)
        except ValidationError as error:
            for fault in error.errors():
                given.pop(str(fault["loc"][0]), None)


def read(tx: Transaction, scope: Scope) -> MemoryPolicy:
    """The policy of a space; raises `NotFound`."""
    row = tx.execute("select settings from space where space_id = %s", (scope.space_id,)).fetchone()
    if row is None:
        raise NotFound("There is no such space.")
    return of(row[0])


def write(tx: Transaction, scope: Scope, policy: MemoryPolicy) -> None:
    """Make `policy` the space's, in the place of the one before; raises `NotFound`.

    Kept is what was given, so that later defaults reach what was left open.
    """
    given = policy.model_dump(mode="json", exclude_unset=True)
    done = tx.execute(
        "update space set settings = settings || jsonb_build_object(%s::text, %s::jsonb),"
        " updated_at = now() where space_id = %s",
        (_MEMBER, json.dumps(given), scope.space_id),
    )
    if done.rowcount == 0:
        raise NotFound("There is no such space.")
