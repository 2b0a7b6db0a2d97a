"""Cursors: where a page ended, sealed for the caller, the space and the very query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from storage.kip.errors import CursorInvalid, CursorMismatch, CursorTypeMismatch
from storage.sealing import NotSealed, seal, unseal


@dataclass(frozen=True, slots=True)
class Page:
    """A place in an answer: the sequence that it is read at, and what is needed to go on."""

    seq: int
    state: Any


def write(caller: str, space_id: str, family: str, query: str, page: Page) -> str:
    """A cursor. `query` is a digest of the query with its parameters."""
    bound = ["cursor", caller, space_id]
    return seal(bound, {"f": family, "q": query, "s": page.seq, "p": page.state})


def read(token: Any, caller: str, space_id: str, family: str, query: str) -> Page:
    """The place that a cursor names.

    Raises `CursorInvalid` for what was not sealed for this caller and space, `CursorTypeMismatch`
    for a cursor of another family, `CursorMismatch` for one of another query.
    """
    if not isinstance(token, str):
        raise CursorInvalid("A cursor is a string that an answer gave.")
    try:
        held = unseal(["cursor", caller, space_id], token)
        family_, query_, seq, state = held["f"], held["q"], held["s"], held["p"]
    except (NotSealed, KeyError, TypeError):
        raise CursorInvalid("That is no cursor of this space.") from None
    if family_ != family:
        raise CursorTypeMismatch(f"That cursor is of {family_}, not of {family}.")
    if query_ != query:
        raise CursorMismatch("That cursor belongs to another query.")
    return Page(seq, state)
