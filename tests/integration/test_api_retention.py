"""`POST /v1/{space}/memory/pin` and `/memory/forget`: what is kept, and what goes with what."""

from __future__ import annotations

import threading

import psycopg
import pytest

from jobs import ledger
from pipelines.formation.alone import Alone
from pipelines.purge.run import run as purge
from storage import forgetting
from storage.database import Scope
from storage.graph import state
from storage.graph.changes import (
    ChangeSet,
    Citation,
    CreateActivity,
    CreateAssertion,
    CreateConcept,
    CreateEvidence,
    EnsureProposition,
    Link,
    SetRetention,
    UpsertConcept,
)
from storage.graph.commit import commit
from tests.unit.api.calling import eventually, new_client

#: A word that stands in everything that the tests write and nowhere else.
WORD = "quokkalike"
KINDS = ("concepts", "propositions", "assertions", "evidence", "activities")
#: Ada says that she lives in a place; it is recorded by whom, from what, and how.
STORY = (
    UpsertConcept("?ada", type="Person", key="person:ada", initial_name="Ada"),
    CreateConcept("?place", "Place", name=f"{WORD} town", key=f"place:{WORD}"),
    CreateEvidence(
        "?said",
        "user_statement",
        {"content": f"I live in {WORD} town."},
        content_digest="sha256:1",
        links=(Link("source", "?ada"),),
    ),
    EnsureProposition("?lives", "?ada", "lives_in", "?place"),
    CreateAssertion("?claim", "?lives", "?ada", "stated", citations=(Citation("?said"),)),
    CreateActivity(
        "?how", "extraction", status="completed", inputs=("?said",), outputs=("?claim", "?lives")
    ),
)


@pytest.fixture
def client(database):
    return new_client()


@pytest.fixture
def write(database, space):
    """Commit changes to the test's space; the ids by handle."""

    def run(*changes):
        with database.transaction(Scope(space)) as tx:
            return commit(tx, Scope(space), "tester", ChangeSet(changes), tx_class="test").ids

    return run


@pytest.fixture
def story(write):
    return write(*STORY)


@pytest.fixture
def pin(client, space):
    def run(entity, **more):
        response = client.post(f"/v1/{space}/memory/pin", json={"entity": entity, **more})
        assert response.status_code == 200, response.data
        return response.json["result"]

    return run


@pytest.fixture
def trial(client, space):
    """What forgetting would come to."""

    def run(*entities):
        body = {"entities": list(entities), "dry_run": True}
        response = client.post(f"/v1/{space}/memory/forget", json=body)
        assert response.status_code == 200, response.data
        return response.json["result"]

    return run


@pytest.fixture
def forget(database, space):
    """Forget as the job does, without a worker."""

    def run(*entities):
        work = Alone(database, Scope(space), {"entities": list(entities)})
        effect = purge(work)
        with database.transaction(Scope(space)) as tx:
            return effect.apply(tx)

    return run


def counts(report):
    return tuple(report[f"deleted_{kind}"] for kind in KINDS)


def errors(report):
    return {
        one["entity"]: one["error"].partition(":")[0]
        for one in report["entities"]
        if "error" in one
    }


def rows_with(services, space, text):
    """The tables that hold `text` anywhere in the rows of the space."""
    with psycopg.connect(services.admin_url) as conn:
        tables = conn.execute(
            "select format('%I', c.relname) from pg_class c join pg_attribute a"
            " on a.attrelid = c.oid and a.attname = 'space_id' where c.relkind = 'r'"
            " and c.relnamespace = 'public'::regnamespace"
        ).fetchall()
        return {
            table
            for (table,) in tables
            if conn.execute(
                f"select count(*) from {table} t where space_id = %s and t::text ilike %s",
                (space, f"%{text}%"),
            ).fetchone()
            != (0,)
        }


def retention(database, space, entity):
    with database.transaction(Scope(space)) as tx:
        return state.load(tx, Scope(space), [entity])[entity].doc.get("retention", {})


# --- pin -------------------------------------------------------------------------------------


def test_every_kind_of_element_is_pinned_and_let_go_again(story, database, space, pin):
    for entity in story.values():
        assert pin(entity) == {"entity": entity, "pinned": True, "updated": 1}
        assert retention(database, space, entity)["retention_class"] == "pinned"
        assert pin(entity, pinned=True)["updated"] == 0
        assert pin(entity, pinned=False) == {"entity": entity, "pinned": False, "updated": 1}
        assert retention(database, space, entity).get("retention_class") is None
        assert pin(entity, pinned=False)["updated"] == 0


def test_the_rest_of_a_retention_stays(story, write, database, space, pin):
    entity = story["?place"]
    write(SetRetention(entity, {"expires_at": "2031-01-01T00:00:00.000Z", "legal_hold": True}))
    pin(entity)
    kept = retention(database, space, entity)
    assert (kept["expires_at"], kept["legal_hold"]) == ("2031-01-01T00:00:00.000Z", True)
    assert kept["retention_class"] == "pinned"


def test_letting_go_leaves_another_class_alone(story, write, database, space, pin):
    entity = story["?place"]
    write(SetRetention(entity, {"retention_class": "short"}))
    assert pin(entity, pinned=False)["updated"] == 0
    assert retention(database, space, entity)["retention_class"] == "short"


def test_what_is_not_there_or_elsewhere_is_404_alike(client, space, story):
    told = set()
    assert client.post(
        "/admin/create_space", json={"user": "ada", "space_id": f"{space}_b", "tier": 0}
    ).status_code in (200, 409)
    for path, entity in (
        (f"/v1/{space}/memory/pin", "C-99"),
        (f"/v1/{space}/memory/pin", "X-999999999999999999"),
        (f"/v1/{space}_b/memory/pin", story["?ada"]),
    ):
        response = client.post(path, json={"entity": entity})
        assert response.status_code == 404
        told.add(response.data)
    assert len(told) == 1


@pytest.mark.parametrize(
    "body",
    [
        {}, {"entity": ""}, {"entity": "C-0"}, {"entity": "C-01"}, {"entity": "Q-1"},
        {"entity": "c-1"}, {"entity": "C-1 "}, {"entity": "C-1\n"}, {"entity": 1},
        {"entity": "C-" + "9" * 30}, {"entity": "C-1", "pinned": "yes"},
        {"entity": "C-1", "pinned": None}, {"entity": "C-１"},
    ],
)  # fmt: skip
def test_bad_pins_are_refused(client, space, story, body):
    response = client.post(f"/v1/{space}/memory/pin", json=body)
    assert response.status_code == 400, response.data


# --- forget ----------------------------------------------------------------------------------


def test_a_claim_goes_with_its_statement(story, trial, forget, database, space):
    planned = trial(story["?lives"])
    assert counts(planned) == (0, 1, 1, 0, 0)
    assert planned["dry_run"] is True
    assert planned["entities"] == [{"entity": story["?lives"], "existed": True}]
    done = forget(story["?lives"])
    assert done.result == {**planned, "dry_run": False}
    assert done.disposition == "erased"
    assert done.resolved_seq == done.available_seq == 2
    with database.transaction(Scope(space)) as tx:
        left = state.load(tx, Scope(space), list(story.values()))
    assert set(left) == set(story.values()) - {story["?lives"], story["?claim"]}


def test_a_trial_changes_nothing(story, trial, client, space, services):
    before = client.get(f"/v1/{space}/info").json
    trial(*story.values())
    assert client.get(f"/v1/{space}/info").json == before
    assert {"evidence", "search_document"} <= rows_with(services, space, WORD)


def test_nothing_is_left_of_what_was_forgotten(story, forget, trial, services, space):
    planned = trial(*story.values())
    assert counts(planned) == (2, 1, 1, 1, 1)
    assert {"evidence", "element", "search_document"} <= rows_with(services, space, WORD)
    assert counts(forget(*story.values()).result) == counts(planned)
    assert rows_with(services, space, WORD) == set()


def test_what_something_else_refers_to_stays(story, trial, forget):
    assert errors(trial(story["?said"])) == {story["?said"]: "PurgeDenied"}
    assert errors(trial(story["?ada"])) == {story["?ada"]: "PurgeDenied"}
    report = forget(story["?said"])
    assert report.disposition == "skipped"
    assert report.resolved_seq is None
    assert counts(report.result) == (0, 0, 0, 0, 0)
    [entity] = report.result["entities"]
    assert entity["existed"] is True
    assert story["?claim"] in entity["error"]


def test_what_refers_to_it_may_go_in_the_same_request(story, forget):
    report = forget(story["?said"], story["?claim"]).result
    assert counts(report) == (0, 0, 1, 1, 0)
    assert errors(report) == {}


def test_who_must_stay_hinders_only_what_hangs_on_it(story, write, forget):
    """The message goes only if the claim goes, and a hold keeps the claim."""
    write(SetRetention(story["?claim"], {"legal_hold": True}))
    lone = write(CreateEvidence("?e", "document", {"text": "x"}, content_digest="sha256:2"))["?e"]
    report = forget(story["?said"], story["?claim"], lone, story["?how"]).result
    assert errors(report) == {
        story["?claim"]: "LegalHoldConflict",
        story["?said"]: "PurgeDenied",
    }
    assert counts(report) == (0, 0, 0, 1, 1)


def test_a_hold_on_a_part_keeps_the_whole(story, write, trial):
    write(SetRetention(story["?claim"], {"legal_hold": True}))
    report = trial(story["?lives"])
    assert errors(report) == {story["?lives"]: "LegalHoldConflict"}
    assert story["?claim"] in report["entities"][0]["error"]
    assert counts(report) == (0, 0, 0, 0, 0)


def test_what_does_not_exist_is_told_and_is_no_error(story, trial, forget):
    forget(story["?how"])
    report = trial("C-999", story["?how"], "nonsense", story["?lives"], story["?lives"])
    assert report["entities"][:2] == [
        {"entity": "C-999", "existed": False},
        {"entity": story["?how"], "existed": False},
    ]
    assert errors(report) == {"nonsense": "InvalidInput"}
    assert len(report["entities"]) == 4
    assert counts(report) == (0, 1, 1, 0, 0)


def test_a_repeated_run_finds_nothing_to_do(story, forget):
    assert counts(forget(story["?lives"]).result) == (0, 1, 1, 0, 0)
    again = forget(story["?lives"])
    assert counts(again.result) == (0, 0, 0, 0, 0)
    assert again.disposition == "skipped"
    assert again.result["entities"] == [{"entity": story["?lives"], "existed": False}]


def test_too_much_at_once_is_refused_whole(story, trial, monkeypatch):
    monkeypatch.setattr(forgetting, "MAX_ERASED", 2)
    report = trial(story["?lives"], story["?how"])
    assert errors(report) == {story["?lives"]: "ResultLimitExceeded"}
    assert counts(report) == (0, 0, 0, 0, 1)


def test_a_long_chain_of_refusals_is_told_one_by_one(write, trial):
    """Each message is the source of the next; a hold on the last keeps them all."""
    changes = [
        CreateEvidence(
            f"?e{n}",
            "document",
            {"n": n},
            content_digest=f"sha256:c{n}",
            links=(Link("source", f"?e{n - 1}"),) if n else (),
        )
        for n in range(60)
    ]
    ids = write(*changes)
    write(SetRetention(ids["?e59"], {"legal_hold": True}))
    report = trial(*ids.values())
    assert counts(report) == (0, 0, 0, 0, 0)
    told = errors(report)
    assert told.pop(ids["?e59"]) == "LegalHoldConflict"
    assert set(told.values()) == {"PurgeDenied"}
    assert len(told) == 59


def test_misses_of_the_space_go_along(story, forget, client, space, services):
    client.post(f"/v1/{space}/probe", json={"query": "zeppelin"})
    forget(story["?how"])
    with psycopg.connect(services.admin_url) as conn:
        kept = conn.execute("select count(*) from probe_miss where space_id = %s", (space,))
        assert kept.fetchone() == (0,)


def test_two_that_forget_the_same_erase_it_once(story, database, space):
    erased = []

    def run():
        with database.transaction(Scope(space)) as tx:
            done = forgetting.forget(tx, Scope(space), "tester", [story["?lives"]])
        erased.append(len(done.erased))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(erased) == [0, 0, 0, 2]


def test_without_a_worker_the_receipt_is_the_answer(client, space, story):
    response = client.post(
        f"/v1/{space}/memory/forget",
        json={"entities": [story["?how"]]},
        headers={"Prefer": "wait=0", "Idempotency-Key": "f1"},
    )
    assert response.status_code == 202
    receipt = response.json["result"]["receipt"]
    assert receipt["operation"] == "forget_elements"
    again = client.post(
        f"/v1/{space}/memory/forget",
        json={"entities": [story["?how"]]},
        headers={"Prefer": "wait=0", "Idempotency-Key": "f1"},
    )
    assert again.json["result"]["receipt"] == receipt
    other = client.post(
        f"/v1/{space}/memory/forget",
        json={"entities": [story["?lives"]]},
        headers={"Prefer": "wait=0", "Idempotency-Key": "f1"},
    )
    assert other.status_code == 409
    assert other.json["data"]["code"] == "IdempotencyConflict"


def test_a_worker_forgets_and_the_request_says_what(client, space, story, worker, database):
    worker(queues="purge", threads=2)
    body = {"entities": [story["?lives"], "C-999"]}
    response = client.post(f"/v1/{space}/memory/forget", json=body)
    assert response.status_code == 200, response.data
    report = response.json["result"]
    assert counts(report) == (0, 1, 1, 0, 0)
    assert report["dry_run"] is False
    job = client.get(response.headers["Location"]).json["result"]
    assert job["kind"] == "purge"
    assert job["progress"]["disposition"] == "erased"
    again = client.post(f"/v1/{space}/memory/forget", json=body).json["result"]
    assert counts(again) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("place", ["before_commit", "inside_commit", "after_commit_before_ack"])
def test_a_worker_that_is_killed_has_erased_all_or_nothing(
    client, space, story, worker, scheduler, database, place
):
    """Whoever takes the job over, the report counts each element once."""
    fast = {"BRAINSTEM_LEASE_SECONDS": "1", "BRAINSTEM_HEARTBEAT_SECONDS": "0.3"}
    body = {"entities": [story["?lives"]]}
    path = f"/v1/{space}/memory/forget"
    deadly = worker(queues="purge", env={**fast, "BRAINSTEM_FAILPOINTS": f"{place}/purge=kill"})
    scheduler(env={**fast, "BRAINSTEM_SWEEP_SECONDS": "0.2"})
    accepted = client.post(path, json=body, headers={"Prefer": "wait=0", "Idempotency-Key": "k"})
    assert accepted.status_code == 202
    eventually(lambda: not deadly.alive, 20.0)
    worker(queues="purge", env=fast)

    def ended():
        again = client.post(path, json=body, headers={"Prefer": "wait=1", "Idempotency-Key": "k"})
        return again if again.status_code != 202 else None

    response = eventually(ended, 60.0)
    assert response.status_code == 200, response.data
    assert counts(response.json["result"]) == (0, 1, 1, 0, 0)
    with database.transaction(Scope(space)) as tx:
        made = tx.execute("select count(*) from commit_record where space_id = %s", (space,))
        assert made.fetchone() == (2,)


def test_a_cancelled_forgetting_is_an_error(client, space, story, database):
    answers = []

    def run():
        body = {"entities": [story["?how"]]}
        answers.append(new_client().post(f"/v1/{space}/memory/forget", json=body))

    asking = threading.Thread(target=run)
    asking.start()
    path = f"/v1/{space}/jobs?kind=purge&state=accepted"
    job_id = eventually(lambda: client.get(path).json["result"])[0]["id"]
    assert client.post(f"/v1/{space}/jobs/{job_id}/cancel").status_code == 200
    asking.join(20)
    assert answers[0].status_code == 500
    assert answers[0].json["data"] == {"code": "run_failed", "reason": "cancelled", "job": job_id}


def test_jobs_of_forgetting_take_their_turn_in_the_memory_lane(database, space, story):
    from storage.principals import anonymous

    with database.transaction(Scope(space)) as tx:
        job = ledger.accept(tx, anonymous(space), "purge", {"entities": ["C-1"]}).job
    assert (job.queue, job.lane) == ("purge", "memory")


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_unknown_space_is_404(client, dry_run):
    response = client.post(
        "/v1/no_such_space/memory/forget", json={"entities": ["C-1"], "dry_run": dry_run}
    )
    assert response.status_code == 404
    assert response.json["data"]["code"] == "not_found"


@pytest.mark.parametrize(
    "body",
    [
        {}, {"entities": []}, {"entities": "C-1"}, {"entities": [1]}, {"entities": [""]},
        {"entities": ["x" * 65]}, {"entities": ["C-1"] * 1001}, {"entities": None},
        {"entities": ["C-1"], "dry_run": "no"}, {"entities": ["C-1\u0000"]},
    ],
)  # fmt: skip
def test_bad_bodies_are_refused(client, space, body):
    response = client.post(f"/v1/{space}/memory/forget", json=body)
    assert response.status_code == 400, response.data
