"""Structural references: what a field of one element comes to, within its cardinality and order."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from storage.graph.errors import ConstraintViolation, StructuralReferenceInvalid
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
    a position is given, and close up when one is removed. Raises `ConstraintViolation` when the
    field ends up with too many targets, `StructuralReferenceInvalid` when positions do not run from
    0 or the last reference of a required field goes.
    """
    before = {edge.target: edge for edge in present}
    kept = {edge.target: edge.role for edge in present if edge.target not in removed}
    if definition.max == 1 and added:
        kept = {}
    kept.update({edge.target: edge.role for edge in added})
    if definition.max is not None and len(kept) > definition.max:
        raise ConstraintViolation(f"{definition.ref} of {source} takes at most {definition.max}.")
    if len(kept) < definition.min:
        raise StructuralReferenceInvalid(f"{definition.ref} of {source} cannot be without one.")
    places: dict[str, int | None] = dict.fromkeys(kept)
    if definition.ordered:
        places = _places(definition, list(kept), added)
    after = {
        target: Edge(source, definition, target, role, places[target])
        for target, role in kept.items()
    }
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


def _places(
    definition: FieldDef, targets: Sequence[str], added: Sequence[Edge]
) -> dict[str, int | None]:
    """Positions from 0 without a gap: those asked for, and the others around them in order."""
    asked: dict[int, str] = {}
    for edge in added:
        if edge.position is None:
            continue
        if not 0 <= edge.position < len(targets) or (
            asked.setdefault(edge.position, edge.target) != edge.target
        ):
            raise StructuralReferenceInvalid(
                f"The positions of {definition.ref} must run from 0 without a gap."
            )
    fixed = set(asked.values())
    rest = iter([target for target in targets if target not in fixed])
    return {asked[place] if place in asked else next(rest): place for place in range(len(targets))}
