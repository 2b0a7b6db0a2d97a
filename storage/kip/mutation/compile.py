"""From the statements of one transaction to the operations of one change set."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from storage.graph import changes as graph
from storage.graph import state
from storage.graph.errors import (
    IdentityMergeConflict,
    InvalidLifecycleTransition,
    NotFoundOrNotVisible,
)
from storage.kip.errors import TransactionTooLarge, fault
from storage.kip.language import ast_kml as kml
from storage.kip.language.ast_patterns import RecordKind
from storage.kip.language.ast_terms import Literal, Node, Path, Target, Variable
from storage.kip.language.check_values import member, plain
from storage.kip.language.desugar import statements as desugared
from storage.kip.language.walking import every
from storage.kip.mutation import concepts, records
from storage.kip.mutation.concepts import text_of, written
from storage.kip.mutation.limits import MAX_OPERATIONS, MAX_STATEMENTS
from storage.kip.mutation.references import References
from storage.kip.mutation.selection import Chosen, choose, pairs
from storage.kip.query.documents import documents
from storage.kip.snapshot import Snapshot

_KINDS: Mapping[RecordKind, str] = {"ASSERTION": "A", "EVIDENCE": "E", "ACTIVITY": "X"}


@dataclass(frozen=True, slots=True)
class Plan:
    """The operations of a transaction, and what its selecting statements chose.

    `targets` has one entry for each statement that selects: the references that it acts on.
    """

    changes: tuple[graph.Change, ...]
    targets: tuple[tuple[graph.Ref, ...], ...]


def compile_statement(
    snapshot: Snapshot, statement: kml.Mutation, captured: Mapping[str, graph.CreateEvidence]
) -> Plan:
    """What a mutation comes to, seen from the state before it.

    `captured` is evidence that the host makes in the same transaction, by handle without its `?`.
    Raises `TransactionTooLarge`, and a `KipError` for everything that is wrong with a statement
    before it is planned.
    """
    if isinstance(statement, kml.Mutate) and len(statement.statements) > MAX_STATEMENTS:
        raise TransactionTooLarge(
            f"A MUTATE holds at most {MAX_STATEMENTS} statements.", data={"limit": MAX_STATEMENTS}
        )
    plain_statements = desugared(statement)
    compiler = _Compiler(snapshot, plain_statements, captured)
    for position, one in enumerate(plain_statements):
        compiler.add(one, position)
    return Plan(tuple(compiler.changes), tuple(compiler.targets))


@dataclass(slots=True)
class _Compiler:
    snapshot: Snapshot
    statements: Sequence[kml.Mutation]
    captured: Mapping[str, graph.CreateEvidence]
    changes: list[graph.Change] = field(default_factory=list)
    targets: list[tuple[graph.Ref, ...]] = field(default_factory=list)
    references: References = field(init=False)
    replaced: dict[str, list[Target]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.changes.extend(self.captured.values())
        handles = {name: "E" for name in self.captured}
        keyed: dict[tuple[str, str], str] = {}
        for one in self.statements:
            match one:
                case kml.CreateConcept(handle) | kml.UpsertConcept(handle):
                    handles[handle.name] = "C"
                    if (identity := self._key(one)) is not None:
                        keyed[identity] = f"?{handle.name}"
                case kml.CreateRecord(kind, handle):
                    handles[handle.name] = _KINDS[kind]
                case kml.EnsureProposition(Variable(name)):
                    handles[name] = "P"
                case kml.Transition(target, Literal("superseded"), Variable(name)):
                    if one.tail.where is None:
                        self.replaced.setdefault(name, []).append(target)
        self.references = References(self.snapshot, handles, keyed)
        self.references.prefetch(
            one
            for one in self.statements
            if isinstance(one, kml.EnsureProposition | kml.CreateRecord)
        )

    def _key(self, statement: kml.CreateConcept | kml.UpsertConcept) -> tuple[str, str] | None:
        """Type lineage and key of a concept that the transaction defines, if it says both."""
        symbol: Any
        key: Any
        if isinstance(statement, kml.CreateConcept):
            symbol, key = statement.type, None
            for action in statement.actions:
                if isinstance(action, kml.SetFields) and (one := member(action.members, "key")):
                    key = one.value
        else:
            found = {one.name: one.value for one in statement.match.members}
            symbol, key = found.get("type"), found.get("key")
        symbol, key = text_of(symbol), text_of(key)
        if not isinstance(symbol, str) or not isinstance(key, str):
            return None
        return self.snapshot.schema.type(symbol).lineage, key

    def add(self, statement: kml.Mutation, position: int) -> None:
        match statement:
            case kml.CreateConcept():
                self._put(concepts.create(statement, self.references))
            case kml.UpsertConcept():
                self._put(concepts.upsert(statement, self.references))
            case kml.EnsureProposition(handle):
                name = f"?{handle.name}" if handle is not None else f"?{position}#ensure"
                self._put(records.ensure(statement, self.references, name))
            case kml.CreateRecord():
                corrects = self._corrected(statement)
                self._put(records.create(statement, self.references, corrects))
            case kml.Update():
                self._update(statement)
            case kml.Transition():
                self._transition(statement)
            case kml.SetRetention():
                self._retention(statement)
            case kml.Purge():
                self._purge(statement)
            case kml.PurgePayload():
                checks = concepts.guards(statement.tail.guards, self.references)
                for target in self._distinct(statement.target, statement.tail):
                    self._put(graph.PurgePayload(target, checks))
            case kml.MergeConcept():
                self._merge(statement)
            case kml.Define():
                self._put(
                    graph.DefineSymbol(
                        statement.symbol_kind,
                        text_of(statement.symbol),
                        plain(statement.definition),
                    )
                )
            case _:
                raise AssertionError(type(statement).__name__)

    def _put(self, change: graph.Change) -> None:
        if len(self.changes) >= MAX_OPERATIONS:
            raise TransactionTooLarge(
                f"A transaction holds at most {MAX_OPERATIONS} operations.",
                data={"limit": MAX_OPERATIONS},
            )
        self.changes.append(change)

    def _choose(self, target: Node, tail: kml.Tail, parts: Sequence[Node] = ()) -> list[Chosen]:
        chosen = choose(self.references, cast(Any, target), tail, parts)
        self.targets.append(tuple(dict.fromkeys(one.target for one in chosen)))
        return chosen

    def _distinct(self, target: Node, tail: kml.Tail) -> tuple[graph.Ref, ...]:
        self._choose(target, tail)
        return self.targets[-1]

    def _corrected(self, statement: kml.CreateRecord) -> graph.Ref | None:
        """The one assertion that a new one replaces in this transaction, if it says which."""
        if statement.kind != "ASSERTION":
            return None
        replaced = self.replaced.get(statement.handle.name, [])
        if len(replaced) != 1:
            return None
        ref = self.references.of(replaced[0], {})
        if self.references.kind(ref) != "A":
            return None
        if not ref.startswith("?") and not self._stored([ref]):
            raise fault(NotFoundOrNotVisible, f"There is no element {ref!r} here.", statement.at)
        return ref

    def _stored(self, ids: Collection[str]) -> dict[str, state.Stored]:
        return state.load(self.snapshot.tx, self.snapshot.scope, ids)

    def _update(self, statement: kml.Update) -> None:
        chosen = self._choose(statement.target, statement.tail, statement.actions)
        checks = concepts.guards(statement.tail.guards, self.references)
        ids = {one.target for one in chosen if not one.target.startswith("?")}
        reads = any(True for action in statement.actions for _ in every(action, Path))
        held = documents(self.snapshot, sorted(ids)) if reads and ids else {}
        activities = self._stored([i for i in ids if self.references.kind(i) == "X"])
        for one in chosen:
            kind = self.references.kind(one.target)
            made = written(statement.actions, self.references, one.row, held.get(one.target))
            if kind == "C":
                self._put(concepts.update(one.target, made, checks))
                continue
            if kind == "X" and not one.target.startswith("?") and one.target not in activities:
                raise NotFoundOrNotVisible(f"There is no element {one.target!r} here.")
            status = activities[one.target].status if one.target in activities else None
            self._put(records.update(one.target, kind, made, checks, status))

    def _transition(self, statement: kml.Transition) -> None:
        parts: list[Node] = [*statement.actions]
        if statement.by is not None:
            parts.append(statement.by)
        chosen = self._choose(statement.target, statement.tail, parts)
        checks = concepts.guards(statement.tail.guards, self.references)
        to = text_of(statement.to)
        for one in chosen:
            by = None if statement.by is None else self.references.of(statement.by, one.row)
            if by == one.target:
                raise InvalidLifecycleTransition(f"{one.target} does not take its own place.")
            started_at, ended_at, links = records.finalized(statement, self.references, one.row)
            self._put(graph.Transition(one.target, to, by, started_at, ended_at, links, checks))

    def _retention(self, statement: kml.SetRetention) -> None:
        """A block says all there is to say, but for a hold, which only its own member ends."""
        given = {one.name: plain(one.value) for one in statement.members}
        values = {"retention_class": None, "expires_at": None, **given}
        checks = concepts.guards(statement.tail.guards, self.references)
        for target in self._distinct(statement.target, statement.tail):
            self._put(graph.SetRetention(target, values, checks))

    def _purge(self, statement: kml.Purge) -> None:
        policy: Any = text_of(statement.reference_policy) or "deny_if_referenced"
        checks = concepts.guards(statement.tail.guards, self.references)
        for target in self._distinct(statement.target, statement.tail):
            self._put(graph.Purge(target, policy, checks))

    def _merge(self, statement: kml.MergeConcept) -> None:
        found = pairs(self.references, statement.source, statement.into, statement.tail)
        if not found:
            raise NotFoundOrNotVisible("There are no such concepts to merge.")
        if len(found) > 1:
            raise IdentityMergeConflict(
                "What is to be merged is not one pair of concepts.",
                data={"hint": "Name both by id or key."},
            )
        source, into = found[0]
        checks = concepts.guards(statement.tail.guards, self.references)
        self.targets.append((source,))
        self._put(graph.MergeConcept(source, into, checks))
