"""`POST /v1/{space}/execute_kip_readonly`: KIP queries and descriptions; nothing that writes."""

from __future__ import annotations

from typing import Any, Literal

from flask import Response
from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, RootModel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from api.admission import Admission
from api.memory.kip_text import markdown
from api.negotiation import MARKDOWN, answer, plain, preferred
from api.routes import Answer, Routes
from storage import spaces
from storage.database import Scope, database
from storage.kip.mutation.authority import PERMISSIONS, Authority
from storage.kip.protocol.caller import Caller
from storage.kip.protocol.execute import execute
from storage.principals import Principal

routes = Routes("kip", tag="memory")

_TEXT: dict[str, Any] = {"type": "string", "minLength": 1, "description": "One command."}
_OPERATIONS: dict[str, Any] = {
    "type": "array",
    "minItems": 1,
    "items": {"anyOf": [_TEXT, {"type": "object"}]},
    "description": "Several commands; more than one needs `execution.mode`.",
}
_REQUEST: dict[str, Any] = {
    "anyOf": [
        _TEXT,
        {
            "type": "object",
            "description": "Exactly one of `command`, `operations` and the older `commands`.",
            "properties": {
                "kip": {"const": "2.0"},
                "command": _TEXT,
                "operations": _OPERATIONS,
                "commands": {**_OPERATIONS, "deprecated": True},
                "parameters": {"type": "object", "description": "Values of `:name`."},
                "dry_run": {"type": "boolean"},
                "execution": {
                    "type": "object",
                    "properties": {
                        "mode": {"enum": ["independent", "sequence", "atomic"]},
                        "on_error": {"enum": ["stop", "continue"]},
                    },
                },
                "read": {"type": "object", "properties": {"snapshot_token": {"type": "string"}}},
            },
        },
    ]
}


class KipInput(RootModel[Any]):
    """One command, or a request. What is wrong with it is told in the response of KIP itself."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """What KIP takes; anything else is answered by it, too."""
        return {**_REQUEST, "title": cls.__name__, "description": cls.__doc__}


class KipError(BaseModel):
    """Why a request or an operation failed; `code` is a name of the KIP registry."""

    model_config = ConfigDict(extra="allow")
    code: str
    message: str
    category: str | None = None
    hint: str | None = None
    retry: dict[str, Any] | None = None
    details: Any = None


class KipOperationResult(BaseModel):
    """What came of one operation."""

    model_config = ConfigDict(extra="allow")
    op_id: str | None = None
    status: Literal["succeeded", "failed", "skipped", "rolled_back", "no_effect"]
    result: Any = None
    context: dict[str, Any] | None = None
    error: KipError | None = None
    warnings: list[Any] | None = None
    next_cursor: str | None = None
    receipt: dict[str, Any] | None = None


class KipResponse(BaseModel):
    """The answer of KIP; look at `status` and at each result's, whatever HTTP says."""

    model_config = ConfigDict(extra="allow")
    kip: Literal["2.0"]
    request_id: str | None = None
    status: Literal["succeeded", "failed", "partial", "outcome_unknown"]
    results: list[KipOperationResult]
    execution: dict[str, Any] | None = None
    context: dict[str, Any] | None = None
    snapshot: dict[str, Any] | None = None
    warnings: list[Any] | None = None
    next_cursor: str | None = None
    error: KipError | None = None


@routes.add(
    "POST",
    "/v1/<space_id>/execute_kip_readonly",
    summary="Query memory with KIP",
    body=KipInput,
    from_text=str,
    text_member="command",
    answers={200: Answer(KipResponse, "The answer of KIP, also where that is an error.")},
    admits=Admission.LENIENT_READ,
)
def execute_kip_readonly(caller: Principal, body: KipInput) -> Response:
    """KQL and META; what would write is refused by what it is, whatever it is labelled.

    The answer comes without the RPC envelope. Whatever is wrong with the command or the request
    is an error of KIP inside a 200. In Markdown rows come as tables.
    """
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        spaces.get(tx, scope)
    response = execute(body.root, _sender(caller), readonly=True)
    if preferred() == MARKDOWN:
        return answer(None, text=markdown(body.root, response))
    return plain(response, media=preferred())


def _sender(caller: Principal) -> Caller:
    """The caller as KIP knows senders, with what its credential lets it do elsewhere."""
    may_write = bool({"write", "*"} & caller.scopes)
    permissions = PERMISSIONS if may_write else frozenset[str]()
    return Caller(Scope(caller.space_id), Authority(caller.subject, permissions=permissions))
