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
    Link,
    Ref,
    Transition,
    UpdateConcept,
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
from storage.graph.planning.planned import Edge, Planned, WriteSet
from storage.graph.planning.resolver import TERMINAL
from storage.graph.planning.testimony import Testimonies

_ROLES = frozenset({"support", "challenge", "context"})


class Planner(Concepts, Testimonies, Lifecycles):
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
        for symbol in by_type[DefineSymbol]:
            self._define(symbol)
        self._load(changes)
        self._resolve_concepts(by_type[CreateConcept], by_type[UpsertConcept])
        self._resolve_evidence(by_type[CreateEvidence])
        self._resolve_propositions(by_type[EnsureProposition])
        self._resolve_assertions(by_type[CreateAssertion])
        for update in by_type[UpdateConcept]:
            self._update(update)
        self._link_created(by_type)
        self._resolve_activities(by_type[CreateActivity])
        for transition in by_type[Transition]:
            self._move(transition)
        edges, ended = self._settle_edges()
        self._check_elements()
        elements = [planned for planned in self.planned.values() if planned.changed]
        return WriteSet(self.ids, elements, edges, ended, self.drafts, self.counters)

    def _load(self, changes: ChangeSet) -> None:
        """Fetch every element that the change set names by id, in one statement."""
        named: set[str] = set()
        for change in changes.changes:
            named.update(ref for ref in references_of(change) if not ref.startswith("?"))
        self.stored.update(state.load(self.tx, self.scope, named))

    def _define(self, symbol: DefineSymbol) -> None:
        is_type = symbol.symbol_kind == "concept_type"
        known = self.schema.knows_type if is_type else self.schema.knows_predicate
        if symbol.if_absent and known(symbol.name):
            return
        self.schema = self.schema.with_draft(symbol)
        self.drafts.append(symbol)

    def _link_created(self, by_type: Mapping[type, Sequence[Any]]) -> None:
        for concept in (*by_type[CreateConcept], *by_type[UpsertConcept]):
            if not self._is_retry(concept):
                self._links(self.ids[concept.handle], concept.links)
        for change in (*by_type[CreateEvidence], *by_type[CreateAssertion]):
            planned = self.planned.get(self.ids[change.handle])
            if planned is None:
                continue
            # a creation that was folded into another one brings no references of its own
            if planned.evidence is not None and planned.evidence is change:
                self._links(planned.id, planned.evidence.links)
            if planned.assertion is not None and planned.assertion is change:
                self._cite(planned.id, planned.assertion.citations)

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
            if planned.kind == "C" and planned.changed:
                assert planned.schema_ref is not None
                definition = self.schema.type(planned.schema_ref)
                attributes = planned.doc.get("attributes", {})
                for name, member in definition.fields.items():
                    if member.get("required") and name not in attributes:
                        raise ConstraintViolation(f"{definition.ref} needs {name!r}.")
                if planned.new:
                    for needed in self.schema.required_fields(definition.lineage):
                        if (planned.id, needed.lineage) not in sources:
                            raise StructuralReferenceInvalid(
                                f"{definition.ref} needs {needed.ref}."
                            )
            if planned.kind == "X" and planned.changed and planned.status in TERMINAL:
                self._record_versions(planned)

    def _record_versions(self, planned: Planned) -> None:
        """A finished activity keeps the versions of what it used and made."""
        for name in ("inputs", "outputs"):
            targets = [edge.target for edge in self.additions[planned.id, name]]
            if targets:
                planned.doc[f"{name[:-1]}_versions"] = {
                    target: self._version(target) for target in sorted(targets)
                }

    def _version(self, element_id: str) -> int:
        planned = self.planned.get(element_id)
        return self.stored[element_id].version if planned is None else planned.version


def references_of(change: Any) -> Iterable[Ref]:
    """Every reference that an operation makes."""
    match change:
        case CreateConcept():
            yield from (link.target for link in change.links)
        case UpsertConcept():
            if change.id is not None:
                yield change.id
            yield from (link.target for link in change.links)
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
            if change.interval_of is not None:
                yield change.interval_of
        case CreateEvidence():
            yield from (link.target for link in change.links)
        case CreateActivity():
            yield from (*change.inputs, *change.outputs, *change.associated_actors)
        case Transition():
            yield change.target
            if change.by is not None:
                yield change.by
            yield from (link.target for link in change.links)
