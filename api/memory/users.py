"""`POST /v1/{space}/get_or_init_user`: the concept that stands for a person."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from flask import Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from api.admission import Admission
from api.memory.inputs import Name, without_nulls
from api.memory.outputs import RpcResponse
from api.negotiation import answer
from api.routes import Answer, Routes
from storage import people
from storage.database import Scope, database
from storage.errors import Conflict, InvalidInput
from storage.kip.query.documents import documents
from storage.kip.snapshot import open_snapshot
from storage.principals import Principal

routes = Routes("users", tag="memory")


def _not_blank(text: str) -> str:
    if not text.strip():
        raise InvalidInput("A user or a name is not blank.")
    return " ".join(text.split())


class GetOrInitUserInput(BaseModel):
    """Whom: by principal, and how to call them from now on."""

    model_config = ConfigDict(strict=True, extra="ignore")
    user: Annotated[Name, Field(min_length=1), AfterValidator(_not_blank)]
    name: Annotated[Name, Field(min_length=1), AfterValidator(_not_blank)] | None = None


class Retention(BaseModel):
    """How long an element is kept, as far as anything was said about it."""

    retention_class: str | None = None
    expires_at: str | None = None
    legal_hold: bool | None = None


class Concept(BaseModel):
    """A concept as it is now; members without a value are left out."""

    model_config = ConfigDict(extra="allow")
    id: str
    kind: Literal["concept"]
    space_id: str | None = None
    schema_ref: str | None = None
    key: str | None = None
    name: str | None = None
    canonical_id: str | None = None
    aliases: list[str] | None = None
    attributes: dict[str, Any] | None = None
    facets: dict[str, dict[str, Any]] | None = None
    retention: Retention | None = None
    system: dict[str, Any] | None = Field(None, alias="_system")


@routes.add(
    "POST",
    "/v1/<space_id>/get_or_init_user",
    summary="Find or make a person",
    body=GetOrInitUserInput,
    answers={200: Answer(RpcResponse[Concept], "The person's concept.")},
    raises=(Conflict,),
    admits=Admission.WRITE,
)
def get_or_init_user(caller: Principal, body: GetOrInitUserInput) -> Response:
    """Formation means the same concept when `user` speaks, or is its `counterparty`.

    Without `name` a name that is known stays; a new person is called by `user` then.
    """
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        person = people.get_or_init(tx, scope, caller.subject, body.user, name=body.name)
        told = documents(open_snapshot(tx, scope), [person])[person]
    told["retention"] = without_nulls(told["retention"])
    return answer(without_nulls(told))
