"""Formation without a job: for `brainstem encode`, and wherever one process does it all.

The same pipeline, the same commit; only the ledger's fence and lane are missing, so that nothing
else may form the same space meanwhile.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pipelines.formation.proposal import Encoder
from pipelines.formation.reading import space_items
from pipelines.formation.run import run
from pipelines.work import Result, Usage
from storage import conversations, epochs, spaces
from storage.database import Database, Scope, Transaction
from storage.epochs import EpochChanged

#: Who acts in a space that nobody owns.
_PRINCIPAL = "$system"


@dataclass(slots=True)
class Alone:
    """One attempt that nobody can cancel, without a job row."""

    database: Database
    scope: Scope
    payload: dict[str, Any]
    job_id: str = ""
    kind: str = "formation"
    attempt: int = 1
    principal: str = _PRINCIPAL
    cursor: dict[str, Any] | None = None
    usages: list[Usage] = field(default_factory=list)
    _epoch: int | None = None

    def checkpoint(self) -> None:
        """Nothing stops this run."""

    def progress(self, done: int, total: int, note: str = "") -> None:
        """Nobody watches this run."""

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A read-only transaction on one snapshot of the space."""
        with self.database.transaction(self.scope, snapshot=True) as tx:
            if self._epoch is None:
                self._epoch = epochs.current(tx, self.scope)
            yield tx

    def hold_epoch(self, tx: Transaction) -> None:
        """See that what was read may still be processed, until `tx` ends; raises `EpochChanged`."""
        if self._epoch is not None:
            epochs.require(tx, self.scope, self._epoch, still=True)

    def commit_batch(self, apply: Callable[[Transaction], Any], cursor: dict[str, Any]) -> Any:
        """Commit a batch; the cursor lives as long as this run."""
        with self.database.transaction(self.scope) as tx:
            answer = apply(tx)
        self.cursor = cursor
        return answer

    def charge(self, usage: Usage) -> None:
        """Keep what the run cost."""
        self.usages.append(usage)


def form(
    database: Database,
    scope: Scope,
    messages: Sequence[dict[str, Any]],
    encoder: Encoder,
    extra: Mapping[str, Any] | None = None,
) -> Result:
    """Form memory from messages here and now; the space must exist."""
    with database.transaction(scope) as tx:
        number = conversations.next_id(tx, scope)
        conversations.create(
            tx,
            scope,
            number,
            "formation",
            job_id="",
            principal=_PRINCIPAL,
            messages=messages,
            extra=dict(extra or {}),
        )
    while True:
        work = Alone(database, scope, {"conversation": number})
        effect = run(work, encoder)
        with contextlib.suppress(EpochChanged), database.transaction(scope) as tx:
            work.hold_epoch(tx)
            return effect.apply(tx)


def rehearse(
    database: Database, messages: Sequence[dict[str, Any]], encoder: Encoder
) -> dict[str, list[Any]]:
    """What memory would hold after a conversation, formed in a space that is then deleted.

    The answer has `claims`, `commitments` and `constraints` (`reading.space_items`).
    """
    scope = spaces.scope_of(f"rehearsal_{uuid.uuid4().hex}")
    with database.transaction(scope) as tx:
        spaces.create(tx, scope, owner=_PRINCIPAL)
    try:
        form(database, scope, messages, encoder)
        with database.transaction(scope, snapshot=True) as tx:
            return space_items(tx, scope)
    finally:
        with database.transaction(scope) as tx:
            spaces.delete(tx, scope)
