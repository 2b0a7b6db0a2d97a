"""`POST /v1/{space}/get_or_init_user`: one concept for one person, however it is met first."""

from __future__ import annotations

import threading

import cbor2
import pytest

from pipelines.formation.alone import form
from pipelines.formation.builtin import BuiltinEncoder
from storage.database import Scope
from storage.forgetting import forget
from storage.graph import state
from storage.graph.keys import person_key
from tests.unit.api.calling import new_client

PERSON = "kip://profiles/cognitive-memory@2.0.0/Person"


@pytest.fixture
def client(database):
    return new_client()


@pytest.fixture
def ask(client, space):
    """Ask for a person of the test's space; the concept."""

    def run(user, **more):
        body = {"user": user, **more}
        response = client.post(f"/v1/{space}/get_or_init_user", json=body)
        assert response.status_code == 200, response.data
        return response.json["result"]

    return run


def head(client, space):
    return client.get(f"/v1/{space}/info").json["result"]["db_stats"]["head_seq"]


def test_a_new_person_is_called_by_the_principal(ask, space):
    made = ask("ada")
    assert made["id"] == "C-1"
    assert made["kind"] == "concept"
    assert made["space_id"] == space
    assert made["schema_ref"] == PERSON
    assert made["key"] == "person:ada"
    assert made["name"] == "ada"
    assert made["_system"]["version"] == 1


def test_asking_again_changes_nothing(ask, client, space):
    made = ask("ada")
    seq = head(client, space)
    assert ask("ada") == made
    assert ask("  Ada ") == made
    assert head(client, space) == seq


def test_a_name_that_is_given_is_taken_and_one_that_is_not_stays(ask):
    assert ask("u-17", name="Ada Lovelace")["name"] == "Ada Lovelace"
    assert ask("u-17")["name"] == "Ada Lovelace"
    renamed = ask("u-17", name="Countess Ada")
    assert renamed["name"] == "Countess Ada"
    assert renamed["_system"]["version"] == 2
    assert ask("u-17", name=None)["name"] == "Countess Ada"
    assert ask("u-17", name="Countess Ada")["_system"]["version"] == 2


def test_who_spoke_and_who_is_asked_for_is_one_concept(ask, database, space):
    talk = [{"role": "user", "name": "Ada", "content": "I live in Utrecht."}]
    form(database, Scope(space), talk, BuiltinEncoder())
    with database.transaction(Scope(space)) as tx:
        lineage = "kip://profiles/cognitive-memory/Person"
        known = state.concepts_by_key(tx, Scope(space), [(lineage, person_key("Ada"))])
    assert ask("ada")["id"] == known[lineage, "person:ada"]
    assert ask("ada")["name"] == "Ada"


def test_who_was_asked_for_first_is_met_by_formation(ask, client, database, space):
    made = ask("ada", name="Ada L.")
    talk = [{"role": "user", "name": "ada", "content": "I live in Utrecht."}]
    form(database, Scope(space), talk, BuiltinEncoder())
    assert ask("ada")["id"] == made["id"]
    assert ask("ada")["name"] == "Ada L."


def test_many_that_ask_at_once_get_one_person(space, database):
    found = []

    def run():
        body = {"user": "ada"}
        response = new_client().post(f"/v1/{space}/get_or_init_user", json=body)
        found.append((response.status_code, response.json["result"]["id"]))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == [(200, "C-1")] * 8


def test_who_was_erased_is_somebody_new(ask, database, space):
    made = ask("ada", name="Ada L.")
    with database.transaction(Scope(space)) as tx:
        assert forget(tx, Scope(space), "tester", [made["id"]]).erased == {made["id"]}
    again = ask("ada")
    assert again["id"] != made["id"]
    assert again["name"] == "ada"


def test_cbor_goes_in_and_out(client, space):
    response = client.post(
        f"/v1/{space}/get_or_init_user",
        data=cbor2.dumps({"user": "ada"}),
        headers={"Content-Type": "application/cbor", "Accept": "application/cbor"},
    )
    assert response.status_code == 200
    assert cbor2.loads(response.data)["result"]["key"] == "person:ada"


def test_an_unknown_space_is_404(client):
    response = client.post("/v1/no_such_space/get_or_init_user", json={"user": "ada"})
    assert response.status_code == 404
    assert response.json["data"]["code"] == "not_found"


@pytest.mark.parametrize(
    "body",
    [
        {}, {"user": ""}, {"user": "  "}, {"user": 5}, {"user": None}, {"user": "a\nb"},
        {"user": "x" * 1025}, {"user": "ada", "name": ""}, {"user": "ada", "name": " "},
        {"user": "ada", "name": 5}, {"user": "ada", "name": "x" * 1025}, {"user": ["ada"]},
    ],
)  # fmt: skip
def test_bad_bodies_are_refused_and_nothing_is_made(client, space, body):
    response = client.post(f"/v1/{space}/get_or_init_user", json=body)
    assert response.status_code == 400, response.data
    assert response.json["data"]["code"] == "invalid_input"
    assert head(client, space) == 0


def test_any_name_at_the_limits_is_taken(ask):
    for user in ("x" * 1024, "王小明", "' or 1=1 --", "a%_\\", "\u200bada"):
        assert ask(user)["id"].startswith("C-")
