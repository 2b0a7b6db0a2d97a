"""Plain data against a model, with one clear sentence for the first thing that is wrong.

A value is never repeated in an error: it may be long, and it may be a secret.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError

from storage.errors import BrainError, InvalidInput

#: What pydantic calls a value that is no object; its own words name types of Python's.
_NO_OBJECT = frozenset({"model_type", "model_attributes_type", "dict_type"})


def validated(adapter: TypeAdapter[Any], value: Any) -> Any:
    """`value` as the model has it; raises `InvalidInput` naming the place.

    A member that is too long is plainly wrong (400); what makes a body too large says so itself.
    """
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        raise _told(error, value) from None


def _told(error: ValidationError, value: Any) -> BrainError:
    first = _best(error)
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, BrainError):
        return cause
    field = place(first["loc"], value)
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] in _NO_OBJECT:
        message = "Input should be an object" if field else "The body should be an object"
    sentence = f"{field}: {message}." if field else f"{message}."
    return InvalidInput(sentence, field=field or None)


def _best(error: ValidationError) -> Any:
    """The error to tell: of a union's branches, the one that looked deepest."""
    found = error.errors(include_url=False, include_input=False)
    top = found[0]["loc"][:2]
    same = [one for one in found if one["loc"][:2] == top]
    return max(same, key=lambda one: len(one["loc"]))


def place(loc: tuple[int | str, ...], value: Any) -> str:
    """Where in `value` the error is, as `messages.0.role`, without pydantic's own branch names."""
    parts: list[str] = []
    for index, part in enumerate(loc):
        if isinstance(value, dict) and isinstance(part, str):
            if part in value or index == len(loc) - 1:
                parts.append(part)
                value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            parts.append(str(part))
            value = value[part]
    return ".".join(parts)
