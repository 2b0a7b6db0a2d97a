"""`POST /v1/{space}/probe`: what words lead to, and which misses are remembered for how long."""

from __future__ import annotations

import json

import psycopg
import pytest

from pipelines.formation.alone import form
from pipelines.formation.builtin import BuiltinEncoder
from storage import probe_cache
from storage.database import Scope
from storage.graph.changes import ChangeSet, UpsertConcept
from storage.graph.commit import commit
from tests.unit.api.calling import new_client

TALK = [
    {"role": "user", "name": "Ada", "content": "I live in Utrecht. I own a kayak."},
    {"role": "user", "name": "Bo", "content": "I'll bring the tent tomorrow."},
]
HIT = {"entity", "type", "name", "confidence", "source", "created_at"}


@pytest.fixture
def client(database):
    return new_client()


@pytest.fixture
def ask(client, space):
    """Probe the test's space; the result."""

    def run(query, **more):
        response = client.post(f"/v1/{space}/probe", json={"query": query, **more})
        assert response.status_code == 200, response.data
        return response.json["result"]

    return run


def name(database, space, key, called):
    """Commit one more person."""
    change = UpsertConcept("?p", type="Person", key=key, initial_name=called)
    with database.transaction(Scope(space)) as tx:
        return commit(tx, Scope(space), "tester", ChangeSet((change,)), tx_class="test")


def misses(services, space):
    with psycopg.connect(services.admin_url) as conn:
        return conn.execute(
            "select encode(query_digest, 'escape'), head_seq from probe_miss where space_id = %s",
            (space,),
        ).fetchall()


def test_words_of_a_message_lead_to_it_and_to_what_was_made_of_it(database, space, ask):
    form(database, Scope(space), TALK, BuiltinEncoder())
    found = ask("Utrecht")
    assert found["found"] is True
    assert found["negative_cached"] is False
    assert found["search_exhaustive"] is True
    assert {hit["entity"][0] for hit in found["hits"]} >= {"C", "A", "E"}
    for hit in found["hits"]:
        assert set(hit) <= HIT
        assert hit["created_at"].endswith("Z")
    kinds = {hit["entity"][0]: hit for hit in found["hits"]}
    assert (kinds["C"]["type"], kinds["C"]["name"]) == ("Place", "Utrecht")
    assert (kinds["A"]["type"], kinds["A"]["source"]) == ("lives_in", "Ada")
    assert (kinds["E"]["type"], kinds["E"]["source"]) == ("user_statement", "Ada")
    assert 0 < kinds["A"]["confidence"] <= 1


def test_a_page_that_leaves_hits_out_is_not_exhaustive(database, space, ask):
    form(database, Scope(space), TALK, BuiltinEncoder())
    found = ask("Utrecht", limit=1)
    assert len(found["hits"]) == 1
    assert found["search_exhaustive"] is False


def test_an_exhaustive_miss_is_remembered_until_anything_is_committed(database, space, ask):
    name(database, space, "person:ada", "Ada")
    first = {"found": False, "negative_cached": False, "search_exhaustive": True, "hits": []}
    again = {"found": False, "negative_cached": True, "search_exhaustive": True}
    assert ask("zeppelin") == first
    assert ask("zeppelin") == again
    assert ask(" zeppelin\n") == again
    assert ask("balloon") == first
    name(database, space, "person:bo", "Bo")
    assert ask("zeppelin") == first
    name(database, space, "person:z", "Zeppelin")
    found = ask("zeppelin")
    assert found["found"] is True
    assert found["negative_cached"] is False


def test_a_commit_that_changes_nothing_keeps_what_is_remembered(database, space, ask):
    name(database, space, "person:ada", "Ada")
    ask("zeppelin")
    assert name(database, space, "person:ada", "Ada").seq is None
    assert ask("zeppelin")["negative_cached"] is True


@pytest.mark.parametrize("query", ["the", "?!", "…"])
def test_what_is_not_searched_by_is_no_exhaustive_miss(database, space, services, ask, query):
    name(database, space, "person:ada", "Ada")
    for _ in range(2):
        assert ask(query) == {
            "found": False,
            "negative_cached": False,
            "search_exhaustive": False,
            "hits": [],
        }
    assert misses(services, space) == []


def test_no_word_of_a_question_is_kept(database, space, services, ask):
    ask("marmalade")
    kept = misses(services, space)
    assert len(kept) == 1
    assert "marmalade" not in str(kept)
    with psycopg.connect(services.admin_url) as conn:
        tables = conn.execute(
            "select format('%I', c.relname) from pg_class c where c.relkind = 'r'"
            " and c.relnamespace = 'public'::regnamespace"
        ).fetchall()
        for (table,) in tables:
            found = conn.execute(
                f"select count(*) from {table} t where t::text ilike '%%marmalade%%'"
            ).fetchone()
            assert found == (0,), table


def test_spaces_remember_for_themselves(database, space, services, ask, client):
    other = f"{space}_b"
    assert client.post(
        "/admin/create_space", json={"user": "ada", "space_id": other, "tier": 0}
    ).status_code in (200, 409)
    ask("zeppelin")
    name(database, other, "person:z", "Zeppelin")
    assert ask("zeppelin")["negative_cached"] is True
    response = client.post(f"/v1/{other}/probe", json={"query": "zeppelin"})
    assert response.json["result"]["found"] is True


def test_so_many_misses_are_kept_and_the_oldest_go_first(
    database, space, services, ask, monkeypatch
):
    monkeypatch.setattr(probe_cache, "MAX_MISSES", 3)
    for word in ("one1", "two2", "three3", "four4", "five5"):
        ask(word)
    assert len(misses(services, space)) == 3
    assert ask("five5")["negative_cached"] is True
    assert ask("one1")["negative_cached"] is False


def test_misses_of_an_older_state_are_dropped(database, space, services, ask):
    ask("one1")
    ask("two2")
    name(database, space, "person:ada", "Ada")
    ask("three3")
    assert [seq for _, seq in misses(services, space)] == [1]


def test_what_the_space_keeps_for_itself_is_nothing_that_was_told(database, space, ask):
    task = UpsertConcept(
        "?t",
        type="SleepTask",
        key="review_schema:x",
        initial_attributes={
            "summary": "Review the drafted predicate paraglides.",
            "task_class": "review_schema",
            "status": "pending",
        },
    )
    with database.transaction(Scope(space)) as tx:
        commit(tx, Scope(space), "tester", ChangeSet((task,)), tx_class="test")
    assert ask("paraglides")["found"] is False


def test_an_unknown_space_is_404(client):
    response = client.post("/v1/no_such_space/probe", json={"query": "x"})
    assert response.status_code == 404
    assert response.json["data"]["code"] == "not_found"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{}", 400),
        (b'{"query": ""}', 400),
        (b'{"query": " \\n"}', 400),
        (b'{"query": 5}', 400),
        (b'{"query": "a\\u0000"}', 400),
        (b'{"query": "\\ud800"}', 400),
        (b'{"query": "x", "limit": 0}', 400),
        (b'{"query": "x", "limit": 51}', 400),
        (b'{"query": "x", "limit": "8"}', 400),
        (b'{"query": "x", "query": "y"}', 400),
        (json.dumps({"query": "x" * 8001}).encode(), 413),
        (b"[" * 100_000, 400),
    ],
)
def test_bad_bodies_are_refused(client, space, body, status):
    headers = {"Content-Type": "application/json"}
    response = client.post(f"/v1/{space}/probe", data=body, headers=headers)
    assert response.status_code == status, response.data


def test_any_words_are_a_question(client, space):
    for query in (
        "'; drop table space; --",
        "% _ \\",
        "你好",
        "x" * 8000,
        "\u202e\u0007",
        "a" * 50,
    ):
        response = client.post(f"/v1/{space}/probe", json={"query": query})
        assert response.status_code == 200, response.data
        assert response.json["result"]["found"] is False
