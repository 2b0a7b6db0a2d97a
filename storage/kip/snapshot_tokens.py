"""Snapshot tokens: a read coordinate that a client holds, without being able to read or make one.

A token is no authority: who presents it is checked anew, and it is good only in its own space.
"""

from __future__ import annotations

from storage.database import Scope
from storage.kip.errors import InvalidRequestEnvelope
from storage.sealing import NotSealed, seal, unseal


def snapshot_token(scope: Scope, seq: int) -> str:
    """The token of a sequence of a space."""
    return seal(_bound(scope), {"seq": seq})


def coordinate(scope: Scope, token: str) -> int:
    """The sequence that a token stands for; raises `InvalidRequestEnvelope` for no such token."""
    try:
        value = unseal(_bound(scope), token)
        return int(value["seq"])
    except (NotSealed, KeyError, TypeError, ValueError):
        raise InvalidRequestEnvelope("That is no snapshot token of this space.") from None


def _bound(scope: Scope) -> dict[str, str]:
    return {"snapshot": scope.space_id}
