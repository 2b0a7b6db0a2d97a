"""Beliefs as JSON documents, with the basis that they were computed on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from storage.canonical import digest
from storage.graph.belief import Belief, Claim, SlotBelief, independent_groups, slot_status
from storage.graph.belief_claims import in_order
from storage.graph.schema import PredicateDef
from storage.graph.slots import Facts, Value
from storage.graph.transactions import uri
from storage.kip.query.belief_options import Epistemic, moment_text
from storage.kip.snapshot import Snapshot


class Writer:
    """Writes the documents of one query; all of them share a basis but for `next_invalid_at`."""

    def __init__(self, snapshot: Snapshot, given: Epistemic) -> None:
        self._policy = {"id": given.policy.id, "version": given.policy.version}
        self._explanation = given.explanation
        self._trusts = given.policy.uses_trust
        self._basis = {
            "space_id": uri(snapshot.scope.space_id),
            "snapshot_seq": snapshot.seq,
            "schema_environment_version": snapshot.schema_env_version,
            "identity_version": given.identity_version,
            "policy": self._policy,
            "trust_version": given.trust_version,
            # whoever may read a space reads all of it, so that a space has one view
            "authorization_view": digest(["authorization view", snapshot.scope.space_id]),
            "context_refs": list(given.contexts),
            "purpose": given.purpose,
            "risk": given.risk,
            "valid_at": moment_text(given.valid_at),
        }

    def candidate(
        self, facts: Facts, slot: SlotBelief, key: str, *, named: str | None = None
    ) -> dict[str, Any]:
        """What is believed of one value; `named` is the proposition that was asked about."""
        belief, value = slot.candidates[key], facts.values[key]
        stored = value.propositions[0] if value.propositions else None
        return {
            "proposition_id": named or stored,
            "subject": {"id": facts.subject},
            "predicate_ref": value.predicate_ref,
            "object": _object(value),
            "status": belief.status,
            "candidate_status": belief.candidate_status,
            "slot_status": belief.slot_status,
            "conflict_refs": [
                facts.values[rival].propositions[0]
                for rival in belief.conflict_refs
                if facts.values[rival].propositions
            ],
            "conflict_reasons": list(belief.conflict_reasons),
            "leading": belief.leading,
            "support": self._side(facts, belief.support),
            "opposition": self._side(facts, belief.opposition),
            "uncertainty": {"level": None, "reasons": list(belief.reasons)},
            "precedence": {"rule": belief.rule},
            "policy": self._policy,
            "explanation": self._explained(facts, slot, belief, value),
            "basis": self._at(belief.next_invalid_at),
        }

    def slot(self, facts: Facts, parts: Mapping[str, SlotBelief]) -> dict[str, Any]:
        """What is believed of a slot; `parts` says for each value which belief it is part of."""
        found = [parts[key].candidates[key] for key in parts]
        status = slot_status(found)
        ends = [belief.next_invalid_at for belief in found if belief.next_invalid_at is not None]
        reasons = sorted({reason for belief in found for reason in belief.reasons})
        candidates = [self.candidate(facts, parts[key], key) for key in parts]
        return {
            "subject": {"id": facts.subject},
            "predicate_ref": facts.predicate.ref,
            "status": status,
            "accepted_values": [
                _object(facts.values[key])
                for key in parts
                if parts[key].candidates[key].status == "accepted"
            ],
            "candidate_projections": candidates,
            "uncertainty": {"level": None, "reasons": reasons if status == "uncertain" else []},
            "policy": self._policy,
            "explanation": None
            if self._explanation == "none"
            else {
                "excluded": [
                    entry for one in candidates for entry in one["explanation"]["excluded"]
                ]
            },
            "basis": self._at(min(ends, default=None)),
        }

    def nothing(self, subject: Any, predicate: PredicateDef, value: Value) -> dict[str, Any]:
        """A tuple that nothing can speak for: its subject is a literal."""
        empty = Facts("", predicate, {value.key: value})
        belief = Belief(value.key, "insufficient", "insufficient", "insufficient")
        slot = SlotBelief("insufficient", (), {value.key: belief})
        return self.candidate(empty, slot, value.key) | {"subject": subject}

    def empty_slot(self, subject: Any, predicate: PredicateDef) -> dict[str, Any]:
        """The slot of a literal subject."""
        return self.slot(Facts("", predicate), {}) | {"subject": subject}

    def _at(self, next_invalid_at: datetime | None) -> dict[str, Any]:
        return {**self._basis, "next_invalid_at": moment_text(next_invalid_at)}

    def _side(self, facts: Facts, ids: Sequence[str]) -> dict[str, Any]:
        """The claims on one side, by the independent sources behind them; nothing is weighed."""
        ordered = sorted(ids, key=in_order)
        return {
            "score": None,
            "score_semantics": None,
            "assertion_ids": ordered,
            "root_groups": [
                self._group(facts, group)
                for group in independent_groups(facts.claims[one] for one in ordered)
            ],
        }

    def _group(self, facts: Facts, members: Sequence[Claim]) -> dict[str, Any]:
        """Claims of one source. `contribution` is the highest confidence that one of them states;
        it informs a reader, and no status depends on it."""
        records = [facts.records[claim.id] for claim in members]
        stated = [record.confidence for record in records if record.confidence is not None]
        evidence = {one for record in records for one in record.evidence}
        return {
            "actors": [{"id": one} for one in sorted({c.actor for c in members}, key=in_order)],
            "assertion_ids": sorted((claim.id for claim in members), key=in_order),
            "evidence": sorted(evidence, key=in_order),
            "contribution": max(stated, default=None),
        }

    def _explained(
        self, facts: Facts, slot: SlotBelief, belief: Belief, value: Value
    ) -> dict[str, Any] | None:
        """The grounds: what took part, what did not and why; the ledger adds how each stood."""
        if self._explanation == "none":
            return None
        mine = facts.said.get(value.key, ())
        told: dict[str, Any] = {
            "supporting": sorted(belief.support, key=in_order),
            "opposing": sorted(belief.opposition, key=in_order),
            "undecided": sorted(belief.undecided, key=in_order),
            "indeterminate": sorted(belief.indeterminate, key=in_order),
            "excluded": [
                {"id": record.id, "reason": reason}
                for record in mine
                if (reason := record.void or slot.excluded.get(record.id))
            ],
        }
        if self._explanation == "ledger":
            told["assertions"] = [
                self._entry(facts.claims[record.id], slot)
                for record in mine
                if record.id in facts.claims
            ]
            told["rule"] = belief.rule
        return told

    def _entry(self, claim: Claim, slot: SlotBelief) -> dict[str, Any]:
        span = slot.spans.get(claim.id)
        effective = None
        if span is not None:
            low, high, first, last = map(moment_text, span.ends())
            effective = {
                "from": {"earliest": low, "latest": high},
                "until": {"earliest": first, "latest": last},
            }
        entry = {
            "id": claim.id,
            "asserted_by": {"id": claim.actor},
            "stance": claim.stance,
            "mode": claim.mode,
            "context_refs": sorted(claim.contexts, key=in_order),
            "start_key": moment_text(claim.bounds.start_key),
            "effective_time": effective,
            "roots": sorted(claim.roots),
            "limited_by": claim.weak or None,
        }
        return entry | {"trust_class": claim.trust} if self._trusts else entry


def _object(value: Value) -> Any:
    return value.literal if value.id is None else {"id": value.id}
