"""What every stage of planning stands on: references, ids, retries, facets and links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar

from storage.canonical import canonical_json, digest
from storage.database import Scope, Transaction
from storage.graph import state
from storage.graph.changes import (
    DefineSymbol,
    Guard,
    Link,
    Ref,
)
from storage.graph.errors import (
    ClientKeyConflict,
    ConstraintViolation,
    DanglingReference,
    DuplicateMutationTarget,
    ImmutableField,
    NotFoundOrNotVisible,
    SchemaFieldNotFound,
    TypeMismatch,
    VersionConflict,
)
from storage.graph.planning.planned import Edge, Planned
from storage.graph.schema import FacetDef, FieldDef, Schema, check_json, check_values, lineage_of
from storage.graph.state import Stored

#: The planes of an element besides its facets; each counts its own changes.
PLANES = ("attributes", "structural", "retention")
#: An activity of such a status does not change any more.
TERMINAL = frozenset({"completed", "failed", "cancelled"})


class _Keyed(Protocol):
    """An operation that creates an element and may name it by a client key."""

    @property
    def handle(self) -> str: ...
    @property
    def client_key(self) -> str | None: ...


K = TypeVar("K", bound=_Keyed)


class Resolver:
    """The plan so far: what is stored, what is planned, and what handles stand for."""

    def __init__(
        self,
        tx: Transaction,
        scope: Scope,
        schema: Schema,
        counters: Mapping[str, int],
        at: datetime,
    ) -> None:
        self.tx, self.scope, self.schema, self.at = tx, scope, schema, at
        self.counters = dict(counters)
        self.ids: dict[str, str] = {}
        self.stored: dict[str, Stored] = {}
        self.planned: dict[str, Planned] = {}
        self.drafts: list[DefineSymbol] = []
        self.additions: dict[tuple[str, str], list[Edge]] = defaultdict(list)
        self.removals: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.folded: set[str] = set()
        self.stated: dict[tuple[str, str, str], str] = {}

    def _fetch(self, ids: Iterable[str]) -> None:
        """Load elements, and what those of them that were merged away came to."""
        wanted = {i for i in ids if i not in self.stored}
        while wanted:
            found = state.load(self.tx, self.scope, wanted)
            self.stored.update(found)
            wanted = {
                element.doc["merged_into"]
                for element in found.values()
                if element.state == "merged" and element.doc["merged_into"] not in self.stored
            }

    def _own_id(self, ref: Ref) -> str:
        """The id of the very element that a reference names, be it merged away."""
        if ref.startswith("?"):
            if ref not in self.ids:
                raise DanglingReference(f"Nothing defines {ref}.")
            return self.ids[ref]
        if ref not in self.stored:
            raise NotFoundOrNotVisible(f"There is no element {ref!r} here.")
        return ref

    def _id(self, ref: Ref) -> str:
        """The id that a reference stands for: what a merged concept came to."""
        return self._canonical(self._own_id(ref))

    def _canonical(self, element_id: str) -> str:
        """The concept that a merged one came to; every other element is its own."""
        while (stored := self.stored.get(element_id)) is not None and stored.state == "merged":
            element_id = stored.doc["merged_into"]
        return element_id

    def _kind(self, element_id: str) -> tuple[str, str | None]:
        """Kind and type lineage of a planned or stored element."""
        element = self.planned.get(element_id) or self._stored(element_id)
        return element.kind, element.type_lineage

    def _stored(self, element_id: str) -> Stored:
        found = self.stored.get(element_id)
        if found is None:
            raise NotFoundOrNotVisible("There is no such element here, or not any more.")
        return found

    def _need(self, ref: Ref, kinds: str, what: str) -> str:
        element_id = self._id(ref)
        if self._kind(element_id)[0] not in kinds:
            raise TypeMismatch(f"{what} cannot be {element_id}.")
        return element_id

    def _new_id(self, kind: str) -> str:
        self.counters[kind] = self.counters.get(kind, 0) + 1
        return f"{kind}-{self.counters[kind]}"

    def _editable(self, element_id: str) -> Planned:
        """The plan of an element that exists, made from its present version."""
        planned = self.planned.get(element_id)
        if planned is None:
            stored = self._stored(element_id)
            planned = self.planned[element_id] = Planned(
                id=stored.id,
                kind=stored.kind,
                schema_ref=stored.schema_ref,
                type_lineage=stored.type_lineage,
                key=stored.key,
                before=stored,
                state=stored.state,
                status=stored.status,
                name=stored.name,
                planes=dict(stored.planes),
                doc=dict(stored.doc),
                proposition=stored.proposition,
                said=stored.assertion,
                activity_class=stored.activity_class,
            )
        return planned

    def _retried(
        self, kind: str, changes: Sequence[K], payload: Mapping[str, Any]
    ) -> tuple[list[K], dict[str, str]]:
        """Sort out creations whose client key is known: they stand for what was made then.

        Returns those still to be made, and the digest to keep for each handle.
        """
        keyed = [c for c in changes if c.client_key is not None]
        if not keyed:
            return list(changes), {}
        found = state.by_client_key(
            self.tx,
            self.scope,
            [(kind, c.client_key) for c in keyed if c.client_key is not None],
        )
        self._fetch(element_id for element_id, _ in found.values())
        known = {key: (element_id, written) for (_, key), (element_id, written) in found.items()}
        fresh, digests = [], {}
        first: dict[str, tuple[str, str]] = {}
        for change in changes:
            key, handle = change.client_key, change.handle
            if key is None:
                fresh.append(change)
                continue
            written = digest(payload[handle])
            if key in known:
                element_id, before = known[key]
                if written != before:
                    raise ClientKeyConflict(f"Client key {key!r} was used for something else.")
                self.ids[handle] = element_id
            elif key in first:
                if written != first[key][1]:
                    raise ClientKeyConflict(f"Client key {key!r} is used for two things.")
                self.folded.add(handle)
                self.ids[handle] = first[key][0]
            else:
                first[key] = (handle, written)
                digests[handle] = written
                fresh.append(change)
        return fresh, digests

    def _unfold(self) -> None:
        """Point handles that repeat another one's client key at its element."""
        for handle in self.folded:
            target = self.ids[handle]
            if target.startswith("?"):
                self.ids[handle] = self.ids[target]

    def _assign(self, planned: Planned, path: str, value: Any) -> None:
        """Note a final value; two different ones for one path are refused."""
        text = canonical_json(value)
        if planned.assigned.setdefault(path, text) != text:
            raise DuplicateMutationTarget(f"{path} of {planned.id} is given two values.")

    def _held_facet(self, planned: Planned, name: str) -> tuple[str, FacetDef]:
        """The ref under which an element keeps a facet, and the definition that goes with it.

        A facet that was written in another version of its package stays with that version.
        """
        definition = self.schema.facet(name)
        same = self.schema.lineages("facet", definition.lineage)
        for ref in planned.doc.get("facets", {}):
            if lineage_of(ref) in same:
                return ref, self.schema.facet(ref)
        return definition.ref, definition

    def _facets(
        self,
        planned: Planned,
        facets: Mapping[str, Mapping[str, Any]],
        unset: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Write and take away members of facets; what is both written and taken is written."""
        for name, values in facets.items():
            ref, definition = self._held_facet(planned, name)
            self._check_facet(planned, definition, values)
            present = planned.doc.get("facets", {}).get(ref, {})
            held = planned.before is not None and ref in planned.before.doc.get("facets", {})
            for member, value in values.items():
                path = f"facets.{ref}.{member}"
                self._assign(planned, path, value)
                if member in present and canonical_json(present[member]) == canonical_json(value):
                    continue
                if held and definition.fields.get(member, {}).get("mutable") is False:
                    refusal = ConstraintViolation if member in present else ImmutableField
                    raise refusal(f"{member} of {ref} cannot change.")
                planned.touched.add(path)
            merged = {**present, **values}
            planned.doc["facets"] = {**planned.doc.get("facets", {}), ref: merged}
        for name, members in (unset or {}).items():
            self._unset_facet(planned, name, members, facets.get(name, {}))

    def _check_facet(
        self, planned: Planned, definition: FacetDef, values: Mapping[str, Any]
    ) -> None:
        """What can be said of written members before the rest of the change set is known."""
        if definition.computed or not definition.applies.takes(planned.kind, planned.type_lineage):
            raise ConstraintViolation(f"{definition.ref} cannot be written on {planned.id}.")
        self._check_members(
            definition.ref,
            values,
            definition.fields,
            open=not definition.closed,
            bound=definition.value_schema is not None,
        )

    def _check_members(
        self,
        what: str,
        values: Mapping[str, Any],
        fields: Mapping[str, Mapping[str, Any]],
        *,
        open: bool,
        bound: bool,
    ) -> None:
        """Check written members one by one; the whole is checked when all is known.

        A member that is unknown is a `SchemaFieldNotFound`, and a `ConstraintViolation` where a
        value schema binds the whole, since that knows no such member either.
        """
        try:
            check_values(what, values, fields, open=open, complete=False)
        except SchemaFieldNotFound as error:
            if not bound:
                raise
            raise ConstraintViolation(error.message) from None

    def _unset_facet(
        self, planned: Planned, name: str, members: Sequence[str], written: Mapping[str, Any]
    ) -> None:
        ref, definition = self._held_facet(planned, name)
        if definition.computed:
            raise ConstraintViolation(f"{ref} is computed.")
        facets = planned.doc.get("facets", {})
        present = facets.get(ref, {})
        for member in [m for m in (members or tuple(present)) if m not in written]:
            path = f"facets.{ref}.{member}"
            self._assign(planned, path, {"unset": True})
            if definition.fields.get(member, {}).get("mutable") is False and member in present:
                raise ConstraintViolation(f"{member} of {ref} cannot change.")
            if member in present:
                present = {k: v for k, v in present.items() if k != member}
                planned.touched.add(path)
        if present:
            planned.doc["facets"] = {**facets, ref: present}
        elif ref in facets:
            planned.doc["facets"] = {k: v for k, v in facets.items() if k != ref}

    def _guard(self, planned: Planned | None, guards: Sequence[Guard], what: str) -> None:
        """Hold an element against `EXPECT VERSION`; None: it does not exist.

        Raises `VersionConflict`.
        """
        present = None if planned is None else planned.before
        for guard in guards:
            plane = guard.plane
            if plane is not None and plane not in PLANES and planned is not None:
                plane, _ = self._held_facet(planned, plane)
            if present is None:
                version = 0
            elif plane is None:
                version = present.version
            elif plane in PLANES:
                version = present.planes.get(plane, 0)
            else:
                version = present.planes.get("facets", {}).get(plane, 0)
            if version != guard.version:
                raise VersionConflict(
                    f"{what} is at version {version}, not {guard.version}.",
                    data={"plane": guard.plane, "expected": guard.version, "actual": version},
                )
        if planned is not None and guards:
            planned.guarded = True

    def _field(self, source: str, link: Link) -> FieldDef:
        kind, type_lineage = self._kind(source)
        definition = self.schema.structural(link.field, kind)
        if definition.computed:
            raise ConstraintViolation(f"{definition.ref} is computed and cannot be written.")
        if not definition.source.takes(kind, type_lineage):
            raise ConstraintViolation(f"{source} has no field {definition.ref}.")
        return definition

    def _links(self, source: str, links: Iterable[Link]) -> None:
        for link in links:
            definition = self._field(source, link)
            target = self._id(link.target)
            if not definition.target.takes(*self._kind(target)):
                raise ConstraintViolation(f"{definition.ref} cannot point to {target}.")
            self.additions[source, definition.lineage].append(
                Edge(source, definition, target, link.role, link.position)
            )

    def _link_payload(self, links: Iterable[Link]) -> list[list[str]]:
        """What links say, for the digest of a creation; a handle names within one change set."""
        return sorted(
            [
                self.schema.structural(link.field).lineage,
                "?" if link.target.startswith("?") else link.target,
                link.role or "",
            ]
            for link in links
        )

    def _unlinks(self, source: str, links: Iterable[Link]) -> None:
        for link in links:
            definition = self._field(source, link)
            self.removals[source, definition.lineage].append(self._id(link.target))


def text_of(value: Any, what: str) -> str:
    """A string that can be stored; raises `TypeMismatch` or `ConstraintViolation`."""
    if not isinstance(value, str):
        raise TypeMismatch(f"{what} must be a string.")
    check_json(value, what)
    return value
