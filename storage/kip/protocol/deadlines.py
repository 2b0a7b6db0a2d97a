"""How long a request may take: a limit on every statement of its transactions."""

from __future__ import annotations

import time
from dataclasses import dataclass

from storage.database import Transaction
from storage.kip.errors import ExecutionTimeout

#: What a request may take when it does not say, and what it may take at most, in milliseconds.
DEFAULT_MS = 30_000
MAX_MS = 120_000


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of a request, on the monotonic clock; `asked` says that the request named it."""

    ends: float
    asked: bool

    @classmethod
    def after(cls, milliseconds: int | None) -> Deadline:
        """The deadline that many milliseconds from now, no later than `MAX_MS`."""
        wanted = min(milliseconds or DEFAULT_MS, MAX_MS)
        return cls(time.monotonic() + wanted / 1000, milliseconds is not None)

    def left(self) -> int:
        """Milliseconds until then. Raises `ExecutionTimeout` when none are left."""
        left = int((self.ends - time.monotonic()) * 1000)
        if left < 1:
            raise ExecutionTimeout("The deadline of the request has passed.")
        return left

    def hold(self, tx: Transaction) -> None:
        """Limit the statements of a transaction to what is left. Raises `ExecutionTimeout`."""
        tx.execute("select set_config('statement_timeout', %s, true)", (str(self.left()),))
