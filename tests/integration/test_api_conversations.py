"""`GET /v1/{space}/conversations…`: pages, records and deltas."""

from __future__ import annotations

import pytest

from storage import conversations
from storage.database import Scope
from tests.unit.api.calling import MESSAGE, claim, finish, new_client


@pytest.fixture
def client(database):
    return new_client()


def form(client, space, count=1):
    return [
        client.post(
            f"/v1/{space}/formation",
            json={"messages": [{**MESSAGE, "content": f"number {index}"}]},
        ).json["result"]
        for index in range(count)
    ]


def pages(client, path):
    found, cursor = [], None
    while True:
        joiner = "&" if "?" in path else "?"
        response = client.get(path if cursor is None else f"{path}{joiner}cursor={cursor}")
        assert response.status_code == 200, response.data
        found.append(response.json["result"])
        cursor = response.json.get("next_cursor")
        if cursor is None:
            return found


def test_pages_hold_every_record_once_newest_first(client, space):
    made = [one["conversation"] for one in form(client, space, 7)]
    found = pages(client, f"/v1/{space}/conversations?limit=3")
    assert [len(page) for page in found] == [3, 3, 1]
    assert [one["_id"] for page in found for one in page] == made[::-1]


def test_a_page_that_is_just_full_has_no_next(client, space):
    form(client, space, 3)
    assert len(pages(client, f"/v1/{space}/conversations?limit=3")) == 1


def test_records_made_meanwhile_do_not_move_a_page(client, space):
    made = [one["conversation"] for one in form(client, space, 4)]
    first = client.get(f"/v1/{space}/conversations?limit=2").json
    form(client, space, 2)
    second = client.get(f"/v1/{space}/conversations?limit=2&cursor={first['next_cursor']}").json
    assert [one["_id"] for one in first["result"] + second["result"]] == made[::-1]


def test_collections_are_apart(client, space):
    number = form(client, space)[0]["conversation"]
    client.post(f"/v1/{space}/recall", json={"query": "x"}, headers={"Prefer": "wait=0"})
    client.post(f"/v1/{space}/maintenance", json={})
    for collection in ("formation", "recall", "maintenance"):
        found = client.get(f"/v1/{space}/conversations?collection={collection}").json["result"]
        assert len(found) == 1
    path = f"/v1/{space}/conversations/{number}"
    assert client.get(path).status_code == 200
    assert client.get(f"{path}?collection=recall").status_code == 404


@pytest.mark.parametrize("change", ["space", "collection", "route", "text", "cut"])
def test_a_cursor_serves_only_the_list_it_came_from(client, space, database, change):
    form(client, space, 3)
    for _ in range(3):
        client.post(f"/v1/{space}/recall", json={"query": "x"}, headers={"Prefer": "wait=0"})
    cursor = client.get(f"/v1/{space}/conversations?limit=1").json["next_cursor"]
    path = f"/v1/{space}/conversations?limit=1"
    if change == "space":
        other = f"{space}_2"
        client.post("/admin/create_space", json={"user": "a", "space_id": other, "tier": 0})
        form(client, other, 3)
        path = f"/v1/{other}/conversations?limit=1"
    elif change == "collection":
        path += "&collection=recall"
    elif change == "route":
        path = f"/v1/{space}/jobs?limit=1"
    elif change == "text":
        cursor = cursor[:-2] + ("AA" if cursor[-2:] != "AA" else "BB")
    else:
        cursor = cursor[: len(cursor) // 2]
    response = client.get(f"{path}&cursor={cursor}")
    assert response.status_code == 400
    assert response.json["data"]["code"] == "CursorInvalid"


def test_the_status_follows_the_job_until_the_run_settles_it(client, space, database):
    made = form(client, space)[0]
    path = f"/v1/{space}/conversations/{made['conversation']}"
    assert client.get(path).json["result"]["status"] == "submitted"
    claim(space, made["job"])
    assert client.get(path).json["result"]["status"] == "working"
    scope = Scope(space)
    with database.transaction(scope) as tx:
        conversations.settle(
            tx,
            scope,
            made["conversation"],
            add_messages=[{"role": "assistant", "content": "Noted."}],
            artifacts=[{"kind": "element", "ref": "C-1"}],
        )
    finish(space, made["job"], result={})
    assert client.get(path).json["result"]["status"] == "completed"


def test_a_delta_holds_what_lies_after_the_offsets(client, space, database):
    body = {"messages": [{**MESSAGE, "content": str(index)} for index in range(4)]}
    number = client.post(f"/v1/{space}/formation", json=body).json["result"]["conversation"]
    scope = Scope(space)
    with database.transaction(scope) as tx:
        conversations.settle(tx, scope, number, artifacts=[{"n": 0}, {"n": 1}])
    path = f"/v1/{space}/conversations/{number}"

    def delta(query=""):
        return client.get(f"{path}/delta{query}").json["result"]

    assert [one["content"] for one in delta()["messages"]] == ["0", "1", "2", "3"]
    part = delta("?messages_offset=3&artifacts_offset=1")
    assert [one["content"] for one in part["messages"]] == ["3"]
    [artifact] = part["artifacts"]
    assert (artifact["_id"], artifact["n"]) == (2, 1)
    assert part["status"] == "completed"
    assert part["_id"] == number
    beyond = delta("?messages_offset=99&artifacts_offset=99")
    assert beyond["messages"] == []
    assert beyond["artifacts"] == []


def test_records_of_another_space_look_exactly_like_none(client, space):
    other = f"{space}_other"
    client.post("/admin/create_space", json={"user": "a", "space_id": other, "tier": 0})
    foreign = form(client, other)[0]["conversation"]
    for suffix in ("", "/delta", "?collection=formation"):
        answers = []
        for number in (foreign, 9_000_000_000_000_000_000, 10**19):
            response = client.get(f"/v1/{space}/conversations/{number}{suffix}")
            assert response.status_code == 404
            answers.append((response.data, sorted(response.headers.keys())))
        assert answers[0] == answers[1] == answers[2]
