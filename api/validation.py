"""Plain data against a model, with one clear sentence for the first thing that is wrong.

A value is never repeated in an error: it may be long, and it may be a secret.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError

from storage.errors import BrainError, InvalidInput, TooLarge

#: Types of pydantic's errors that say "more than the limit" of a documented size.
_TOO_LARGE = {"too_long", "string_too_long"}


def validated(
    adapter: TypeAdapter[Any], value: Any, *, too_large: type[InvalidInput] = TooLarge
) -> Any:
    """`value` as the model has it; raises `InvalidInput` naming the place.

    What is over a size limit is `too_large`: 413 is about bodies, a query is plainly wrong.
    """
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        raise _told(error, value, too_large) from None


def _told(error: ValidationError, value: Any, too_large: type[InvalidInput]) -> BrainError:
    first = _best(error)
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, BrainError):
        return cause
    field = place(first["loc"], value)
    message = first["msg"].removeprefix("Value error, ")
    sentence = f"{field}: {message}." if field else f"{message}."
    kind = too_large if first["type"] in _TOO_LARGE else InvalidInput
    return kind(sentence, field=field or None)


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
