"""`schema/drafts` and `schema/promote`: what a space made up, and what becomes of it."""

from __future__ import annotations

import threading

import pytest

from pipelines.formation.alone import form
from pipelines.formation.builtin import BuiltinEncoder
from storage.database import Scope
from storage.graph.changes import ChangeSet, CreateConcept, DefineSymbol, EnsureProposition
from storage.graph.commit import commit
from tests.unit.api.calling import new_client

DRAFT = "kip://local/draft@0.0.0"
PERSON = "kip://profiles/cognitive-memory@2.0.0/Person"
HUMAN = DefineSymbol("concept_type", "Human", {"description": "Somebody."})
WORKS = DefineSymbol("predicate", "toils_for", {"description": "Works for.", "functional": False})


@pytest.fixture
def client(database):
    return new_client()


@pytest.fixture
def write(database, space):
    def run(*changes):
        with database.transaction(Scope(space)) as tx:
            return commit(tx, Scope(space), "tester", ChangeSet(changes), tx_class="test")

    return run


@pytest.fixture
def drafts(client, space):
    def read():
        response = client.get(f"/v1/{space}/schema/drafts")
        assert response.status_code == 200, response.data
        return response.json["result"]

    return read


@pytest.fixture
def promote(client, space):
    def run(kind="ConceptType", to="Person", **more):
        body = {"kind": kind, "from": "Human", "to": to, **more}
        return client.post(f"/v1/{space}/schema/promote", json=body)

    return run


def names(client, space, type_name):
    """The names of the concepts that match a type."""
    query = f'FIND(?c.name) WHERE {{ ?c CONCEPT {{type: "{type_name}"}} }} ORDER BY ?c.name'
    response = client.post(f"/v1/{space}/execute_kip_readonly", json=query)
    return response.json["results"][0].get("result")


def test_a_space_without_drafts_has_none(drafts):
    assert drafts() == {"package_ref": DRAFT, "schema_environment_version": 1, "symbols": []}


def test_drafts_are_told_with_their_definitions(write, drafts):
    write(HUMAN, WORKS)
    found = drafts()
    assert found["schema_environment_version"] == 2
    assert found["symbols"] == [
        {
            "kind": "ConceptType",
            "name": "Human",
            "ref": f"{DRAFT}/Human",
            "definition": {"description": "Somebody."},
        },
        {
            "kind": "PredicateType",
            "name": "toils_for",
            "ref": f"{DRAFT}/toils_for",
            "definition": {"description": "Works for.", "functional": False},
        },
    ]


def test_a_promoted_type_matches_both_ways_and_refs_stay(client, space, write, drafts, promote):
    write(HUMAN, CreateConcept("?h", "Human", name="Hu"), CreateConcept("?p", "Person", name="Pe"))
    assert (names(client, space, "Human"), names(client, space, "Person")) == (["Hu"], ["Pe"])
    response = promote()
    assert response.status_code == 200, response.data
    assert response.json["result"] == {
        "promoted": f"{DRAFT}/Human",
        "to": PERSON,
        "schema_environment_version": 3,
    }
    [told] = drafts()["symbols"]
    assert told["promoted_to"] == "kip://profiles/cognitive-memory/Person"
    assert names(client, space, "Human") == names(client, space, "Person") == ["Hu", "Pe"]
    query = 'FIND(?c.schema_ref) WHERE { ?c CONCEPT {name: "Hu"} }'
    response = client.post(f"/v1/{space}/execute_kip_readonly", json=query)
    assert response.json["results"][0]["result"] == [f"{DRAFT}/Human"]


def test_exact_refs_do_as_well_as_names(write, promote):
    write(HUMAN, WORKS)
    response = promote(**{"from": f"{DRAFT}/Human", "to": PERSON})
    assert response.status_code == 200, response.data
    response = promote("PredicateType", "works_for", **{"from": "toils_for"})
    assert response.status_code == 200, response.data
    assert response.json["result"]["to"] == "kip://domains/general@1.0.0/works_for"
    assert response.json["result"]["schema_environment_version"] == 4


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"from": "Nobody"}, "SchemaSymbolNotFound"),
        ({"from": "Person"}, "SchemaSymbolNotFound"),
        ({"to": "Nobody"}, "SchemaSymbolNotFound"),
        ({"to": "lives_in"}, "SchemaSymbolNotFound"),
        ({"to": f"{DRAFT}/Human"}, "SchemaSymbolNotFound"),
        ({"to": "kip://profiles/cognitive-memory@9.9.9/Person"}, "SchemaSymbolNotFound"),
        ({"kind": "PredicateType"}, "SchemaSymbolNotFound"),
        ({"from": "toils_for"}, "SchemaSymbolNotFound"),
        ({"kind": "Facet"}, "invalid_input"),
        ({"from": ""}, "invalid_input"),
        ({"from": 5}, "invalid_input"),
        ({"to": None}, "invalid_input"),
        ({"to": "x" * 1025}, "invalid_input"),
        ({"to": "x\u0000"}, "invalid_input"),
    ],
)
def test_what_cannot_be_promoted_is_400_and_changes_nothing(write, drafts, promote, body, code):
    write(HUMAN, WORKS)
    before = drafts()
    response = promote(**body)
    assert response.status_code == 400, response.data
    assert response.json["data"]["code"] == code
    assert drafts() == before


def test_what_was_written_must_be_valid_as_what_it_becomes(write, drafts, promote):
    made = write(WORKS, CreateConcept("?a", "Person", name="A"), CreateConcept("?b", "Person"))
    write(EnsureProposition("?p", made.ids["?a"], "toils_for", made.ids["?b"]))
    response = promote("PredicateType", "lives_in", **{"from": "toils_for"})
    assert (response.status_code, response.json["data"]["code"]) == (400, "ConstraintViolation")
    assert response.json["data"]["details"] == {"misfits": 1}
    assert "promoted_to" not in drafts()["symbols"][0]
    assert promote("PredicateType", "knows", **{"from": "toils_for"}).status_code == 200


def test_concepts_must_be_valid_as_the_type_that_they_become(write, promote):
    write(HUMAN, CreateConcept("?h", "Human", name="Hu"))
    response = promote(to="kip://profiles/cognitive-memory@2.0.0/SkillRevision")
    assert (response.status_code, response.json["data"]["code"]) == (400, "ConstraintViolation")


def test_a_draft_is_promoted_once(write, promote):
    write(HUMAN)
    assert promote().status_code == 200
    for to in ("Person", "Place"):
        response = promote(to=to)
        assert response.status_code == 400
        assert response.json["data"]["code"] == "SchemaSymbolConflict"


def test_of_many_promotions_at_once_one_is_made(space, write, drafts):
    write(HUMAN)
    found = []

    def run(to):
        body = {"kind": "ConceptType", "from": "Human", "to": to}
        found.append(new_client().post(f"/v1/{space}/schema/promote", json=body).status_code)

    threads = [threading.Thread(target=run, args=(to,)) for to in ("Person", "Place") * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(found) == [200, 400, 400, 400, 400, 400]
    assert drafts()["schema_environment_version"] == 3


def test_an_unknown_space_is_404(client):
    assert client.get("/v1/no_such_space/schema/drafts").status_code == 404
    body = {"kind": "ConceptType", "from": "Human", "to": "Person"}
    assert client.post("/v1/no_such_space/schema/promote", json=body).status_code == 404


def test_what_formation_drafts_is_to_be_reviewed(client, database, space, drafts):
    talk = [{"role": "user", "name": "Ada", "content": "I own a kayak."}]
    for _ in range(2):
        form(database, Scope(space), talk, BuiltinEncoder())
    symbols = drafts()["symbols"]
    assert {one["name"] for one in symbols} >= {"owns"}
    query = (
        "FIND(?t.key, ?t.attributes.status, ?t.attributes.symbol_kind, ?t.attributes.symbol_ref)"
        ' WHERE { ?t CONCEPT {type: "SleepTask", attributes: {task_class: "review_schema"}} }'
    )
    response = client.post(f"/v1/{space}/execute_kip_readonly", json=query)
    tasks = response.json["results"][0]["result"]
    assert sorted(tasks) == sorted(
        [f"review_schema:{one['kind']}:{one['ref']}", "pending", one["kind"], one["ref"]]
        for one in symbols
    )
