"""Lifecycles: transitions of elements, and activities from pending to their end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from storage.clock import to_text
from storage.graph.changes import (
    CreateActivity,
    InvalidateRecording,
    Link,
    Transition,
)
from storage.graph.errors import (
    ActivityTerminal,
    ConstraintViolation,
    EvidenceCorrectionConflict,
    InvalidLifecycleTransition,
    SupersessionMismatch,
)
from storage.graph.planning.planned import Planned
from storage.graph.planning.resolver import TERMINAL, Resolver, text_of
from storage.graph.state import StoredAssertion

#: Lifecycle moves by kind: from status to the statuses that it may become.
_MOVES: Mapping[str, Mapping[str, frozenset[str]]] = {
    "A": {"active": frozenset({"retracted", "superseded"})},
    "E": {"active": frozenset({"corrected"})},
    "X": {
        "pending": frozenset({"running", *TERMINAL}),
        "running": TERMINAL,
    },
}
_STATES = frozenset({"active", "archived", "tombstoned"})
_STATUSES = frozenset({"pending", "running", *TERMINAL})


class Lifecycles(Resolver):
    """The stages of transitions and of activities."""

    def _move(self, move: Transition) -> None:
        element_id = self._own_id(move.target)
        planned = self._editable(element_id)
        self._guard(planned, move.guards, element_id)
        if move.to in _STATES:
            self._move_state(planned, move)
            return
        if planned.kind not in _MOVES or move.to not in {
            status for moves in _MOVES[planned.kind].values() for status in moves
        }:
            raise InvalidLifecycleTransition(f"{element_id} cannot become {move.to}.")
        if planned.state not in ("active", "archived"):
            raise InvalidLifecycleTransition(f"{element_id} is {planned.state}.")
        if move.by in self.ids and self.ids[move.by] == element_id:
            return  # the replacement turned out to be what is there already
        successor = self._successor(planned, move)
        self._assign(planned, "fields.status", [move.to, successor])
        if planned.status == move.to:
            self._same_state(planned, move, successor)
            return
        if planned.kind == "X" and planned.status in TERMINAL:
            raise ActivityTerminal(f"{element_id} is {planned.status}.")
        assert planned.status is not None
        if move.to not in _MOVES[planned.kind].get(planned.status, frozenset()):
            raise InvalidLifecycleTransition(
                f"{element_id} is {planned.status} and cannot become {move.to}."
            )
        if successor == element_id:
            raise InvalidLifecycleTransition(f"{element_id} cannot be {move.to} by itself.")
        planned.status = move.to
        planned.touched.add("fields.status")
        if move.to == "retracted":
            planned.doc["retracted_at"] = to_text(self.at)
            planned.touched.add("fields.retracted_at")
        elif successor is not None:
            planned.doc[f"{move.to}_by"] = successor
            planned.touched.add(f"fields.{move.to}_by")
        elif planned.kind == "X":
            self._times(planned, move.started_at, move.ended_at)
            self._links(element_id, move.links)

    def _move_state(self, planned: Planned, move: Transition) -> None:
        if move.by is not None:
            raise InvalidLifecycleTransition(f"{move.to} takes no successor.")
        self._assign(planned, "_system.state", move.to)
        if planned.state == move.to:
            return
        if planned.state not in ("active", "archived"):
            raise InvalidLifecycleTransition(f"{planned.id} is {planned.state}.")
        planned.state = move.to
        planned.touched.add("_system.state")

    def _invalidate(self, change: InvalidateRecording) -> None:
        """What was recorded wrongly counts for nothing from here on; it is told once."""
        element_id = self._need(change.target, "A", "What was recorded wrongly")
        planned = self._editable(element_id)
        self._guard(planned, change.guards, element_id)
        repair = self._need(change.repair, "X", "The repair of a recording")
        validity = {"status": "invalidated", "repair_ref": repair}
        present = planned.doc.get("_system", {}).get("recording_validity")
        if present == validity:
            return
        if present is not None:
            raise InvalidLifecycleTransition(f"{element_id} is invalidated already.")
        self._assign(planned, "_system.recording_validity", validity)
        planned.doc["_system"] = {
            **planned.doc.get("_system", {}),
            "recording_validity": validity,
        }
        planned.touched.add("_system.recording_validity")

    def _same_state(self, planned: Planned, move: Transition, successor: str | None) -> None:
        """Already there is no change, unless it would say that something else replaced it."""
        known = planned.doc.get("superseded_by") or planned.doc.get("corrected_by")
        if successor is not None and known != successor:
            if planned.kind == "E":
                raise EvidenceCorrectionConflict(f"{planned.id} was corrected by {known}.")
            raise InvalidLifecycleTransition(f"{planned.id} was superseded by {known}.")

    def _successor(self, planned: Planned, move: Transition) -> str | None:
        if move.to not in ("superseded", "corrected"):
            if move.by is not None:
                raise InvalidLifecycleTransition(f"{move.to} takes no successor.")
            return None
        if move.by is None:
            raise InvalidLifecycleTransition(f"{move.to} needs a successor.")
        by = self._need(move.by, planned.kind, f"What {planned.id} is {move.to} by")
        if move.to == "superseded" and by != planned.id:
            old, new = planned.said, self._claim(by)
            assert old is not None
            if self._canonical_actor(old.actor) != self._canonical_actor(new.actor):
                raise SupersessionMismatch("A claim is superseded by its own actor only.")
            if old.contexts != new.contexts:
                raise SupersessionMismatch("A claim is superseded within its own contexts only.")
            if old.proposition != new.proposition and self._slot(old.proposition) != self._slot(
                new.proposition
            ):
                raise SupersessionMismatch(
                    "A claim is superseded by one about the same subject and predicate only."
                )
        return by

    def _claim(self, element_id: str) -> StoredAssertion:
        planned = self.planned.get(element_id)
        said = planned.said if planned is not None else self.stored[element_id].assertion
        assert said is not None
        return said

    def _canonical_actor(self, actor: str) -> str:
        if actor not in self.planned:
            self._fetch([actor])
        return self._canonical(actor)

    def _slot(self, proposition_id: str) -> tuple[str, str]:
        if proposition_id not in self.planned and proposition_id not in self.stored:
            self._fetch([proposition_id])
        element = self.planned.get(proposition_id) or self.stored[proposition_id]
        assert element.proposition is not None
        made = element.proposition
        self._fetch([made.subject])
        return self._canonical(made.subject), min(
            self.schema.lineages("predicate", made.predicate_lineage)
        )

    def _resolve_activities(self, creates: Sequence[CreateActivity]) -> None:
        payload = {c.handle: self._activity_payload(c) for c in creates if c.client_key}
        creates, written = self._retried("X", creates, payload)
        for create in creates:
            if create.status not in _STATUSES:
                raise ConstraintViolation(f"An activity cannot be {create.status!r}.")
            if create.only_with_effect and not any(
                self._changes(self._id(ref)) for ref in create.outputs
            ):
                continue
            planned = Planned(
                id=self._new_id("X"),
                kind="X",
                client_key=create.client_key,
                client_digest=written.get(create.handle),
                status=create.status,
                activity=create,
                activity_class=text_of(create.activity_class, "activity_class"),
            )
            self.planned[planned.id] = planned
            self.ids[create.handle] = planned.id
            self._times(planned, create.started_at, create.ended_at)
            self._facets(planned, create.facets)
            links = [
                Link(name, ref)
                for name, refs in (
                    ("inputs", create.inputs),
                    ("outputs", create.outputs),
                    ("associated_actors", create.associated_actors),
                )
                for ref in refs
            ]
            self._links(planned.id, (*links, *create.links))
        self._unfold()

    def _changes(self, element_id: str) -> bool:
        planned = self.planned.get(element_id)
        return planned is not None and planned.changed

    def _times(
        self, planned: Planned, started_at: datetime | None, ended_at: datetime | None
    ) -> None:
        for name, at in (("started_at", started_at), ("ended_at", ended_at)):
            if at is not None:
                planned.doc[name] = to_text(at)
                planned.touched.add(f"fields.{name}")

    def _activity_payload(self, create: CreateActivity) -> dict[str, Any]:
        return {
            "activity_class": create.activity_class,
            "status": create.status,
            "started_at": create.started_at and to_text(create.started_at),
            "ended_at": create.ended_at and to_text(create.ended_at),
            "inputs": sorted(self._id(ref) for ref in create.inputs),
            "outputs": sorted(self._id(ref) for ref in create.outputs),
            "associated_actors": sorted(self._id(ref) for ref in create.associated_actors),
            "parameters_digest": create.parameters_digest,
            "facets": {self.schema.facet(k).ref: dict(v) for k, v in create.facets.items()},
            **({"links": self._link_payload(create.links)} if create.links else {}),
        }
