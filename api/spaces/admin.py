"""`/admin/…`: make spaces and set their tiers, for platform managers (seed 003 section 4.5)."""

from __future__ import annotations

from flask import Response

from api.admission import admit_manager
from api.memory.inputs import CreateOrUpdateSpaceInput
from api.memory.outputs import RpcResponse, SpaceInfo, SpaceTier
from api.negotiation import answer
from api.routes import Answer, Routes
from api.spaces.info import space_info
from storage import spaces
from storage.clock import to_millis
from storage.database import Scope, database
from storage.errors import Conflict, DatabaseUnavailable, InvalidInput, NotAuthorized, NotFound

routes = Routes("space_admin", tag="admin")


@routes.add(
    "POST",
    "/admin/create_space",
    summary="Make a space",
    body=CreateOrUpdateSpaceInput,
    answers={200: Answer(RpcResponse[SpaceInfo], "The new space.")},
    raises=(Conflict, DatabaseUnavailable),
    admits="manager",
)
def create_space(body: CreateOrUpdateSpaceInput) -> Response:
    """`user` becomes its owner. A space that exists is a 409 and stays as it is."""
    scope = _managed(body.space_id)
    with database().transaction(scope) as tx:
        spaces.create(tx, scope, owner=body.user, tier=body.tier)
        told = space_info(tx, scope)
    return answer(told)


@routes.add(
    "POST",
    "/admin/<space_id>/update_space_tier",
    summary="Set the tier of a space",
    body=CreateOrUpdateSpaceInput,
    answers={200: Answer(RpcResponse[SpaceTier], "The tier as it is now.")},
    raises=(NotFound, DatabaseUnavailable),
    admits="manager",
)
def update_space_tier(space_id: str, body: CreateOrUpdateSpaceInput) -> Response:
    """The owner stays; `space_id` of the body must be that of the path."""
    if body.space_id != space_id:
        raise InvalidInput("The path and the body name two spaces.", field="space_id")
    scope = _managed(space_id)
    with database().transaction(scope) as tx:
        spaces.set_tier(tx, scope, body.tier)
        space = spaces.get(tx, scope)
    return answer({"tier": space.tier, "updated_at": to_millis(space.tier_updated_at)})


def _managed(space_id: str) -> Scope:
    """The scope of a space that the manager's token is for."""
    scope = spaces.scope_of(space_id)
    claims = admit_manager()
    if claims is not None and not claims.covers(scope.space_id):
        raise NotAuthorized("The token is not for this space.")
    return scope
