"""Conditions of Watches: filters over entries of change envelopes.

`element`, `slot` and `type` name what is watched, all of them where several are given; `ops` and
`touched` narrow the changes, any member of either. Text is for an evaluator to judge: a condition
that is nothing else is not decided here (kip-engine contract, profile `Watch`).
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from storage.canonical import digest
from storage.database import Scope, Transaction
from storage.graph.errors import KipError
from storage.graph.schema import Schema, local_name

_MEMBERS = frozenset({"element", "slot", "type", "ops", "touched", "text"})
_FACETS = "facets."


@dataclass(frozen=True, slots=True)
class Slot:
    """A subject (whatever it was merged with) and the lineages of its predicate."""

    subjects: frozenset[str]
    predicates: frozenset[str]


@dataclass(frozen=True, slots=True)
class Change:
    """An entry of an envelope: its sequence, and what conditions may name it by."""

    seq: int
    entry: Mapping[str, Any]
    type: str | None
    slot: tuple[str, str] | None

    @property
    def element(self) -> str:
        """The element that changed."""
        return str(self.entry["id"])


@dataclass(slots=True)
class Changes:
    """A stretch of the stream, in order, to be looked up by what a condition names.

    `slots` has subject and predicate lineage of propositions by id.
    """

    by_element: dict[str, list[Change]] = field(default_factory=lambda: defaultdict(list))
    by_type: dict[str, list[Change]] = field(default_factory=lambda: defaultdict(list))
    by_slot: dict[tuple[str, str], list[Change]] = field(default_factory=lambda: defaultdict(list))

    def add(self, seq: int, entry: Mapping[str, Any], slots: Mapping[str, tuple[str, str]]) -> None:
        """Append an entry."""
        type_lineage = _lineage(entry.get("schema_ref"))
        slot = slots.get(proposition_of(entry) or "")
        change = Change(seq, entry, type_lineage, slot)
        self.by_element[change.element].append(change)
        if type_lineage is not None:
            self.by_type[type_lineage].append(change)
        if slot is not None:
            self.by_slot[slot].append(change)


@dataclass(frozen=True, slots=True)
class Condition:
    """What rule can decide of a condition; None: no restriction."""

    elements: frozenset[str] | None
    slot: Slot | None
    types: frozenset[str] | None
    ops: frozenset[str] | None
    touched: tuple[str, ...] | None
    digest: str

    def first(
        self, changes: Changes, *, after: int, through: int | None, besides: str
    ) -> Change | None:
        """The first change with `after` < sequence <= `through` that the condition waits for.

        Changes of the element `besides` do not count.
        """
        found = [
            change
            for change in self._named(changes)
            if after < change.seq
            and (through is None or change.seq <= through)
            and change.element != besides
            and self._matches(change)
        ]
        return min(found, key=lambda change: change.seq, default=None)

    def _named(self, changes: Changes) -> Iterator[Change]:
        """The changes of what is watched, by one of its names."""
        if self.elements is not None:
            for element in self.elements:
                yield from changes.by_element.get(element, ())
        elif self.slot is not None:
            for subject in self.slot.subjects:
                for predicate in self.slot.predicates:
                    yield from changes.by_slot.get((subject, predicate), ())
        else:
            for lineage in self.types or ():
                yield from changes.by_type.get(lineage, ())

    def _matches(self, change: Change) -> bool:
        entry = change.entry
        if self.types is not None and change.type not in self.types:
            return False
        if self.slot is not None and not (
            change.slot is not None
            and change.slot[0] in self.slot.subjects
            and change.slot[1] in self.slot.predicates
        ):
            return False
        if self.ops is not None and entry["op"] not in self.ops:
            return False
        return self.touched is None or any(
            path == wanted or path.startswith(f"{wanted}.")
            for path in _paths(entry.get("touched", ()))
            for wanted in self.touched
        )


def proposition_of(entry: Mapping[str, Any]) -> str | None:
    """The proposition that a change is about: the element itself, or what an assertion is on."""
    if entry["kind"] == "proposition":
        return str(entry["id"])
    about = entry.get("refs", {}).get("proposition")
    return None if about is None else str(about)


def read_all(
    tx: Transaction, scope: Scope, schema: Schema, given: Sequence[Any]
) -> list[Condition | None]:
    """The conditions of Watches, in order; None where rule cannot decide one.

    That is text alone, and anything that names no element, slot or type of this space's schema.
    """
    merged = _merged(tx, scope, {named for one in given for named in _named(one)})
    return [_read(schema, one, merged) for one in given]


def _read(schema: Schema, given: Any, merged: Mapping[str, frozenset[str]]) -> Condition | None:
    if not isinstance(given, Mapping) or given.keys() - _MEMBERS:
        return None
    try:
        elements = None if "element" not in given else merged[_id(given["element"])]
        types = None if "type" not in given else schema.lineages("concept_type", given["type"])
        slot = None if "slot" not in given else _slot(schema, given["slot"], merged)
        ops = None if "ops" not in given else frozenset(_texts(given["ops"]))
        touched = None if "touched" not in given else tuple(_texts(given["touched"]))
    except (KipError, TypeError, KeyError, AttributeError):
        return None
    if elements is None and types is None and slot is None:
        return None
    return Condition(elements, slot, types, ops, touched, condition_digest(given))


def condition_digest(given: Any) -> str:
    """Tells one condition from another, whatever its form."""
    return digest(given)


def _slot(schema: Schema, given: Mapping[str, Any], merged: Mapping[str, frozenset[str]]) -> Slot:
    if given.keys() - {"subject", "predicate"}:
        raise KeyError("slot")
    predicates = schema.lineages("predicate", given["predicate"])
    return Slot(merged[_id(given["subject"])], predicates)


def _named(given: Any) -> Iterator[str]:
    """The elements that a condition names, of whatever form it is."""
    if not isinstance(given, Mapping):
        return
    slot = given.get("slot")
    for one in (given.get("element"), slot.get("subject") if isinstance(slot, Mapping) else None):
        with contextlib.suppress(TypeError, KeyError):
            yield _id(one)


def _id(given: Any) -> str:
    """An element as conditions name it: its id, or `{"id": …}`."""
    found = given["id"] if isinstance(given, Mapping) else given
    if not isinstance(found, str):
        raise TypeError("an element is named by its id")
    return found


def _texts(given: Any) -> Sequence[str]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise TypeError("a list of words is needed")
    if not all(isinstance(word, str) for word in given):
        raise TypeError("a list of words is needed")
    return given


def _merged(tx: Transaction, scope: Scope, ids: Collection[str]) -> dict[str, frozenset[str]]:
    """Each element with what it was merged with."""
    rows = tx.execute(
        """
        select w.id, coalesce(m.target_id, w.id) from unnest(%s::text[]) as w(id)
          left join lateral (select target_id from merge_link m where m.space_id = %s
                 and m.source_id = w.id limit 1) m on true
        """,
        (sorted(ids), scope.space_id),
    ).fetchall()
    into: dict[str, set[str]] = defaultdict(set)
    for source, target in tx.execute(
        "select source_id, target_id from merge_link where space_id = %s and target_id = any(%s)",
        (scope.space_id, sorted({root for _, root in rows})),
    ):
        into[target].add(source)
    return {id: frozenset({id, root, *into.get(root, ())}) for id, root in rows}


def _lineage(ref: str | None) -> str | None:
    if ref is None or "@" not in ref:
        return ref
    package, _, rest = ref.partition("@")
    return f"{package}/{rest.partition('/')[2]}"


def _paths(touched: Iterable[str]) -> Iterable[str]:
    """Changed paths, those of facets also by the facet's local name."""
    for path in touched:
        yield path
        if path.startswith(_FACETS):
            ref, _, member = path.removeprefix(_FACETS).rpartition(".")
            whole = ref or member
            name = local_name(whole if "/" in whole else path.removeprefix(_FACETS))
            yield f"{_FACETS}{name}.{member}" if ref else f"{_FACETS}{name}"
