"""With PostgreSQL away requests are told to come back; with Redis away work is accepted."""

from __future__ import annotations

import pytest

from tests.unit.api.calling import MESSAGE, eventually, new_client, traces


@pytest.fixture
def client(database):
    return new_client()


def form(client, space):
    headers = {"Idempotency-Key": "only-once"}
    return client.post(f"/v1/{space}/formation", json={"messages": [MESSAGE]}, headers=headers)


def test_with_the_database_away_requests_are_503_and_nothing_is_kept(client, space, services):
    assert client.get("/readyz").status_code == 200
    before = traces(services)
    services.stop_postgres("immediate")
    try:
        for response in (
            form(client, space),
            client.post(f"/v1/{space}/recall", json={"query": "x"}),
            client.get(f"/v1/{space}/jobs"),
        ):
            assert response.status_code == 503
            assert response.json["data"]["code"] == "database_unavailable"
            assert int(response.headers["Retry-After"]) >= 1
            assert "postgres" not in response.data.decode().lower()
        ready = client.get("/readyz")
        assert ready.status_code == 503
        assert ready.json["status"] == "unavailable"
        assert ready.json["checks"]["database"] == "unavailable"
        assert "Retry-After" in ready.headers
        assert client.get("/healthz").status_code == 200
        metrics = client.get("/metrics")
        assert metrics.status_code == 200
        assert b"\nbrainstem_database_up 0.0\n" in metrics.data
    finally:
        services.start_postgres()
    assert traces(services) == before
    eventually(lambda: form(client, space).status_code == 200, seconds=20)
    eventually(lambda: client.get("/readyz").status_code == 200, seconds=20)
    assert len(client.get(f"/v1/{space}/jobs").json["result"]) == 1


def test_a_restart_of_the_database_costs_an_idle_server_no_error(client, space, services):
    assert client.get(f"/v1/{space}/jobs").status_code == 200
    services.restart_postgres("fast")
    assert client.get(f"/v1/{space}/jobs").status_code == 200
    assert form(client, space).status_code == 200


def test_with_redis_away_work_is_accepted_and_told_to_be_degraded(client, space, services):
    services.stop_redis()
    try:
        accepted = form(client, space)
        assert accepted.status_code == 200
        path = accepted.headers["Location"]
        assert client.get(path).json["result"]["state"] == "accepted"
        headers = {"Prefer": "wait=0"}
        asked = client.post(f"/v1/{space}/recall", json={"query": "x"}, headers=headers)
        assert asked.status_code == 202
        ready = client.get("/readyz")
        assert ready.status_code == 200
        assert ready.json == {
            "status": "degraded",
            "checks": {"database": "ok", "redis": "unavailable"},
        }
    finally:
        services.start_redis()
    assert client.get("/readyz").json["status"] == "ready"
    assert client.get(path).json["result"]["state"] == "accepted"
