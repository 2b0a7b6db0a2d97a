"""Reads queries."""

from __future__ import annotations

from storage.kip.language.ast_kql import Find, SortKey
from storage.kip.language.ast_terms import Scalar
from storage.kip.language.parse_expressions import object_value, projection
from storage.kip.language.parse_patterns import Patterns, where
from storage.kip.language.parse_terms import listed, scalar
from storage.kip.language.reader import Reader


def find(r: Reader) -> Find:
    """`FIND(…) WHERE {…}` and its modifiers, in their order."""
    at = r.take_word("FIND").at
    r.take_mark("(", "after FIND")
    projections = listed(r, ")", projection)
    if not projections:
        r.refuse("something to find", hint="Such as FIND(?x.name).")
    r.take_word("WHERE")
    block = where(r, Patterns.ALL)
    seq = as_of(r)
    time = scalar(r, "a time") if r.skip_words("FOR", "TIME") else None
    epistemic = object_value(r) if r.skip_words("WITH", "EPISTEMIC") else None
    order: list[SortKey] = []
    if r.skip_words("ORDER", "BY"):
        order.append(_sort_key(r))
        while r.skip_mark(","):
            order.append(_sort_key(r))
    limit = scalar(r, "a limit") if r.skip_words("LIMIT") else None
    cursor = scalar(r, "a cursor") if r.skip_words("CURSOR") else None
    return Find(
        projections,
        block,
        as_of=seq,
        for_time=time,
        epistemic=epistemic,
        order_by=tuple(order),
        limit=limit,
        cursor=cursor,
        at=at,
    )


def as_of(r: Reader) -> Scalar | None:
    """`[AS OF SEQ v]`."""
    if not r.skip_words("AS", "OF"):
        return None
    r.take_word("SEQ", hint="Only AS OF SEQ: DESCRIBE SNAPSHOT AT TIME turns a time into one.")
    return scalar(r, "a sequence")


def _sort_key(r: Reader) -> SortKey:
    key = projection(r)
    if r.skip_words("DESC"):
        return SortKey(key, True, at=key.at)
    r.skip_words("ASC")
    return SortKey(key, at=key.at)
