"""Static checks of queries."""

from __future__ import annotations

from storage.kip.errors import InvalidSyntax, fault
from storage.kip.language import check_values as values
from storage.kip.language.ast_expressions import Aggregate, Projection
from storage.kip.language.ast_kql import Find
from storage.kip.language.ast_terms import Path, Variable
from storage.kip.language.check_patterns import block, bound


def find(query: Find) -> None:
    """Check a query. Raises a `KipError` with an offset."""
    scope = block(query.where)
    for projection in query.projections:
        bound(projection, scope)
    for sort in query.order_by:
        bound(sort.key, scope)
        _sortable(sort.key, query.projections)
    values.count(query.as_of, "AS OF SEQ")
    values.time(query.for_time, "FOR TIME")
    values.closed(query.epistemic, "WITH EPISTEMIC")
    values.count(query.limit, "LIMIT")
    values.cursor(query.cursor)


def _sortable(key: Projection, projections: tuple[Projection, ...]) -> None:
    """Rows that stand for a group are sorted by what is the same in all of it."""
    if isinstance(key, Aggregate):
        if key not in projections:
            raise fault(
                InvalidSyntax,
                "The aggregate that sorts the rows is not among what is found.",
                key.at,
                hint="Add it to FIND, or sort by something else.",
            )
        return
    grouping = [one for one in projections if not isinstance(one, Aggregate)]
    if not grouping or len(grouping) == len(projections):
        return
    if not any(_follows(key, one) for one in grouping):
        raise fault(
            InvalidSyntax,
            "The sort key varies within a group of rows.",
            key.at,
            hint="Sort by what FIND groups by, or by one of its aggregates.",
        )


def _follows(key: Variable | Path, group: Projection) -> bool:
    """Whether a key has one value where `group` has one: it is that, or a path from it."""
    if isinstance(group, Variable):
        return (key.variable if isinstance(key, Path) else key) == group
    if isinstance(group, Path) and isinstance(key, Path):
        return key.variable == group.variable and key.steps[: len(group.steps)] == group.steps
    return False
