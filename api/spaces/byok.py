"""`/v1/{space}/management/space_byok`: the model that a space brings itself, with its own key.

Only management reads it back; workers open it when they make the model (seed 003 section 4.4).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from flask import Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from api.admission import Admission, authenticating
from api.memory.outputs import RpcResponse
from api.negotiation import answer
from api.routes import Answer, Routes
from storage import byok, spaces
from storage.byok import ByokUnreadable
from storage.database import Scope, database
from storage.model_config import MAX_COUNT, MAX_TEXT, ModelConfig, guard
from storage.principals import Principal
from storage.settings import settings

routes = Routes("byok", tag="management")

_Text = Annotated[str, Field(max_length=MAX_TEXT)]
#: A number of tokens; 0, which clients send for what is not set, is none.
_Tokens = Annotated[
    Annotated[int, Field(ge=0, le=MAX_COUNT)] | None, AfterValidator(lambda count: count or None)
]


class SpaceModel(BaseModel):
    """A model of a provider. `family` is gemini, anthropic, openai, deepseek, mimo, or the name of
    a service that speaks OpenAI's chat completions at `api_base`; an empty `api_base` stands for
    the family's own service. A `disabled` model leaves the work to the server's.
    """

    model_config = ConfigDict(strict=True, extra="ignore")
    family: Annotated[_Text, Field(min_length=1, pattern=r"\S")]
    model: Annotated[_Text, Field(min_length=1, pattern=r"\S")]
    api_base: _Text
    api_key: _Text
    disabled: bool | None = None
    label: _Text | None = None
    effort: Literal["minimal", "low", "medium", "high", "max"] | None = None
    bearer_auth: bool | None = None
    stream: bool | None = None
    context_window: _Tokens = None
    max_output: _Tokens = None


class KeptModel(BaseModel):
    """The model of the space, its key included; null where it has none."""

    result: SpaceModel | None


@routes.add(
    "GET",
    "/v1/<space_id>/management/space_byok",
    summary="Show the space's own model",
    answers={200: Answer(KeptModel, "The configuration with its key; null for none.")},
    raises=(ByokUnreadable,),
    admits=Admission.MANAGEMENT,
)
def show_space_byok(caller: Principal) -> Response:
    """For management only, because the key is in it."""
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        spaces.get(tx, scope)
        config = byok.find(tx, scope)
    return answer(None if config is None else config.as_mapping())


@routes.add(
    "PATCH",
    "/v1/<space_id>/management/space_byok",
    summary="Set the space's own model",
    body=SpaceModel,
    answers={200: Answer(RpcResponse[bool], "Kept, in place of any before.")},
    admits=Admission.MANAGEMENT,
)
def set_space_byok(caller: Principal, body: SpaceModel) -> Response:
    """Runs that start from now on use it; `disabled` goes back to the server's. Kept sealed."""
    given: dict[str, Any] = body.model_dump(exclude_none=True)
    config = ModelConfig.from_mapping(given)
    if authenticating() and not settings().byok_private:
        config = guard(config)
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        spaces.get(tx, scope)
        byok.put(tx, scope, config)
    return answer(True)
