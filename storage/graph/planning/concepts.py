"""Concepts: matched by id or by type and key, created, updated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from storage.canonical import canonical_json
from storage.graph import state
from storage.graph.changes import (
    CreateConcept,
    UpdateConcept,
    UpsertConcept,
)
from storage.graph.errors import (
    ConstraintViolation,
    IdentityConflict,
    IdentitySelectorRequired,
    ImmutableField,
    InvalidLifecycleTransition,
    NotFoundOrNotVisible,
    SchemaSymbolNotFound,
)
from storage.graph.planning.planned import Planned
from storage.graph.planning.resolver import Resolver, text_of
from storage.graph.planning.skills import check_behaviour
from storage.graph.schema import Schema, lineage_of


class Concepts(Resolver):
    """The stage of concepts."""

    def _resolve_concepts(
        self, creates: Sequence[CreateConcept], upserts: Sequence[UpsertConcept]
    ) -> None:
        payload = {c.handle: _concept_payload(c, self.schema) for c in creates if c.client_key}
        creates, digests = self._retried("C", creates, payload)
        named = [(c.type, c.key) for c in creates] + [(u.type, u.key) for u in upserts]
        typed = [
            (lineage, key)
            for type_name, key in named
            if key is not None and type_name is not None
            for lineage in self._type_lineages(type_name)
        ]
        bare = [u.key for u in upserts if u.id is None and u.type is None and u.key is not None]
        known = state.concepts_by_key(self.tx, self.scope, typed)
        loose = state.concepts_by_bare_key(self.tx, self.scope, bare)
        self._fetch([*known.values(), *(i for ids in loose.values() for i in ids)])
        for create in creates:
            self._create_concept(create, known, digests.get(create.handle))
        self._unfold()
        for upsert in upserts:
            self._upsert_concept(upsert, known, loose)

    def _create_concept(
        self, create: CreateConcept, known: dict[tuple[str, str], str], written: str | None
    ) -> None:
        if create.key is not None and any(
            (lineage, create.key) in known for lineage in self._type_lineages(create.type)
        ):
            raise IdentityConflict(f"There is a {create.type} with key {create.key!r} already.")
        planned = self._plan_concept(create.type, create.key, create.handle, known)
        planned.client_key, planned.client_digest = create.client_key, written
        if create.canonical_id is not None:
            planned.doc["canonical_id"] = text_of(create.canonical_id, "canonical_id")
        if create.aliases:
            planned.doc["aliases"] = [text_of(alias, "aliases") for alias in create.aliases]
        self._name(planned, create.name)
        self._attributes(planned, create.attributes)
        self._facets(planned, create.facets)

    def _plan_concept(
        self, type_name: str, key: str | None, handle: str, known: dict[tuple[str, str], str]
    ) -> Planned:
        definition = self.schema.type(type_name)
        planned = Planned(
            id=self._new_id("C"),
            kind="C",
            schema_ref=definition.ref,
            type_lineage=definition.lineage,
            key=None if key is None else text_of(key, "key"),
        )
        self.planned[planned.id] = planned
        self.ids[handle] = planned.id
        if key is not None:
            known[definition.lineage, key] = planned.id
        return planned

    def _upsert_concept(
        self,
        upsert: UpsertConcept,
        known: dict[tuple[str, str], str],
        loose: Mapping[str, list[str]],
    ) -> None:
        found = self._match(upsert, known, loose)
        if found is None:
            self._guard(None, upsert.guards, upsert.handle)
            if upsert.key is None:
                raise IdentitySelectorRequired("A concept is created by its type and key.")
            if upsert.type is None:
                raise SchemaSymbolNotFound("A concept cannot be created without a type.")
            planned = self._plan_concept(upsert.type, upsert.key, upsert.handle, known)
            self._name(planned, upsert.name if upsert.name is not None else upsert.initial_name)
            self._attributes(planned, {**upsert.initial_attributes, **upsert.attributes})
        else:
            self.ids[upsert.handle] = found
            planned = self._mutable(found)
            self._guard(planned, upsert.guards, upsert.handle)
            self._edit(planned, upsert)
            self._attributes(planned, upsert.attributes)
            self._unset_attributes(planned, upsert.unset_attributes, upsert.attributes)
        self._aliases(planned, upsert.aliases)
        if upsert.canonical_id is not None:
            self._canonical_id(planned, upsert.canonical_id)
        self._facets(planned, upsert.facets, upsert.unset_facets)

    def _mutable(self, element_id: str) -> Planned:
        """A concept that can be written; raises `InvalidLifecycleTransition`."""
        planned = self._editable(element_id)
        if planned.state not in ("active", "archived"):
            raise InvalidLifecycleTransition(f"{element_id} is {planned.state}.")
        return planned

    def _type_lineages(self, type_name: str) -> frozenset[str]:
        return self.schema.lineages("concept_type", type_name)

    def _canonical_id(self, planned: Planned, canonical_id: str) -> None:
        present = planned.doc.get("canonical_id")
        self._assign(planned, "fields.canonical_id", text_of(canonical_id, "canonical_id"))
        if present == canonical_id:
            return
        if present is not None:
            raise ImmutableField(f"canonical_id of {planned.id} cannot change.")
        planned.doc["canonical_id"] = canonical_id
        planned.touched.add("fields.canonical_id")

    def _aliases(self, planned: Planned, given: Sequence[str] | None) -> None:
        if given is None:
            return
        aliases = [text_of(alias, "aliases") for alias in given]
        self._assign(planned, "fields.aliases", aliases)
        if aliases != planned.doc.get("aliases", []):
            planned.doc["aliases"] = aliases
            planned.touched.add("fields.aliases")

    def _edit(self, planned: Planned, change: UpsertConcept | UpdateConcept) -> None:
        """The name of a concept that exists."""
        if change.name is not None:
            self._name(planned, change.name)
        elif change.unset_name:
            self._assign(planned, "fields.name", None)
            if planned.name is not None:
                planned.name = None
                planned.touched.add("fields.name")

    def _match(
        self,
        upsert: UpsertConcept,
        known: Mapping[tuple[str, str], str],
        loose: Mapping[str, list[str]],
    ) -> str | None:
        if upsert.id is not None:
            found = self._need(upsert.id, "C", "The target of an upsert")
            if upsert.type is not None and (
                self._kind(found)[1] not in self._type_lineages(upsert.type)
            ):
                raise NotFoundOrNotVisible(f"There is no {upsert.type} {upsert.id!r} here.")
            return found
        if upsert.key is None:
            raise IdentitySelectorRequired("A concept is matched by id or by key.")
        if upsert.type is not None:
            typed = {
                self._canonical(known[lineage, upsert.key])
                for lineage in self._type_lineages(upsert.type)
                if (lineage, upsert.key) in known
            }
            matches = sorted(typed)
        else:
            matches = sorted({self._canonical(found) for found in loose.get(upsert.key, [])})
        if len(matches) > 1:
            raise IdentityConflict(f"Key {upsert.key!r} fits {len(matches)} concepts; add a type.")
        return matches[0] if matches else None

    def _update(self, update: UpdateConcept) -> None:
        element_id = self._need(update.target, "C", "The target of an update")
        planned = self._mutable(element_id)
        self._guard(planned, update.guards, element_id)
        self._edit(planned, update)
        self._aliases(planned, update.aliases)
        self._attributes(planned, update.attributes)
        self._unset_attributes(planned, update.unset_attributes, update.attributes)
        self._facets(planned, update.facets, update.unset_facets)
        self._links(element_id, update.links)
        self._unlinks(element_id, update.unlinks)

    def _name(self, planned: Planned, name: str | None) -> None:
        if name is None:
            return
        self._assign(planned, "fields.name", text_of(name, "name"))
        if planned.name != name:
            planned.name = name
            planned.touched.add("fields.name")

    def _attributes(self, planned: Planned, values: Mapping[str, Any]) -> None:
        if not values:
            return
        assert planned.schema_ref is not None
        definition = self.schema.type(planned.schema_ref)
        check_behaviour(self.schema, definition, values)
        self._check_members(
            definition.ref,
            values,
            definition.fields,
            open=definition.open,
            bound=definition.value_schema is not None,
        )
        present = planned.doc.get("attributes", {})
        merged = dict(present)
        for name, value in values.items():
            self._assign(planned, f"attributes.{name}", value)
            if name in present and canonical_json(present[name]) == canonical_json(value):
                continue
            if not planned.new and definition.fields.get(name, {}).get("mutable") is False:
                refusal = ConstraintViolation if name in present else ImmutableField
                raise refusal(f"{name} of {planned.id} cannot change.")
            merged[name] = value
            planned.touched.add(f"attributes.{name}")
        planned.doc["attributes"] = merged

    def _unset_attributes(
        self, planned: Planned, names: Sequence[str], written: Mapping[str, Any]
    ) -> None:
        if not names:
            return
        assert planned.schema_ref is not None
        fields = self.schema.type(planned.schema_ref).fields
        for name in names:
            if name in written:
                continue
            self._assign(planned, f"attributes.{name}", {"unset": True})
            present = planned.doc.get("attributes", {})
            if name not in present:
                continue
            if fields.get(name, {}).get("mutable") is False:
                raise ConstraintViolation(f"{name} of {planned.id} cannot change.")
            planned.doc["attributes"] = {k: v for k, v in present.items() if k != name}
            planned.touched.add(f"attributes.{name}")


def _concept_payload(create: CreateConcept, schema: Schema) -> dict[str, Any]:
    return {
        "type": schema.type(create.type).lineage,
        "name": create.name,
        "key": create.key,
        "aliases": list(create.aliases),
        "canonical_id": create.canonical_id,
        "attributes": dict(create.attributes),
        "facets": {schema.facet(k).ref: dict(v) for k, v in create.facets.items()},
        "links": sorted(
            # a handle is a name for this change set only
            [
                lineage_of(schema.structural(link.field).ref),
                "?" if link.target.startswith("?") else link.target,
                link.role or "",
            ]
            for link in create.links
        ),
    }
