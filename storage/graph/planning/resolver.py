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
    StructuralReferenceInvalid,
    TypeMismatch,
    VersionConflict,
)
from storage.graph.planning.planned import Edge, Planned
from storage.graph.schema import FieldDef, Schema, check_json, check_values
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

    def _fetch(self, ids: Iterable[str]) -> None:
        self.stored.update(
            state.load(self.tx, self.scope, {i for i in ids if i not in self.stored})
        )

    def _id(self, ref: Ref) -> str:
        """The id that a reference stands for."""
        if ref.startswith("?"):
            if ref not in self.ids:
                raise DanglingReference(f"Nothing defines {ref}.")
            return self.ids[ref]
        if ref not in self.stored:
            raise NotFoundOrNotVisible(f"There is no element {ref!r} here.")
        return ref

    def _kind(self, element_id: str) -> tuple[str, str | None]:
        """Kind and type lineage of a planned or stored element."""
        element = self.planned.get(element_id) or self.stored[element_id]
        return element.kind, element.type_lineage

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
            stored = self.stored[element_id]
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

    def _facets(self, planned: Planned, facets: Mapping[str, Mapping[str, Any]]) -> None:
        for name, values in facets.items():
            definition = self.schema.facet(name)
            if definition.computed or not definition.applies.takes(
                planned.kind, planned.type_lineage
            ):
                raise ConstraintViolation(f"{definition.ref} cannot be written on {planned.id}.")
            if definition.activity_classes and (
                planned.activity_class not in definition.activity_classes
                or (definition.terminal_only and planned.status not in TERMINAL)
            ):
                raise ConstraintViolation(f"{definition.ref} does not go with that activity.")
            if (
                definition.ref.endswith("/MnemonicState")
                and "memory_strength" in values
                and not {"last_metabolized_at", "strength_policy"} <= set(values)
            ):
                raise ConstraintViolation(
                    "memory_strength is written with last_metabolized_at and strength_policy."
                )
            present = planned.doc.get("facets", {}).get(definition.ref, {})
            merged = {**present, **values}
            check_values(
                definition.ref,
                merged,
                definition.fields,
                open=not definition.closed,
                complete=True,
            )
            for member, value in values.items():
                path = f"facets.{definition.ref}.{member}"
                self._assign(planned, path, value)
                if member in present and canonical_json(present[member]) == canonical_json(value):
                    continue
                if present and definition.fields.get(member, {}).get("mutable") is False:
                    raise ImmutableField(f"{member} of {definition.ref} cannot change.")
                planned.touched.add(path)
            planned.doc["facets"] = {**planned.doc.get("facets", {}), definition.ref: merged}

    def _field(self, source: str, link: Link) -> FieldDef:
        definition = self.schema.structural(link.field)
        if definition.computed:
            raise ConstraintViolation(f"{definition.ref} is computed and cannot be written.")
        if not definition.source.takes(*self._kind(source)):
            raise StructuralReferenceInvalid(f"{source} has no field {definition.ref}.")
        return definition

    def _links(self, source: str, links: Iterable[Link]) -> None:
        for link in links:
            definition = self._field(source, link)
            target = self._id(link.target)
            if not definition.target.takes(*self._kind(target)):
                raise StructuralReferenceInvalid(f"{definition.ref} cannot point to {target}.")
            self.additions[source, definition.lineage].append(
                Edge(source, definition, target, link.role, link.position)
            )


def check_guards(guards: Sequence[Guard], present: Stored | None, what: str) -> None:
    """Hold an element against `EXPECT VERSION`; raises `VersionConflict`."""
    for guard in guards:
        if present is None:
            version = 0
        elif guard.plane is None:
            version = present.version
        elif guard.plane in PLANES:
            version = present.planes.get(guard.plane, 0)
        else:
            version = present.planes.get("facets", {}).get(guard.plane, 0)
        if version != guard.version:
            raise VersionConflict(
                f"{what} is at version {version}, not {guard.version}.",
                data={"plane": guard.plane, "expected": guard.version, "actual": version},
            )


def text_of(value: Any, what: str) -> str:
    """A string that can be stored; raises `TypeMismatch` or `ConstraintViolation`."""
    if not isinstance(value, str):
        raise TypeMismatch(f"{what} must be a string.")
    check_json(value, what)
    return value
