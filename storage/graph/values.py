"""Checking values against definitions: types, enumerations, ranges, formats, value schemas."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NoReturn

import jsonschema_rs

from storage.graph.errors import ConstraintViolation, SchemaFieldNotFound, TypeMismatch
from storage.graph.records import DOCUMENTS
from storage.graph.symbols import PredicateDef
from storage.graph.validity import instant

_SAFE = 2**53 - 1
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
#: Where a value of such a schema goes wrong, the whole message would quote the value.
_QUOTED = 200


def check_values(
    what: str,
    values: Mapping[str, Any],
    fields: Mapping[str, Mapping[str, Any]],
    *,
    open: bool,
    complete: bool,
) -> None:
    """Check attribute or facet values against their definition.

    `complete` asks that required members are there. Raises `SchemaFieldNotFound` for a member that
    a closed definition lacks, `TypeMismatch`, and `ConstraintViolation` for enumerations, ranges,
    computed and missing members.
    """
    for name, value in values.items():
        definition = fields.get(name)
        if definition is None:
            if not open:
                raise SchemaFieldNotFound(f"{what} has no field {name!r}.")
            check_json(value, f"{what}.{name}")
            continue
        if definition.get("computed"):
            raise ConstraintViolation(f"{what}.{name} is computed and cannot be written.")
        _check_value(f"{what}.{name}", value, definition)
    if complete:
        for name, definition in fields.items():
            if definition.get("required") and name not in values:
                raise ConstraintViolation(f"{what} needs {name!r}.")


def check_literal(predicate: PredicateDef, value: Any) -> None:
    """Check a proposition's literal object. Raises `TypeMismatch`, `ConstraintViolation`."""
    check_json(value, "A literal object")
    wanted = predicate.object
    if value is not None and wanted.format is not None:
        check_format(f"The object of {predicate.ref}", value, wanted.format)
    if not wanted.takes_literal(value):
        raise ConstraintViolation(f"{predicate.ref} does not take that literal.")


def check_format(what: str, value: Any, format: str) -> None:
    """Check a string's shape; a format that only its package knows is left to it.

    Raises `TypeMismatch` for anything but a string, `ConstraintViolation`.
    """
    if not isinstance(value, str):
        raise TypeMismatch(f"{what} must be a {format} string.")
    if format == "timestamp":
        instant(value, what)
    elif format == "uri" and _URI.fullmatch(value) is None:
        raise ConstraintViolation(f"{what} must be a URI.")


def check_schema(what: str, value: Any, schema: Mapping[str, Any]) -> None:
    """Hold a value against a JSON Schema that binds it. Raises `ConstraintViolation`."""
    error = next(iter(_validator(json.dumps(schema, sort_keys=True)).iter_errors(value)), None)
    if error is not None:
        where = "".join(f".{part}" for part in error.instance_path)
        raise ConstraintViolation(f"{what}{where}: {error.message[:_QUOTED]}.")


def check_value_schema(schema: Any) -> None:
    """Refuse a value schema that is none, or that refers to what is not here.

    Raises `ConstraintViolation`.
    """
    if not isinstance(schema, dict):
        raise ConstraintViolation("A value_schema is an object.")
    try:
        _validator(json.dumps(schema, sort_keys=True))
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise ConstraintViolation(f"That value_schema cannot be used: {error}") from None


def check_json(value: Any, what: str, depth: int = 0) -> None:
    """Check that a free value is JSON of portable numbers, at most 64 deep."""
    if depth > 64:
        raise ConstraintViolation(f"{what} is nested too deeply.")
    match value:
        case None | bool():
            return
        case str():
            if "\x00" in value:
                raise ConstraintViolation(f"{what} contains a NUL character.")
        case int() | float():
            if not math.isfinite(value) or (float(value).is_integer() and abs(value) > _SAFE):
                raise ConstraintViolation(f"{what} is a number outside the portable range.")
        case dict():
            for name, member in value.items():
                if not isinstance(name, str):
                    raise TypeMismatch(f"{what} has a member name that is no string.")
                check_json(name, what, depth + 1)
                check_json(member, f"{what}.{name}", depth + 1)
        case list() | tuple():
            for member in value:
                check_json(member, what, depth + 1)
        case _:
            raise TypeMismatch(f"{what} is not JSON.")


def _check_value(what: str, value: Any, definition: Mapping[str, Any]) -> None:
    allowed = definition.get("type", [])
    allowed = [allowed] if isinstance(allowed, str) else allowed
    if allowed and not any(_is_of(value, name) for name in allowed):
        raise TypeMismatch(f"{what} must be {' or '.join(allowed)}.")
    if value is not None:
        if "timestamp" in allowed:
            instant(value, what)
        elif "format" in definition:
            check_format(what, value, definition["format"])
    if "enum" in definition and value not in definition["enum"]:
        raise ConstraintViolation(f"{what} must be one of {definition['enum']}.")
    if _is_of(value, "number") and not (
        definition.get("minimum", value) <= value <= definition.get("maximum", value)
    ):
        raise ConstraintViolation(f"{what} is out of range.")
    check_json(value, what)
    if "value_schema" in definition:
        check_schema(what, value, definition["value_schema"])


def _is_of(value: Any, name: str) -> bool:
    match name:
        case "null":
            return value is None
        case "string" | "timestamp":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return (
                isinstance(value, int | float)
                and not isinstance(value, bool)
                and float(value).is_integer()
            )
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list | tuple)
        case "object":
            return isinstance(value, dict)
    return False


def _nothing_is_fetched(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not known here")


@lru_cache(maxsize=1)
def _registry() -> jsonschema_rs.Registry:
    return jsonschema_rs.Registry(
        [(uri, dict(document)) for uri, document in DOCUMENTS],
        draft=jsonschema_rs.Draft202012,
        retriever=_nothing_is_fetched,
    )


@lru_cache(maxsize=512)
def _validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    """The validator of a schema; its patterns are matched in linear time."""
    return jsonschema_rs.Draft202012Validator(
        json.loads(schema),
        registry=_registry(),
        pattern_options=jsonschema_rs.RegexOptions(),
    )
