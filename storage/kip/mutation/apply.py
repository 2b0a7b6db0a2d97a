"""Runs a mutation: the way in for every statement that changes memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from datetime import datetime
from typing import Any

from storage.canonical import digest
from storage.clock import to_text
from storage.database import Scope, Transaction
from storage.graph import changes as graph
from storage.graph import state
from storage.graph.commit import Commit, commit, lock
from storage.graph.errors import ConstraintViolation
from storage.graph.schema import DRAFT
from storage.kip.errors import InvalidSyntax
from storage.kip.language import ast_kml as kml
from storage.kip.mutation.authority import Authority
from storage.kip.mutation.compile import Plan, compile_statement
from storage.kip.mutation.records import content_digest
from storage.kip.mutation.references import canonical
from storage.kip.snapshot import Snapshot, open_snapshot

#: Statements whose result says how many elements they acted on.
_COUNTED = (kml.Update, kml.Transition, kml.SetRetention, kml.Purge, kml.PurgePayload)


@dataclass(frozen=True, slots=True)
class Count:
    """How many elements a statement selected, and how many of them it changed."""

    matched: int
    updated: int

    def as_json(self) -> dict[str, int]:
        """The wire form."""
        return {"matched": self.matched, "updated": self.updated}


@dataclass(frozen=True, slots=True)
class Applied:
    """What came of a mutation.

    `result` is what the operation answers: counts for one statement that selects, the new symbol
    for DEFINE, None for all others. `handles` maps the names that the statement itself defined to
    the ids of their elements; `counts` has one entry for each selecting statement, in order;
    `plan_digest` is the digest of the operations. After a dry run, `commit` is what would have
    been, and its sequence and ids mean nothing.
    """

    result: dict[str, Any] | None
    commit: Commit
    plan_digest: str
    handles: Mapping[str, str]
    counts: tuple[Count, ...]
    dry_run: bool = False

    @property
    def no_effect(self) -> bool:
        """Whether nothing changed; then no sequence was taken."""
        return self.commit.seq is None


def apply(
    tx: Transaction,
    scope: Scope,
    authority: Authority,
    statement: kml.Mutation,
    *,
    ingested: Mapping[str, str] | None = None,
    capture: Sequence[graph.CreateEvidence] = (),
    dry_run: bool = False,
    tx_class: str = "kml",
    request_digest: str | None = None,
) -> Applied:
    """Apply one checked statement without parameters, whole or not at all, in the transaction.

    `ingested` are ids of evidence that the host captured before, by binding; `capture` is evidence
    that it makes in this very transaction, whose handles the statement may use as variables. Both
    count as captured for the gates. `dry_run` checks and plans all of it and leaves nothing.

    Raises a `KipError` when anything is wrong; the caller then rolls its transaction back.
    """
    lock(tx, scope)
    snapshot = open_snapshot(tx, scope)
    minted = {one.handle.removeprefix("?"): _digested(one) for one in capture}
    if minted and isinstance(statement, kml.Define):
        raise InvalidSyntax("DEFINE stands alone.")
    if authority.actor is not None:
        actor = canonical(snapshot, [authority.actor])[authority.actor]
        authority = replace(authority, actor=actor)
    plan = compile_statement(snapshot, statement, minted)
    captured = frozenset({*(ingested or {}).values(), *(one.handle for one in capture)})
    _permit(snapshot, authority, plan.changes[len(minted) :], captured)
    change_set = graph.ChangeSet(plan.changes)
    if dry_run:
        with tx.transaction(force_rollback=True):
            made = commit(tx, scope, authority.principal, change_set, tx_class=tx_class)
            _speak(authority, plan, made.ids)
    else:
        made = commit(
            tx,
            scope,
            authority.principal,
            change_set,
            tx_class=tx_class,
            request_digest=request_digest,
        )
        _speak(authority, plan, made.ids)
    counts = tuple(_count(targets, made) for targets in plan.targets)
    return Applied(
        result=_result(statement, made, counts),
        commit=made,
        plan_digest=plan_digest(change_set),
        handles={
            name.removeprefix("?"): element_id
            for name, element_id in made.ids.items()
            if "#" not in name and name.removeprefix("?") not in minted
        },
        counts=counts,
        dry_run=dry_run,
    )


def _digested(evidence: graph.CreateEvidence) -> graph.CreateEvidence:
    """Evidence with a digest, so that an erased source is known when it comes again."""
    if evidence.content_digest is not None:
        return evidence
    return replace(evidence, content_digest=content_digest(evidence.payload))


def plan_digest(changes: graph.ChangeSet) -> str:
    """The digest of what a change set does, whatever text it came from."""
    return digest([_json(one) for one in changes.changes])


def _json(value: Any) -> Any:
    """Operations as JSON: the kind of each, and its members but for those left at their default."""
    if isinstance(value, datetime):
        return to_text(value)
    if isinstance(value, Mapping):
        return {name: _json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_json(one) for one in value]
    if is_dataclass(value):
        said = {}
        for part in fields(value):
            one = getattr(value, part.name)
            if one != part.default and (one or part.default_factory is MISSING):
                said[part.name] = _json(one)
        return [type(value).__name__, said]
    return value


def _permit(
    snapshot: Snapshot,
    authority: Authority,
    changes: Sequence[graph.Change],
    captured: frozenset[str],
) -> None:
    """Check what the writer may do, as far as it is known before handles are resolved."""
    for change in changes:
        authority.change(change)
    authority.gates.check(changes, captured)
    ended = {
        change.target
        for change in changes
        if isinstance(change, graph.Transition) and change.to in ("retracted", "superseded")
    }
    stored = state.load(snapshot.tx, snapshot.scope, {r for r in ended if not r.startswith("?")})
    losers = {e.assertion.actor for e in stored.values() if e.assertion is not None}
    speakers = {c.asserted_by for c in changes if isinstance(c, graph.CreateAssertion)}
    known = canonical(snapshot, {ref for ref in losers | speakers if not ref.startswith("?")})
    for ref in sorted(speakers & known.keys()):
        authority.speaks(known[ref])
    for ref in sorted(losers):
        authority.revokes(known[ref])


def _speak(authority: Authority, plan: Plan, ids: Mapping[str, str]) -> None:
    """Check claims whose actor was a handle, now that it is known who that is."""
    for change in plan.changes:
        if isinstance(change, graph.CreateAssertion) and change.asserted_by.startswith("?"):
            actor = ids.get(change.asserted_by)
            if actor is None:
                raise ConstraintViolation("A claim needs an actor.")
            authority.speaks(actor)


def _count(targets: Sequence[graph.Ref], made: Commit) -> Count:
    ids = {made.ids.get(ref, ref) for ref in targets}
    return Count(len(ids), len(ids & (made.changed | made.created)))


def _result(
    statement: kml.Mutation, made: Commit, counts: Sequence[Count]
) -> dict[str, Any] | None:
    if isinstance(statement, kml.Define):
        return {
            "ref": f"{DRAFT}/{made.drafts[0]}",
            "schema_environment_version": made.schema_env_version,
        }
    if isinstance(statement, _COUNTED):
        return counts[0].as_json()
    return None
