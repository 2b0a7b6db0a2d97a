"""What a caller is told about a body that does not fit: where, and in words of HTTP."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from typing_extensions import TypedDict

from api.validation import validated
from storage.errors import InvalidInput


class Inner(BaseModel):
    """A member that is an object."""

    model_config = ConfigDict(strict=True)
    x: int = 0


class Part(TypedDict):
    """An element that is an object."""

    type: str


class Body(BaseModel):
    """A body with members of each sort."""

    model_config = ConfigDict(strict=True)
    inner: Inner | None = None
    policy: dict[str, int] | None = None
    parts: Annotated[list[Part], Field(max_length=2)] = []


ADAPTER = TypeAdapter(Body)


@pytest.mark.parametrize(
    ("value", "field", "sentence"),
    [
        ([], None, "The body should be an object."),
        ("x", None, "The body should be an object."),
        ({"inner": []}, "inner", "inner: Input should be an object."),
        ({"policy": 5}, "policy", "policy: Input should be an object."),
        ({"parts": [5]}, "parts.0", "parts.0: Input should be an object."),
        ({"parts": {}}, "parts", "parts: Input should be a valid list."),
        ({"inner": {"x": "1"}}, "inner.x", "inner.x: Input should be a valid integer."),
    ],
)
def test_it_is_told_where_and_in_words_of_http(
    value: Any, field: str | None, sentence: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        validated(ADAPTER, value)
    assert caught.value.message == sentence
    assert caught.value.data.get("field") == field
