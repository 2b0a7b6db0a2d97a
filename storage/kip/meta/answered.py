"""What META commands ask with and answer in, their scalar arguments, and their pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from storage.canonical import digest
from storage.kip.errors import CursorExpired, ResultLimitExceeded, TypeMismatch
from storage.kip.language.ast_terms import Literal, Scalar
from storage.kip.mutation.authority import Authority
from storage.kip.query import cursors
from storage.kip.snapshot import Snapshot

#: Rows of a page without LIMIT, and the most that one may ask for.
PAGE = 100
MAX_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks, and where."""

    snapshot: Snapshot
    caller: str
    authority: Authority | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a META command; `context` is merged into the result's own."""

    result: Any
    next_cursor: str | None = None
    context: dict[str, Any] = field(default_factory=dict)


def text(value: Scalar | None) -> str | None:
    """A string argument, None where it is left out. Raises `TypeMismatch`."""
    if value is None:
        return None
    if isinstance(value, Literal) and isinstance(value.value, str):
        return value.value
    raise TypeMismatch("That argument takes a string.")


def needed(value: Scalar | None) -> str:
    """A string argument that the grammar requires."""
    given = text(value)
    assert given is not None
    return given


def whole(value: Scalar | None) -> int | None:
    """A number argument without fraction, None where it is left out. Raises `TypeMismatch`."""
    if value is None:
        return None
    if isinstance(value, Literal) and isinstance(value.value, int):
        return value.value
    raise TypeMismatch("That argument takes a whole number.")


def limit_of(value: Scalar | None) -> int:
    """How many rows the page may have. Raises `ResultLimitExceeded` beyond `MAX_PAGE`."""
    asked = whole(value)
    if asked is not None and asked > MAX_PAGE:
        raise ResultLimitExceeded(f"LIMIT goes up to {MAX_PAGE}; the rest comes by CURSOR.")
    return PAGE if asked is None else asked


class Cursors:
    """The cursors of one command: good for its caller, space, family, arguments and state.

    `asked` are the arguments that decide what the rows are (not LIMIT). `pinned` names the state
    that a next page must find again, such as a sequence; None where the cursor itself says where
    it goes on reading, or where what comes later is only appended.
    """

    def __init__(self, asking: Asking, family: str, asked: Any, *, pinned: int | None) -> None:
        self._of = (asking.caller, asking.snapshot.scope.space_id, family, digest(asked))
        self._pinned = -1 if pinned is None else pinned

    def read(self, value: Scalar | None) -> Any:
        """Where the page begins, None for the first.

        Raises `CursorInvalid` for what we gave nobody, or somebody else; `CursorTypeMismatch`,
        `CursorMismatch`, `CursorExpired`.
        """
        token = text(value)
        if token is None:
            return None
        page = cursors.read(token, *self._of)
        if page.seq != self._pinned:
            raise CursorExpired("The space has changed since that cursor was given out.")
        return page.state

    def make(self, at: Any) -> str:
        """The cursor of the page that begins at `at`."""
        return cursors.write(*self._of, cursors.Page(self._pinned, at))

    def page(
        self, rows: Sequence[Any], limit: Scalar | None, cursor: Scalar | None
    ) -> tuple[list[Any], str | None]:
        """A page of rows that are all at hand, by their position."""
        begin, count = self.read(cursor) or 0, limit_of(limit)
        chosen = list(rows[begin : begin + count])
        more = count > 0 and begin + count < len(rows)
        return chosen, self.make(begin + count) if more else None
