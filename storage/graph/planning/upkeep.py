"""Retention, merges and erasures: what is done to an element as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from storage.canonical import canonical_json, digest
from storage.graph import state
from storage.graph.changes import MergeConcept, Purge, PurgePayload, SetRetention, UpdateRecord
from storage.graph.errors import (
    ActivityTerminal,
    ConstraintViolation,
    DuplicateMutationTarget,
    IdentityMergeConflict,
    LegalHoldConflict,
    NotFoundOrNotVisible,
    PurgeDenied,
    ResourceExhausted,
    SchemaFieldNotFound,
    TypeMismatch,
)
from storage.graph.planning.planned import Planned
from storage.graph.planning.resolver import TERMINAL, Resolver, text_of
from storage.graph.validity import instant

#: Elements that one purge may come to, with all that its cascades reach.
MAX_PURGED = 10_000
_POLICIES = frozenset({"deny_if_referenced", "tombstone_reference", "authorized_cascade"})


class Upkeep(Resolver):
    """The stages of records' facets, retention, merges and purges."""

    merges: list[tuple[str, str]]

    def _update_record(self, update: UpdateRecord) -> None:
        element_id = self._need(update.target, "PAEX", "The target of such an update")
        planned = self._editable(element_id)
        self._guard(planned, update.guards, element_id)
        if planned.before is not None and planned.before.status in TERMINAL:
            raise ActivityTerminal(f"{element_id} is {planned.status}.")
        self._facets(planned, update.facets, update.unset_facets)

    def _retain(self, change: SetRetention) -> None:
        planned = self._editable(self._own_id(change.target))
        self._guard(planned, change.guards, planned.id)
        checked = _retention(change.values)
        present = planned.doc.get("retention", {})
        for name, value in checked.items():
            self._assign(planned, f"retention.{name}", value)
            if canonical_json(present.get(name)) != canonical_json(value):
                planned.touched.add(f"retention.{name}")
        kept = {k: v for k, v in {**present, **checked}.items() if v is not None}
        if kept:
            planned.doc["retention"] = kept
        else:
            planned.doc.pop("retention", None)

    def _merge(self, change: MergeConcept) -> None:
        source = self._concept(change.source)
        target = self._canonical(self._concept(change.into))
        planned = self._editable(source)
        self._guard(planned, change.guards, source)
        merged = dict(self.merges)
        while target in merged:
            target = merged[target]
        if planned.state == "merged":
            if self._canonical(source) == target or merged.get(source) == target:
                return
            raise IdentityMergeConflict(f"{source} is {self._canonical(source)} already.")
        if source == target:
            if source == self._own_id(change.into):
                return
            raise IdentityMergeConflict(f"{change.into} is {source} already.")
        for element in (planned, self._editable(target)):
            if element.state not in ("active", "archived"):
                raise IdentityMergeConflict(f"{element.id} is {element.state}.")
        self._assign(planned, "_system.state", "merged")
        planned.state = "merged"
        planned.doc["merged_into"] = target
        planned.touched.add("fields.merged_into")
        self.merges.append((source, target))

    def _concept(self, ref: str) -> str:
        element_id = self._own_id(ref)
        if self._kind(element_id)[0] != "C":
            raise TypeMismatch(f"{element_id} is no concept; concepts are merged.")
        return element_id

    def _purge_payload(self, change: PurgePayload) -> None:
        planned = self._editable(self._own_id(change.target))
        if planned.kind != "E":
            raise ConstraintViolation(f"{planned.id} has no payload; only evidence has one.")
        self._guard(planned, change.guards, planned.id)
        _check_hold(planned)
        if planned.before is None:
            raise DuplicateMutationTarget(f"{planned.id} is created and erased at once.")
        if planned.before.evidence is not None and planned.before.evidence.purged:
            return
        planned.erased = "payload"
        planned.touched.add("fields.payload")

    def _purge(self, changes: Sequence[Purge]) -> None:
        """Erase all targets together, so that they do not hold one another."""
        if not changes:
            return
        going: dict[str, None] = {}
        cascading: set[str] = set()
        for change in changes:
            if change.policy not in _POLICIES:
                raise ConstraintViolation(f"There is no reference policy {change.policy!r}.")
            element_id = self._own_id(change.target)
            planned = self._editable(element_id)
            self._guard(planned, change.guards, element_id)
            if planned.before is None or planned.touched:
                raise DuplicateMutationTarget(f"{element_id} is written and erased at once.")
            _check_hold(planned)
            going[element_id] = None
            if change.policy == "authorized_cascade":
                cascading.add(element_id)
        self._cascade(going, cascading)
        denying = sorted(c.target for c in changes if c.policy == "deny_if_referenced")
        if denying:
            found = state.referrers(self.tx, self.scope, denying)
            count = len({r for refs in found.values() for r in refs} - going.keys())
            if count:
                raise PurgeDenied(
                    f"{count} elements still refer to what is to be erased.",
                    data={"references": count},
                )
        merged = state.merged_into(self.tx, self.scope, going) - going.keys()
        if merged:
            # a redirect to a stub would lead nowhere: both are one, and go together
            raise PurgeDenied(
                f"{len(merged)} concepts were merged into what is to be erased; "
                "authorized_cascade erases them along with it.",
                data={"references": len(merged)},
            )
        for element_id in going:
            _erase(self._editable(element_id))

    def _cascade(self, going: dict[str, None], fresh: set[str]) -> None:
        """Add what refers to the elements of `fresh`, and what refers to that."""
        while fresh:
            found = state.referrers(self.tx, self.scope, sorted(fresh))
            fresh = {ref for refs in found.values() for ref in refs} - going.keys()
            if len(going) + len(fresh) > MAX_PURGED:
                raise ResourceExhausted(f"One purge erases at most {MAX_PURGED} elements.")
            self._fetch(fresh)
            for element_id in sorted(fresh):
                if element_id not in self.stored:
                    raise NotFoundOrNotVisible(f"There is no element {element_id!r} here.")
                planned = self._editable(element_id)
                _check_hold(planned)
                if planned.touched:
                    raise DuplicateMutationTarget(f"{element_id} is written and erased at once.")
                going[element_id] = None


def _check_hold(planned: Planned) -> None:
    before = planned.before
    held = None if before is None else before.doc.get("retention", {}).get("legal_hold")
    if held:
        raise LegalHoldConflict(f"A legal hold keeps {planned.id}.")


def _erase(planned: Planned) -> None:
    """Leave nothing of an element but its stub: what it was of, and a digest of it."""
    before = planned.before
    assert before is not None
    content = digest(
        {
            "kind": before.kind,
            "schema_ref": before.schema_ref,
            "key": before.key,
            "name": before.name,
            "doc": before.doc,
            "status": before.status,
            "content_digest": before.evidence and before.evidence.content_digest,
            "proposition": before.proposition
            and [
                before.proposition.subject,
                before.proposition.predicate_ref,
                before.proposition.object_key,
            ],
            "assertion": before.assertion
            and [
                before.assertion.proposition,
                before.assertion.actor,
                before.assertion.stance,
                before.assertion.mode,
            ],
        }
    )
    planned.erased = "element"
    planned.state, planned.status, planned.name = "purged", None, None
    planned.planes = {}
    planned.doc = {"governance": {"purged": True, "content_digest": content}}
    planned.touched.add("_system.state")


def _retention(values: Mapping[str, Any]) -> dict[str, Any]:
    """Checked members. Raises `SchemaFieldNotFound`, `TypeMismatch`, `ConstraintViolation`."""
    checked: dict[str, Any] = {}
    for name, value in values.items():
        match name:
            case "retention_class":
                checked[name] = None if value is None else text_of(value, name)
            case "expires_at":
                if value is not None:
                    instant(value, name)
                checked[name] = value
            case "legal_hold":
                if value is not None and not isinstance(value, bool):
                    raise TypeMismatch("legal_hold is true or false.")
                checked[name] = value or None
            case _:
                raise SchemaFieldNotFound(f"Retention has no member {name!r}.")
    return checked
