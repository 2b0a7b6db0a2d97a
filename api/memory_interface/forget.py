"""`forget`: erase a memory, or the bytes of a source, by a plan that ends by looking.

One transaction accepts it: the closure is read under the lock of the space, and the plan, its
receipt and what is refused from now on are kept before anything is erased (contract
memory-interface section 9). The rest is a job of the space's memory lane.
"""

from __future__ import annotations

from typing import Any

from api import request_id
from api.admission import authenticating
from api.memory_interface import answers
from api.memory_interface.memory import INTENTS, deadline_seconds
from api.memory_interface.models import ForgetInput, Request
from api.waiting import wait_for_end
from jobs import dispatch, ledger
from jobs.ledger import Idempotency
from storage import erasure_plans, jobs, memory_scopes, spaces
from storage.canonical import digest
from storage.database import Scope, Transaction, database
from storage.erasure import closure as closures
from storage.erasure import elements, planning
from storage.erasure.closure import Closure
from storage.erasure.traces import Traces
from storage.erasure_plans import ErasurePlan
from storage.graph.commit import lock
from storage.graph.errors import LegalHoldConflict, NotFoundOrNotVisible
from storage.ids import new_id
from storage.jobs import Job
from storage.kip.errors import IdempotencyConflict, NotAuthorized
from storage.memory_scopes import MemoryScope
from storage.principals import Principal


def offer() -> None:
    """Let the Memory Interface take `forget`."""
    INTENTS["forget"] = forget


def forget(caller: Principal, request: Request, given: ForgetInput) -> dict[str, Any]:
    """Accept an erasure, or find it by its key, and answer how far it is.

    Waits only as long as the request itself says. Raises a `KipError` for what is refused; then
    nothing was erased and no key is bound.
    """
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        if given.mode == "semantic":
            _require_owner(tx, scope, caller)
        key = request.idempotency_key
        assert key is not None
        meaning = _meaning(request)
        job = _known(tx, caller, key, meaning)
        ended: list[Job] = []
        if job is None:
            lock(tx, scope)
            # whoever was faster has committed by now
            job = _known(tx, caller, key, meaning)
            if job is None:
                job, ended = _accept(tx, caller, request, given, Idempotency(key, meaning))
    dispatch.announce(ended or [job])
    job = wait_for_end(job, seconds=deadline_seconds(request))
    return answers.changed(job, request.request_id)


def _require_owner(tx: Transaction, scope: Scope, caller: Principal) -> None:
    """What memory is made of, its owner alone decides, by a signed token.

    Without authentication, whoever works on this machine does. Raises `NotAuthorized`.
    """
    if not authenticating():
        return
    owner = spaces.get(tx, scope).owner
    named = owner if owner.startswith("user:") else f"user:{owner}"
    # a space that was made without authentication belongs to no subject of a token
    if owner == "anonymous" or caller.kind != "agent" or caller.subject != named:
        raise NotAuthorized("Only the owner of the space may forget semantically.")


def _meaning(request: Request) -> dict[str, Any]:
    """What makes two requests the same."""
    wanted = _scope(request)
    return {
        "operation": "forget",
        "scope": {"task_ref": wanted.task, "context_refs": list(wanted.contexts)},
        "input": request.input,
        "source": None,
    }


def _scope(request: Request) -> MemoryScope:
    return MemoryScope.of(None if request.scope is None else request.scope.model_dump())


def _known(tx: Transaction, caller: Principal, key: str, meaning: dict[str, Any]) -> Job | None:
    """The job that the key stands for; raises `IdempotencyConflict` when it means another."""
    job = jobs.by_idempotency(tx, Scope(caller.space_id), caller.subject, "forget", key)
    if job is not None and job.idem_digest != digest(meaning):
        raise IdempotencyConflict("This key was used for another request; use a new key.")
    return job


def _closure(
    tx: Transaction, caller: Principal, given: ForgetInput
) -> tuple[ErasurePlan | None, Closure]:
    """What is to go, with what an earlier plan for it has begun to erase and left undone."""
    scope, target = Scope(caller.space_id), given.target_ref
    before = erasure_plans.unfinished(tx, scope, caller.subject, target, given.mode)
    if before is None or before.erased_seq is None:
        try:
            return None, closures.compute(tx, scope, caller.subject, target, given.mode)
        except NotFoundOrNotVisible:
            if before is None:
                raise
    return before, closures.compute(
        tx,
        scope,
        caller.subject,
        target,
        given.mode,
        planned=Traces.of(before.traces).elements,
        # whatever was written since may stand on it
        erased_seq=None if before.erased_seq is None else before.basis_seq,
    )


def _accept(
    tx: Transaction,
    caller: Principal,
    request: Request,
    given: ForgetInput,
    idempotency: Idempotency,
) -> tuple[Job, list[Job]]:
    """The job of a new plan, and the jobs that ended at once because a legal hold forbids it."""
    scope = Scope(caller.space_id)
    memory_scopes.elements(tx, scope, _scope(request))
    before, closure = _closure(tx, caller, given)
    known = None if before is None else Traces.of(before.traces)
    ref = new_id("pln")
    job = ledger.accept(
        tx,
        caller,
        "forget",
        {"plan": ref},
        operation="forget",
        idempotency=idempotency,
        request_id=request_id.current(),
    ).job
    traces = planning.traces_of(tx, scope, closure, known)
    points = [] if before is None else [{**p, "from": "before"} for p in before.open_points]
    targets = planning.targets(closure)
    erasure_plans.create(
        tx,
        scope,
        ref,
        caller=caller.subject,
        job_id=job.id,
        receipt_ref=job.receipt_ref,
        mode=given.mode,
        target_ref=given.target_ref,
        basis_seq=job.accepted_seq,
        status="blocked" if closure.held else "pending",
        source_refs=planning.source_refs(closure) or (before.source_refs if before else []),
        targets=targets if before is None else planning.with_gone(targets, before.targets, traces),
        traces=traces.as_json(),
        open_points=planning.open_points(closure, points),
        erased_seq=None if before is None else before.erased_seq,
    )
    if closure.held:
        begun = before is not None and before.erased_seq is not None
        held = LegalHoldConflict(planning.hold_message(closure, begun=begun))
        ended = ledger.end_unsuccessfully(tx, [job.id], "failed", ledger.error_json(held))
        return ended[0], ended
    if given.mode == "semantic":
        elements.refuse(tx, scope, traces.digests, ref)
    return job, []
