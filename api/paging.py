"""Pages of lists: their size, and reading one row more to know whether another page follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, TypeVar

from pydantic import Field

from api import cursors
from storage.principals import Principal

#: Entries of a page, at most and where nothing is said.
MAX_LIMIT = 100
DEFAULT_LIMIT = 20
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT)]
Cursor = Annotated[str, Field(max_length=512)]

Row = TypeVar("Row")


def page(
    caller: Principal,
    route: str,
    filters: Mapping[str, object],
    *,
    cursor: str | None,
    limit: int,
    read: Callable[[int | None, int], list[Row]],
    position: Callable[[Row], int],
) -> tuple[list[Row], str | None]:
    """One page by keyset: `read(before, count)` reads rows older than a position.

    Returns the rows and the cursor of the next page, None at the end. Raises `CursorInvalid`.
    """
    before = cursors.opened(caller, route, filters, cursor)
    rows = read(before, limit + 1)
    if len(rows) <= limit:
        return rows, None
    rows = rows[:limit]
    return rows, cursors.seal(caller, route, filters, position(rows[-1]))
