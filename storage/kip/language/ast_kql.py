"""A query."""

from __future__ import annotations

from dataclasses import dataclass

from storage.kip.language.ast_expressions import Projection
from storage.kip.language.ast_patterns import Block
from storage.kip.language.ast_terms import Node, ObjectValue, Scalar


@dataclass(frozen=True, slots=True)
class SortKey(Node):
    """`expression [ASC|DESC]`."""

    key: Projection
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Find(Node):
    """`FIND(…) WHERE {…}` with its modifiers; a `limit` caps rows."""

    projections: tuple[Projection, ...]
    where: Block
    as_of: Scalar | None = None
    for_time: Scalar | None = None
    epistemic: ObjectValue | None = None
    order_by: tuple[SortKey, ...] = ()
    limit: Scalar | None = None
    cursor: Scalar | None = None
