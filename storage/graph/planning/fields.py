"""Structural references: what a field of one element comes to, within its cardinality and order."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from storage.graph.errors import StructuralReferenceInvalid
from storage.graph.planning.planned import Edge
from storage.graph.schema import FieldDef
from storage.graph.state import StoredEdge


def settle(
    source: str,
    definition: FieldDef,
    present: Sequence[StoredEdge],
    added: Sequence[Edge],
    removed: Collection[str],
) -> tuple[list[Edge], list[Edge]]:
    """Which references of one field to write, and which present ones to end.

    A field of one target takes the added one in place of the present; ordered fields append unless
    a position is given. Raises `StructuralReferenceInvalid` when the field ends up with too many
    targets or with positions that do not run from 0.
    """
    before = {edge.target: edge for edge in present}
    after = {
        edge.target: Edge(source, definition, edge.target, edge.role, edge.position)
        for edge in present
        if edge.target not in removed
    }
    if definition.max == 1 and added:
        after = {}
    for edge in {edge.target: edge for edge in added}.values():
        position = None
        if definition.ordered:
            position = edge.position
            if position is None:
                held = after.get(edge.target)
                position = len(after) if held is None else held.position
        after[edge.target] = Edge(source, definition, edge.target, edge.role, position)
    if definition.max is not None and len(after) > definition.max:
        raise StructuralReferenceInvalid(
            f"{definition.ref} of {source} takes at most {definition.max}."
        )
    if definition.ordered:
        positions = sorted(edge.position or 0 for edge in after.values())
        if positions != list(range(len(after))):
            raise StructuralReferenceInvalid(
                f"The positions of {definition.ref} must run from 0 without a gap."
            )
    same = {
        target
        for target, edge in after.items()
        if target in before
        and (before[target].role, before[target].position) == (edge.role, edge.position)
    }
    ended = [
        Edge(source, definition, edge.target, edge.role, edge.position)
        for edge in present
        if edge.target not in same
    ]
    return [edge for target, edge in after.items() if target not in same], ended
