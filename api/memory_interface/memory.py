"""`POST /v1/{space}/memory`: the five intents of the Memory Interface, one at a time.

Once the caller is let in, HTTP says 200 and the response says the rest. Checks run in one order,
the first that fails wins, and nothing is kept of a refused request (contract memory-interface
section 2).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from flask import Response
from pydantic import GetJsonSchemaHandler, RootModel, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from api.admission import Admission
from api.memory_interface import answers
from api.memory_interface.models import INPUTS, MemoryResponse, Request
from api.negotiation import MARKDOWN, answer, plain, preferred
from api.routes import Answer, Routes
from api.validation import validated
from storage import spaces
from storage.database import Scope, database
from storage.errors import InvalidInput
from storage.graph.errors import KipError, NotFoundOrNotVisible
from storage.kip.errors import InvalidRequestEnvelope, UnsupportedCapability
from storage.principals import Principal

routes = Routes("memory_interface", tag="memory interface")

#: The one tokenizer, under its present name and its old one.
TOKENIZERS = ("o200k_base@tiktoken-rs-0.12", "o200k_base@tiktoken-rs-0.12.0")
#: The longest that a request may wait, in milliseconds.
MAX_DEADLINE_MS = 120_000

_REQUEST = TypeAdapter(Request)
_INPUTS = {name: TypeAdapter(model) for name, model in INPUTS.items()}

#: What answers an intent: (caller, request, its checked input) -> Response.
Handler = Callable[[Principal, Request, Any], dict[str, Any]]
INTENTS: dict[str, Handler] = {}


class MemoryInput(RootModel[Any]):
    """A request of the Memory Interface. What is wrong with it is told in the response."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The shape of a request; anything else is answered by a response, too."""
        return {
            "type": "object",
            "title": cls.__name__,
            "description": cls.__doc__,
            "required": ["kip_memory", "operation", "input"],
            "properties": {
                "kip_memory": {"const": "2.0"},
                "request_id": {"type": "string"},
                "operation": {"enum": list(INPUTS)},
                "space": {"type": "object"},
                "scope": {"type": "object"},
                "budget": {"type": "object"},
                "idempotency_key": {"type": "string"},
                "requires": {"type": "array", "items": {"type": "string"}},
                "input": {"type": "object"},
            },
        }


def _admission(raw: Any) -> Admission:
    """Asking needs leave to read, everything else to write."""
    operation = raw.get("operation") if isinstance(raw, dict) else None
    changes = isinstance(operation, str) and operation in INPUTS and operation != "recall"
    return Admission.WRITE if changes else Admission.PUBLIC_READ


@routes.add(
    "POST",
    "/v1/<space_id>/memory",
    summary="Observe, recall, revise, give feedback, or forget",
    body=MemoryInput,
    answers={200: Answer(MemoryResponse, "What came of it; look at `status`.")},
    admits=Admission.PUBLIC_READ,
    admits_by=_admission,
    across_labels=True,
)
def memory(caller: Principal, body: MemoryInput) -> Response:
    """One intent a request, with its own idempotency key where it changes memory.

    The answer comes without the RPC envelope. A change that takes its time is `pending` and goes
    on by itself; its receipt says what came of it.
    """
    raw = body.root
    given = raw if isinstance(raw, dict) else {}
    with database().transaction(Scope(caller.space_id)) as tx:
        spaces.get(tx, Scope(caller.space_id))
    try:
        request, intent = _checked(caller, raw)
        told = _handler(request.operation)(caller, request, intent)
    except KipError as error:
        told = answers.failed(given.get("operation"), given.get("request_id"), error)
    if preferred() == MARKDOWN:
        return answer(None, text=_text(told))
    return plain(told, media=preferred())


def _checked(caller: Principal, raw: Any) -> tuple[Request, Any]:
    """The request and its input; raises a `KipError` for the first rule that it breaks."""
    request: Request = _shape(_REQUEST, raw)
    intent = _shape(_INPUTS[request.operation], request.input)
    changes = request.operation != "recall"
    if changes and request.idempotency_key is None:
        raise InvalidRequestEnvelope("A change of memory needs an idempotency_key.")
    if not changes and request.idempotency_key is not None:
        raise InvalidRequestEnvelope("A recall takes no idempotency_key.")
    if request.space is not None and request.space.id != caller.space_id:
        raise NotFoundOrNotVisible("The space of the request is not that of the path.")
    for bundle in request.requires or ():
        if bundle != "memory_basic":
            raise UnsupportedCapability(f"{bundle} is not offered here.")
    tokenizer = request.budget.tokenizer if request.budget is not None else None
    if tokenizer is not None and tokenizer not in TOKENIZERS:
        raise UnsupportedCapability("That tokenizer is not offered; leave `tokenizer` out.")
    return request, intent


def _shape(adapter: TypeAdapter[Any], value: Any) -> Any:
    try:
        return validated(adapter, value)
    except InvalidInput as error:
        raise InvalidRequestEnvelope(error.message, data=error.data) from None


def _handler(operation: str) -> Handler:
    handler = INTENTS.get(operation)
    if handler is None:
        raise UnsupportedCapability(f"{operation} is not offered yet; nothing was changed.")
    return handler


def deadline_seconds(request: Request, *, default_ms: int = 0) -> float:
    """How long the caller waits, never longer than the ceiling."""
    asked = request.budget.deadline_ms if request.budget is not None else None
    return min(asked if asked is not None else default_ms, MAX_DEADLINE_MS) / 1000


def _text(told: dict[str, Any]) -> str:
    """A response in words: its summary, or its error."""
    if "error" in told:
        return str(told["error"]["message"])
    summary = (told.get("result") or {}).get("summary")
    return str(summary) if summary else json.dumps(told, ensure_ascii=False, indent=2)
