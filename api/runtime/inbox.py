"""`/v1/{space}/attention` and `/v1/{space}/runtime/status`: wakes, answers, and who is let in.

The inbox is open to credentials that `BRAIN_RUNTIME_CONFIG` maps, and to nobody else: neither a
public space nor a server without authentication opens it.
"""

from __future__ import annotations

from datetime import timedelta

from flask import Response
from pydantic import RootModel

from api.admission import Admission, authenticating, credential_digest
from api.errors import CursorInvalid
from api.memory.outputs import RpcResponse
from api.negotiation import answer
from api.routes import Answer, Routes
from api.runtime.bodies import check_size
from api.runtime.models import (
    AttentionPage,
    AttentionQuery,
    AttentionResponse,
    Clarification,
    ResponseReceipt,
    RuntimeStatus,
)
from api.runtime.not_installed import STATUS
from storage import spaces
from storage.clock import now, to_millis
from storage.database import Scope, database
from storage.errors import Conflict, IdempotencyConflict, NotAuthorized, NotFound
from storage.principals import SUBJECT_PREFIX, Principal
from storage.runtime import callers, configuration, responses, wakes
from storage.runtime.callers import RuntimeCaller
from storage.runtime.configuration import SpaceRuntime
from storage.sealing import NotSealed, seal, unseal
from storage.settings import settings

routes = Routes("runtime_inbox", tag="runtime")

#: How long a cursor is good.
CURSOR_LIFE = timedelta(minutes=5)
_ROUTE = "attention"


class ResponseBody(RootModel[AttentionResponse]):
    """An answer to what was asked, or a statement."""


class RuntimeNotConfigured(NotFound):
    """`BRAIN_RUNTIME_CONFIG` has nothing about the space."""

    code = "runtime_not_configured"
    default = "This space has no runtime inbox."


def mapped(caller: Principal) -> RuntimeCaller:
    """The native principal that the admitted credential's holder is.

    Raises `RuntimeNotConfigured`, and `NotAuthorized` for a credential that is not mapped.
    """
    runtime = _runtime(caller.space_id)
    if runtime is None:
        raise RuntimeNotConfigured()
    found = _mapped(runtime, caller)
    if found is None:
        raise NotAuthorized("The runtime inbox is not open to this credential.")
    return found


@routes.add(
    "GET",
    "/v1/<space_id>/attention",
    summary="Read the runtime inbox",
    query=AttentionQuery,
    answers={200: Answer(RpcResponse[AttentionPage], "What waits for a decision.")},
    raises=(CursorInvalid, RuntimeNotConfigured),
    admits=Admission.RUNTIME,
)
def get_runtime_attention(caller: Principal, query: AttentionQuery) -> Response:
    """Wakes that the caller may see. Reading claims nothing; a cursor is good for five minutes."""
    inbox = mapped(caller)
    scope, at = Scope(caller.space_id), now()
    with database().transaction(scope, snapshot=True) as tx:
        space = spaces.get(tx, scope)
        instance = callers.instance_of(space)
        bound = [_ROUTE, scope.space_id, instance, inbox.runtime.digest, inbox.principal]
        seq, after = _opened(bound, query.cursor, to_millis(at), space.head_seq)
        page = wakes.page(
            tx, scope, inbox, at, seq=seq, after=after, limit=query.limit or wakes.PAGE
        )
    cursor = None
    if page.position is not None:
        ends = to_millis(at + CURSOR_LIFE)
        cursor = seal(bound, [ends, page.seq, *page.position])
    told = {
        "scope": {"space_id": scope.space_id, "space_instance": instance},
        "items": [item.as_json() for item in page.items],
        "next_cursor": cursor,
        "complete": cursor is None,
    }
    return answer(told)


@routes.add(
    "POST",
    "/v1/<space_id>/attention/<wake_id>/responses",
    summary="Answer an item of the runtime inbox",
    body=ResponseBody,
    answers={200: Answer(RpcResponse[ResponseReceipt], "What came of it.")},
    raises=(Conflict, IdempotencyConflict, RuntimeNotConfigured),
    admits=Admission.RUNTIME_WRITE,
)
def respond_runtime_attention(caller: Principal, wake_id: str, body: ResponseBody) -> Response:
    """An answer opens a new decision and grants nothing; a statement is no outcome.

    The same event with the same text has the same receipt; with another text it is refused.
    """
    inbox = mapped(caller)
    check_size(body)
    given = body.root
    text = given.answer if isinstance(given, Clarification) else given.statement
    response = responses.Response(given.kind, given.event_key, text)
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        spaces.get(tx, scope)
    receipt = responses.respond(database(), scope, inbox, wake_id, response)
    return answer(receipt.as_json())


@routes.add(
    "GET",
    "/v1/<space_id>/runtime/status",
    summary="Tell whether the runtime inbox is open",
    answers={200: Answer(RpcResponse[RuntimeStatus], "Open or closed, and why.")},
    admits=Admission.RUNTIME,
)
def get_runtime_status(caller: Principal) -> Response:
    """For callers that are mapped, once a configuration names the space; counts one page."""
    scope = Scope(caller.space_id)
    runtime = _runtime(caller.space_id)
    inbox = None if runtime is None else mapped(caller)
    with database().transaction(scope, snapshot=True) as tx:
        space = spaces.get(tx, scope)
        page = None
        if inbox is not None:
            page = wakes.page(tx, scope, inbox, now(), seq=space.head_seq, limit=wakes.MOST)
    observers = () if runtime is None else runtime.observers
    reasons = ["runtime_not_configured"] if runtime is None else []
    reasons.append("no_action_gate")
    if not authenticating():
        reasons.append("no_keys_for_observers")
    if not observers:
        reasons.append("no_observer_registered")
    observes = inbox is not None and inbox.signed and "record_outcome" in inbox.roles
    told = {
        "supported": True,
        "configured": runtime is not None,
        "scope": None
        if inbox is None
        else {"space_id": scope.space_id, "space_instance": callers.instance_of(space)},
        "attention_enabled": inbox is not None,
        "actions_enabled": False,
        "observation_enabled": authenticating() and bool(observers),
        "observer_authenticated": observes,
        "blocked_reasons": reasons,
        "visible_items": 0 if page is None else len(page.items),
        "inventory_complete": page is not None and page.position is None,
        **STATUS,
    }
    return answer(told)


def _runtime(space_id: str) -> SpaceRuntime | None:
    return configuration.of_space(settings().runtime_config, space_id)


def _mapped(runtime: SpaceRuntime, caller: Principal) -> RuntimeCaller | None:
    if caller.kind == "token":
        return callers.mapped(runtime, cwt_subject=None, token_digest=credential_digest())
    if caller.kind == "agent":
        subject = caller.subject.removeprefix(SUBJECT_PREFIX)
        return callers.mapped(runtime, cwt_subject=subject, token_digest=None)
    return None


def _opened(
    bound: list[str], cursor: str | None, millis: int, head_seq: int
) -> tuple[int, tuple[int, str]]:
    """The snapshot of a walk, and where it goes on; whatever is wrong is `CursorInvalid`."""
    if cursor is None:
        return head_seq, (0, "")
    try:
        ends, seq, last_seq, last_id = unseal(bound, cursor)
    except NotSealed:
        raise CursorInvalid() from None
    if millis >= ends:
        raise CursorInvalid()
    return seq, (last_seq, last_id)
