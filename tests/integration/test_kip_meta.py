"""META against a real space: what it says of itself, its words, its past and its limits."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from storage.database import Database, Scope
from storage.graph import transactions
from storage.graph.changes import (
    Change,
    ChangeSet,
    CreateActivity,
    CreateAssertion,
    CreateConcept,
    DefineSymbol,
    EnsureProposition,
    Transition,
    UpdateConcept,
)
from storage.graph.commit import Commit, commit
from storage.kip.errors import REGISTRY, KipError, TransactionUnknown
from storage.kip.language import command
from storage.kip.language.ast_meta import Meta
from storage.kip.meta import capabilities, dependents
from storage.kip.meta.run import Answered, answer, writes
from storage.kip.mutation.authority import Authority
from storage.kip.snapshot import open_snapshot
from tests.integration.test_graph_plans import Explaining

AT = datetime(2026, 3, 1, 8, tzinfo=UTC)
CALLER = "anonymous"


class Brain:
    """A space that commands are put to, each in a transaction of its own."""

    def __init__(self, database: Database, space: str) -> None:
        self.database, self.scope = database, Scope(space)

    def write(self, *changes: Change) -> Commit:
        with self.database.transaction(self.scope) as tx:
            return commit(tx, self.scope, CALLER, ChangeSet(changes), tx_class="kml")

    def ask(self, text: str, *, caller: str = CALLER, as_of: int | None = None) -> Answered:
        statement: Any = command.read(text).statement
        tries = writes(statement)
        with self.database.transaction(self.scope, snapshot=not tries) as tx:
            snapshot = open_snapshot(tx, self.scope, as_of=as_of)
            return answer(snapshot, statement, caller=caller, authority=Authority(caller))

    def result(self, text: str, **more: Any) -> Any:
        return self.ask(text, **more).result

    def refusal(self, text: str, **more: Any) -> str:
        with pytest.raises(KipError) as raised:
            self.ask(text, **more)
        return raised.value.code

    def pages(self, text: str) -> list[Any]:
        """All pages of a listing, followed by their cursors."""
        found, cursor = [], ""
        while True:
            told = self.ask(f"{text}{cursor}")
            found.append(told.result)
            if told.next_cursor is None:
                return found
            cursor = f" CURSOR {json.dumps(told.next_cursor)}"


@pytest.fixture
def brain(database: Database, space: str) -> Brain:
    return Brain(database, space)


def told(brain: Brain) -> Commit:
    return brain.write(
        CreateConcept("?ada", "Person", name="Ada", key="person:ada"),
        CreateConcept("?paris", "Place", name="Paris"),
        CreateConcept("?topic", "Topic", name="Chess"),
        EnsureProposition("?p", "?ada", "lives_in", "?paris"),
        CreateAssertion("?a", "?p", "?ada", "stated", asserted_at=AT),
    )


# words


def test_words_are_listed_as_rows_in_the_order_of_their_refs(brain: Brain) -> None:
    rows = brain.result("LIST PREDICATES")
    assert rows[0] == {
        "ref": "kip://domains/general@1.0.0/interested_in",
        "local_name": "interested_in",
        "package_ref": "kip://domains/general@1.0.0",
        "status": "active",
    }
    assert [row["ref"] for row in rows] == sorted(row["ref"] for row in rows)
    assert brain.result("LIST TYPES LIMIT 1") == brain.result("LIST TYPES")[:1]
    for what in ("TYPES", "FACETS", "STRUCTURAL FIELDS", "SCHEMA PACKAGES"):
        whole = brain.result(f"LIST {what}")
        assert [row for page in brain.pages(f"LIST {what} LIMIT 2") for row in page] == whole


def test_a_draft_is_listed_and_described_under_its_package(brain: Brain) -> None:
    brain.write(DefineSymbol("predicate", "mentors", {"description": "Teaches."}))
    row = {
        "ref": "kip://local/draft@0.0.0/mentors",
        "local_name": "mentors",
        "package_ref": "kip://local/draft@0.0.0",
        "status": "active",
    }
    assert row in brain.result("LIST PREDICATES")
    described = brain.result('DESCRIBE PREDICATE "mentors"')
    assert described.items() >= row.items()
    assert described["definition"]["description"] == "Teaches."
    packages = brain.result('LIST SCHEMA PACKAGES STATUS "active"')
    assert {
        "package_ref": "kip://local/draft@0.0.0",
        "package_id": "kip://local/draft",
        "version": "0.0.0",
        "status": "active",
    } in packages


def test_every_kind_of_word_is_described_and_unknown_ones_are_refused(brain: Brain) -> None:
    assert brain.result('DESCRIBE TYPE "Person"')["local_name"] == "Person"
    assert brain.result('DESCRIBE FACET "MnemonicState"')["local_name"] == "MnemonicState"
    assert brain.result('DESCRIBE STRUCTURAL FIELD "about"')["local_name"] == "about"
    assert brain.result('DESCRIBE STRUCTURAL FIELD "evidence"')["package_ref"].endswith(
        "core@2.0.0"
    )
    assert brain.refusal('DESCRIBE TYPE "Nonesuch"') == "SchemaSymbolNotFound"
    package = brain.result('DESCRIBE PACKAGE "kip://domains/general"')
    assert package["version"] == "1.0.0"
    assert "lives_in" in package["symbols"]["predicates"]
    assert brain.refusal('DESCRIBE PACKAGE "kip://no/such@1.0.0"') == "SchemaPackageUnavailable"


def test_a_package_is_compatible_with_itself_and_with_no_other(brain: Brain) -> None:
    general, memory = (
        f'"kip://{p}"' for p in ("domains/general@1.0.0", "profiles/cognitive-memory@2.0.0")
    )
    assert brain.result(f"DESCRIBE COMPATIBILITY FROM {general} TO {general}")["compatible"]
    other = brain.result(f"DESCRIBE COMPATIBILITY FROM {general} TO {memory}")
    assert not other["compatible"]
    assert "predicates/lives_in" in other["removed"]


def test_the_vocabulary_of_then_is_described(brain: Brain) -> None:
    told(brain)
    brain.write(DefineSymbol("predicate", "mentors", {"description": "Teaches."}))
    now, then = (brain.result(f"DESCRIBE SCHEMA ENVIRONMENT{at}") for at in ("", " AS OF SEQ 1"))
    assert (now["draft_symbols"], then["draft_symbols"]) == (1, 0)
    assert now["schema_environment_version"] == then["schema_environment_version"] + 1
    assert now["digest"] != then["digest"]


# the engine


def test_capabilities_say_what_is_there_and_requires_is_held_to_the_same(brain: Brain) -> None:
    answered = brain.result("DESCRIBE CAPABILITIES")
    told_of = answered["capabilities"]
    assert told_of["change_stream"]["supported"]
    assert not told_of["atomic_batch"]["available"]
    assert set(told_of) == set(capabilities.REGISTRY)
    for name, entry in told_of.items():
        assert (capabilities.missing({name: True}) == []) is entry["available"], name
        assert entry["description"] in capabilities.markdown()
    assert capabilities.missing({"telepathy": True, "transition": True}) == ["telepathy"]
    assert capabilities.missing({"idempotency_retention": {"hours": 24}}) == []
    assert capabilities.missing({"idempotency_retention": {"hours": 1e9}}) == [
        "idempotency_retention"
    ]
    assert answered["limits"]["page_rows"] > 0
    json.dumps(answered)


@pytest.mark.parametrize(
    "text",
    [
        'DESCRIBE CAPSULE "x"',
        'VERIFY CAPSULE "x"',
        'VERIFY SCHEMA PACKAGE "x"',
        'VALIDATE CAPSULE "x"',
        'VALIDATE SCHEMA PACKAGE "x"',
        'VALIDATE IMPORT PLAN "x"',
        'PREVIEW IMPORT CAPSULE "x" INTO "y"',
        'EXPORT CAPSULE ?c WHERE { ?c CONCEPT {type: "Person"} }',
    ],
)
def test_what_is_not_there_says_so(brain: Brain, text: str) -> None:
    assert brain.refusal(text) == "UnsupportedCapability"


def test_the_primer_tells_a_stranger_where_it_is(brain: Brain) -> None:
    told(brain)
    compact, full = brain.result("DESCRIBE PRIMER"), brain.result('DESCRIBE PRIMER MODE "full"')
    assert compact["execution_context"]["principal"] == CALLER
    assert "$self" in compact["execution_context"]["note"]
    assert compact["topics"] == [{"id": "C-3", "name": "Chess"}]
    assert compact["elements"]["concept"] == 3
    general = "kip://domains/general@1.0.0"
    assert "lives_in" in compact["schema_map"][general]["predicates"]
    assert full["schema_map"][general]["predicates"]["lives_in"]
    assert compact["memory_interface"]["kip_memory"] == "2.0"
    assert brain.refusal('DESCRIBE PRIMER MODE "huge"') in ("ConstraintViolation", "InvalidSyntax")
    for part in ("protocol", "limits", "safety", "capabilities"):
        assert compact[part]


def test_every_error_is_described(brain: Brain) -> None:
    for code in REGISTRY:
        assert brain.result(f'DESCRIBE ERROR "{code}"')["retry"]["class"]
    assert brain.refusal('DESCRIBE ERROR "Nonesuch"') == "NotFoundOrNotVisible"


def test_policies_trust_access_protocol_and_spaces_are_described(brain: Brain) -> None:
    assert {"kip:memory-default"} <= {row["id"] for row in brain.result("LIST EPISTEMIC POLICIES")}
    policy = brain.result('DESCRIBE EPISTEMIC POLICY "kip:memory-default"')
    assert policy == brain.result("DESCRIBE EPISTEMIC POLICY")
    assert brain.refusal('DESCRIBE EPISTEMIC POLICY "no"') == "ProjectionPolicyUnavailable"
    assert brain.result("DESCRIBE TRUST")["records"] == []
    assert brain.result('DESCRIBE ACCESS WITH {operation: "purge"}')["allowed"]
    assert not brain.result('DESCRIBE ACCESS WITH {operation: "fly"}')["allowed"]
    assert brain.result("DESCRIBE PROTOCOL")["kip"] == "2.0"
    space = brain.result("DESCRIBE SPACE")
    assert space == brain.result(f'DESCRIBE SPACE "{brain.scope.space_id}"')
    assert space == brain.result(f'DESCRIBE SPACE "kip:space:{brain.scope.space_id}"')
    assert [row["id"] for row in brain.result("LIST SPACES")] == [space["id"]]
    assert brain.refusal('DESCRIBE SPACE "another"') == "NotFoundOrNotVisible"


# coordinates and transactions


def test_a_coordinate_is_found_by_sequence_and_by_time(brain: Brain) -> None:
    first = told(brain)
    brain.write(CreateConcept("?c", "Topic", name="Go"))
    assert brain.result("DESCRIBE SNAPSHOT")["snapshot_seq"] == 2
    then = brain.result("DESCRIBE SNAPSHOT AS OF SEQ 1")
    assert (then["snapshot_seq"], then["current_space_seq"]) == (1, 2)
    at = brain.result(f'DESCRIBE SNAPSHOT AT TIME "{then["committed_at"]}"')
    assert at["snapshot_seq"] >= 1
    assert brain.result('DESCRIBE SNAPSHOT AT TIME "2001-01-01T00:00:00.000Z"')["snapshot_seq"] == 0
    assert brain.refusal("DESCRIBE SNAPSHOT AS OF SEQ 9999") == "HistoricalSnapshotUnavailable"
    assert first.seq == 1


def test_a_transaction_is_told_as_its_envelope(brain: Brain) -> None:
    made = told(brain)
    described = brain.result(f'DESCRIBE TRANSACTION "{made.tx_id}"')
    assert (described["space_seq"], described["snapshot_seq"]) == (1, 0)
    assert described["status"] == "committed"
    assert {entry["op"] for entry in described["changes"]} == {"create"}
    assert brain.refusal('DESCRIBE TRANSACTION "txn-no"') == "TransactionUnknown"
    assert brain.refusal('DESCRIBE TRANSACTION BY IDEMPOTENCY KEY "no"') == "TransactionUnknown"
    assert brain.refusal(f'DESCRIBE TRANSACTION "{made.tx_id}"', as_of=0) == "TransactionUnknown"


def test_a_receipt_is_verified_and_a_changed_one_is_not(brain: Brain) -> None:
    told(brain)
    with brain.database.transaction(brain.scope, snapshot=True) as tx:
        record = transactions.by_seq(tx, brain.scope, 1)
    assert record is not None
    receipt = record.receipt()

    def verdict(value: Any) -> bool:
        return brain.result(f"VERIFY RECEIPT {json.dumps(json.dumps(value))}")["valid"]

    assert verdict(receipt)
    assert not verdict({**receipt, "space_seq": 2})
    assert not verdict([1])
    assert not brain.result('VERIFY RECEIPT "{"')["valid"]


def test_history_and_changes_are_the_same_envelopes_over_different_ranges(brain: Brain) -> None:
    ids = told(brain).ids
    brain.write(Transition(ids["?a"], "retracted"))
    brain.write(UpdateConcept(ids["?ada"], name="Countess"))
    space = brain.result("HISTORY SPACE")
    assert [one["space_seq"] for one in space] == [1, 2, 3]
    assert brain.result("HISTORY SPACE FROM SEQ 2 TO SEQ 2") == space[1:2]
    assert brain.pages("HISTORY SPACE LIMIT 1") == [[one] for one in space]
    element = brain.result(f'HISTORY ELEMENT "{ids["?a"]}"')
    assert [one["space_seq"] for one in element] == [1, 2]
    assert [len(one["changes"]) for one in element] == [1, 1]
    assert element[1] == space[1]
    assert brain.pages(f'HISTORY ELEMENT "{ids["?a"]}" LIMIT 1') == [[one] for one in element]
    stream = brain.result("CHANGES AFTER SEQ 1")
    assert [{k: v for k, v in one.items() if k != "coverage"} for one in stream] == space[1:]
    assert stream[-1]["coverage"] == {"through_seq": 3, "complete": True}
    assert brain.result("CHANGES AFTER SEQ 99") == []
    assert brain.refusal('HISTORY ELEMENT "C-999"') == "NotFoundOrNotVisible"


def test_a_follower_that_has_caught_up_gets_what_comes(brain: Brain) -> None:
    told(brain)
    caught_up = brain.ask("CHANGES AFTER SEQ 0")
    since = f"CHANGES SINCE {json.dumps(caught_up.next_cursor)}"
    assert brain.result(since) == []
    brain.write(CreateConcept("?c", "Topic", name="Go"))
    assert [one["space_seq"] for one in brain.result(since)] == [2]


# dependents


def test_dependents_are_walked_along_activities(brain: Brain) -> None:
    def derive(source: str) -> str:
        return brain.write(
            CreateConcept("?i", "Insight", attributes={"summary": f"from {source}"}),
            CreateActivity("?x", "reflection", "completed", AT, AT, (source,), ("?i",)),
        ).ids["?i"]

    root = brain.write(CreateConcept("?r", "Topic", name="Root")).ids["?r"]
    near = [derive(root) for _ in range(3)]
    far = derive(near[0])
    once = brain.ask(f'LIST DEPENDENTS "{root}"')
    assert [row["id"] for row in once.result] == near
    assert once.result[0] == {
        "id": near[0],
        "kind": "concept",
        "distance": 1,
        "via": {"activity": "X-1"},
    }
    assert once.context["extensions"][dependents.EXTENSION] == {
        "coverage_scope": "recorded_activity_lineage",
        "snapshot_seq": 5,
        "truncated": False,
    }
    whole = brain.result(f'LIST DEPENDENTS "{root}" DEPTH 4')
    assert [(row["id"], row["distance"]) for row in whole][-1] == (far, 2)
    first = brain.ask(f'LIST DEPENDENTS "{root}" DEPTH 4 LIMIT 3')
    derive(root)
    rest = brain.ask(f'LIST DEPENDENTS "{root}" DEPTH 4 LIMIT 3 CURSOR "{first.next_cursor}"')
    assert [*first.result, *rest.result] == whole
    assert rest.next_cursor is None
    assert brain.result('LIST DEPENDENTS "C-999"') == []
    assert brain.refusal(f'LIST DEPENDENTS "{root}" DEPTH 1000') == "ResourceExhausted"


# search


def test_a_search_says_how_it_was_made_and_whether_it_saw_everything(brain: Brain) -> None:
    told(brain)
    brain.write(*[CreateConcept(f"?c{i}", "Topic", name=f"Chess club {i}") for i in range(12)])
    found = brain.ask('SEARCH CONCEPT "chess" WITH TYPE "Topic" LIMIT 5')
    context = found.context["search"]
    assert (context["mode"], context["index_seq"]) == ("keyword", 2)
    assert not context["extensions"]["brainstem/search"]["search_exhaustive"]
    row = found.result[0]
    assert (row["kind"], row["score"]) == ("concept", 1.0)
    pages = brain.pages('SEARCH CONCEPT "chess" WITH TYPE "Topic" LIMIT 5')
    assert [len(page) for page in pages] == [5, 5, 3]
    assert len({hit["id"] for page in pages for hit in page}) == 13
    whole = brain.ask('SEARCH CONCEPT "chess" WITH TYPE "Topic" LIMIT 50').context["search"]
    assert whole["extensions"]["brainstem/search"]["search_exhaustive"]
    assert brain.refusal('SEARCH CONCEPT "chess" AS OF SEQ 1') == "HistoricalSearchUnavailable"
    assert brain.refusal('SEARCH CONCEPT "chess"', as_of=1) == "HistoricalSearchUnavailable"
    assert brain.refusal('SEARCH CONCEPT "chess" MODE "semantic"') == "SearchModeUnsupported"


# cursors


def test_a_cursor_is_good_for_its_caller_command_and_state_alone(brain: Brain) -> None:
    told(brain)
    brain.write(*[CreateConcept(f"?c{i}", "Topic", name=f"Chess {i}") for i in range(5)])
    cursor = json.dumps(brain.ask('SEARCH CONCEPT "chess" LIMIT 2').next_cursor)
    assert len(brain.result(f'SEARCH CONCEPT "chess" LIMIT 2 CURSOR {cursor}')) == 2
    assert brain.refusal(f'SEARCH CONCEPT "go" LIMIT 2 CURSOR {cursor}') == "CursorMismatch"
    assert brain.refusal(f"LIST TYPES CURSOR {cursor}") == "CursorTypeMismatch"
    assert brain.refusal(f"CHANGES SINCE {cursor}") == "CursorTypeMismatch"
    assert (
        brain.refusal(f'SEARCH CONCEPT "chess" CURSOR {cursor}', caller="mallory")
        == "CursorInvalid"
    )
    assert brain.refusal('SEARCH CONCEPT "chess" CURSOR "bm90IG91cnM="') == "CursorInvalid"
    brain.write(CreateConcept("?c", "Topic", name="Go"))
    assert brain.refusal(f'SEARCH CONCEPT "chess" LIMIT 2 CURSOR {cursor}') == "CursorExpired"
    assert brain.refusal("LIST TYPES LIMIT 100000") == "ResultLimitExceeded"


# trying out


def test_a_preview_says_what_would_change_and_changes_nothing(brain: Brain) -> None:
    ada = told(brain).ids["?ada"]
    text = f"""MUTATE {{
        CREATE CONCEPT ?t {{ TYPE "Topic" NAME "Zugzwang" }}
        UPDATE "{ada}" SET FIELDS {{name: "Countess"}}
    }}"""
    told_of = brain.result(f"PREVIEW KML {json.dumps(text)}")
    assert (told_of["effect"], told_of["basis_seq"]) == ("would_commit", 1)
    created, updated = sorted(told_of["changes"], key=lambda entry: entry["op"])
    assert created["handle"] == "?t"
    assert "id" not in created
    assert (updated["id"], updated["new_version"]) == (ada, 2)
    assert brain.result("DESCRIBE SNAPSHOT")["snapshot_seq"] == 1
    assert brain.result('SEARCH CONCEPT "zugzwang"') == []
    assert brain.refusal('PREVIEW KML "PURGE \\"C-999\\" CONFIRM \\"PURGE\\""') == (
        "NotFoundOrNotVisible"
    )
    assert brain.refusal('PREVIEW KML "FIND(?c) WHERE {?c CONCEPT {}}"') == "LanguageMismatch"


def test_a_mutation_is_validated_with_and_without_its_parameters(brain: Brain) -> None:
    told(brain)
    text = json.dumps('CREATE CONCEPT ?c { TYPE :type NAME "X" }')
    parsed = brain.result(f"VALIDATE KML {text}")
    assert parsed["valid"]
    assert (parsed["checked"], parsed["parameters"]) == (["syntax"], ["type"])
    tried = brain.result(f'VALIDATE KML {text} WITH {{parameters: {{type: "Topic"}}}}')
    assert tried["valid"]
    assert tried["effect"] == "would_commit"
    wrong = brain.result(f'VALIDATE KML {text} WITH {{parameters: {{type: "Nonesuch"}}}}')
    assert not wrong["valid"]
    assert wrong["errors"][0]["code"] == "SchemaSymbolNotFound"
    broken = brain.result('VALIDATE KML "CREATE CONCEPT"')
    assert broken["errors"][0]["code"] == "InvalidSyntax"
    assert "line" in broken["errors"][0]["details"]
    assert brain.result("DESCRIBE SNAPSHOT")["snapshot_seq"] == 1


def test_a_query_is_validated_without_being_run(brain: Brain) -> None:
    told(brain)
    good = json.dumps('FIND(?c) WHERE { ?c CONCEPT {type: "Person"} }')
    assert brain.result(f"VALIDATE KQL {good}")["valid"]
    bad = json.dumps('FIND(?c) WHERE { ?c CONCEPT {type: "Nonesuch"} }')
    assert brain.result(f"VALIDATE KQL {bad}")["errors"][0]["code"] == "SchemaSymbolNotFound"


# plans

PLANNED = [
    'LIST DEPENDENTS "C-1" DEPTH 3',
    'HISTORY ELEMENT "C-1"',
    "HISTORY SPACE",
    "CHANGES AFTER SEQ 0",
    "DESCRIBE PRIMER",
    "DESCRIBE SPACE",
    "DESCRIBE SNAPSHOT",
    'DESCRIBE SNAPSHOT AT TIME "2026-01-01T00:00:00.000Z"',
    "DESCRIBE SCHEMA ENVIRONMENT AS OF SEQ 1",
    "DESCRIBE TRUST",
    'DESCRIBE TRANSACTION BY IDEMPOTENCY KEY "k"',
    'SEARCH CONCEPT "ada"',
]


@pytest.mark.parametrize("text", PLANNED)
def test_a_command_uses_indexes_only(brain: Brain, text: str) -> None:
    told(brain)
    statement = command.read(text).statement
    assert isinstance(statement, Meta)
    with brain.database.transaction(brain.scope) as tx:
        tx.execute("set local enable_seqscan = off")
        explaining: Any = Explaining(tx)
        snapshot = open_snapshot(explaining, brain.scope)
        with contextlib.suppress(TransactionUnknown):
            answer(snapshot, statement, caller=CALLER)
    assert explaining.plans
    for plan in explaining.plans:
        assert "Seq Scan" not in plan, plan


def test_validate_knows_a_belief_that_cannot_be_asked_for(brain: Brain) -> None:
    query = (
        'FIND(?b.status) WHERE { ?p {type: "Person"} ?b BELIEF SLOT (?p, "prefers") }'
        ' WITH EPISTEMIC {policy: "nobody knows"}'
    )
    told = brain.result(f"VALIDATE KQL {json.dumps(query)}")
    assert told["valid"] is False
    assert [error["code"] for error in told["errors"]] == ["ProjectionPolicyUnavailable"]
