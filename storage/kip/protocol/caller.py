"""Who sends a request: to which space, as whom, and with what authority."""

from __future__ import annotations

from dataclasses import dataclass

from storage.database import Scope
from storage.kip.mutation.authority import Authority


@dataclass(frozen=True, slots=True)
class Caller:
    """A sender, bound to the space that the host let it into."""

    scope: Scope
    authority: Authority

    @property
    def principal(self) -> str:
        """The name by which cursors, receipts and idempotency keys are the sender's own."""
        return self.authority.principal


def trusted(space_id: str, principal: str) -> Caller:
    """A caller with every permission: the operator at the command line, Brainstem itself."""
    return Caller(Scope(space_id), Authority(principal))
