"""The planes of an element: attributes, structure, retention and each facet count their changes."""

from __future__ import annotations

from typing import Any

from storage.graph.planning.planned import Planned
from storage.graph.planning.resolver import PLANES


def raised(element: Planned) -> tuple[dict[str, Any], dict[str, Any]]:
    """The counters of an element after its change, and those of them that the change raises.

    Every plane of a new concept begins at 1.
    """
    planes = dict(element.planes)
    bumped: dict[str, Any] = {}
    for plane in PLANES:
        if (element.new and element.kind == "C") or any(
            path.startswith(f"{plane}.") for path in element.touched
        ):
            bumped[plane] = planes[plane] = planes.get(plane, 0) + 1
    # a path is facets.<exact ref>.<member>, and a ref has dots of its own
    touched = {
        path.removeprefix("facets.").rpartition(".")[0]
        for path in element.touched
        if path.startswith("facets.")
    }
    if touched:
        facets = dict(planes.get("facets", {}))
        for ref in sorted(touched):
            facets[ref] = facets.get(ref, 0) + 1
            bumped.setdefault("facets", {})[ref] = facets[ref]
        planes["facets"] = facets
    return planes, bumped
