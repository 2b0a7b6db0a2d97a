"""What a request of KIP comes to, against a real store."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.database import Database, Scope
from storage.kip.errors import REGISTRY
from storage.kip.protocol.answers import HANDLES
from storage.kip.protocol.caller import Caller, trusted
from storage.kip.protocol.execute import execute
from tests.unit.kip.commands import VALID
from tests.unit.kip.test_envelope import ANYTHING, MEMBERS

PERSON = 'CREATE CONCEPT ?c {{ TYPE "Person" NAME "{}" }}'
NAMES = 'FIND(?c.name) WHERE { ?c {type: "Person"} } ORDER BY ?c.name'
RESPONSE = (
    Path(__file__).resolve().parents[3] / "shared" / "kip" / "schemas" / "kip-response.schema.json"
)


@pytest.fixture
def caller(space: str) -> Caller:
    return trusted(space, "tester")


def ask(caller: Caller, request: Any, *, readonly: bool = False) -> dict[str, Any]:
    answer = execute(request, caller, readonly=readonly)
    assert answer["kip"] == "2.0"
    json.dumps(answer, allow_nan=False, ensure_ascii=False).encode()
    return answer


def made(caller: Caller, name: str, **members: Any) -> dict[str, Any]:
    return ask(caller, {"command": PERSON.format(name), **members})


def result(answer: dict[str, Any]) -> Any:
    assert answer["status"] == "succeeded", answer
    return answer["results"][0]["result"]


def code(answer: dict[str, Any]) -> str:
    error = answer.get("error") or answer["results"][0]["error"]
    return str(error["code"])


def head(database: Database, caller: Caller) -> int:
    with database.transaction(caller.scope) as tx:
        row = tx.execute(
            "select head_seq from space where space_id = %s", (caller.scope.space_id,)
        ).fetchone()
    assert row is not None
    return int(row[0])


def test_a_write_answers_with_a_receipt_and_its_handles(caller: Caller) -> None:
    answer = made(caller, "Ada")
    [one] = answer["results"]
    assert one["status"] == "succeeded"
    assert one["result"] is None
    assert one["extensions"][HANDLES] == {"c": "C-1"}
    receipt = one["receipt"]
    assert (receipt["status"], receipt["space_seq"], receipt["snapshot_seq"]) == ("committed", 1, 0)
    assert {"tx_id", "committed_at", "request_digest", "semantic_plan_digest"} <= receipt.keys()
    assert {"receipt_digest", "schema_environment_version", "origin"} <= receipt.keys()
    assert "receipt" not in answer
    assert result(ask(caller, NAMES)) == ["Ada"]


def test_what_changes_nothing_takes_no_sequence(database: Database, caller: Caller) -> None:
    made(caller, "Ada")
    nothing = 'UPDATE ?c SET ATTRIBUTES {a: 1} WHERE { ?c {type: "Person", name: "Nobody"} }'
    [one] = ask(caller, nothing)["results"]
    assert one["status"] == "no_effect"
    assert one["receipt"]["status"] == "no_effect"
    assert not one["receipt"].keys() & {"space_seq", "tx_id"}
    assert head(database, caller) == 1


def test_reading_tells_where_it_read(caller: Caller) -> None:
    made(caller, "Ada")
    answer = ask(caller, NAMES)
    assert answer["results"][0]["context"]["snapshot_seq"] == 1
    assert answer["snapshot"]["snapshot_seq"] == 1
    assert answer["snapshot"]["snapshot_token"]
    assert "snapshot" not in made(caller, "Ben")


def test_a_sequence_stops_at_the_first_failure_and_says_so(caller: Caller) -> None:
    answer = ask(
        caller,
        {
            "request_id": "r-1",
            "operations": [
                {"op_id": "a", "command": PERSON.format("Ada")},
                {"op_id": "b", "command": PERSON.format("Ben").replace("Person", "Spaceship")},
                {"op_id": "c", "command": PERSON.format("Cas")},
            ],
            "execution": {"mode": "sequence", "idempotency_key": "k"},
        },
    )
    assert answer["request_id"] == "r-1"
    assert answer["status"] == "partial"
    assert answer["execution"] == {"mode": "sequence", "idempotency_key": "k"}
    assert [one["status"] for one in answer["results"]] == ["succeeded", "failed", "skipped"]
    assert [one["op_id"] for one in answer["results"]] == ["a", "b", "c"]
    assert answer["results"][0]["receipt"]["status"] == "committed"
    assert answer["results"][1]["error"]["code"] == "SchemaSymbolNotFound"
    assert result(ask(caller, NAMES)) == ["Ada"]


def test_a_sequence_goes_on_when_told_to_and_sees_what_it_wrote(caller: Caller) -> None:
    answer = ask(
        caller,
        {
            "operations": ["FIND(", PERSON.format("Ada"), NAMES],
            "execution": {"mode": "sequence", "on_error": "continue"},
        },
    )
    assert [one["status"] for one in answer["results"]] == ["failed", "succeeded", "succeeded"]
    assert answer["results"][0]["error"]["details"]["line"] == 1
    assert answer["results"][2]["result"] == ["Ada"]


def test_independent_operations_fail_by_themselves(caller: Caller) -> None:
    answer = ask(
        caller,
        {
            "operations": ["FIND(?x.name) WHERE { ?x {key: :missing} }", PERSON.format("Ada")],
            "execution": {"mode": "independent"},
        },
    )
    assert answer["status"] == "partial"
    assert code(answer) == "ReferenceError"
    assert answer["results"][1]["status"] == "succeeded"


def test_parameters_are_data(caller: Caller) -> None:
    name = '"} ?y {} } LIMIT 1 // :name'
    command = 'CREATE CONCEPT ?c { TYPE "Person" NAME :name SET ATTRIBUTES {note: "Hi :name"} }'
    ask(caller, {"command": command, "parameters": {"name": name}})
    found = result(ask(caller, "FIND(?c.name, ?c.attributes.note) WHERE { ?c {} }"))
    assert found == [[name, "Hi :name"]]


# only reading


@pytest.mark.parametrize(
    "request_of",
    [
        PERSON.format("Ada"),
        {"command": PERSON.format("Ada"), "dry_run": True},
        {"operations": [{"language": "KQL", "command": PERSON.format("Ada")}]},
        {"operations": [NAMES, PERSON.format("Ada")], "execution": {"mode": "independent"}},
        {"commands": [NAMES, PERSON.format("Ada")]},
        'DEFINE PREDICATE "likes" {description: "d"}',
    ],
)
def test_where_only_reading_is_allowed_nothing_of_a_writing_request_runs(
    database: Database, caller: Caller, request_of: Any
) -> None:
    answer = ask(caller, request_of, readonly=True)
    assert answer["error"]["code"] == "ReadonlyViolation"
    assert answer["results"] == []
    assert head(database, caller) == 0


def test_where_only_reading_is_allowed_reading_is(caller: Caller) -> None:
    made(caller, "Ada")
    assert result(ask(caller, NAMES, readonly=True)) == ["Ada"]
    assert ask(caller, "DESCRIBE PRIMER", readonly=True)["status"] == "succeeded"
    preview = {
        "command": "PREVIEW KML :text",
        "parameters": {"text": PERSON.format("Ben")},
    }
    assert ask(caller, preview, readonly=True)["status"] == "succeeded"
    assert result(ask(caller, NAMES)) == ["Ada"]
    ingesting = {"command": NAMES, "ingest": {"evidence": [MESSAGE]}}
    assert code(ask(caller, ingesting, readonly=True)) == "InvalidRequestEnvelope"


def test_a_label_that_lies_is_refused(database: Database, caller: Caller) -> None:
    lying = {"operations": [{"language": "META", "command": PERSON.format("Ada")}]}
    assert code(ask(caller, lying)) == "LanguageMismatch"
    assert head(database, caller) == 0


# a dry run


def test_a_dry_run_says_what_it_would_do_and_does_nothing(
    database: Database, caller: Caller
) -> None:
    answer = made(caller, "Ada", dry_run=True, execution=KEYED)
    [one] = answer["results"]
    assert one["status"] == "succeeded"
    assert one["result"]["effect"] == "would_commit"
    assert [change["op"] for change in one["result"]["changes"]] == ["create"]
    assert "receipt" not in one
    assert head(database, caller) == 0
    assert result(ask(caller, NAMES)) == []
    # the key is free: a dry run binds nothing
    assert made(caller, "Ada", execution=KEYED)["results"][0]["receipt"]["space_seq"] == 1


def test_a_preview_sees_the_parameters_of_the_request(caller: Caller) -> None:
    quoted = PERSON.format("x").replace('"x"', ":name")
    told = result(
        ask(
            caller,
            {"command": "PREVIEW KML :what", "parameters": {"what": quoted, "name": "Ada"}},
            readonly=True,
        )
    )
    assert told["effect"] == "would_commit"
    assert result(ask(caller, NAMES)) == []


def test_a_dry_run_finds_what_is_wrong(caller: Caller) -> None:
    wrong = {"command": PERSON.format("x").replace("Person", "Spaceship"), "dry_run": True}
    assert code(ask(caller, wrong)) == "SchemaSymbolNotFound"


# idempotency

KEYED = {"mode": "independent", "idempotency_key": "k-1"}


def test_the_same_request_under_the_same_key_has_the_same_answer(
    database: Database, caller: Caller
) -> None:
    first = made(caller, "Ada", execution=KEYED)
    spaced = PERSON.format("Ada").replace(" ", "\n  ").replace("CREATE", "create")
    second = ask(caller, {"command": spaced, "request_id": "again", "execution": KEYED})
    assert second["results"] == first["results"]
    assert head(database, caller) == 1
    assert code(made(caller, "Ben", execution=KEYED)) == "IdempotencyConflict"
    other = trusted(caller.scope.space_id, "somebody else")
    assert made(other, "Ben", execution=KEYED)["status"] == "succeeded"


def test_what_changed_nothing_is_kept_under_its_key_too(caller: Caller) -> None:
    update = {
        "command": 'UPDATE ?c SET ATTRIBUTES {a: 1} WHERE { ?c {type: "Person", name: "Ada"} }',
        "execution": KEYED,
    }
    first = ask(caller, update)
    assert first["results"][0]["status"] == "no_effect"
    made(caller, "Ada")
    assert ask(caller, update)["results"] == first["results"]


def test_what_failed_leaves_its_key_free(caller: Caller) -> None:
    guarded = {
        "command": 'UPDATE "C-1" SET ATTRIBUTES {a: 1} EXPECT VERSION 1',
        "execution": KEYED,
    }
    assert code(ask(caller, guarded)) == "NotFoundOrNotVisible"
    made(caller, "Ada")
    assert ask(caller, guarded)["status"] == "succeeded"


def test_a_sequence_is_sent_again_whole(database: Database, caller: Caller) -> None:
    request = {
        "operations": [PERSON.format("Ada"), PERSON.format("Ben"), NAMES],
        "execution": {"mode": "sequence", "idempotency_key": "both"},
    }
    first, second = ask(caller, request), ask(caller, request)
    assert first["results"][:2] == second["results"][:2]
    assert result(ask(caller, NAMES)) == ["Ada", "Ben"]
    assert head(database, caller) == 2


def test_one_of_many_under_one_key_writes(database: Database, caller: Caller) -> None:
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda _: made(caller, "Ada", execution=KEYED), range(8)))
    receipts = {json.dumps(one["results"][0]["receipt"], sort_keys=True) for one in told}
    assert len(receipts) == 1
    assert head(database, caller) == 1


# ingestion

MESSAGE = {
    "key": "msg",
    "evidence_class": "user_statement",
    "payload": "I  live in\tOslo – 你好 😀.",
    "media_type": "text/plain",
    "observed_at": "2026-03-01T08:00:00.000Z",
}
CLAIM = (
    'MUTATE { ENSURE PROPOSITION ?p (:ada, "timezone", "+01:00") '
    "CREATE ASSERTION ?a { SET FIELDS {proposition: ?p, asserted_by: :ada, "
    'mode: "stated", stance: "support"} SET STRUCTURAL { ("evidence", :msg) {role: "support"} } } }'
)


def test_evidence_comes_as_it_was_sent_in_the_commit_that_cites_it(
    database: Database, caller: Caller
) -> None:
    made(caller, "Ada")
    request = {
        "command": CLAIM,
        "parameters": {"ada": {"id": "C-1"}},
        "ingest": {"evidence": [{**MESSAGE, "source_actor": {"id": "C-1"}}]},
    }
    assert ask(caller, request)["status"] == "succeeded"
    assert head(database, caller) == 2
    found = ask(
        caller,
        "FIND(?e.payload.inline, ?e.observed_at, ?c.name) WHERE { ?a ASSERTION {} "
        'STRUCTURAL (?a, "evidence", ?e) ?e EVIDENCE {} STRUCTURAL (?e, "source", ?c) ?c {} }',
    )
    assert result(found) == [[MESSAGE["payload"], MESSAGE["observed_at"], "Ada"]]


def test_what_fails_leaves_no_evidence(caller: Caller) -> None:
    request = {
        "command": CLAIM,
        "parameters": {"ada": {"id": "C-9"}},
        "ingest": {"evidence": [MESSAGE]},
    }
    assert code(ask(caller, request)) == "NotFoundOrNotVisible"
    assert result(ask(caller, "FIND(COUNT(?e)) WHERE { ?e EVIDENCE {} }")) == [0]


def test_a_later_reading_of_the_request_knows_the_evidence(caller: Caller) -> None:
    made(caller, "Ada")
    answer = ask(
        caller,
        {
            "operations": [CLAIM, "FIND(?e.evidence_class) WHERE { ?e EVIDENCE {id: :msg} }"],
            "execution": {"mode": "sequence"},
            "parameters": {"ada": {"id": "C-1"}},
            "ingest": {"evidence": [MESSAGE]},
        },
    )
    assert answer["results"][1]["result"] == ["user_statement"]


def test_facets_of_evidence_are_kept_and_checked(caller: Caller) -> None:
    made(caller, "Ada")
    scope: dict[str, Any] = {"MemoryScope": {"task_ref": None, "context_refs": []}}
    request = {"command": CLAIM, "parameters": {"ada": {"id": "C-1"}}}
    entry = {**MESSAGE, "facets": {"MemoryScope": {"task_ref": None}}}
    refused = ask(caller, {**request, "ingest": {"evidence": [entry]}})
    assert code(refused) == "ConstraintViolation"
    entry = {**MESSAGE, "facets": scope}
    assert ask(caller, {**request, "ingest": {"evidence": [entry]}})["status"] == "succeeded"
    found = ask(caller, 'FIND(?e.facets["MemoryScope"]) WHERE { ?e EVIDENCE {} }')
    assert result(found) == list(scope.values())


# preconditions and snapshots


def test_a_request_for_another_state_is_refused(caller: Caller) -> None:
    made(caller, "Ada")
    answer = made(caller, "Ben", preconditions={"space_seq": 0})
    assert answer["error"]["code"] == "PreconditionFailed"
    reading = ask(caller, {"command": NAMES, "preconditions": {"schema_environment_version": 99}})
    assert reading["error"]["code"] == "PreconditionFailed"
    both = {
        "operations": [PERSON.format("Ben"), PERSON.format("Cas")],
        "execution": {"mode": "sequence"},
        "preconditions": {"space_seq": 1},
    }
    assert ask(caller, both)["status"] == "succeeded"


def test_a_snapshot_token_holds_reading_still(caller: Caller) -> None:
    made(caller, "Ada")
    token = ask(caller, NAMES)["snapshot"]["snapshot_token"]
    made(caller, "Ben")
    answer = ask(caller, {"command": NAMES, "read": {"snapshot_token": token}})
    assert result(answer) == ["Ada"]
    assert answer["snapshot"]["snapshot_seq"] == 1
    writing = made(caller, "Cas", read={"snapshot_token": token})
    assert code(writing) == "PreconditionFailed"
    changed = token[:-2] + ("A" if token[-2] != "A" else "B") + token[-1]
    refused = ask(caller, {"command": NAMES, "read": {"snapshot_token": changed}})
    assert refused["error"]["code"] == "InvalidRequestEnvelope"


def test_a_snapshot_token_is_no_key_to_another_space(database: Database, caller: Caller) -> None:
    from storage import spaces

    token = ask(caller, NAMES)["snapshot"]["snapshot_token"]
    elsewhere = trusted(caller.scope.space_id + "_2", "tester")
    with database.transaction(elsewhere.scope) as tx:
        spaces.create(tx, elsewhere.scope, owner="tester")
    refused = ask(elsewhere, {"command": NAMES, "read": {"snapshot_token": token}})
    assert refused["error"]["code"] == "InvalidRequestEnvelope"
    assert code(ask(caller, {"command": NAMES, "space": {"id": "other"}})) == "NotFoundOrNotVisible"


def test_an_unknown_space_is_not_found(database: Database) -> None:
    nowhere = Caller(Scope("nowhere_at_all"), trusted("x", "tester").authority)
    assert code(ask(nowhere, NAMES)) == "NotFoundOrNotVisible"
    assert code(made(nowhere, "Ada")) == "NotFoundOrNotVisible"


def test_a_deadline_that_has_passed_stops_what_is_left(caller: Caller) -> None:
    answer = made(caller, "Ada", options={"deadline_ms": 1})
    assert code(answer) == "ExecutionTimeout"
    assert result(ask(caller, NAMES)) == []


@pytest.mark.parametrize(
    "request_of",
    [
        {
            "command": "FIND(?c.name) WHERE { ?c {} FILTER(IN(?c.name, :many)) }",
            "parameters": {"many": [f"x{i}" for i in range(70_000)]},
        },
        "FIND(?c.name) WHERE { ?c {} FILTER(" + " || ".join(["?c.name == 1"] * 5000) + ") }",
        "FIND(" + ", ".join(f"?c.attributes.a{i}" for i in range(2000)) + ") WHERE { ?c {} }",
        "FIND(?c) WHERE { " + " ".join(f"?c{i} {{}}" for i in range(500)) + " ?c {} }",
    ],
    ids=["values", "conditions", "columns", "patterns"],
)
def test_what_asks_for_too_much_is_refused_or_answered(caller: Caller, request_of: Any) -> None:
    answer = ask(caller, request_of)
    assert answer["status"] == "succeeded" or code(answer) == "ResourceExhausted"


# anything


@given(ANYTHING | MEMBERS | st.sampled_from(VALID))
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_anything_is_answered(caller: Caller, value: Any) -> None:
    for readonly in (True, False):
        answer = execute(value, caller, readonly=readonly)
        errors = [answer["error"]] if "error" in answer else []
        errors += [one["error"] for one in answer["results"] if "error" in one]
        assert bool(errors) == (answer["status"] != "succeeded")
        assert all(error["code"] in REGISTRY for error in errors)
        assert all(error["code"] != "InternalError" for error in errors)
        check_schema(answer)
        json.dumps(answer, allow_nan=False, ensure_ascii=False).encode()


def check_schema(answer: dict[str, Any]) -> None:
    """The answer is one by the response schema, which here is of an older revision."""
    if not RESPONSE.exists():
        return
    import jsonschema_rs

    answer = json.loads(json.dumps(answer))
    answer["execution"] = {
        name: value
        for name, value in answer.get("execution", {"mode": "independent"}).items()
        if name != "idempotency_key"
    }
    for one in answer["results"]:
        one.pop("receipt", None)
    jsonschema_rs.validate(json.loads(RESPONSE.read_text(encoding="utf-8")), answer)
