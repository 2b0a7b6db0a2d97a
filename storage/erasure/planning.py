"""A closure as a plan writes it down."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from storage.database import Scope, Transaction
from storage.erasure import traces
from storage.erasure.closure import Closure
from storage.erasure.traces import Traces

_NAMED = 3


def traces_of(
    tx: Transaction, scope: Scope, closure: Closure, known: Traces | None = None
) -> Traces:
    """The traces of what is about to go, beside those of what has gone already."""
    return traces.of(
        tx,
        scope,
        elements=closure.elements,
        payloads=closure.payloads,
        sources=closure.sources,
        also_refused=closure.refused,
        known=known,
    )


def source_refs(closure: Closure) -> list[str]:
    """What the erased content came from: staged sources, else evidence."""
    staged = [*closure.sources, *closure.mentioned]
    evidence = [ref for ref in (*closure.elements, *closure.payloads) if ref[0] == "E"]
    return staged or evidence


def targets(closure: Closure) -> list[dict[str, str]]:
    """What is to be erased, each with its surface and its state before anything is."""
    entries = []
    for ref in closure.elements:
        entries.append(_target(closure, ref, "summary" if ref in closure.summaries else "element"))
        if ref[0] == "E":
            entries.append(_target(closure, ref, "payload"))
    entries += [_target(closure, ref, "payload") for ref in closure.payloads]
    entries += [_target(closure, ref, "index") for ref in (*closure.elements, *closure.payloads)]
    entries += [
        {"ref": point.ref, "surface": point.surface, "state": "unavailable"}
        for point in closure.open_points
        if point.surface is not None
    ]
    return entries


def _target(closure: Closure, ref: str, surface: str) -> dict[str, str]:
    return {
        "ref": ref,
        "surface": surface,
        "state": "held" if ref in closure.held else "pending",
    }


def settled(
    entries: Sequence[Mapping[str, str]], left: Mapping[str, Collection[str]]
) -> list[dict[str, str]]:
    """The same after looking; `left` has, by surface, what was still found."""
    found = []
    there = {surface: frozenset(refs) for surface, refs in left.items()}
    none: frozenset[str] = frozenset()
    for entry in entries:
        state = entry["state"]
        if state in ("pending", "erased"):
            looked_at = "element" if entry["surface"] == "summary" else entry["surface"]
            still = entry["ref"] in there.get(looked_at, none)
            # the payload of an erased evidence is where its element is
            still = still or (looked_at == "payload" and entry["ref"] in there.get("element", none))
            state = "pending" if still else "erased"
        found.append({**entry, "state": state})
    return found


def with_gone(
    entries: Sequence[Mapping[str, str]], before: Sequence[Mapping[str, str]], traces: Traces
) -> list[dict[str, str]]:
    """Targets, and those of an earlier state of the plan that were erased since then."""
    fresh = {(entry["ref"], entry["surface"]) for entry in entries}
    gone = frozenset(traces.elements)
    rest = [
        {**entry, "state": "pending"}
        for entry in before
        if entry["ref"] in gone and (entry["ref"], entry["surface"]) not in fresh
    ]
    return [*map(dict, entries), *rest]


def open_points(
    closure: Closure, before: Sequence[Mapping[str, str]] = (), *, begun: bool = False
) -> list[dict[str, str]]:
    """What keeps the plan from being complete, however well it goes.

    Of `before`, those of an earlier plan that this one goes on with hold as they are; where it has
    `begun`, all do: what they were about is gone, and nothing else tells of it.
    """
    points = [{"ref": point.ref, "why": point.why} for point in closure.open_points]
    known = {point.ref for point in closure.open_points}
    kept = (
        dict(point)
        for point in before
        if point["ref"] not in known and (begun or point.get("from") == "before")
    )
    return [*points, *kept]


def hold_message(closure: Closure, *, begun: bool = False) -> str:
    """Why nothing is erased, or nothing more."""
    rest = "what was erased before it stays erased" if begun else "nothing was erased"
    return f"A legal hold keeps {_listed(closure.held)}; {rest}."


def orphan_warning(orphans: Sequence[str]) -> list[str]:
    """Concepts are shared and stay; who wants them gone, too, has to say so."""
    if not orphans:
        return []
    return [
        f"Nothing refers to {_listed(orphans)} any more; concepts are shared and stay, "
        "forget them by their ids if they should go."
    ]


def _listed(refs: Sequence[str]) -> str:
    named = ", ".join(refs[:_NAMED])
    return f"{named} and others" if len(refs) > _NAMED else named
