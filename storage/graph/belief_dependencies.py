"""Whether what inferences were drawn from still stands.

The activity that made an inferred claim says in its DependencyBasis what the inference rests on:
groups of pinned elements, each in the version that was read. Whether that is still so is computed
at every read and stored nowhere (contract kip-engine section 9): `current`, `needs_review` when a
premise has changed, `unverifiable` when that cannot be told.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from storage.database import Scope, Transaction, sql
from storage.graph.schema import lineage_of
from storage.graph.state import at_seq, version

Validity = Literal["current", "needs_review", "unverifiable"]

_BASIS = "kip://profiles/cognitive-memory/DependencyBasis"
#: Inferences that rest on inferences are followed so far; deeper ones cannot be verified.
MAX_DEPTH = 6
#: From the best to the worst.
_WORST: Mapping[Validity, int] = {"current": 0, "needs_review": 1, "unverifiable": 2}


@dataclass(frozen=True, slots=True)
class _Premise:
    """An element as it is now, and the bases on which it was derived."""

    kind: str
    version: int
    planes: Mapping[str, Any]
    standing: bool
    mode: str | None
    bases: tuple[Mapping[str, Any], ...]

    @property
    def derived(self) -> bool:
        return self.mode == "inferred" or bool(self.bases)


def dependency_validity(
    tx: Transaction, scope: Scope, inferred: Collection[str], seq: int | None
) -> dict[str, Validity]:
    """How each of some inferred claims stands, at present or at `seq`.

    One statement for each step from inference to premise, at most `MAX_DEPTH`.
    """
    known: dict[str, _Premise] = {}
    ahead = set(inferred)
    for _ in range(MAX_DEPTH):
        if not ahead:
            break
        found = _premises(tx, scope, ahead, seq)
        known |= found
        pins = {pin for premise in found.values() for pin in _pinned(premise)}
        ahead = pins - set(known)
    settled: dict[str, Validity] = {}
    return {claim: _validity(claim, known, settled, frozenset()) for claim in inferred}


def _premises(
    tx: Transaction, scope: Scope, ids: Collection[str], seq: int | None
) -> dict[str, _Premise]:
    rows = tx.execute(
        sql(
            f"""
            select w.id, e.kind::text, v.version, v.planes,
                   v.state in ('active', 'archived') and v.recording = 'valid'
                   and not v.quarantined
                   and coalesce(v.status, '') not in ('retracted', 'superseded', 'corrected'),
                   a.mode,
                   array(select x.doc->'facets' from (
                           select d.source_id from edge d
                            where d.space_id = %(space)s and d.target_id = w.id
                              and d.field_lineage = 'outputs' and {at_seq("d", seq)}) o
                         join {version("x", "o.source_id", seq)} on true
                          where x.status = 'completed' and x.state in ('active', 'archived'))
              from unnest(%(ids)s::text[]) as w(id)
              join lateral (select kind from element e
                     where e.space_id = %(space)s and e.id = w.id limit 1) e on true
              join {version("v", "w.id", seq)} on true
              left join lateral (select mode from assertion a
                     where a.space_id = %(space)s and a.id = w.id limit 1) a on true
            """
        ),
        {"space": scope.space_id, "ids": sorted(ids), "seq": seq},
    )
    return {
        element: _Premise(kind, number, planes or {}, standing, mode, _bases(facets))
        for element, kind, number, planes, standing, mode, facets in rows
    }


def _bases(facets: Sequence[Mapping[str, Any] | None]) -> tuple[Mapping[str, Any], ...]:
    return tuple(
        value
        for one in facets
        for ref, value in sorted((one or {}).items())
        if lineage_of(ref) == _BASIS and isinstance(value, dict)
    )


def _pinned(premise: _Premise) -> list[str]:
    return [
        pin["id"]
        for basis in premise.bases
        for group in _groups(basis)
        for pin in group[1]
        if isinstance(pin.get("id"), str)
    ]


def _groups(basis: Mapping[str, Any]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """The groups that bear on validity, as (role, pins)."""
    found: list[tuple[str, list[Mapping[str, Any]]]] = []
    for group in basis.get("groups") or ():
        if isinstance(group, dict) and group.get("role") in ("all_of", "any_of"):
            pins: list[Mapping[str, Any]] = [
                pin for pin in group.get("pins") or () if isinstance(pin, dict)
            ]
            found.append((group["role"], pins))
    return found


def _validity(
    element: str,
    known: Mapping[str, _Premise],
    settled: dict[str, Validity],
    path: frozenset[str],
) -> Validity:
    """Of a derived element: as good as the best of the bases that certify it."""
    if element in settled:
        return settled[element]
    premise = known.get(element)
    if premise is None or element in path or not premise.bases:
        return "unverifiable"
    path = path | {element}
    best = min(
        (_basis_validity(basis, known, settled, path) for basis in premise.bases),
        key=_WORST.__getitem__,
    )
    if len(path) == 1 or best == "current":
        # what a cycle alone spoils must not be remembered for those outside of it
        settled[element] = best
    return best


def _basis_validity(
    basis: Mapping[str, Any],
    known: Mapping[str, _Premise],
    settled: dict[str, Validity],
    path: frozenset[str],
) -> Validity:
    groups = _groups(basis)
    # nothing here tracks what a query selected
    if basis.get("queries") or not any(pins for _, pins in groups):
        return "unverifiable"
    worst: Validity = "current"
    for role, pins in groups:
        each = [_pin_validity(pin, known, settled, path) for pin in pins]
        if not each:
            continue
        choose = max if role == "all_of" else min
        worst = max(worst, choose(each, key=_WORST.__getitem__), key=_WORST.__getitem__)
    return worst


def _pin_validity(
    pin: Mapping[str, Any],
    known: Mapping[str, _Premise],
    settled: dict[str, Validity],
    path: frozenset[str],
) -> Validity:
    premise = known.get(str(pin.get("id")))
    if premise is None:
        return "unverifiable"
    if not premise.standing:
        return "needs_review"
    if planes := pin.get("planes"):
        if not isinstance(planes, dict):
            return "unverifiable"
        if not _unchanged(planes, premise.planes):
            return "needs_review"
    elif pin.get("version") != premise.version:
        return "needs_review"
    if premise.derived:
        return _validity(str(pin["id"]), known, settled, path)
    return "current"


def _unchanged(pinned: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether the planes that a pin names are as it read them; one never touched counts 0."""
    for name, count in pinned.items():
        if isinstance(count, dict):
            part = now.get(name)
            if not _unchanged(count, part if isinstance(part, dict) else {}):
                return False
        elif now.get(name, 0) != count:
            return False
    return True
