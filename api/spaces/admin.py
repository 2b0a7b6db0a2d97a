"""`POST /admin/create_space`: make a space."""

from __future__ import annotations

from flask import Response

from api.memory.inputs import CreateOrUpdateSpaceInput
from api.memory.outputs import RpcResponse, SpaceInfo
from api.negotiation import answer
from api.routes import Answer, Routes
from api.spaces.info import space_info
from storage import spaces
from storage.database import database
from storage.errors import Conflict, DatabaseUnavailable

routes = Routes("space_admin", tag="admin")


@routes.add(
    "POST",
    "/admin/create_space",
    summary="Make a space",
    body=CreateOrUpdateSpaceInput,
    answers={200: Answer(RpcResponse[SpaceInfo], "The new space.")},
    raises=(Conflict, DatabaseUnavailable),
)
def create_space(body: CreateOrUpdateSpaceInput) -> Response:
    """`user` becomes its owner. A space that exists is a 409 and stays as it is."""
    scope = spaces.scope_of(body.space_id)
    with database().transaction(scope) as tx:
        spaces.create(tx, scope, owner=body.user, tier=body.tier)
        told = space_info(tx, scope)
    return answer(told)
