"""The OpenAPI 3.1 document, from the routes' own declarations and their pydantic models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from api import limits, request_id
from api.admission import Admission, authenticating
from api.memory.inputs import MAX_NAME_CHARS, MAX_PARTS
from api.memory.outputs import RpcError
from api.negotiation import MARKDOWN
from api.paging import MAX_LIMIT
from api.routes import Answer, Operation
from api.strict_json import MAX_DEPTH
from storage.errors import BrainError
from storage.settings import settings
from storage.version import VERSION

_TEXT = {"type": "string", "pattern": "\\S"}
_PLAIN: dict[Any, dict[str, Any]] = {str: {"type": "string"}, dict: {"type": "object"}}
_REF = "#/components/schemas/{model}"
_PARAMETER = re.compile(r"<(\w+)>")

_PATH_PARAMETERS: dict[str, dict[str, Any]] = {
    "space_id": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.\\-]{0,127}$"},
    "job_id": {"type": "string", "pattern": "^job-[0-9a-f]{32}$"},
    "source_ref": {"type": "string", "pattern": "^src-[0-9a-f]{32}$"},
    "receipt_ref": {"type": "string", "pattern": "^rcp-[0-9a-f]{32}$"},
    "plan_ref": {"type": "string", "pattern": "^[a-z]{3}-[0-9a-f]{32}$"},
    "wake_id": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
    "conversation_id": {"type": "integer", "minimum": 1, "maximum": 2**63 - 1},
}


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    """The whole document, plain data, with the limits that this server is set to."""
    config = settings()
    schemas, refs = _schemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        path = _PARAMETER.sub(r"{\1}", operation.path)
        told = paths.setdefault(path, {})[operation.method.lower()] = _operation(operation, refs)
        if authenticating():
            told["security"] = _security(operation)
    components: dict[str, Any] = {"schemas": schemas}
    if authenticating():
        components["securitySchemes"] = {_BEARER: _BEARER_SCHEME}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Brainstem",
            "version": VERSION,
            "description": "A durable brain server. Every error is JSON: a message for people and "
            "a stable code in `data.code`. Answers come as JSON, CBOR or Markdown by `Accept`. "
            f"Limits: a body of {config.max_body_bytes} bytes and {MAX_DEPTH} levels, "
            f"{config.max_messages} messages of {config.max_message_chars} characters and "
            f"{MAX_PARTS} parts, a query of {config.max_query_chars} characters, names of "
            f"{MAX_NAME_CHARS} characters, {MAX_LIMIT} entries a page, {config.api_streams} open "
            f"streams a process, {config.wait_seconds:g} seconds of waiting for a recall.",
        },
        "paths": paths,
        "components": components,
    }


_BEARER = "bearer"
_BEARER_SCHEME = {
    "type": "http",
    "scheme": "bearer",
    "description": "A signed token (CWT) of a trusted issuer, or a token of the space (`ST…`).",
}


def _security(operation: Operation) -> list[dict[str, list[str]]]:
    """What a caller must bring; an empty requirement says that nothing may do, too."""
    needed: dict[str, list[str]] = {_BEARER: []}
    match operation.admits:
        case "anyone":
            return []
        case Admission() as admission if not admission.open_to_public:
            return [needed]
        case "manager":
            return [needed]
        case _:
            return [needed, {}]


def _operation(operation: Operation, refs: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": operation.description,
        "responses": _responses(operation, refs),
    }
    parameters = [*_path_parameters(operation), *_query(operation), *_headers(operation)]
    if parameters:
        told["parameters"] = parameters
    if operation.body is not None:
        told["requestBody"] = {
            "required": True,
            "content": {
                media: {"schema": _TEXT if media == MARKDOWN else refs[operation.body]}
                for media in operation.body_media
            },
        }
    return told


def _responses(operation: Operation, refs: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    told = {str(status): _answer(one, refs) for status, one in operation.answers.items()}
    by_status: dict[int, list[type[BrainError]]] = {}
    for error in operation.errors:
        by_status.setdefault(error.status, []).append(error)
    for status, errors in sorted(by_status.items()):
        if str(status) in told:
            continue
        told[str(status)] = {
            "description": " ".join(
                f"`{error.code}`: {(error.__doc__ or '').splitlines()[0]}" for error in errors
            ),
            "headers": _RETRY_AFTER if status in (429, 503) else _REQUEST_ID,
            "content": {"application/json": {"schema": refs[RpcError]}},
        }
    for status, description in limits.refusals(operation.path).items():
        entry = told.setdefault(str(status), {"description": "", "headers": _RETRY_AFTER})
        entry["description"] = f"{entry['description']} {description}".strip()
        entry.setdefault("content", {})["text/plain"] = {"schema": {"type": "string"}}
    return told


_REQUEST_ID = {
    request_id.HEADER: {
        "description": "The id of this request, the caller's own where it sent one.",
        "schema": {"type": "string"},
    }
}
_RETRY_AFTER = {
    **_REQUEST_ID,
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}},
}


def _answer(answer: Answer, refs: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    told: dict[str, Any] = {"description": answer.description, "headers": _REQUEST_ID}
    content = {}
    for media in answer.media:
        model = str if media == MARKDOWN else answer.model
        content[media] = {"schema": _PLAIN[model] if model in _PLAIN else refs[model]}
    if content:
        told["content"] = content
    return told


def _path_parameters(operation: Operation) -> Iterable[dict[str, Any]]:
    for name in _PARAMETER.findall(operation.path):
        yield {"name": name, "in": "path", "required": True, "schema": _PATH_PARAMETERS[name]}


def _query(operation: Operation) -> Iterable[dict[str, Any]]:
    if operation.query is None:
        return
    schema = operation.query.model_json_schema()
    definitions = schema.get("$defs", {})
    for name, member in schema["properties"].items():
        told = {"name": name, "in": "query", "schema": _parameter_schema(member, definitions)}
        if "description" in member:
            told["description"] = member["description"]
        yield told


def _parameter_schema(member: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """A query parameter is absent rather than null, and its schema stands by itself."""
    branches = [one for one in member.get("anyOf", ()) if one != {"type": "null"}]
    kept = {key: value for key, value in member.items() if key not in ("anyOf", "title")}
    if kept.get("default", ...) is None:
        del kept["default"]
    found: dict[str, Any] = {**(branches[0] if len(branches) == 1 else {}), **kept}
    if "$ref" in found:
        found = {**definitions[found.pop("$ref").rsplit("/", 1)[1]], **found}
    return found


def _headers(operation: Operation) -> Iterable[dict[str, Any]]:
    for header in operation.headers:
        yield {
            "name": header.name,
            "in": "header",
            "description": header.description,
            "schema": header.schema,
            "example": header.example,
        }


def _schemas(
    operations: Sequence[Operation],
) -> tuple[dict[str, Any], dict[Any, dict[str, Any]]]:
    """The components, and for each model the schema that stands for it."""
    models: dict[type[BaseModel], JsonSchemaMode] = {RpcError: "serialization"}
    for operation in operations:
        if operation.body is not None:
            models[operation.body] = "validation"
        for answer in operation.answers.values():
            if isinstance(answer.model, type) and issubclass(answer.model, BaseModel):
                models[answer.model] = "serialization"
    refs, schema = models_json_schema(list(models.items()), ref_template=_REF)
    return schema["$defs"], {model: refs[(model, mode)] for model, mode in models.items()}
