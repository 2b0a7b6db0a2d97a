"""Evidence, propositions and assertions: what was said, about what, by whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from storage.canonical import canonical_json
from storage.clock import to_text
from storage.graph import state
from storage.graph.changes import (
    CreateAssertion,
    CreateEvidence,
    Elsewhere,
    EnsureProposition,
    Ref,
    Value,
)
from storage.graph.errors import (
    ConstraintViolation,
    DanglingReference,
    SourceSuppressed,
)
from storage.graph.planning.planned import Planned
from storage.graph.planning.resolver import Resolver, text_of
from storage.graph.state import StoredAssertion, StoredProposition, Testimony
from storage.graph.validity import Bound, ValidTime
from storage.graph.values import check_json, check_literal
from storage.source_digests import is_message, message_digest

_MODES = frozenset({"observed", "stated", "inferred", "predicted", "hypothetical", "imported"})
_STANCES = frozenset({"support", "reject", "uncertain"})


class Testimonies(Resolver):
    """The stages of evidence, propositions and assertions."""

    def _resolve_evidence(self, creates: Sequence[CreateEvidence]) -> None:
        payload = {c.handle: _evidence_payload(c) for c in creates if c.client_key}
        creates, written = self._retried("E", creates, payload)
        digests = {c.content_digest for c in creates if c.content_digest is not None}
        for create in creates:
            check_json(create.payload, "payload")
        # a message that was erased is known again, whenever it is said to have been sent
        digests |= {message_digest(c.payload) for c in creates if is_message(c.payload)}
        if state.suppressed(self.tx, self.scope, digests):
            raise SourceSuppressed("This source was erased; its content is not stored again.")
        sought = {c.content_digest for c in creates if c.once and c.content_digest}
        known = state.evidence_by_digest(self.tx, self.scope, sought)
        self._fetch(known.values())
        for create in creates:
            if create.once and create.content_digest in known:
                self.ids[create.handle] = known[create.content_digest]
                continue
            planned = Planned(
                id=self._new_id("E"),
                kind="E",
                client_key=create.client_key,
                client_digest=written.get(create.handle),
                status="active",
                evidence=create,
            )
            self.planned[planned.id] = planned
            self.ids[create.handle] = planned.id
            self._facets(planned, create.facets)
            if create.once and create.content_digest is not None:
                known[create.content_digest] = planned.id
        self._unfold()

    def _resolve_propositions(self, ensures: Sequence[EnsureProposition]) -> None:
        """Find or plan propositions; those about propositions wait for theirs."""
        waiting = list(ensures)
        while waiting:
            ready = [e for e in waiting if self._resolvable(e)]
            if not ready:
                names = ", ".join(e.handle for e in waiting)
                raise DanglingReference(f"The endpoints of {names} are not defined.")
            waiting = [e for e in waiting if e not in ready]
            tuples = {e.handle: self._tuple(e) for e in ready}
            sought = {
                (t.subject, lineage, t.object_key): (t.subject, self._head(t), t.object_key)
                for t in tuples.values()
                if t.subject in self.stored and (t.object_id is None or t.object_id in self.stored)
                for lineage in self.schema.lineages("predicate", t.predicate_lineage)
            }
            known = {
                sought[identity]: found
                for identity, found in state.propositions_by_tuple(
                    self.tx, self.scope, sorted(sought)
                ).items()
            }
            self._fetch(known.values())
            known = {**self.stated, **known}
            for ensure in ready:
                made = tuples[ensure.handle]
                identity = (made.subject, self._head(made), made.object_key)
                found = known.get(identity)
                if ensure.guards:
                    exists = found is not None and found in self.stored
                    present = self._editable(found) if found is not None and exists else None
                    self._guard(present, ensure.guards, ensure.handle)
                if found is None:
                    planned = Planned(
                        id=self._new_id("P"),
                        kind="P",
                        schema_ref=made.predicate_ref,
                        proposition=made,
                    )
                    self.planned[planned.id] = planned
                    found = known[identity] = self.stated[identity] = planned.id
                self.ids[ensure.handle] = found

    def _head(self, made: StoredProposition) -> str:
        """One lineage for all that match a proposition's predicate as one."""
        return min(self.schema.lineages("predicate", made.predicate_lineage))

    def _resolvable(self, ensure: EnsureProposition) -> bool:
        refs = [ensure.subject, *([ensure.object] if isinstance(ensure.object, str) else [])]
        return all(not ref.startswith("?") or ref in self.ids for ref in refs)

    def _tuple(self, ensure: EnsureProposition) -> StoredProposition:
        predicate = self.schema.predicate(ensure.predicate)
        subject = self._id(ensure.subject)
        if not predicate.subject.takes(*self._kind(subject)):
            raise ConstraintViolation(f"{subject} cannot be the subject of {predicate.ref}.")
        object_id: str | None = None
        literal: Any = None
        match ensure.object:
            case Value(value):
                literal = value
                check_literal(predicate, literal)
            case Elsewhere(canonical_id):
                literal = {"canonical_id": text_of(canonical_id, "canonical_id")}
                if not predicate.object.takes_elements:
                    raise ConstraintViolation(f"{predicate.ref} does not take an element.")
            case ref:
                object_id = self._id(ref)
                if not predicate.object.takes(*self._kind(object_id)):
                    raise ConstraintViolation(
                        f"{object_id} cannot be the object of {predicate.ref}."
                    )
        return StoredProposition(
            subject,
            predicate.ref,
            predicate.lineage,
            object_id,
            literal,
            state.object_key(object_id, literal),
        )

    def _resolve_assertions(self, creates: Sequence[CreateAssertion]) -> None:
        said: dict[str, StoredAssertion] = {}
        waiting = {c.handle: c for c in creates}
        while waiting:
            self._say(next(iter(waiting.values())), waiting, said)
        payload = {
            c.handle: self._assertion_payload(c, said[c.handle]) for c in creates if c.client_key
        }
        creates, written = self._retried("A", creates, payload)
        alike = state.assertions_like(
            self.tx,
            self.scope,
            {said[c.handle].proposition for c in creates if c.once} & set(self.stored),
        )
        for create in creates:
            spoken = said[create.handle]
            testimony = self._testimony(create, spoken)
            if create.once and testimony in alike:
                self.ids[create.handle] = alike[testimony]
                self.folded.add(create.handle)
                continue
            planned = Planned(
                id=self._new_id("A"),
                kind="A",
                client_key=create.client_key,
                client_digest=written.get(create.handle),
                status="active",
                assertion=create,
                said=spoken,
            )
            self.planned[planned.id] = planned
            self.ids[create.handle] = planned.id
            if create.once:
                alike[testimony] = planned.id
            self._facets(planned, create.facets)
        self._fetch(i for i in self.ids.values() if i.startswith("A-") and i not in self.planned)
        self._unfold()

    def _said(self, create: CreateAssertion) -> StoredAssertion:
        if create.mode not in _MODES or create.stance not in _STANCES:
            raise ConstraintViolation("An assertion has a known mode and stance.")
        check_json(create.confidence, "confidence")
        if create.confidence is not None and not 0 <= create.confidence <= 1:
            raise ConstraintViolation("confidence lies between 0 and 1.")
        at = create.asserted_at or self.at
        create.valid.check(at)
        return StoredAssertion(
            self._need(create.proposition, "P", "The proposition of an assertion"),
            self._need(create.asserted_by, "C", "asserted_by"),
            create.stance,
            create.mode,
            at,
            create.valid,
            frozenset(self._need(ref, "C", "A context") for ref in create.contexts),
        )

    def _say(
        self,
        create: CreateAssertion,
        waiting: dict[str, CreateAssertion],
        said: dict[str, StoredAssertion],
    ) -> StoredAssertion:
        """Resolve what an assertion says, after the one that it takes its interval from."""
        del waiting[create.handle]
        own = self._said(create)
        if create.interval_of is not None:
            valid = self._corrected_interval(create.interval_of, waiting, said)
            valid.check(own.asserted_at)
            own = replace(own, valid=valid)
        said[create.handle] = own
        return own

    def _corrected_interval(
        self,
        ref: Ref,
        waiting: dict[str, CreateAssertion],
        said: dict[str, StoredAssertion],
    ) -> ValidTime:
        """A value-only correction holds for the time that the corrected claim was about."""
        if ref.startswith("?"):
            old = said.get(ref)
            if old is None and ref in waiting:
                old = self._say(waiting[ref], waiting, said)
        else:
            element = self.stored.get(ref)
            old = None if element is None else element.assertion
        if old is None:
            raise DanglingReference(f"There is no assertion {ref} to take a time from.")
        start = old.valid.start
        return ValidTime(Bound(latest=old.asserted_at) if start is None else start, old.valid.until)

    def _testimony(self, create: CreateAssertion, said: StoredAssertion) -> Testimony:
        return Testimony(
            said.proposition,
            said.actor,
            said.stance,
            said.mode,
            canonical_json(said.valid.as_json()),
            frozenset(self._need(c.evidence, "E", "A citation") for c in create.citations),
            said.contexts,
        )

    def _assertion_payload(self, create: CreateAssertion, said: StoredAssertion) -> dict[str, Any]:
        return {
            "proposition": said.proposition,
            "asserted_by": said.actor,
            "stance": said.stance,
            "mode": said.mode,
            "confidence": create.confidence,
            "asserted_at": create.asserted_at and to_text(create.asserted_at),
            "valid": said.valid.as_json(),
            "contexts": sorted(said.contexts),
            "citations": sorted([self._id(c.evidence), c.role] for c in create.citations),
            "facets": {self.schema.facet(k).ref: dict(v) for k, v in create.facets.items()},
            **({"links": self._link_payload(create.links)} if create.links else {}),
        }


def _evidence_payload(create: CreateEvidence) -> dict[str, Any]:
    where = {} if create.content_ref is None else {"content_ref": create.content_ref}
    return {
        **where,
        "evidence_class": create.evidence_class,
        "payload": create.payload,
        "content_digest": create.content_digest,
        "media_type": create.media_type,
        "observed_at": create.observed_at and to_text(create.observed_at),
        "facets": {k: dict(v) for k, v in create.facets.items()},
    }
