"""Formations that failed are run again by management, as often as they fail."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from flask.testing import FlaskClient

from storage.database import Database
from tests.services import Services
from tests.unit.api.calling import MESSAGE, claim, finish, new_client


@pytest.fixture
def client(database: Database) -> FlaskClient:
    return new_client()


def form(client: FlaskClient, space: str) -> dict[str, Any]:
    made = client.post(f"/v1/{space}/formation", json={"messages": [MESSAGE]})
    return dict(made.get_json()["result"])


def restart(client: FlaskClient, space: str, number: int) -> Any:
    path = f"/v1/{space}/management/restart_formation"
    return client.patch(path, json={"conversation": number})


def status(client: FlaskClient, space: str, number: int) -> str:
    told = client.get(f"/v1/{space}/conversations/{number}").get_json()
    return str(told["result"]["status"])


def open_job(services: Services, space: str) -> str:
    """The one job of the space that has not ended."""
    with psycopg.connect(services.admin_url) as conn:
        rows = conn.execute(
            "select id from job where space_id = %s and state = 'accepted'", (space,)
        ).fetchall()
    assert len(rows) == 1
    return str(rows[0][0])


def fail(space: str, job: str) -> None:
    claim(space, job)
    finish(space, job, error={"code": "model_rejected", "message": "It would not."})


def test_a_formation_is_restarted_as_often_as_it_fails(
    client: FlaskClient, space: str, services: Services
) -> None:
    made = form(client, space)
    number, job = made["conversation"], made["job"]
    for _ in range(3):
        fail(space, job)
        assert status(client, space, number) == "failed"
        assert restart(client, space, number).json == {"result": True}
        # the record tells of the run that is under way, not of the one that failed
        assert status(client, space, number) == "submitted"
        job = open_job(services, space)
    claim(space, job)
    assert status(client, space, number) == "working"


def test_a_formation_that_is_under_way_goes_on(
    client: FlaskClient, space: str, services: Services
) -> None:
    made = form(client, space)
    for _ in range(2):
        assert restart(client, space, made["conversation"]).json == {"result": True}
        assert open_job(services, space) == made["job"]
    claim(space, made["job"])
    assert restart(client, space, made["conversation"]).json == {"result": True}
    assert status(client, space, made["conversation"]) == "working"


def test_a_formation_that_was_cancelled_is_restarted(
    client: FlaskClient, space: str, services: Services
) -> None:
    made = form(client, space)
    client.post(f"/v1/{space}/jobs/{made['job']}/cancel")
    assert restart(client, space, made["conversation"]).json == {"result": True}
    assert open_job(services, space) != made["job"]
    assert status(client, space, made["conversation"]) == "submitted"


def test_a_formation_that_succeeded_is_not_restarted(client: FlaskClient, space: str) -> None:
    made = form(client, space)
    claim(space, made["job"])
    finish(space, made["job"], result={})
    refused = restart(client, space, made["conversation"])
    assert (refused.status_code, refused.json["data"]["code"]) == (409, "conflict")


def test_what_is_no_formation_of_the_space_is_not_found(client: FlaskClient, space: str) -> None:
    maintained = client.post(f"/v1/{space}/maintenance", json={}).get_json()["result"]
    for number in (maintained["conversation"], 2**53 - 1):
        refused = restart(client, space, number)
        assert (refused.status_code, refused.json["data"]["code"]) == (404, "not_found")
