"""The stages of planning, in order, and what can only be said of the whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from storage.graph import state
from storage.graph.changes import (
    ChangeSet,
    Citation,
    CreateActivity,
    CreateAssertion,
    CreateConcept,
    CreateEvidence,
    DefineSymbol,
    EnsureProposition,
    InvalidateRecording,
    Link,
    MergeConcept,
    Purge,
    PurgePayload,
    Ref,
    SetRetention,
    Transition,
    UpdateConcept,
    UpdateRecord,
    UpsertConcept,
)
from storage.graph.errors import (
    ConstraintViolation,
    DanglingReference,
    DuplicateLocalHandle,
    StructuralReferenceInvalid,
)
from storage.graph.planning.concepts import Concepts
from storage.graph.planning.fields import settle
from storage.graph.planning.lifecycle import Lifecycles
from storage.graph.planning.planes import raised
from storage.graph.planning.planned import Edge, Planned, WriteSet
from storage.graph.planning.resolver import TERMINAL
from storage.graph.planning.skills import SKILL, check_standing
from storage.graph.planning.testimony import Testimonies
from storage.graph.planning.upkeep import Upkeep
from storage.graph.values import check_schema

_ROLES = frozenset({"support", "challenge", "context"})


class Planner(Concepts, Testimonies, Lifecycles, Upkeep):
    """Plans one change set under the lock of the space; reads only, use once.

    The order of the operations does not matter; the order of the stages in `plan` does.
    """

    def plan(self, changes: ChangeSet) -> WriteSet:
        """Resolve and validate everything; raises a `KipError` when anything is wrong."""
        by_type: dict[type, list[Any]] = defaultdict(list)
        handles: set[str] = set()
        for change in changes.changes:
            by_type[type(change)].append(change)
            handle = getattr(change, "handle", None)
            if handle is not None:
                if not handle.startswith("?"):
                    raise DanglingReference(f"A handle begins with '?', not {handle!r}.")
                if handle in handles:
                    raise DuplicateLocalHandle(f"{handle} is defined twice.")
                handles.add(handle)
        self.merges = []
        for symbol in by_type[DefineSymbol]:
            self._define(symbol)
        self._load(changes)
        self._resolve_concepts(by_type[CreateConcept], by_type[UpsertConcept])
        self._resolve_evidence(by_type[CreateEvidence])
        self._resolve_propositions(by_type[EnsureProposition])
        self._resolve_assertions(by_type[CreateAssertion])
        for update in by_type[UpdateConcept]:
            self._update(update)
        for record in by_type[UpdateRecord]:
            self._update_record(record)
        self._link_created(by_type)
        self._resolve_activities(by_type[CreateActivity])
        for transition in by_type[Transition]:
            self._move(transition)
        for invalid in by_type[InvalidateRecording]:
            self._invalidate(invalid)
        for retention in by_type[SetRetention]:
            self._retain(retention)
        for merge in by_type[MergeConcept]:
            self._merge(merge)
        for payload in by_type[PurgePayload]:
            self._purge_payload(payload)
        edges, ended = self._settle_edges()
        self._purge(by_type[Purge])
        self._check_elements()
        elements = [planned for planned in self.planned.values() if planned.changed]
        return WriteSet(
            self.schema, self.ids, elements, edges, ended, self.drafts, self.merges, self.counters
        )

    def _load(self, changes: ChangeSet) -> None:
        """Fetch every element that the change set names by id, in one statement."""
        named: set[str] = set()
        for change in changes.changes:
            named.update(ref for ref in references_of(change) if not ref.startswith("?"))
        self._fetch(named)

    def _define(self, symbol: DefineSymbol) -> None:
        is_type = symbol.symbol_kind == "concept_type"
        known = self.schema.knows_type if is_type else self.schema.knows_predicate
        if symbol.if_absent and known(symbol.name):
            return
        symbol = self.schema.resolved(symbol)
        self.schema = self.schema.with_draft(symbol)
        self.drafts.append(symbol)

    def _link_created(self, by_type: Mapping[type, Sequence[Any]]) -> None:
        for concept in (*by_type[CreateConcept], *by_type[UpsertConcept]):
            if not self._is_retry(concept):
                self._links(self.ids[concept.handle], concept.links)
                if isinstance(concept, UpsertConcept):
                    self._unlinks(self.ids[concept.handle], concept.unlinks)
        for change in (*by_type[CreateEvidence], *by_type[CreateAssertion]):
            planned = self.planned.get(self.ids[change.handle])
            if planned is None:
                continue
            # a creation that was folded into another one brings no references of its own
            if planned.evidence is not None and planned.evidence is change:
                self._links(planned.id, planned.evidence.links)
            if planned.assertion is not None and planned.assertion is change:
                self._cite(planned.id, planned.assertion.citations)
                self._links(planned.id, planned.assertion.links)

    def _cite(self, assertion: str, citations: Sequence[Citation]) -> None:
        for citation in citations:
            if citation.role not in _ROLES:
                raise ConstraintViolation(f"A citation cannot have the role {citation.role!r}.")
        self._links(assertion, [Link("evidence", c.evidence, role=c.role) for c in citations])

    def _is_retry(self, concept: CreateConcept | UpsertConcept) -> bool:
        """Whether a creation under a client key stands for one that was made before."""
        return (
            isinstance(concept, CreateConcept)
            and concept.client_key is not None
            and (self.ids[concept.handle] not in self.planned or concept.handle in self.folded)
        )

    def _settle_edges(self) -> tuple[list[Edge], list[Edge]]:
        """What references to write and to end, with every field's cardinality and order kept."""
        touched = {*self.additions, *self.removals}
        old = [key for key in touched if key[0] in self.stored]
        present: dict[tuple[str, str], list[state.StoredEdge]] = defaultdict(list)
        for edge in state.edges_from(
            self.tx, self.scope, {source for source, _ in old}, {name for _, name in old}
        ):
            present[edge.source, edge.field].append(edge)
        written: list[Edge] = []
        ended: list[Edge] = []
        for key in sorted(touched):
            source, lineage = key
            definition = self.schema.structural(lineage)
            now, gone = settle(
                source, definition, present[key], self.additions[key], self.removals[key]
            )
            written += now
            ended += gone
            if now or gone:
                name = key[1].rpartition("/")[2]
                self._editable(key[0]).touched.add(f"structural.{name}")
        return written, ended

    def _check_elements(self) -> None:
        """What can only be said of the final state: required members, required references."""
        sources = {key for key, edges in self.additions.items() if edges}
        for planned in list(self.planned.values()):
            if not planned.changed or planned.erased == "element":
                continue
            if planned.kind == "C":
                self._check_concept(planned, sources)
            if any(path.startswith("facets.") for path in planned.touched):
                self._check_facets(planned)
            if planned.kind == "X" and planned.status in TERMINAL:
                self._record_versions(planned)

    def _check_concept(self, planned: Planned, sources: set[tuple[str, str]]) -> None:
        assert planned.schema_ref is not None
        if not planned.new and not any(p.startswith("attributes.") for p in planned.touched):
            return
        definition = self.schema.type(planned.schema_ref)
        attributes = planned.doc.get("attributes", {})
        for name, member in definition.fields.items():
            if member.get("required") and name not in attributes:
                raise ConstraintViolation(f"{definition.ref} needs {name!r}.")
        if definition.value_schema is not None:
            check_schema(definition.ref, attributes, definition.value_schema)
        if definition.lineage == SKILL:
            check_standing(planned, self._verdicts())
        if planned.new:
            for needed in self.schema.required_fields(definition.lineage):
                if (planned.id, needed.lineage) not in sources:
                    raise StructuralReferenceInvalid(f"{definition.ref} needs {needed.ref}.")

    def _verdicts(self) -> Iterable[tuple[Planned, frozenset[str]]]:
        """The finished verdicts of this change set, with what they are about."""
        for planned in self.planned.values():
            if planned.new and planned.activity_class == "lifecycle_verdict":
                outputs = self.additions[planned.id, "outputs"]
                yield planned, frozenset(edge.target for edge in outputs)

    def _check_facets(self, planned: Planned) -> None:
        """Written facets are whole, and suit what the element has become."""
        for ref, values in planned.doc.get("facets", {}).items():
            if not any(path.startswith(f"facets.{ref}.") for path in planned.touched):
                continue
            definition = self.schema.facet(ref)
            for name, member in definition.fields.items():
                if member.get("required") and name not in values:
                    raise ConstraintViolation(f"{definition.ref} needs {name!r}.")
            if definition.value_schema is not None:
                check_schema(definition.ref, values, definition.value_schema)
            if planned.kind == "X" and (
                (
                    definition.activity_classes
                    and planned.activity_class not in definition.activity_classes
                )
                or (definition.terminal_only and planned.status not in TERMINAL)
            ):
                raise ConstraintViolation(f"{definition.ref} does not go with that activity.")

    def _record_versions(self, planned: Planned) -> None:
        """A finished activity keeps the versions of what it used and made."""
        if planned.before is not None and planned.before.status in TERMINAL:
            return
        targets = {
            name: {edge.target for edge in self.additions[planned.id, name]}
            for name in ("inputs", "outputs")
        }
        if planned.before is not None:
            for edge in state.edges_from(self.tx, self.scope, {planned.id}, targets):
                targets[edge.field].add(edge.target)
        self._fetch(t for found in targets.values() for t in found if t not in self.planned)
        for name, found in targets.items():
            if found:
                planned.doc[f"{name[:-1]}_versions"] = {
                    target: self._version(target) for target in sorted(found)
                }
        planes = {target: self._planes(target) for target in sorted(targets["outputs"])}
        if any(planes.values()):
            planned.doc["output_plane_versions"] = {k: v for k, v in planes.items() if v}

    def _version(self, element_id: str) -> int:
        planned = self.planned.get(element_id)
        return self.stored[element_id].version if planned is None else planned.version

    def _planes(self, element_id: str) -> dict[str, Any]:
        """The plane counters that an element will have."""
        planned = self.planned.get(element_id)
        if planned is None:
            return self.stored[element_id].planes
        return raised(planned)[0]


def references_of(change: Any) -> Iterable[Ref]:
    """Every reference that an operation makes."""
    match change:
        case CreateConcept():
            yield from (link.target for link in change.links)
        case UpsertConcept():
            if change.id is not None:
                yield change.id
            yield from (link.target for link in (*change.links, *change.unlinks))
        case UpdateConcept():
            yield change.target
            yield from (link.target for link in (*change.links, *change.unlinks))
        case EnsureProposition():
            yield change.subject
            if isinstance(change.object, str):
                yield change.object
        case CreateAssertion():
            yield from (change.proposition, change.asserted_by, *change.contexts)
            yield from (citation.evidence for citation in change.citations)
            yield from (link.target for link in change.links)
            if change.interval_of is not None:
                yield change.interval_of
        case CreateEvidence():
            yield from (link.target for link in change.links)
        case CreateActivity():
            yield from (*change.inputs, *change.outputs, *change.associated_actors)
            yield from (link.target for link in change.links)
        case Transition():
            yield change.target
            if change.by is not None:
                yield change.by
            yield from (link.target for link in change.links)
        case InvalidateRecording():
            yield from (change.target, change.repair)
        case MergeConcept():
            yield from (change.source, change.into)
        case UpdateRecord() | SetRetention() | Purge() | PurgePayload():
            yield change.target
