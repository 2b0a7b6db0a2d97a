"""Page cursors: good only for the caller, route, space and filters they were made for.

A cursor is where the next page begins (`storage.sealing`). A changed or borrowed one is
`CursorInvalid`.
"""

from __future__ import annotations

from collections.abc import Mapping

from api.errors import CursorInvalid
from storage.principals import Principal
from storage.sealing import NotSealed, unseal
from storage.sealing import seal as sealed


def seal(caller: Principal, route: str, filters: Mapping[str, object], position: int) -> str:
    """A cursor for the page that begins after `position`."""
    return sealed(_bound(caller, route, filters), position)


def opened(
    caller: Principal, route: str, filters: Mapping[str, object], cursor: str | None
) -> int | None:
    """The position that `cursor` stands for, None without one; raises `CursorInvalid`."""
    if cursor is None:
        return None
    try:
        return int(unseal(_bound(caller, route, filters), cursor))
    except NotSealed:
        raise CursorInvalid() from None


def _bound(caller: Principal, route: str, filters: Mapping[str, object]) -> list[object]:
    return [caller.space_id, caller.subject, route, dict(filters)]
