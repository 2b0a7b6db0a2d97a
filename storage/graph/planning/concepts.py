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
    IdentityConflict,
    IdentitySelectorRequired,
    ImmutableField,
    InvalidLifecycleTransition,
)
from storage.graph.planning.planned import Planned
from storage.graph.planning.resolver import Resolver, check_guards, text_of
from storage.graph.schema import Schema, check_values, lineage_of


class Concepts(Resolver):
    """The stage of concepts."""

    def _resolve_concepts(
        self, creates: Sequence[CreateConcept], upserts: Sequence[UpsertConcept]
    ) -> None:
        payload = {c.handle: _concept_payload(c, self.schema) for c in creates if c.client_key}
        creates, digests = self._retried("C", creates, payload)
        named = [(c.type, c.key) for c in creates] + [(u.type, u.key) for u in upserts]
        typed = [
            (self.schema.type(type_name).lineage, key)
            for type_name, key in named
            if key is not None and type_name is not None
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
        definition = self.schema.type(create.type)
        if create.key is not None and (definition.lineage, create.key) in known:
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
        present = None if found is None or found not in self.stored else self.stored[found]
        check_guards(upsert.guards, present, upsert.handle)
        if found is None:
            if upsert.type is None or upsert.key is None:
                raise IdentitySelectorRequired("A concept is created by its type and key.")
            planned = self._plan_concept(upsert.type, upsert.key, upsert.handle, known)
            self._name(planned, upsert.name or upsert.initial_name)
            self._attributes(planned, {**upsert.initial_attributes, **upsert.attributes})
        else:
            self.ids[upsert.handle] = found
            planned = self._editable(found)
            if planned.state not in ("active", "archived"):
                raise InvalidLifecycleTransition(f"{found} is {planned.state}.")
            if upsert.name is not None:
                self._name(planned, upsert.name)
            self._attributes(planned, upsert.attributes)
            self._unset_attributes(planned, upsert.unset_attributes)
        self._facets(planned, upsert.facets)

    def _match(
        self,
        upsert: UpsertConcept,
        known: Mapping[tuple[str, str], str],
        loose: Mapping[str, list[str]],
    ) -> str | None:
        if upsert.id is not None:
            return self._need(upsert.id, "C", "The target of an upsert")
        if upsert.key is None:
            raise IdentitySelectorRequired("A concept is matched by id or by key.")
        if upsert.type is not None:
            return known.get((self.schema.type(upsert.type).lineage, upsert.key))
        matches = loose.get(upsert.key, [])
        if len(matches) > 1:
            raise IdentityConflict(f"Key {upsert.key!r} fits {len(matches)} concepts; add a type.")
        return matches[0] if matches else None

    def _update(self, update: UpdateConcept) -> None:
        element_id = self._need(update.target, "C", "The target of an update")
        check_guards(update.guards, self.stored.get(element_id), element_id)
        planned = self._editable(element_id)
        if update.unset_name:
            self._assign(planned, "name", None)
            if planned.name is not None:
                planned.name = None
                planned.touched.add("name")
        if update.name is not None:
            self._name(planned, update.name)
        if update.aliases is not None:
            aliases = [text_of(alias, "aliases") for alias in update.aliases]
            self._assign(planned, "aliases", aliases)
            if aliases != planned.doc.get("aliases", []):
                planned.doc["aliases"] = aliases
                planned.touched.add("aliases")
        self._attributes(planned, update.attributes)
        self._unset_attributes(planned, update.unset_attributes)
        self._facets(planned, update.facets)
        for name in update.unset_facets:
            ref = self.schema.facet(name).ref
            self._assign(planned, f"facets.{ref}.*", None)
            if ref in planned.doc.get("facets", {}):
                planned.doc["facets"] = {k: v for k, v in planned.doc["facets"].items() if k != ref}
                planned.touched.add(f"facets.{ref}.*")
        self._links(element_id, update.links)
        for link in update.unlinks:
            definition = self._field(element_id, link)
            self.removals[element_id, definition.lineage].append(self._id(link.target))

    def _name(self, planned: Planned, name: str | None) -> None:
        if name is None:
            return
        self._assign(planned, "name", text_of(name, "name"))
        if planned.name != name:
            planned.name = name
            planned.touched.add("name")

    def _attributes(self, planned: Planned, values: Mapping[str, Any]) -> None:
        if not values:
            return
        assert planned.schema_ref is not None
        definition = self.schema.type(planned.schema_ref)
        check_values(
            f"{definition.ref}", values, definition.fields, open=definition.open, complete=False
        )
        present = planned.doc.get("attributes", {})
        merged = dict(present)
        for name, value in values.items():
            self._assign(planned, f"attributes.{name}", value)
            if name in present and canonical_json(present[name]) == canonical_json(value):
                continue
            if not planned.new and definition.fields.get(name, {}).get("mutable") is False:
                raise ImmutableField(f"{name} of {planned.id} cannot change.")
            merged[name] = value
            planned.touched.add(f"attributes.{name}")
        planned.doc["attributes"] = merged

    def _unset_attributes(self, planned: Planned, names: Sequence[str]) -> None:
        for name in names:
            self._assign(planned, f"attributes.{name}", {"unset": True})
            if name in planned.doc.get("attributes", {}):
                planned.doc["attributes"] = {
                    k: v for k, v in planned.doc["attributes"].items() if k != name
                }
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
