"""What stands for an element: a handle, a bound variable, an id, or what names one concept.

A concept is named by `{id}`, `{type, key}`, a `{key}` that only one concept has, or
`{canonical_id}`; a `type` beside any of them must be the concept's own. A name never names one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from storage.database import sql
from storage.graph import state
from storage.graph.changes import Ref
from storage.graph.errors import (
    DanglingReference,
    IdentityConflict,
    IdentitySelectorRequired,
    KipError,
    NotFoundOrNotVisible,
    TypeMismatch,
)
from storage.kip.errors import UnsupportedCapability, fault
from storage.kip.language.ast_terms import (
    Literal,
    Node,
    ObjectMatch,
    ObjectValue,
    Triple,
    TripleById,
    Variable,
)
from storage.kip.language.walking import every
from storage.kip.snapshot import Snapshot

#: An id as this engine makes them; its first letter is the kind of the element.
_ID = re.compile(r"[CPAEX]-[1-9][0-9]{0,17}", re.ASCII)
#: What may name a concept, the first that is given deciding.
_SELECTORS = ("id", "key", "canonical_id")

#: Variables that WHERE bound: ids of elements, or JSON values.
Row = Mapping[str, Any]


def is_id(value: object) -> bool:
    """Whether that is an id as this engine makes them."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def canonical(snapshot: Snapshot, ids: Collection[str]) -> dict[str, str]:
    """What each id came to by merges; an id that is none stays what it is."""
    found: dict[str, str] = {}
    merged = {element_id: element_id for element_id in ids}
    while merged:
        stored = state.load(snapshot.tx, snapshot.scope, set(merged.values()))
        onward: dict[str, str] = {}
        for element_id, came_to in merged.items():
            element = stored.get(came_to)
            if element is not None and element.state == "merged":
                onward[element_id] = element.doc["merged_into"]
            else:
                found[element_id] = came_to
        merged = onward
    return found


class References:
    """Resolves what stands for elements in the statements of one transaction.

    `handles` maps the names that the transaction defines to the kinds of their elements; `keyed`
    maps (type lineage, key) of the concepts that it creates or finds to their handles.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        handles: Mapping[str, str],
        keyed: Mapping[tuple[str, str], str],
    ) -> None:
        self.snapshot, self.handles, self.keyed = snapshot, handles, keyed
        self._known: dict[tuple[str, frozenset[str] | None, str], Ref | None] = {}
        self._by_key: dict[tuple[str, str], str | None] = {}
        self._stored: dict[str, state.Stored] = {}

    def of(self, node: Node, row: Row) -> Ref:
        """The reference that a node stands for, an id or `?handle`.

        Raises `NotFoundOrNotVisible` for what names nothing here, `IdentityConflict` for what
        names several concepts, `IdentitySelectorRequired` for what describes rather than names,
        `UnsupportedCapability` for a triple, `TypeMismatch` for what is no reference at all.
        """
        match node:
            case Variable(name):
                if name in row:
                    found: str = row[name]
                    return found
                if name in self.handles:
                    return f"?{name}"
                raise fault(DanglingReference, f"Nothing defines ?{name}.", node.at)
            case Literal(str() as given):
                return self.by_id(given, node.at)
            case ObjectMatch() | ObjectValue():
                return self._named(node)
            case Triple() | TripleById():
                raise fault(
                    UnsupportedCapability,
                    "A mutation does not look up a proposition in place of an element.",
                    node.at,
                    hint="ENSURE it under a handle of its own, and use the handle.",
                )
        raise fault(TypeMismatch, "An element goes here.", node.at, hint="Pass its id.")

    def by_id(self, given: str, at: int) -> Ref:
        """An id; whether such an element exists is seen when it is used."""
        if not is_id(given):
            raise fault(NotFoundOrNotVisible, f"There is no element {given!r} here.", at)
        return given

    def exists(self, element_id: str) -> bool:
        """Whether there is an element of that id."""
        self._load([element_id])
        return element_id in self._stored

    def kind(self, ref: Ref) -> str:
        """The kind of what a reference stands for: `C`, `P`, `A`, `E` or `X`."""
        return self.handles[ref[1:]] if ref.startswith("?") else ref[0]

    def nonlocal_id(self, node: Node) -> str | None:
        """The canonical id of `{canonical_id}` that no concept here has; else None."""
        if not isinstance(node, ObjectMatch | ObjectValue):
            return None
        if [member.name for member in node.members] != ["canonical_id"]:
            return None
        value = self._text(node.members[0].value, "canonical_id")
        return None if self._canonical(value) is not None else value

    def _named(self, node: ObjectMatch | ObjectValue) -> Ref:
        members = {member.name: member.value for member in node.members}
        selectors = [name for name in _SELECTORS if name in members]
        if len(selectors) != 1 or set(members) - {*_SELECTORS, "type"}:
            raise fault(
                IdentitySelectorRequired,
                "An element is named here, not described.",
                node.at,
                hint="Write {id: …} or {type: …, key: …}.",
            )
        selector = selectors[0]
        value = self._text(members[selector], selector)
        types: frozenset[str] | None = None
        if "type" in members:
            symbol = self._text(members["type"], "type")
            types = self.snapshot.schema.lineages("concept_type", symbol)
        query = (selector, types, value)
        if query not in self._known:
            self._known[query] = self._find(*query)
        found = self._known[query]
        if found is None:
            raise fault(NotFoundOrNotVisible, f"There is no such {selector} here.", node.at)
        return found

    def _find(self, selector: str, types: frozenset[str] | None, value: str) -> Ref | None:
        if selector == "key":
            return self._keyed(types, value)
        found = value if selector == "id" else self._canonical(value)
        if found is None or not is_id(found):
            return None
        return found if types is None or self._type(found) in types else None

    def _keyed(self, types: frozenset[str] | None, key: str) -> Ref | None:
        tx, scope = self.snapshot.tx, self.snapshot.scope
        if types is not None:
            asked = [(lineage, key) for lineage in sorted(types)]
            missing = [one for one in asked if one not in self._by_key]
            self._by_key.update(dict.fromkeys(missing))
            self._by_key.update(state.concepts_by_key(tx, scope, missing))
            found = {self._by_key[one] for one in asked} - {None}
        else:
            found = set(state.concepts_by_bare_key(tx, scope, [key]).get(key, []))
        ids = {element_id for element_id in found if element_id is not None}
        self._load(ids)
        # what this transaction makes under the key counts, unless it is what is there already
        known = {self._type(element_id) for element_id in ids}
        made = {
            handle
            for (lineage, own), handle in self.keyed.items()
            if own == key
            and (types is None or lineage in types)
            and not self.snapshot.schema.lineages("concept_type", lineage) & known
        }
        merged = any(self._stored[i].state == "merged" for i in ids if i in self._stored)
        ids = set(canonical(self.snapshot, ids).values()) if merged else ids
        fits = sorted({*ids, *made})
        if len(fits) > 1:
            raise IdentityConflict(f"Key {key!r} fits {len(fits)} concepts; add a type.")
        return fits[0] if fits else None

    def prefetch(self, root: Iterable[Node]) -> None:
        """Look up everything under some nodes that is named by type and key, all at once."""
        wanted: set[tuple[str, str]] = set()
        for node in root:
            named: list[ObjectMatch | ObjectValue] = [*every(node, ObjectMatch)]
            for one in (*named, *every(node, ObjectValue)):
                match {member.name: member.value for member in one.members}:
                    case {"type": Literal(str() as symbol), "key": Literal(str() as key)}:
                        try:
                            types = self.snapshot.schema.lineages("concept_type", symbol)
                        except KipError:
                            # it may be a value that only looks like a reference
                            continue
                        wanted |= {(lineage, key) for lineage in types}
        tx, scope = self.snapshot.tx, self.snapshot.scope
        self._by_key.update(dict.fromkeys(wanted))
        self._by_key.update(state.concepts_by_key(tx, scope, sorted(wanted)))
        self._load({element_id for element_id in self._by_key.values() if element_id is not None})

    def _load(self, ids: Collection[str]) -> None:
        missing = {element_id for element_id in ids if element_id not in self._stored}
        self._stored.update(state.load(self.snapshot.tx, self.snapshot.scope, missing))

    def _canonical(self, value: str) -> str | None:
        rows = self.snapshot.tx.execute(
            sql(
                f"""
                select v.id from element_ver v
                 where v.space_id = %(space)s and v.seq_to = {state.NOW}
                   and v.state in ('active', 'archived')
                   and v.doc->>'canonical_id' = %(value)s
                 order by v.id limit 2
                """
            ),
            {"space": self.snapshot.scope.space_id, "value": value},
        ).fetchall()
        if len(rows) > 1:
            raise IdentityConflict(f"Several concepts are {value!r}.")
        return rows[0][0] if rows else None

    def _type(self, element_id: str) -> str | None:
        self._load([element_id])
        stored = self._stored.get(element_id)
        return None if stored is None else stored.type_lineage

    def _text(self, value: object, what: str) -> str:
        if not isinstance(value, Literal) or not isinstance(value.value, str):
            raise fault(TypeMismatch, f"{what} is a string.", getattr(value, "at", 0))
        return value.value
