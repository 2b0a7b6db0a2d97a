"""A stream lasts no longer than the credential that opened it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import httpx2
import pytest
from flask import Flask
from simple_websocket import Client, ConnectionClosed

from api.admission import standing
from storage import settings
from storage.clock import from_millis, now, to_millis
from storage.credentials import cwt, space_tokens
from storage.database import Database, Scope
from tests.services import Api, Services, running_api
from tests.unit.api.calling import MESSAGE

SIGNING, PUBLIC = cwt.new_key()
#: Takes the credential away from who has it; what expires by itself needs nothing.
Revoke = Callable[[], object]
#: Longer than any look at credentials takes, in seconds; only a failing test waits so long.
PATIENCE = 60


@pytest.fixture(scope="module")
def keyed(_services: Services) -> Iterator[Api]:
    """An API that asks for credentials."""
    with running_api(_services, {"ED25519_PUBKEYS": PUBLIC}) as api:
        yield api


def minted(space: str, *, seconds: float = 600) -> str:
    return cwt.mint(
        SIGNING, subject="ana", audience=space, scope="*", seconds=seconds, at=time.time()
    )


@pytest.fixture(params=["revoked token", "expiring token", "expiring signed token"])
def passing(
    request: pytest.FixtureRequest, database: Database, space: str
) -> tuple[dict[str, str], Revoke]:
    """A credential that will not hold, and what ends it."""
    scope = Scope(space)
    soon = from_millis(to_millis(now()) + 1500)

    def revoke() -> None:
        with database.transaction(scope) as tx:
            space_tokens.revoke(tx, scope, name="r")

    if request.param == "expiring signed token":
        # as good as expired: the leeway for clocks is all that it has left
        value, end = minted(space, seconds=3 - cwt.LEEWAY), lambda: None
    else:
        with database.transaction(scope) as tx:
            expires = soon if request.param == "expiring token" else None
            value, _ = space_tokens.add(tx, scope, name="r", token_scope="read", expires_at=expires)
        end = revoke if expires is None else lambda: None
    return {"Authorization": f"Bearer {value}"}, end


def test_a_websocket_ends_with_its_credential(
    keyed: Api, space: str, passing: tuple[dict[str, str], Revoke]
) -> None:
    headers, end = passing
    url = keyed.base_url.replace("http", "ws") + f"/v1/{space}/jobs/watch"
    socket = Client.connect(url, headers=headers)
    end()
    with pytest.raises(ConnectionClosed):
        assert socket.receive(timeout=PATIENCE) is not None, "it is still open"


def test_an_event_stream_ends_with_its_credential(
    keyed: Api, space: str, passing: tuple[dict[str, str], Revoke]
) -> None:
    headers, end = passing
    mine = {"Authorization": f"Bearer {minted(space)}"}
    made = keyed.client.post(
        f"/v1/{space}/formation", headers=mine, json={"messages": [MESSAGE]}
    ).json()["result"]
    path = f"{keyed.base_url}/v1/{space}/jobs/{made['job']}/events"
    with httpx2.stream("GET", path, headers=headers, timeout=PATIENCE) as stream:
        assert stream.status_code == 200
        end()
        told = stream.read().decode()
    # the job goes on; nobody was told that it ended
    assert "event: end" not in told


def test_a_look_at_a_credential_is_no_use_of_it(
    space: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ED25519_PUBKEYS", PUBLIC)
    settings.reload()
    scope = Scope(space)
    with database.transaction(scope) as tx:
        value, _ = space_tokens.add(tx, scope, name="r", token_scope="read")
    headers = {"Authorization": f"Bearer {value}"}
    try:
        with Flask("test").test_request_context(headers=headers):
            holds = standing(space)
        assert [holds(), holds()] == [True, True]
        with database.transaction(scope) as tx:
            assert [token.usage for token in space_tokens.listed(tx, scope)] == [0]
            space_tokens.revoke(tx, scope, name="r")
        assert not holds()
    finally:
        monkeypatch.undo()
        settings.reload()
