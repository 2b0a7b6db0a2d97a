"""What a pipeline is given and what it hands back (design section 3.1, "Effect once").

A pipeline reads freely, computes (models are called here, outside any transaction), and returns
an `Effect`. The worker then applies the effect and marks the job finished in one transaction
that checks the fence, so that either both happen or neither does. Long jobs commit in batches
through `Work.commit_batch`, each fenced, with a durable cursor.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from storage.database import Scope, Transaction

Disposition = Literal["formed", "evidence_only", "skipped", "erased"]


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A job to be accepted in the transaction that ends this one (its space, its principal).

    At most one waiting job exists per `coalesce_key`; a further one joins it.
    """

    kind: str
    payload: dict[str, Any]
    coalesce_key: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Model tokens of one run, charged to `collection` once, in the finishing transaction."""

    collection: Literal["formation", "recall", "maintenance"]
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    requests: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """What the receipt will say once the finishing transaction has committed.

    `resolved_seq` is the space sequence of the commit (None: nothing was written);
    `available_seq` the sequence from which a recall finds it.
    """

    result: dict[str, Any] = field(default_factory=dict)
    disposition: Disposition | None = None
    resolved_seq: int | None = None
    available_seq: int | None = None
    follow_ups: tuple[FollowUp, ...] = ()


@dataclass(frozen=True, slots=True)
class Effect:
    """What a run wants to become true; `apply` runs inside the fenced finishing transaction.

    `apply` must only touch the database, may run again after a rollback, and must not call out.
    """

    apply: Callable[[Transaction], Result]


class Work(Protocol):
    """One attempt of one job, as its pipeline sees it."""

    @property
    def scope(self) -> Scope:
        """The tenant the job works for."""
        ...

    @property
    def job_id(self) -> str:
        """The job's id; external services get it as idempotency key."""
        ...

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        ...

    @property
    def principal(self) -> str:
        """Whose job it is."""
        ...

    @property
    def payload(self) -> dict[str, Any]:
        """The validated payload."""
        ...

    @property
    def cursor(self) -> dict[str, Any] | None:
        """The durable cursor of the last committed batch, of this or an earlier attempt."""
        ...

    def checkpoint(self) -> None:
        """Call between steps; raises `Cancelled`, `Interrupted` or `LeaseLost` to stop the run."""
        ...

    def progress(self, done: int, total: int, note: str = "") -> None:
        """Tell watchers how far the run is; cheap, rate-limited, also a checkpoint."""
        ...

    def read(self) -> AbstractContextManager[Transaction]:
        """A read-only transaction on one snapshot of the space."""
        ...

    def commit_batch(self, apply: Callable[[Transaction], Any], cursor: dict[str, Any]) -> Any:
        """Commit one idempotent batch and the durable cursor together, under the fence."""
        ...

    def charge(self, usage: Usage) -> None:
        """Record model usage of this attempt even if the run fails later; charged exactly once."""
        ...
