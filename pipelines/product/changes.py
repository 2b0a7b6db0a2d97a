"""A change of one record: prepared, looked at, and then committed or discarded.

What is prepared is immutable, and bound to the caller and its operation, to the revision of the
record and to the digest of its preview; it may be committed for ten minutes. Doing any step again
gives the same answer.

- `correct`: the caller's own claim was wrong. A new claim takes the place of the old one in its own
  time; the old one is superseded.
- `world_change`: the world changed. The new claim begins now, or when it is said to; the old one
  stays and still answers for its time.
- `suppress`: the record is archived, with the sources that are for it alone, and what it was formed
  from is not taken in again.
- `restore`: a record that was suppressed is in force again, and its sources may be taken in again,
  unless something else refuses them.
- `delete`: the record and its bounded closure are erased, copies in this house included.

`misrecorded` is a repair of the record against its source; the Memory Interface does that.

Every change raises the processing epoch of the space in the transaction that accepts it
(`storage.epochs`), so that nobody goes on with what was read before. A host calls `recover` before
it opens a space.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pipelines.forget import run as forgetting
from pipelines.formation.alone import Alone
from pipelines.product.records import CHANNEL, MemoryRecord, is_exclusive, product_record
from storage import epochs, erasure_plans, source_identity
from storage.canonical import digest
from storage.clock import now, parse_text, to_text
from storage.database import Database, Scope, Transaction
from storage.erasure import closure as closures
from storage.erasure import elements, planning
from storage.erasure.closure import Closure
from storage.errors import Conflict, InvalidInput, NotFound
from storage.graph import state
from storage.graph.changes import (
    Change,
    ChangeSet,
    Citation,
    CreateActivity,
    CreateAssertion,
    CreateEvidence,
    EnsureProposition,
    Link,
    Transition,
    Value,
)
from storage.graph.commit import commit, lock
from storage.graph.errors import LegalHoldConflict, PurgeDenied
from storage.graph.schema import local_name
from storage.graph.state import object_key
from storage.graph.validity import ValidTime
from storage.ids import new_id
from storage.kip.errors import IdempotencyConflict, NotAuthorized, UnsupportedCapability
from storage.memory_scopes import FACET
from storage.runtime import product_requests
from storage.runtime.product_requests import ProductRequest
from storage.source_digests import message_digest

#: Elements that the deletion of one record erases at most (seed 003 section 9.1).
MAX_DELETED = 128
#: Longest statement, in characters.
MAX_STATEMENT = 16_384

ChangeKind = Literal["correct", "world_change", "misrecorded", "suppress", "restore", "delete"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Whom the host works for, authenticated by it. `actor` is the Person that is speaking."""

    name: str
    actor: str

    @property
    def principal(self) -> str:
        """The principal of its commits."""
        return f"{CHANNEL}:{self.name}"


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """What is to become of a record.

    `value` (a literal, or an existing concept's id) and `statement` (the caller's words) are of
    `correct` and `world_change`; `since` is when the world changed (None: now). `undoes` is the
    caller's operation that a `restore` takes back.
    """

    operation_id: str
    record_id: str
    revision: str
    kind: ChangeKind
    value: Value | str | None = None
    statement: str | None = None
    since: datetime | None = None
    undoes: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Plain data; equal requests are equal here."""
        literal = isinstance(self.value, Value)
        undoes = {} if self.undoes is None else {"undoes": self.undoes}
        return {
            **undoes,
            "record_id": self.record_id,
            "revision": self.revision,
            "kind": self.kind,
            "literal": self.value.value if isinstance(self.value, Value) else None,
            "concept": None if literal else self.value,
            "valued": literal,
            "statement": self.statement,
            "since": None if self.since is None else to_text(self.since),
        }

    def new_value(self) -> Value | str:
        """The value of a revision; raises `InvalidInput` where there is none."""
        if self.value is None or not (self.statement or "").strip():
            raise InvalidInput("A revision has a new value, and the words that say so.")
        if len(self.statement or "") > MAX_STATEMENT:
            raise InvalidInput(f"A statement has at most {MAX_STATEMENT} characters.")
        return self.value


@dataclass(frozen=True, slots=True)
class Prepared:
    """What would happen. To commit it, give back `preview_digest`."""

    operation_id: str
    kind: str
    preview: Mapping[str, Any]
    preview_digest: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Changed:
    """What happened.

    `record_id` is the new claim of a revision, else the record itself. `status` is `accepted` while
    a deletion is under way, `completed` or `partial` once it was looked at. `archived` are the
    elements that a `suppress` put away; `undoes` is the operation that a `restore` took back.
    """

    operation_id: str
    kind: str
    record_id: str
    status: str
    evidence_ref: str | None = None
    plan_ref: str | None = None
    archived: tuple[str, ...] = ()
    undoes: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Plain data, as it is kept."""
        return {
            "archived": list(self.archived),
            "undoes": self.undoes,
            "record_id": self.record_id,
            "status": self.status,
            "evidence_ref": self.evidence_ref,
            "plan_ref": self.plan_ref,
        }


class Expired(Conflict):
    """The time to commit is over; prepare it again under another operation."""

    code = "product_request_ended"
    default = "This change cannot be committed any more; prepare it again."


class RevisionConflict(Conflict):
    """The record, or what goes with it, is not what was looked at."""

    code = "product_revision_conflict"
    default = "The record has changed; read it again."


def product_prepare(
    database: Database, scope: Scope, caller: Caller, request: ChangeRequest
) -> Prepared:
    """Keep a change and show what it would do; memory stays as it is.

    Raises `UnsupportedCapability` for `misrecorded`, `NotFoundOrNotVisible`, `RevisionConflict`,
    `NotAuthorized` for a correction of somebody else's claim, `InvalidInput`,
    `IdempotencyConflict` for an operation that was prepared differently, and for a deletion
    `ResultLimitExceeded`, `LegalHoldConflict` and `PurgeDenied`.
    """
    if request.kind == "misrecorded":
        raise UnsupportedCapability("A recording is repaired by `revise` of the Memory Interface.")
    asked = {**request.as_json(), "actor": caller.actor}
    with database.transaction(scope) as tx:
        lock(tx, scope)
        known = product_requests.find(tx, scope, caller.name, request.operation_id)
        if known is not None:
            if known.request_digest != digest(asked):
                raise IdempotencyConflict("This operation was prepared for another change.")
            return _prepared(known)
        preview, touched = _preview(tx, scope, caller, request)
        made = product_requests.keep(
            tx,
            scope,
            caller.name,
            request.operation_id,
            kind=request.kind,
            record_id=request.record_id,
            revision=request.revision,
            request=asked,
            request_digest=digest(asked),
            preview=preview,
            preview_digest=digest(preview),
            touched=touched,
        )
    return _prepared(made)


def product_commit(
    database: Database, scope: Scope, caller: Caller, operation_id: str, preview_digest: str
) -> Changed:
    """Do what was prepared and looked at; again, and it tells what was done.

    Raises `NotFound`, `Expired`, `RevisionConflict`, and what `product_prepare` and a commit raise.
    """
    with database.transaction(scope) as tx:
        lock(tx, scope)
        known = product_requests.find(tx, scope, caller.name, operation_id)
        if known is None:
            raise NotFound("There is no such operation.")
        if known.preview_digest != preview_digest:
            raise RevisionConflict("This is not the preview that was prepared.")
        if known.state == "committed":
            done = _changed(known)
        else:
            done = _commit(tx, scope, caller, known)
            epochs.advance(tx, scope)
            product_requests.end(tx, scope, caller.name, operation_id, "committed", done.as_json())
    if done.plan_ref is not None and done.status == "accepted":
        return _finish(database, scope, caller.name, done)
    return done


def product_change(
    database: Database, scope: Scope, caller: Caller, request: ChangeRequest
) -> Changed:
    """Prepare and commit at once, where nobody looks at a preview; again is told what was done."""
    with database.transaction(scope) as tx:
        known = product_requests.find(tx, scope, caller.name, request.operation_id)
    if known is None or known.state != "committed":
        shown = product_prepare(database, scope, caller, request).preview_digest
    elif known.request_digest == digest({**request.as_json(), "actor": caller.actor}):
        shown = known.preview_digest
    else:
        raise IdempotencyConflict("This operation was used for another change.")
    return product_commit(database, scope, caller, request.operation_id, shown)


def product_discard(database: Database, scope: Scope, caller: Caller, operation_id: str) -> None:
    """Give a prepared change up, and its words with it.

    Raises `NotFound`, and `Conflict` for one that was committed.
    """
    with database.transaction(scope) as tx:
        known = product_requests.find(tx, scope, caller.name, operation_id)
        if known is None:
            raise NotFound("There is no such operation.")
        if known.state == "committed":
            raise Conflict("This was committed; take it back by another change.")
        if known.state == "prepared":
            product_requests.end(tx, scope, caller.name, operation_id, "discarded")


def recover(database: Database, scope: Scope) -> int:
    """Carry out deletions that were accepted before a stop; before the space is used again.

    Returns how many there were. All other changes are done in the transaction that accepts them,
    and what `jobs.product_intake` accepted is in the ledger. What was prepared and not committed in
    time loses its words here.
    """
    with database.transaction(scope) as tx:
        product_requests.void_expired(tx, scope)
        waiting = product_requests.unfinished(tx, scope)
        found = [
            (caller, _changed(request))
            for caller, operation_id, _ in waiting
            if (request := product_requests.find(tx, scope, caller, operation_id)) is not None
        ]
    for name, accepted in found:
        _finish(database, scope, name, accepted)
    return len(found)


def _prepared(kept: ProductRequest) -> Prepared:
    if kept.state != "prepared" or kept.preview is None or kept.expires_at <= now():
        raise Expired()
    return Prepared(
        kept.operation_id, kept.kind, kept.preview, kept.preview_digest, kept.expires_at
    )


def _changed(kept: ProductRequest) -> Changed:
    assert kept.result is not None
    result = {**kept.result, "archived": tuple(kept.result.get("archived", ()))}
    return Changed(kept.operation_id, kept.kind, **result)


def _preview(
    tx: Transaction, scope: Scope, caller: Caller, request: ChangeRequest
) -> tuple[dict[str, Any], set[str]]:
    """What the change comes to on memory as it is, and the elements that it tells of."""
    record = product_record(tx, scope, request.record_id, now())
    if record.revision != request.revision:
        raise RevisionConflict()
    touched = {record.id, *record.refs}
    told: dict[str, Any] = {"kind": request.kind, "record": record.as_json()}
    if request.kind == "delete":
        closure = _closure(tx, scope, caller, record)
        gone = sorted({*closure.elements, *closure.payloads})
        return {**told, "erases": gone}, touched | set(gone)
    if request.kind == "restore":
        restored = _suppressed_by(tx, scope, caller, request, record)
        return {**told, "undoes": request.undoes, "restores": list(restored)}, touched
    if record.storage != "current":
        raise Conflict("The record is archived.")
    if request.kind == "suppress":
        archives = [record.id, *closures.standing_on(tx, scope, record.id)]
        return {**told, "archives": archives}, touched
    value = request.new_value()
    _check_revision(tx, scope, caller, request, record, value)
    new = {"literal": value.value} if isinstance(value, Value) else {"concept": value}
    touched |= set() if isinstance(value, Value) else {value}
    ends = "superseded" if request.kind == "correct" else "ends"
    return {**told, "new_value": new, ends: record.id}, touched


def _check_revision(
    tx: Transaction,
    scope: Scope,
    caller: Caller,
    request: ChangeRequest,
    record: MemoryRecord,
    value: Value | str,
) -> None:
    if record.lifecycle not in ("active", "expired"):
        raise Conflict(f"The claim is {record.lifecycle}; there is nothing to revise.")
    if request.kind == "correct" and record.asserted_by.id != caller.actor:
        raise NotAuthorized("A claim is corrected by whose it is.")
    stored = state.load(tx, scope, [record.proposition_ref])[record.proposition_ref]
    assert stored.proposition is not None
    key = object_key(None, value.value) if isinstance(value, Value) else object_key(value, None)
    if key == stored.proposition.object_key:
        raise InvalidInput("The record has that value already.")
    if request.since is not None and (request.kind == "correct" or request.since > now()):
        raise InvalidInput("Only a change of the world has a time, and no time to come.")


def _closure(tx: Transaction, scope: Scope, caller: Caller, record: MemoryRecord) -> Closure:
    """What goes with a record; refused where that is not known, or kept by a hold."""
    closure = closures.compute(tx, scope, caller.principal, record.id, "semantic", most=MAX_DELETED)
    if closure.held:
        raise LegalHoldConflict(planning.hold_message(closure))
    if closure.open_points:
        point = closure.open_points[0]
        raise PurgeDenied(f"{point.ref}: {point.why}; nothing was erased.")
    return closure


def _commit(tx: Transaction, scope: Scope, caller: Caller, kept: ProductRequest) -> Changed:
    prepared = _prepared(kept)
    assert kept.request is not None
    if kept.request["actor"] != caller.actor:
        raise NotAuthorized("Somebody else prepared this.")
    request = _request(kept)
    preview, _ = _preview(tx, scope, caller, request)
    if digest(preview) != prepared.preview_digest:
        raise RevisionConflict()
    record = product_record(tx, scope, kept.record_id, now())
    match request.kind:
        case "suppress":
            return _suppress(tx, scope, caller, request, record)
        case "restore":
            return _restore(tx, scope, caller, request, record)
        case "delete":
            return _accept_deletion(tx, scope, caller, request, record)
        case _:
            return _revise(tx, scope, caller, request, record)


def _request(kept: ProductRequest) -> ChangeRequest:
    asked = kept.request
    assert asked is not None
    value = Value(asked["literal"]) if asked["valued"] else asked["concept"]
    since = None if asked["since"] is None else parse_text(asked["since"])
    return ChangeRequest(
        kept.operation_id,
        kept.record_id,
        kept.revision,
        kept.kind,  # type: ignore[arg-type]
        value,
        asked["statement"],
        since,
        asked.get("undoes"),
    )


def _revise(
    tx: Transaction,
    scope: Scope,
    caller: Caller,
    request: ChangeRequest,
    record: MemoryRecord,
) -> Changed:
    at = now()
    correct = request.kind == "correct"
    # the digest covers who said it and what, so that the same words are refused once erased
    payload = {
        "role": "user",
        "name": caller.name,
        "content": request.statement,
        "operation": request.operation_id,
    }
    facets = _scope_facet(tx, scope, record)
    changes: list[Change] = [
        CreateEvidence(
            "?said",
            "user_statement",
            payload,
            content_digest=message_digest(payload),
            media_type="application/json",
            observed_at=at,
            facets=facets,
            links=(Link("source", caller.actor),),
        ),
        EnsureProposition("?tuple", record.subject.id, record.predicate_ref, request.new_value()),
        CreateAssertion(
            "?claim",
            "?tuple",
            caller.actor,
            "stated",
            asserted_at=at,
            valid=ValidTime() if correct else ValidTime(start=request.since or at),
            interval_of=record.id if correct else None,
            contexts=record.context_refs,
            citations=(Citation("?said"),),
            facets=facets,
        ),
        CreateActivity(
            "?revision",
            "belief_revision",
            "completed",
            at,
            at,
            inputs=("?said",),
            outputs=("?claim", record.id),
        ),
    ]
    if correct:
        changes.append(Transition(record.id, "superseded", by="?claim"))
    elif not is_exclusive(tx, scope, record.predicate_ref):
        # nothing ends a value of many by itself: it is said to hold no longer
        changes.append(
            CreateAssertion(
                "?over",
                record.proposition_ref,
                caller.actor,
                "stated",
                "reject",
                asserted_at=at,
                valid=ValidTime(start=request.since or at),
                contexts=record.context_refs,
                citations=(Citation("?said"),),
                facets=facets,
            )
        )
    made = commit(tx, scope, caller.principal, ChangeSet(tuple(changes)), tx_class=CHANNEL)
    claim, said = made.ids["?claim"], made.ids["?said"]
    return Changed(request.operation_id, request.kind, claim, "completed", said)


def _scope_facet(tx: Transaction, scope: Scope, record: MemoryRecord) -> dict[str, Any]:
    """The scope that the record carries, for what takes its place."""
    stored = state.load(tx, scope, [record.id])[record.id]
    for ref, values in (stored.doc.get("facets") or {}).items():
        if local_name(ref) == FACET:
            return {FACET: values}
    return {}


def _suppress(
    tx: Transaction,
    scope: Scope,
    caller: Caller,
    request: ChangeRequest,
    record: MemoryRecord,
) -> Changed:
    """Archive the record; what it was formed from is not taken in again."""
    digests = _source_digests(tx, scope, record)
    elements.refuse(tx, scope, digests, _account(caller, request.operation_id))
    alone = closures.standing_on(tx, scope, record.id)
    stored = state.load(tx, scope, alone)
    alone = tuple(ref for ref in alone if stored[ref].state == "active")
    elements.unwind(tx, scope, [ref for ref in alone if ref[0] == "E"])
    changes = ChangeSet(tuple(Transition(ref, "archived") for ref in (record.id, *alone)))
    commit(tx, scope, caller.principal, changes, tx_class=CHANNEL)
    return Changed(
        request.operation_id, request.kind, record.id, "completed", archived=(record.id, *alone)
    )


def _account(caller: Caller, operation_id: str) -> str:
    """On whose behalf sources are refused: the caller's operation, as migration 0015 has it."""
    return f"{CHANNEL}:{json.dumps([caller.name, operation_id], ensure_ascii=False)}"


def _suppressed_by(
    tx: Transaction, scope: Scope, caller: Caller, request: ChangeRequest, record: MemoryRecord
) -> tuple[str, ...]:
    """What the operation that is to be taken back has archived and is archived still.

    Raises `NotFound` for one that is no suppression of this record by this caller, and `Conflict`
    where it was taken back before or the record is not archived.
    """
    if request.undoes is None:
        raise InvalidInput("A restore names the operation that it takes back.")
    known = product_requests.find(tx, scope, caller.name, request.undoes)
    if known is None or (known.kind, known.state) != ("suppress", "committed"):
        raise NotFound("There is no such suppression.")
    if known.record_id != record.id:
        raise NotFound("That suppression is of another record.")
    if product_requests.taken_back(tx, scope, caller.name, request.undoes):
        raise Conflict("That suppression was taken back before.")
    if record.storage != "archived":
        raise Conflict(f"The record is {record.storage}; there is nothing to take back.")
    archived = _changed(known).archived or (record.id,)
    stored = state.load(tx, scope, archived)
    return tuple(ref for ref in archived if ref in stored and stored[ref].state == "archived")


def _restore(
    tx: Transaction,
    scope: Scope,
    caller: Caller,
    request: ChangeRequest,
    record: MemoryRecord,
) -> Changed:
    """Take a suppression back: what it archived is in force, what it refused may come again."""
    restored = _suppressed_by(tx, scope, caller, request, record)
    assert request.undoes is not None
    elements.allow_again(tx, scope, _account(caller, request.undoes))
    changes = ChangeSet(tuple(Transition(ref, "active") for ref in restored))
    commit(tx, scope, caller.principal, changes, tx_class=CHANNEL)
    return Changed(
        request.operation_id, request.kind, record.id, "completed", undoes=request.undoes
    )


def _source_digests(tx: Transaction, scope: Scope, record: MemoryRecord) -> set[str]:
    """By what the sources of a record are known when they come again."""
    refs = [source.evidence_ref for source in record.sources]
    rows = tx.execute(
        "select content_digest, payload -> 'inline' from evidence"
        " where space_id = %s and id = any(%s)",
        (scope.space_id, refs),
    ).fetchall()
    found = {known for known, _ in rows if known is not None}
    found |= source_identity.digests_of(tx, scope, refs)
    return found | {
        message_digest(payload)
        for _, payload in rows
        if isinstance(payload, dict) and "content" in payload
    }


def _accept_deletion(
    tx: Transaction,
    scope: Scope,
    caller: Caller,
    request: ChangeRequest,
    record: MemoryRecord,
) -> Changed:
    """Keep the plan, and what is refused from now on, before anything is erased."""
    closure = _closure(tx, scope, caller, record)
    traces = planning.traces_of(tx, scope, closure)
    ref = new_id("pln")
    erasure_plans.create(
        tx,
        scope,
        ref,
        caller=caller.principal,
        job_id="",
        receipt_ref="",
        mode="semantic",
        target_ref=record.id,
        basis_seq=lock(tx, scope).head_seq,
        status="pending",
        source_refs=planning.source_refs(closure),
        targets=planning.targets(closure),
        traces=traces.as_json(),
        open_points=planning.open_points(closure),
    )
    elements.refuse(tx, scope, traces.digests, ref)
    # this operation is among them, and ends as committed all the same
    product_requests.void_touching(tx, scope, [*closure.elements, *closure.payloads])
    return Changed(request.operation_id, request.kind, record.id, "accepted", plan_ref=ref)


def _finish(database: Database, scope: Scope, caller: str, accepted: Changed) -> Changed:
    """Carry an accepted deletion out, and keep how it ended; doing it twice is doing it once."""
    assert accepted.plan_ref is not None
    work = Alone(
        database,
        scope,
        {"plan": accepted.plan_ref},
        kind="forget",
        principal=f"{CHANNEL}:{caller}",
    )
    effect = forgetting.run(work)
    with database.transaction(scope) as tx:
        effect.apply(tx)
        plan = erasure_plans.find(tx, scope, accepted.plan_ref)
        assert plan is not None
        done = Changed(
            accepted.operation_id,
            accepted.kind,
            accepted.record_id,
            plan.status,
            plan_ref=plan.ref,
        )
        product_requests.end(tx, scope, caller, accepted.operation_id, "committed", done.as_json())
    return done
