"""`POST /v1/{space}/execute_kip_readonly`: all forms of a request, all formats, no writing."""

from __future__ import annotations

import json
import socket
import threading

import cbor2
import jsonschema_rs
import pytest

from storage.database import Scope
from storage.graph.changes import ChangeSet, UpsertConcept
from storage.graph.commit import commit
from tests.services import ROOT
from tests.unit.api.calling import eventually, new_client

JSON = "application/json"
NAMES = 'FIND(?c.name) WHERE { ?c CONCEPT {type: "Person"} } ORDER BY ?c.name'
BY_KEY = "FIND(?c.name) WHERE { ?c CONCEPT {key: :key} }"
SCHEMA = ROOT.parent / "shared" / "kip" / "schemas" / "kip-response.schema.json"


@pytest.fixture
def client(database):
    return new_client()


@pytest.fixture
def people(database, space):
    """Ada, Bo and Cy | Dee."""
    changes = tuple(
        UpsertConcept(f"?{key}", type="Person", key=f"person:{key}", initial_name=name)
        for key, name in (("ada", "Ada"), ("bo", "Bo"), ("cy", "Cy | Dee"))
    )
    with database.transaction(Scope(space)) as tx:
        commit(tx, Scope(space), "tester", ChangeSet(changes), tx_class="test")


@pytest.fixture
def ask(client, space, people):
    """Send a body; the response of KIP."""

    def run(body):
        response = client.post(
            f"/v1/{space}/execute_kip_readonly",
            data=json.dumps(body),
            headers={"Content-Type": JSON},
        )
        assert response.status_code == 200, response.data
        assert set(response.json) <= {
            "kip", "request_id", "status", "results", "execution", "context", "snapshot",
            "receipt", "warnings", "next_cursor", "error", "extensions",
        }  # fmt: skip
        return response.json

    return run


def codes(response):
    """The error of the request, else those of its operations."""
    if "error" in response:
        return response["error"]["code"]
    return [one["error"]["code"] if "error" in one else None for one in response["results"]]


@pytest.mark.parametrize(
    "body",
    [
        NAMES,
        {"command": NAMES},
        {"operations": [NAMES]},
        {"operations": [{"command": NAMES, "language": "KQL"}]},
        {"commands": [NAMES]},
        {"kip": "2.0", "operations": [{"op_id": "a", "command": NAMES}]},
    ],
)
def test_one_command_in_any_form(ask, space, body):
    response = ask(body)
    assert response["kip"] == "2.0"
    assert response["status"] == "succeeded"
    [result] = response["results"]
    assert result["status"] == "succeeded"
    assert result["result"] == ["Ada", "Bo", "Cy | Dee"]


def test_several_commands_need_a_mode_and_run_by_it(ask):
    several = [NAMES, "FIND(", "DESCRIBE PROTOCOL"]
    assert codes(ask({"operations": several})) == "InvalidRequestEnvelope"
    response = ask({"operations": several[:1] * 2, "execution": {"mode": "independent"}})
    assert [one["result"] for one in response["results"]] == [["Ada", "Bo", "Cy | Dee"]] * 2
    response = ask({"commands": [NAMES, BY_KEY], "parameters": {"key": "person:bo"}})
    assert response["results"][1]["result"] == ["Bo"]


def test_parameters_are_values_and_never_text(ask):
    def by_key(key):
        return ask({"command": BY_KEY, "parameters": {"key": key}})["results"][0]["result"]

    assert by_key("person:ada") == ["Ada"]
    assert by_key('person:ada"} ) //') == []
    assert codes(ask({"command": BY_KEY})) == ["ReferenceError"]


def test_all_operations_may_read_one_moment(ask, database, space):
    token = ask({"command": "DESCRIBE SNAPSHOT"})["snapshot"]["snapshot_token"]
    change = UpsertConcept("?z", type="Person", key="person:z", initial_name="Zoe")
    with database.transaction(Scope(space)) as tx:
        commit(tx, Scope(space), "tester", ChangeSet((change,)), tx_class="test")
    then = ask({"command": NAMES, "read": {"snapshot_token": token}})
    assert then["results"][0]["result"] == ["Ada", "Bo", "Cy | Dee"]
    assert len(ask(NAMES)["results"][0]["result"]) == 4


@pytest.mark.parametrize(
    "command",
    [
        'CREATE CONCEPT ?c { TYPE "Person" NAME "Eve" }',
        'UPSERT CONCEPT ?c { MATCH {type: "Person", key: "person:ada"} SET FIELDS {name: "X"} }',
        'PURGE "C-1" CONFIRM "PURGE"',
        'TRANSITION "C-1" TO "archived"',
        'SET RETENTION "C-1" {retention_class: "short"}',
        'DEFINE PREDICATE "rides" {description: "x"}',
        'MUTATE { CREATE CONCEPT ?c { TYPE "Person" NAME "Eve" } }',
    ],
)
def test_what_writes_is_refused_whatever_it_is_called(ask, client, space, command):
    before = client.get(f"/v1/{space}/info").json
    for body in (
        command,
        {"command": command, "dry_run": True},
        {"operations": [{"command": command, "language": "KML"}]},
        {"operations": [NAMES, command], "execution": {"mode": "independent"}},
    ):
        assert codes(ask(body)) == "ReadonlyViolation", body
    mislabelled = ask({"operations": [{"command": command, "language": "KQL"}]})
    assert codes(mislabelled) in ("LanguageMismatch", "ReadonlyViolation")
    assert client.get(f"/v1/{space}/info").json == before


WRONG = {
    "no command": ({}, "InvalidRequestEnvelope"),
    "two forms": ({"command": NAMES, "operations": [NAMES]}, "InvalidRequestEnvelope"),
    "an unknown member": ({"command": NAMES, "readonly": True}, "InvalidRequestEnvelope"),
    "a number": (5, "InvalidRequestEnvelope"),
    "null": (None, "InvalidRequestEnvelope"),
    "a list": ([NAMES], "InvalidRequestEnvelope"),
    "no operations": ({"operations": []}, "InvalidRequestEnvelope"),
    "too many operations": (
        {"operations": [NAMES] * 257, "execution": {"mode": "independent"}},
        "ResourceExhausted",
    ),
    "a long command": ("FIND(?c) // " + "x" * (256 * 1024), "ResourceExhausted"),
    "another version": ({"kip": "1.0", "operations": [NAMES]}, "UnsupportedProtocolVersion"),
    "a foreign space": (
        {"kip": "2.0", "space": {"id": "other"}, "operations": [{"command": NAMES}]},
        "NotFoundOrNotVisible",
    ),
    "ingest": (
        {
            "kip": "2.0",
            "operations": [{"command": NAMES}],
            "ingest": {"evidence": [{"key": "e", "evidence_class": "document", "payload": "x"}]},
        },
        ...,
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_request_is_an_error_of_kip(ask, case):
    body, code = WRONG[case]
    response = ask(body)
    assert response["status"] == "failed"
    found = codes(response)
    if code is not ...:
        assert code in (found, *(found if isinstance(found, list) else ()))


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "hello", "FIND(?c)", "FIND(?c) WHERE {", "FIND(" * 5000, "{" * 300,
        "FIND(?c) WHERE { ?c CONCEPT {name: \"x} }", "\u202e", "你好", "DROP TABLE space;",
        "FIND(?c.name) WHERE { ?c CONCEPT {} } LIMIT 99999999999999999999",
        "NOT " * 20_000,
    ],
)  # fmt: skip
def test_a_wrong_command_is_an_error_of_kip(ask, text):
    response = ask({"command": text})
    assert response["status"] == "failed"
    error = response.get("error") or response["results"][0]["error"]
    assert error["code"]
    assert error["category"]
    assert error["retry"]["class"]


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        (JSON, b"", 400),
        (JSON, b"FIND(?c) WHERE {}", 400),
        (JSON, b'{"command": "x", "command": "y"}', 400),
        (JSON, b'"\\ud800"', 400),
        (JSON, b'"\\u0000"', 400),
        (JSON, b'{"command": "x", "parameters": {"n": NaN}}', 400),
        (JSON, b"[" * 100_000, 400),
        (JSON, b'"\xff"', 400),
        (JSON, b'"' + b"x" * (4 * 1024 * 1024) + b'"', 413),
        ("text/plain", b"FIND(?c) WHERE {}", 415),
        ("", b'"x"', 415),
        ("application/cbor", b"\xa1", 400),
    ],
)
def test_what_is_no_body_is_an_error_of_the_api(client, space, people, content_type, body, status):
    headers = {"Content-Type": content_type} if content_type else {}
    response = client.post(f"/v1/{space}/execute_kip_readonly", data=body, headers=headers)
    assert response.status_code == status, response.data
    assert set(response.json) == {"message", "data"}


def test_an_unknown_space_is_404_as_everywhere(client):
    response = client.post("/v1/no_such_space/execute_kip_readonly", json=NAMES)
    assert response.status_code == 404
    assert response.json["data"]["code"] == "not_found"


def test_nothing_of_another_space_is_seen(client, space, people):
    other = f"{space}_b"
    assert client.post(
        "/admin/create_space", json={"user": "ada", "space_id": other, "tier": 0}
    ).status_code in (200, 409)
    response = client.post(f"/v1/{other}/execute_kip_readonly", json=NAMES)
    assert response.json["results"][0]["result"] == []
    by_id = {"command": "FIND(?c.name) WHERE { ?c CONCEPT {id: :id} }", "parameters": {"id": "C-1"}}
    response = client.post(f"/v1/{other}/execute_kip_readonly", json=by_id)
    assert response.json["results"][0].get("result") in ([], None)


def test_cbor_goes_in_and_out(client, space, people):
    response = client.post(
        f"/v1/{space}/execute_kip_readonly",
        data=cbor2.dumps({"command": NAMES}),
        headers={"Content-Type": "application/cbor", "Accept": "application/cbor"},
    )
    assert response.content_type == "application/cbor"
    assert cbor2.loads(response.data)["results"][0]["result"] == ["Ada", "Bo", "Cy | Dee"]


def in_markdown(client, space, text, **headers):
    response = client.post(
        f"/v1/{space}/execute_kip_readonly",
        data=text,
        headers={"Content-Type": "text/markdown", "Accept": "text/markdown", **headers},
    )
    assert response.status_code == 200
    assert response.content_type == "text/markdown; charset=utf-8"
    return response.data.decode()


def test_in_markdown_rows_are_a_table(client, space, people):
    text = 'FIND(?c.name, ?c.key) WHERE { ?c CONCEPT {type: "Person"} } ORDER BY ?c.name'
    assert in_markdown(client, space, text) == (
        "| ?c.name | ?c.key |\n"
        "| --- | --- |\n"
        "| Ada | person:ada |\n"
        "| Bo | person:bo |\n"
        "| Cy \\| Dee | person:cy |\n"
    )
    assert in_markdown(client, space, NAMES).splitlines()[2] == "| Ada |"
    one = 'FIND(COUNT(?c)) WHERE { ?c CONCEPT {type: "Person"} }'
    assert in_markdown(client, space, one).splitlines()[2] == "| 3 |"
    none = 'FIND(?c.name) WHERE { ?c CONCEPT {key: "nobody"} }'
    assert in_markdown(client, space, none) == "Nothing was found.\n"


def test_in_markdown_an_error_is_told_in_words(client, space, people):
    told = in_markdown(client, space, "FIND(")
    assert told.startswith("**InvalidSyntax**: ")
    assert in_markdown(client, space, 'PURGE "C-1" CONFIRM "PURGE"').startswith(
        "**ReadonlyViolation**: "
    )


def test_in_markdown_descriptions_are_tables_too(client, space, people):
    for text in ("DESCRIBE PROTOCOL", "LIST TYPES LIMIT 3", 'SEARCH CONCEPT "Ada" LIMIT 2'):
        told = in_markdown(client, space, text)
        assert "| --- |" in told, told


def test_a_json_request_in_markdown_is_a_request(client, space, people):
    body = json.dumps({"command": BY_KEY, "parameters": {"key": "person:bo"}})
    assert in_markdown(client, space, body).splitlines()[2] == "| Bo |"
    several = json.dumps({"operations": [NAMES], "command": NAMES})
    assert in_markdown(client, space, several).startswith("**InvalidRequestEnvelope**: ")


@pytest.mark.skipif(not SCHEMA.exists(), reason="../shared is not there")
def test_every_answer_is_of_the_published_form(ask):
    whole = json.loads(SCHEMA.read_text())
    schema = jsonschema_rs.Draft202012Validator(whole, validate_formats=False)
    for body in (
        NAMES,
        "FIND(",
        5,
        {"commands": [NAMES, "FIND("]},
        {"operations": [NAMES, NAMES], "execution": {"mode": "independent"}},
        "DESCRIBE PRIMER",
        'SEARCH CONCEPT "Ada" LIMIT 1',
        'PURGE "C-1" CONFIRM "PURGE"',
    ):
        for error in schema.iter_errors(ask(body)):
            raise AssertionError((body, error))


# --- time, company and hanging up ------------------------------------------------------------


@pytest.fixture
def crowd(database, space):
    """So many people that all pairs of pairs of them take long."""
    changes = tuple(
        UpsertConcept(f"?p{n}", type="Person", key=f"person:{n}", initial_name=f"P {n}")
        for n in range(400)
    )
    with database.transaction(Scope(space)) as tx:
        commit(tx, Scope(space), "tester", ChangeSet(changes), tx_class="test")


#: 400^4 combinations.
SLOW = (
    "FIND(COUNT(?a)) WHERE { ?a CONCEPT {type: :t} ?b CONCEPT {type: :t} ?c CONCEPT {type: :t}"
    " ?d CONCEPT {type: :t}"
    " FILTER(?a.name != ?b.name && ?b.name != ?c.name && ?c.name != ?d.name) }"
)


def slow(deadline_ms):
    return {
        "kip": "2.0",
        "operations": [{"command": SLOW}],
        "parameters": {"t": "Person"},
        "options": {"deadline_ms": deadline_ms},
    }


def test_a_query_that_takes_too_long_ends_with_its_time(client, space, crowd):
    response = client.post(f"/v1/{space}/execute_kip_readonly", json=slow(300))
    assert response.status_code == 200
    assert codes(response.json)[0] in ("ExecutionTimeout", "ResourceExhausted")


def test_two_ask_at_once_and_neither_waits_for_the_other(api, space, crowd):
    done = []

    def run():
        body = slow(3000)
        done.append(api.client.post(f"/v1/{space}/execute_kip_readonly", json=body).status_code)

    slow_one = threading.Thread(target=run)
    slow_one.start()
    quick = {"command": BY_KEY, "parameters": {"key": "person:7"}}
    for _ in range(20):
        response = api.client.post(f"/v1/{space}/execute_kip_readonly", json=quick)
        assert response.json()["results"][0]["result"] == ["P 7"]
    slow_one.join(60)
    assert done == [200]


def test_who_hangs_up_leaves_no_connection_behind(start_api, services, space, crowd):
    """With two connections in the pool, three that hung up would block everybody else."""
    api = start_api(env={"BRAINSTEM_API_POOL_SIZE": "2"})
    host, port = api.base_url.removeprefix("http://").split(":")
    body = json.dumps(slow(1500)).encode()
    head = (
        f"POST /v1/{space}/execute_kip_readonly HTTP/1.1\r\nHost: {host}:{port}\r\n"
        f"Content-Type: {JSON}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    for _ in range(3):
        with socket.create_connection((host, int(port))) as gone:
            gone.sendall(head + body)
    quick = {"command": BY_KEY, "parameters": {"key": "person:7"}}

    def answered():
        response = api.client.post(f"/v1/{space}/execute_kip_readonly", json=quick)
        return response.status_code == 200 and "result" in response.json()["results"][0]

    assert eventually(answered, 30.0)
