"""`/v1/{space}/jobs…`: lists, one job with its history, cancel, retry."""

from __future__ import annotations

import pytest

from storage.ids import new_id
from tests.unit.api.calling import MESSAGE, claim, eventually, finish, new_client, traces


@pytest.fixture
def client(database):
    return new_client()


def form(client, space):
    response = client.post(f"/v1/{space}/formation", json={"messages": [MESSAGE]})
    return response.json["result"]


def ask(client, space):
    headers = {"Prefer": "wait=0"}
    response = client.post(f"/v1/{space}/recall", json={"query": "x"}, headers=headers)
    return response.json["result"]["job"]


def listed(client, space, query=""):
    response = client.get(f"/v1/{space}/jobs{query}")
    assert response.status_code == 200, response.data
    return [job["id"] for job in response.json["result"]]


def test_jobs_are_listed_newest_first_and_filtered(client, space):
    first = form(client, space)["job"]
    second = ask(client, space)
    third = form(client, space)["job"]
    client.post(f"/v1/{space}/jobs/{third}/cancel")
    assert listed(client, space) == [third, second, first]
    assert listed(client, space, "?kind=formation") == [third, first]
    assert listed(client, space, "?kind=formation&kind=recall") == [third, second, first]
    assert listed(client, space, "?kind=formation,recall&state=accepted") == [second, first]
    assert listed(client, space, "?state=cancelled") == [third]
    assert listed(client, space, "?lane=memory") == [third, first]
    assert listed(client, space, "?lane=nothing") == []


def test_a_filtered_list_is_paged_with_its_filters(client, space):
    made = [form(client, space)["job"] for _ in range(5)]
    ask(client, space)
    path = f"/v1/{space}/jobs?kind=formation&limit=2"
    first = client.get(path).json
    cursor = first["next_cursor"]
    second = client.get(f"{path}&cursor={cursor}").json
    last = client.get(f"{path}&cursor={second['next_cursor']}").json
    found = [job["id"] for page in (first, second, last) for job in page["result"]]
    assert found == made[::-1]
    assert "next_cursor" not in last
    response = client.get(f"/v1/{space}/jobs?limit=2&cursor={cursor}")
    assert response.status_code == 400
    assert response.json["data"]["code"] == "CursorInvalid"


def test_a_job_tells_its_timeline_attempts_progress_and_receipt(client, space):
    made = form(client, space)
    claim(space, made["job"], worker="wrk-1")
    finish(space, made["job"], result={"summary": "done"})
    job = client.get(f"/v1/{space}/jobs/{made['job']}").json["result"]
    assert [event["event"] for event in job["timeline"]] == ["accepted", "claimed", "succeeded"]
    assert len(job["attempts"]) == 1
    assert job["attempts"][0]["worker"] == "wrk-1"
    assert job["attempts"][0]["ended"] == "succeeded"
    assert job["progress"] == {
        "receipt_ref": made["receipt"]["receipt_ref"],
        "phase": "available",
        "available_seq": 1,
    }
    assert job["receipt"] == made["receipt"]
    assert job["result"] == {"summary": "done"}


def test_cancel_ends_a_waiting_job_and_asks_a_running_one_to_stop(client, space):
    first, second = form(client, space)["job"], ask(client, space)
    response = client.post(f"/v1/{space}/jobs/{first}/cancel")
    assert response.status_code == 200
    assert response.json["result"]["state"] == "cancelled"
    claim(space, second)
    response = client.post(f"/v1/{space}/jobs/{second}/cancel")
    assert response.json["result"]["state"] == "running"
    assert response.json["result"]["progress"]["reason"] == "cancel_requested"


def test_cancelling_what_has_ended_changes_nothing(client, space, services):
    job_id = ask(client, space)
    claim(space, job_id)
    finish(space, job_id, result={})
    before = traces(services)
    response = client.post(f"/v1/{space}/jobs/{job_id}/cancel")
    assert response.status_code == 200
    assert response.json["result"]["state"] == "succeeded"
    assert traces(services) == before


def test_a_failed_run_is_restarted_as_a_new_job_that_its_record_follows(client, space):
    made = form(client, space)
    claim(space, made["job"])
    finish(space, made["job"], error={"code": "internal_error", "message": "Broke."})
    path = f"/v1/{space}/conversations/{made['conversation']}"
    record = client.get(path).json["result"]
    assert (record["status"], record["failed_reason"]) == ("failed", "Broke.")

    response = client.post(f"/v1/{space}/jobs/{made['job']}/retry")
    assert response.status_code == 200
    restarted = response.json["result"]
    assert restarted["parent_id"] == made["job"]
    assert response.headers["Location"] == f"/v1/{space}/jobs/{restarted['id']}"
    record = client.get(path).json["result"]
    assert record["status"] == "submitted"
    assert "failed_reason" not in record
    old = client.get(f"/v1/{space}/jobs/{made['job']}").json["result"]
    assert old["state"] == "failed"
    assert old["restarts"] == [restarted["id"]]

    again = client.post(f"/v1/{space}/jobs/{made['job']}/retry")
    assert again.json == response.json
    claim(space, restarted["id"])
    assert client.get(path).json["result"]["status"] == "working"
    # asking again does not take the record away from the run
    client.post(f"/v1/{space}/jobs/{made['job']}/retry")
    assert client.get(path).json["result"]["status"] == "working"


def test_what_has_not_failed_is_not_restarted(client, space, services):
    job_id = form(client, space)["job"]
    before = traces(services)
    response = client.post(f"/v1/{space}/jobs/{job_id}/retry")
    assert response.status_code == 409
    assert response.json["data"]["code"] == "conflict"
    assert traces(services) == before


def test_jobs_of_another_space_look_exactly_like_none(client, space, services):
    other = f"{space}_other"
    client.post("/admin/create_space", json={"user": "a", "space_id": other, "tier": 0})
    foreign = form(client, other)["job"]
    before = traces(services)
    for method, suffix in (
        ("GET", ""), ("GET", "/events"), ("POST", "/cancel"), ("POST", "/retry"),
    ):  # fmt: skip
        answers = set()
        for job_id in (foreign, new_id("job"), "job-1", "nonsense", "a%00b", "x" * 3000):
            response = client.open(f"/v1/{space}/jobs/{job_id}{suffix}", method=method)
            assert response.status_code == 404
            names = tuple(sorted(response.headers.keys()))
            answers.add((response.data, names))
        assert len(answers) == 1
    assert traces(services) == before
    assert eventually(lambda: client.get(f"/v1/{other}/jobs/{foreign}").status_code == 200)


def test_an_unknown_space_looks_the_same_on_every_route(client):
    job_id = new_id("job")
    paths = [
        ("GET", "info"), ("GET", "status"), ("GET", "formation_status"), ("GET", "conversations"),
        ("GET", "conversations/1"), ("GET", "conversations/1/delta"), ("GET", "jobs"),
        ("GET", f"jobs/{job_id}"), ("GET", f"jobs/{job_id}/events"),
        ("POST", f"jobs/{job_id}/cancel"), ("POST", f"jobs/{job_id}/retry"),
    ]  # fmt: skip
    answers = set()
    for method, path in paths:
        response = client.open(f"/v1/nowhere/{path}", method=method)
        assert response.status_code == 404, path
        answers.add(response.data)
    for path, body in (
        ("formation", {"messages": [MESSAGE]}), ("recall", {"query": "x"}), ("maintenance", {}),
    ):  # fmt: skip
        answers.add(client.post(f"/v1/nowhere/{path}", json=body).data)
    assert len(answers) == 1
