"""Mutations, each kind of statement on its own: what it writes, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from storage.database import Database, Scope
from storage.graph import state
from storage.graph.changes import CreateEvidence
from storage.graph.errors import (
    ClientKeyConflict,
    ConstraintViolation,
    DanglingReference,
    DuplicateMutationTarget,
    IdentityConflict,
    IdentityMergeConflict,
    IdentitySelectorRequired,
    ImmutableField,
    InvalidLifecycleTransition,
    KipError,
    LegalHoldConflict,
    NotFoundOrNotVisible,
    PurgeDenied,
    SchemaFieldNotFound,
    SchemaSymbolConflict,
    SchemaSymbolNotFound,
    SupersessionMismatch,
    TypeMismatch,
    VersionConflict,
)
from storage.graph.state import Stored, StoredEdge
from storage.kip.binding import bind
from storage.kip.errors import (
    EpistemicRevisionRequired,
    EvidenceCorrectionRequired,
    InvalidSyntax,
    NotAuthorized,
    TransactionTooLarge,
    UnsupportedCapability,
)
from storage.kip.language.command import read
from storage.kip.mutation import selection
from storage.kip.mutation.apply import Applied, apply
from storage.kip.mutation.authority import PERMISSIONS, Authority, RetractionNotAuthorized
from storage.kip.mutation.gates import Gates

MNEMONIC = "kip://profiles/cognitive-memory@2.0.0/MnemonicState"
PERSON = "kip://profiles/cognitive-memory@2.0.0/Person"
ANYBODY = Authority("tester")


class Memory:
    """The test's space: runs statements, and looks at what is stored."""

    def __init__(self, database: Database, space: str) -> None:
        self.database, self.scope = database, Scope(space)

    def __call__(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        authority: Authority = ANYBODY,
        minted: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Applied:
        """Run one statement in a transaction of its own."""
        statement = bind(read(text).statement, parameters or {}, minted=minted)
        with self.database.transaction(self.scope) as tx:
            return apply(tx, self.scope, authority, statement, **more)  # type: ignore[arg-type]

    def element(self, element_id: str) -> Stored:
        """An element in its current version."""
        with self.database.transaction(self.scope, snapshot=True) as tx:
            return state.load(tx, self.scope, [element_id])[element_id]

    def edges(self, source: str, field: str) -> list[StoredEdge]:
        """The current references of one field."""
        with self.database.transaction(self.scope, snapshot=True) as tx:
            return state.edges_from(tx, self.scope, [source], [field])

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Rows of a query whose one parameter is the space."""
        with self.database.transaction(self.scope, snapshot=True) as tx:
            return tx.execute(query, (self.scope.space_id,)).fetchall()  # type: ignore[arg-type]

    def count(self) -> int:
        """How many elements there are."""
        found: int = self.rows("select count(*) from element where space_id = %s")[0][0]
        return found

    def attributes(self, element_id: str) -> dict[str, Any]:
        """The attributes of a concept."""
        found: dict[str, Any] = self.element(element_id).doc.get("attributes", {})
        return found


@pytest.fixture
def memory(database: Database, space: str) -> Memory:
    return Memory(database, space)


@pytest.fixture
def people(memory: Memory) -> dict[str, str]:
    """Ada and Ben, a place, and that Ada said she lives there."""
    made = memory(
        """
        MUTATE {
          CREATE CONCEPT ?ada {TYPE "Person" NAME "Ada" SET FIELDS {key: "person:ada"}}
          CREATE CONCEPT ?ben {TYPE "Person" NAME "Ben" SET FIELDS {key: "person:ben"}}
          CREATE CONCEPT ?tartu {TYPE "Place" NAME "Tartu" SET FIELDS {key: "place:tartu"}}
          CREATE CONCEPT ?riga {TYPE "Place" NAME "Riga" SET FIELDS {key: "place:riga"}}
          ENSURE PROPOSITION ?p (?ada, "lives_in", ?tartu)
          CREATE ASSERTION ?said {
            SET FIELDS {proposition: ?p, asserted_by: ?ada, mode: "stated",
                        asserted_at: "2026-01-10T00:00:00.000Z"}
          }
        }
        """
    )
    return dict(made.handles)


# creating


def test_a_concept_is_created_with_everything_that_its_clauses_say(memory: Memory) -> None:
    made = memory(
        """
        MUTATE {
          CREATE CONCEPT ?e {
            NAME "Night shift" TYPE "Experience"
            SET ATTRIBUTES {goal: "keep dry", outcome_status: "success"}
            SET FACET "MnemonicState" {salience: 0.5}
            SET STRUCTURAL {("has_step", ?two) {index: 1} ("has_step", ?one) {index: 0}}
            SET FIELDS {key: "exp:1", aliases: ["NS"], canonical_id: "urn:x:1"}
          }
          CREATE CONCEPT ?one {TYPE "ExperienceStep"
            SET ATTRIBUTES {summary: "a", step_kind: "action"}}
          CREATE CONCEPT ?two {TYPE "ExperienceStep"
            SET ATTRIBUTES {summary: "b", step_kind: "action"}}
        }
        """
    )
    stored = memory.element(made.handles["e"])
    assert (stored.name, stored.key, stored.version) == ("Night shift", "exp:1", 1)
    assert stored.doc["attributes"] == {"goal": "keep dry", "outcome_status": "success"}
    assert stored.doc["facets"] == {MNEMONIC: {"salience": 0.5}}
    assert stored.doc["aliases"] == ["NS"]
    assert stored.doc["canonical_id"] == "urn:x:1"
    steps = memory.edges(stored.id, "kip://profiles/cognitive-memory/has_step")
    assert [(s.target, s.position) for s in steps] == [
        (made.handles["one"], 0),
        (made.handles["two"], 1),
    ]
    assert made.result is None
    assert set(made.handles) == {"e", "one", "two"}


def test_a_transaction_takes_one_sequence_however_many_statements_it_has(memory: Memory) -> None:
    first = memory('MUTATE { CREATE CONCEPT ?a {TYPE "Person"} CREATE CONCEPT ?b {TYPE "Person"} }')
    second = memory('CREATE CONCEPT ?c {TYPE "Person"}')
    assert (first.commit.seq, second.commit.seq) == (1, 2)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('CREATE CONCEPT ?c {TYPE "Starship"}', SchemaSymbolNotFound),
        ('CREATE CONCEPT ?c {TYPE "Person" SET FIELDS {colour: "red"}}', SchemaFieldNotFound),
        ('CREATE CONCEPT ?c {TYPE "Person" SET FIELDS {key: 7}}', TypeMismatch),
        ('CREATE CONCEPT ?c {TYPE "Person" SET FIELDS {aliases: "A"}}', TypeMismatch),
        ('CREATE CONCEPT ?c {TYPE "Person" NAME 7}', TypeMismatch),
        (
            'CREATE CONCEPT ?c {TYPE "Person" NAME "A" SET FIELDS {name: "B"}}',
            DuplicateMutationTarget,
        ),
        (
            'CREATE CONCEPT ?c {TYPE "Insight" SET ATTRIBUTES {summary: "s"}'
            ' SET STRUCTURAL {("about", "C-99")}}',
            NotFoundOrNotVisible,
        ),
        (
            'CREATE CONCEPT ?c {TYPE "Insight" SET ATTRIBUTES {summary: "s"}'
            ' SET STRUCTURAL {("about", "Ada")}}',
            NotFoundOrNotVisible,
        ),
        (
            'CREATE CONCEPT ?c {TYPE "Insight" SET ATTRIBUTES {summary: "s"}'
            ' SET STRUCTURAL {("about", ?c) {weight: 1}}}',
            ConstraintViolation,
        ),
        (
            'CREATE EVIDENCE ?e {SET FIELDS {evidence_class: "message"}}',
            ConstraintViolation,
        ),
        (
            'CREATE EVIDENCE ?e {SET FIELDS {evidence_class: "message", payload: "x", hue: "y"}}',
            SchemaFieldNotFound,
        ),
        ('CREATE ACTIVITY ?x {SET FIELDS {status: "pending"}}', ConstraintViolation),
        (
            'CREATE ACTIVITY ?x {SET FIELDS {activity_class: "a", started_at: "2026-01-01"}}',
            ConstraintViolation,
        ),
    ],
)
def test_what_a_kind_does_not_have_is_refused(
    memory: Memory, text: str, error: type[KipError]
) -> None:
    with pytest.raises(error):
        memory(text)
    assert memory.count() == 0


def test_a_client_key_is_one_creation(memory: Memory) -> None:
    text = 'CREATE CONCEPT ?c {TYPE "Person" NAME :name CLIENT KEY "casey"}'
    first = memory(text, {"name": "Casey"})
    again = memory(text, {"name": "Casey"})
    assert again.handles == first.handles
    assert again.no_effect
    with pytest.raises(ClientKeyConflict):
        memory(text, {"name": "Other"})


def test_evidence_keeps_its_payload_as_it_came(memory: Memory) -> None:
    payload = {"text": "a  b", "n": [1, None]}
    made = memory(
        'CREATE EVIDENCE ?e {SET FIELDS {evidence_class: "message", payload: :p,'
        ' media_type: "application/json", observed_at: "2026-03-01T00:00:00.125Z"}}',
        {"p": payload},
    )
    rows = memory.rows(
        "select payload->'inline', content_digest, media_type, observed_at from evidence"
        " where space_id = %s"
    )
    ((stored, digest, media_type, observed_at),) = rows
    assert (stored, media_type) == (payload, "application/json")
    assert digest.startswith("sha256:")
    assert observed_at.microsecond == 125000
    assert memory.element(made.handles["e"]).status == "active"


def test_a_payload_may_be_kept_elsewhere(memory: Memory) -> None:
    text = 'CREATE EVIDENCE ?e {SET FIELDS {evidence_class: "document", payload: :p}}'
    memory(text, {"p": {"mode": "external", "content_ref": "blob:1"}})
    memory(text, {"p": {"mode": "inline", "inline": "here"}})
    memory(text, {"p": {"mode": "external", "speed": 3}})
    rows = memory.rows("select payload from evidence where space_id = %s order by id")
    assert [payload for (payload,) in rows] == [
        {"mode": "external", "content_ref": "blob:1"},
        {"inline": "here"},
        {"inline": {"mode": "external", "speed": 3}},
    ]


def test_an_activity_has_inputs_outputs_and_actors(memory: Memory, people: dict[str, str]) -> None:
    made = memory(
        'CREATE ACTIVITY ?x {SET FIELDS {activity_class: "extraction", status: "completed",'
        ' started_at: "2026-03-01T00:00:00.000Z"} SET STRUCTURAL {("inputs", :ada)'
        ' ("outputs", "C-3") ("associated_actors", {type: "Person", key: "person:ben"})}}',
        {"ada": {"id": people["ada"]}},
    )
    x = made.handles["x"]
    assert [e.target for e in memory.edges(x, "inputs")] == [people["ada"]]
    assert [e.target for e in memory.edges(x, "outputs")] == [people["tartu"]]
    assert [e.target for e in memory.edges(x, "associated_actors")] == [people["ben"]]
    assert memory.element(x).status == "completed"


# what stands for an element


@pytest.mark.parametrize(
    ("subject", "error"),
    [
        ({"id": "C-99"}, NotFoundOrNotVisible),
        ({"id": "Ada"}, NotFoundOrNotVisible),
        ({"type": "Person", "key": "nobody"}, NotFoundOrNotVisible),
        ({"type": "Place", "key": "person:ada"}, NotFoundOrNotVisible),
        ({"type": "Place", "id": "C-1"}, NotFoundOrNotVisible),
        ({"type": "Starship", "key": "person:ada"}, SchemaSymbolNotFound),
        ({"name": "Ada"}, IdentitySelectorRequired),
        ({"key": "person:ada", "name": "Ada"}, IdentitySelectorRequired),
        ({"key": "shared"}, IdentityConflict),
    ],
)
def test_an_element_is_named_not_described(
    memory: Memory, people: dict[str, str], subject: dict[str, str], error: type[KipError]
) -> None:
    memory(
        'MUTATE { CREATE CONCEPT ?a {TYPE "Person" SET FIELDS {key: "shared"}}'
        ' CREATE CONCEPT ?b {TYPE "Place" SET FIELDS {key: "shared"}} }'
    )
    with pytest.raises(error):
        memory('ENSURE PROPOSITION ?p (:s, "knows", "C-2")', {"s": subject})


@pytest.mark.parametrize(
    "subject",
    ["C-1", {"id": "C-1"}, {"key": "person:ada"}, {"type": "Person", "key": "person:ada"}],
)
def test_an_element_has_several_names(memory: Memory, people: dict[str, str], subject: Any) -> None:
    made = memory('ENSURE PROPOSITION ?p (:s, "knows", "C-2")', {"s": subject})
    proposition = memory.element(made.handles["p"]).proposition
    assert proposition is not None
    assert (proposition.subject, proposition.object_id) == ("C-1", "C-2")


def test_a_key_may_name_a_concept_of_the_same_transaction(memory: Memory) -> None:
    made = memory(
        """
        MUTATE {
          ASSERT (?ada, "lives_in", {type: "Place", key: "place:narva"}) {by: ?ada, mode: "stated"}
          UPSERT CONCEPT ?narva {MATCH {type: "Place", key: "place:narva"}}
          CREATE CONCEPT ?ada {TYPE "Person"}
        }
        """
    )
    ((target,),) = memory.rows("select object_id from proposition where space_id = %s")
    assert target == made.handles["narva"]


def test_a_string_is_a_literal_unless_only_elements_go_there(
    memory: Memory, people: dict[str, str]
) -> None:
    made = memory(
        'MUTATE { ENSURE PROPOSITION ?z ({id: "C-1"}, "timezone", "C-2")'
        ' ENSURE PROPOSITION ?k ({id: "C-1"}, "knows", "C-2") }'
    )
    zone, knows = (memory.element(made.handles[name]).proposition for name in "zk")
    assert zone is not None
    assert knows is not None
    assert (zone.object_id, zone.object_lit) == (None, "C-2")
    assert (knows.object_id, knows.object_lit) == ("C-2", None)
    with pytest.raises((ConstraintViolation, TypeMismatch)):
        memory('ENSURE PROPOSITION ?p ({id: "C-1"}, "knows", "Ben")')


def test_an_id_is_an_element_where_nothing_is_declared(
    memory: Memory, people: dict[str, str]
) -> None:
    memory('DEFINE PREDICATE "linked" {description: "is linked with"}')
    made = memory(
        'MUTATE { ENSURE PROPOSITION ?a ({id: "C-1"}, "linked", "C-2")'
        ' ENSURE PROPOSITION ?b ({id: "C-1"}, "linked", "C-999")'
        ' ENSURE PROPOSITION ?c ({id: "C-1"}, "linked", "Ben") }'
    )
    ends = [memory.element(made.handles[name]).proposition for name in "abc"]
    assert [(end.object_id, end.object_lit) for end in ends if end is not None] == [
        ("C-2", None),
        (None, "C-999"),
        (None, "Ben"),
    ]


def test_a_proposition_is_found_again(memory: Memory, people: dict[str, str]) -> None:
    again = memory('ENSURE PROPOSITION ?p ({id: "C-1"}, "lives_in", "C-3")')
    assert again.handles == {"p": people["p"]}
    assert again.no_effect
    with pytest.raises(VersionConflict):
        memory('ENSURE PROPOSITION ?p ({id: "C-1"}, "lives_in", "C-3") EXPECT VERSION 0')


def test_no_triple_stands_for_an_element(memory: Memory, people: dict[str, str]) -> None:
    with pytest.raises(UnsupportedCapability):
        memory('ENSURE PROPOSITION ?p ({id: "C-1"}, "knows", (id: "P-1"))')


# upserting


def test_an_upsert_makes_once_and_then_finds(memory: Memory) -> None:
    text = (
        'UPSERT CONCEPT ?c {MATCH {type: "Person", key: "p:1", name: "Ignored"}'
        " SET ATTRIBUTES {note: :note}}"
    )
    first = memory(text, {"note": "a"})
    second = memory(text, {"note": "b"})
    assert first.handles == second.handles
    stored = memory.element(first.handles["c"])
    assert (stored.name, stored.version) == (None, 2)
    assert stored.doc["attributes"] == {"note": "b"}
    assert memory(text, {"note": "b"}).no_effect


@pytest.mark.parametrize(
    ("match", "error"),
    [
        ('{key: "nobody"}', SchemaSymbolNotFound),
        ('{type: "Person", id: "C-999"}', NotFoundOrNotVisible),
        ('{type: "Place", id: "C-1"}', NotFoundOrNotVisible),
        ('{id: "Ada"}', NotFoundOrNotVisible),
        ('{type: 42, key: "nobody"}', TypeMismatch),
        ('{type: "Person", name: "Ada"}', InvalidSyntax),
    ],
)
def test_an_upsert_needs_an_identity(
    memory: Memory, people: dict[str, str], match: str, error: type[KipError]
) -> None:
    with pytest.raises(error):
        memory(f'UPSERT CONCEPT ?c {{MATCH {match} SET FIELDS {{name: "X"}}}}')


def test_an_upsert_takes_away_what_it_unsets(memory: Memory, people: dict[str, str]) -> None:
    memory(
        'UPSERT CONCEPT ?c {MATCH {id: "C-1"} SET ATTRIBUTES {a: 1, b: 2}'
        ' SET FACET "MnemonicState" {salience: 0.1, utility: 0.2}}'
    )
    memory(
        'UPSERT CONCEPT ?c {MATCH {id: "C-1"} UNSET ATTRIBUTES {a}'
        ' UNSET FACET "MnemonicState" {utility}}'
    )
    assert memory.attributes("C-1") == {"b": 2}
    assert memory.element("C-1").doc["facets"] == {MNEMONIC: {"salience": 0.1}}


def test_a_key_is_not_rewritten(memory: Memory, people: dict[str, str]) -> None:
    with pytest.raises(ImmutableField):
        memory('UPSERT CONCEPT ?c {MATCH {key: "person:ada"} SET FIELDS {key: "other"}}')
    with pytest.raises(ImmutableField):
        memory('UPDATE "C-1" SET FIELDS {key: "other"}')


# updating


def test_an_update_merges_by_key_and_counts(memory: Memory, people: dict[str, str]) -> None:
    made = memory('UPDATE "C-1" SET FIELDS {name: "Ada L."} SET ATTRIBUTES {a: 1, b: null}')
    assert made.result == {"matched": 1, "updated": 1}
    memory('UPDATE "C-1" SET ATTRIBUTES {a: 2} UNSET ATTRIBUTES {b, c}')
    assert memory.element("C-1").name == "Ada L."
    assert memory.attributes("C-1") == {"a": 2}
    again = memory('UPDATE "C-1" SET ATTRIBUTES {a: 2}')
    assert again.result == {"matched": 1, "updated": 0}
    assert again.no_effect


def test_what_a_statement_sets_it_does_not_unset(memory: Memory, people: dict[str, str]) -> None:
    memory('UPDATE "C-1" SET ATTRIBUTES {a: 1, b: 1}')
    memory('UPDATE "C-1" UNSET ATTRIBUTES {a, b} SET ATTRIBUTES {a: 2}')
    assert memory.attributes("C-1") == {"a": 2}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('UPDATE "A-1" SET FIELDS {confidence: 0.5}', EpistemicRevisionRequired),
        ('UPDATE "P-1" SET ATTRIBUTES {a: 1}', ImmutableField),
        ('UPDATE "E-1" SET FIELDS {payload: "x"}', EvidenceCorrectionRequired),
        ('UPDATE "X-1" SET STRUCTURAL {("inputs", "C-1")}', ImmutableField),
        ('UPDATE "person:ada" SET ATTRIBUTES {a: 1}', NotFoundOrNotVisible),
        ('UPDATE "C-99" SET ATTRIBUTES {a: 1}', NotFoundOrNotVisible),
        ('UPDATE "X-99" SET FACET "MemoryScope" {task_ref: null}', NotFoundOrNotVisible),
        ('UPDATE "C-1" SET FIELDS {colour: "red"}', SchemaFieldNotFound),
    ],
)
def test_what_never_changes_is_not_updated(
    memory: Memory, people: dict[str, str], text: str, error: type[KipError]
) -> None:
    memory(
        'MUTATE { CREATE EVIDENCE ?e {SET FIELDS {evidence_class: "message", payload: "x"}}'
        ' CREATE ACTIVITY ?x {SET FIELDS {activity_class: "extraction"}} }'
    )
    with pytest.raises(error):
        memory(text)


@pytest.mark.parametrize("plane", ["", " OF ATTRIBUTES", ' OF FACET "MnemonicState"'])
def test_a_stale_guard_names_its_plane(memory: Memory, people: dict[str, str], plane: str) -> None:
    with pytest.raises(VersionConflict) as refusal:
        memory(f'UPDATE "C-1" SET ATTRIBUTES {{a: 1}} EXPECT VERSION 99{plane}')
    named = {"": None, " OF ATTRIBUTES": "attributes"}.get(plane, MNEMONIC)
    assert refusal.value.data["plane"] == named


def test_a_guard_of_one_plane_is_not_spoiled_by_another(
    memory: Memory, people: dict[str, str]
) -> None:
    memory('UPDATE "C-1" SET FACET "MnemonicState" {salience: 0.5}')
    memory('UPDATE "C-1" SET ATTRIBUTES {a: 1} EXPECT VERSION 1 OF ATTRIBUTES')
    with pytest.raises(VersionConflict):
        memory('UPDATE "C-1" SET ATTRIBUTES {a: 2} EXPECT VERSION 1 OF ATTRIBUTES')
    memory('UPDATE "C-1" SET ATTRIBUTES {a: 2} EXPECT VERSION 3 EXPECT VERSION 2 OF ATTRIBUTES')


def test_retention_may_be_set_after_an_update(memory: Memory, people: dict[str, str]) -> None:
    memory(
        'MUTATE { UPDATE "C-1" SET ATTRIBUTES {a: 1} SET RETENTION "C-1" {retention_class: "short"}'
        ' TRANSITION "A-1" TO "retracted" SET RETENTION "C-2" {retention_class: "short"} }'
    )
    assert memory.element("C-1").doc["retention"] == {"retention_class": "short"}
    assert memory.element("A-1").status == "retracted"


def test_two_statements_may_agree_but_not_differ(memory: Memory, people: dict[str, str]) -> None:
    memory('MUTATE { UPDATE "C-1" SET FIELDS {name: "A"} UPDATE :x SET FIELDS {name: "A"} }', X1)
    with pytest.raises(DuplicateMutationTarget):
        memory(
            'MUTATE { UPDATE "C-1" SET FIELDS {name: "B"} UPDATE :x SET FIELDS {name: "C"} }', X1
        )
    assert memory.element("C-1").name == "A"


X1 = {"x": "C-1"}


# claims


def test_assert_is_a_proposition_and_a_claim(memory: Memory, people: dict[str, str]) -> None:
    made = memory(
        """
        MUTATE {
          CREATE EVIDENCE ?e {SET FIELDS {evidence_class: "message", payload: "I moved"}}
          ASSERT ?a (:who, "lives_in", :where) {
            by: :who, mode: "stated", at: "2026-09-10T00:00:00.000Z", confidence: 0.75,
            valid: {from: "2026-09-01T00:00:00.000Z"}, evidence: ?e, context: [:ben], key: "k:1"
          }
        }
        """,
        {"who": {"id": "C-1"}, "where": {"id": "C-4"}, "ben": {"id": "C-2"}},
    )
    said = memory.element(made.handles["a"]).assertion
    assert said is not None
    assert (said.actor, said.stance, said.mode) == ("C-1", "support", "stated")
    assert said.valid.as_json() == {"from": "2026-09-01T00:00:00.000Z"}
    assert said.contexts == {"C-2"}
    (cited,) = memory.edges(made.handles["a"], "evidence")
    assert (cited.target, cited.role) == (made.handles["e"], "support")
    assert set(made.handles) == {"a", "e"}


def test_a_correction_keeps_the_time_that_it_corrects(
    memory: Memory, people: dict[str, str]
) -> None:
    made = memory(
        'ASSERT ?a ({id: "C-1"}, "lives_in", "C-4") {by: "C-1", mode: "stated",'
        ' at: "2026-09-10T00:00:00.000Z"} SUPERSEDING :old',
        {"old": people["said"]},
    )
    said = memory.element(made.handles["a"]).assertion
    assert said is not None
    assert said.valid.as_json() == {"from": {"latest": "2026-01-10T00:00:00.000Z"}}
    assert memory.element(people["said"]).status == "superseded"


def test_a_correction_may_say_its_own_time(memory: Memory, people: dict[str, str]) -> None:
    made = memory(
        'ASSERT ?a ({id: "C-1"}, "lives_in", "C-4") {by: "C-1", mode: "stated",'
        ' at: "2026-09-10T00:00:00.000Z", valid: {from: "2026-02-01T00:00:00.000Z"}}'
        " SUPERSEDING :old",
        {"old": people["said"]},
    )
    said = memory.element(made.handles["a"]).assertion
    assert said is not None
    assert said.valid.as_json() == {"from": "2026-02-01T00:00:00.000Z"}


@pytest.mark.parametrize(
    "claim",
    [
        '({id: "C-1"}, "lives_in", "C-4") {by: "C-2", mode: "stated"}',
        '({id: "C-2"}, "lives_in", "C-4") {by: "C-1", mode: "stated"}',
        '({id: "C-1"}, "lives_in", "C-4") {by: "C-1", mode: "stated", context: "C-2"}',
    ],
)
def test_a_claim_is_superseded_within_its_own_line_only(
    memory: Memory, people: dict[str, str], claim: str
) -> None:
    with pytest.raises(SupersessionMismatch):
        memory(f'ASSERT {claim} SUPERSEDING "{people["said"]}"')
    assert memory.element(people["said"]).status == "active"
    assert memory.rows("select count(*) from assertion where space_id = %s") == [(1,)]


@pytest.mark.parametrize(
    ("old", "error"),
    [
        ("A-99", NotFoundOrNotVisible),
        ("C-2", InvalidLifecycleTransition),
        ("nobody", NotFoundOrNotVisible),
    ],
)
def test_what_is_no_claim_is_not_superseded(
    memory: Memory, people: dict[str, str], old: str, error: type[KipError]
) -> None:
    with pytest.raises(error):
        memory(
            'ASSERT ({id: "C-1"}, "lives_in", "C-4") {by: "C-1", mode: "stated"} SUPERSEDING :old',
            {"old": old},
        )


def test_a_claim_whose_interval_ends_before_it_begins_is_refused(
    memory: Memory, people: dict[str, str]
) -> None:
    with pytest.raises(ConstraintViolation):
        memory(
            'CREATE ASSERTION ?a {SET FIELDS {proposition: "P-1", asserted_by: "C-1",'
            ' mode: "stated", valid_time: {from: :t, until: :t}}}',
            {"t": "2026-09-07T00:00:00.000Z"},
        )


# transitions


def test_a_claim_is_withdrawn_once(memory: Memory, people: dict[str, str]) -> None:
    made = memory('TRANSITION "A-1" TO "retracted"')
    assert made.result == {"matched": 1, "updated": 1}
    assert memory('TRANSITION "A-1" TO "retracted"').no_effect
    for move in ('TO "superseded" BY "A-1"', 'TO "running"', 'TO "corrected" BY "A-1"'):
        with pytest.raises(InvalidLifecycleTransition):
            memory(f'TRANSITION "A-1" {move}')


def test_an_activity_runs_to_its_end_and_stays_so(memory: Memory, people: dict[str, str]) -> None:
    memory('CREATE ACTIVITY ?x {SET FIELDS {activity_class: "extraction"}}')
    memory('TRANSITION "X-1" TO "running" SET FIELDS {started_at: "2026-03-01T00:00:00.000Z"}')
    memory(
        'TRANSITION "X-1" TO "completed" SET FIELDS {ended_at: "2026-03-01T00:01:00.000Z"}'
        ' SET STRUCTURAL {("outputs", "C-1")}'
    )
    stored = memory.element("X-1")
    assert stored.status == "completed"
    assert stored.doc["started_at"] == "2026-03-01T00:00:00.000Z"
    assert stored.doc["ended_at"] == "2026-03-01T00:01:00.000Z"
    assert [e.target for e in memory.edges("X-1", "outputs")] == ["C-1"]
    with pytest.raises(KipError) as refusal:
        memory('TRANSITION "X-1" TO "failed"')
    assert refusal.value.code in ("ActivityTerminal", "InvalidLifecycleTransition")


def test_evidence_is_corrected_by_other_evidence(memory: Memory) -> None:
    memory('CREATE EVIDENCE ?e {SET FIELDS {evidence_class: "message", payload: "x"}}')
    made = memory(
        'MUTATE { CREATE EVIDENCE ?new {SET FIELDS {evidence_class: "message", payload: "y"}}'
        ' TRANSITION "E-1" TO "corrected" BY ?new }'
    )
    stored = memory.element("E-1")
    assert stored.status == "corrected"
    assert stored.doc["corrected_by"] == made.handles["new"]


# retention, erasure, merges


def test_a_retention_block_replaces_the_one_before(memory: Memory, people: dict[str, str]) -> None:
    memory('SET RETENTION "C-1" {retention_class: "short", expires_at: "2030-01-01T00:00:00.000Z"}')
    made = memory('SET RETENTION "C-1" {expires_at: "2031-01-01T00:00:00.000Z"}')
    assert made.result == {"matched": 1, "updated": 1}
    kept = memory.element("C-1").doc["retention"]
    assert kept.get("retention_class") is None
    assert kept["expires_at"] == "2031-01-01T00:00:00.000Z"
    for block, error in (
        ('{review_at: "2030-01-01T00:00:00.000Z"}', SchemaFieldNotFound),
        ("{retention_class: 7}", TypeMismatch),
        ('{expires_at: "soon"}', ConstraintViolation),
        ("{legal_hold: 1}", TypeMismatch),
    ):
        with pytest.raises(error):
            memory(f'SET RETENTION "C-1" {block}')


def test_what_is_held_or_referred_to_is_not_purged(memory: Memory, people: dict[str, str]) -> None:
    with pytest.raises(PurgeDenied):
        memory('PURGE "C-1" CONFIRM "PURGE"')
    memory('SET RETENTION "C-2" {legal_hold: true}')
    memory('SET RETENTION "C-2" {retention_class: "short"}')
    with pytest.raises(LegalHoldConflict):
        memory('PURGE "C-2" CONFIRM "PURGE"')
    memory('SET RETENTION "C-2" {legal_hold: false}')
    made = memory('PURGE "C-2" CONFIRM "PURGE"')
    assert made.result == {"matched": 1, "updated": 1}
    names = memory.rows("select name from element_ver where space_id = %s and id = 'C-2'")
    assert all(name is None for (name,) in names)


def test_a_purged_payload_is_gone_and_its_record_is_not(memory: Memory) -> None:
    memory('CREATE EVIDENCE ?e {SET FIELDS {evidence_class: "message", payload: "secret 42"}}')
    memory('PURGE PAYLOAD "E-1" CONFIRM "PURGE"')
    ((payload, digest),) = memory.rows(
        "select payload::text, content_digest from evidence where space_id = %s"
    )
    assert "secret" not in (payload or "")
    assert digest.startswith("sha256:")
    assert memory('PURGE PAYLOAD "E-1" CONFIRM "PURGE"').no_effect


def test_a_merge_leads_writes_to_the_survivor(memory: Memory, people: dict[str, str]) -> None:
    memory('CREATE CONCEPT ?d {TYPE "Person" NAME "Ada" SET FIELDS {key: "person:adah"}}')
    memory('MERGE CONCEPT "C-5" INTO "C-1"')
    assert memory.element("C-5").state == "merged"
    made = memory('ENSURE PROPOSITION ?p ({id: "C-5"}, "lives_in", "C-3")')
    assert made.handles["p"] == people["p"]
    assert memory('MERGE CONCEPT "C-5" INTO "C-1"').no_effect
    with pytest.raises(IdentityMergeConflict):
        memory('MERGE CONCEPT "C-1" INTO "C-5"')
    with pytest.raises(NotFoundOrNotVisible):
        memory('MERGE CONCEPT "C-99" INTO "C-1"')


# drafts


def test_a_defined_symbol_can_be_used_at_once(memory: Memory, people: dict[str, str]) -> None:
    made = memory(
        'DEFINE PREDICATE "mentors" {description: "teaches", subject: {concept_types: ["Person"]},'
        ' object: {concept_types: ["Person"]}}'
    )
    assert made.result is not None
    assert made.result["ref"] == "kip://local/draft@0.0.0/mentors"
    assert made.result["schema_environment_version"] == made.commit.schema_env_version
    memory('ENSURE PROPOSITION ?p ({id: "C-1"}, "mentors", "C-2")')
    with pytest.raises(SchemaSymbolConflict):
        memory('DEFINE PREDICATE "mentors" {description: "teaches"}')


# the transaction


def test_a_dry_run_finds_every_fault_and_leaves_nothing(
    memory: Memory, people: dict[str, str]
) -> None:
    before = memory.count()
    made = memory('CREATE CONCEPT ?c {TYPE "Person" NAME "Ghost"}', dry_run=True)
    assert made.dry_run
    assert not made.no_effect
    assert memory.count() == before
    with pytest.raises(IdentityConflict):
        memory('CREATE CONCEPT ?c {TYPE "Person" SET FIELDS {key: "person:ada"}}', dry_run=True)
    assert memory('CREATE CONCEPT ?c {TYPE "Person"}').commit.seq == 2


def test_equal_plans_have_equal_digests(memory: Memory, people: dict[str, str]) -> None:
    one = memory('UPDATE "C-1" SET ATTRIBUTES {a: 1}', dry_run=True)
    same = memory("UPDATE :x\nSET ATTRIBUTES {a: :one}", {**X1, "one": 1.0}, dry_run=True)
    other = memory('UPDATE "C-1" SET ATTRIBUTES {a: 2}', dry_run=True)
    assert one.plan_digest == same.plan_digest != other.plan_digest


def test_plans_that_differ_in_one_literal_differ(memory: Memory, people: dict[str, str]) -> None:
    memory(
        'DEFINE PREDICATE "rated" {description: "has this value", object: {nullable: true,'
        ' literal_types: ["number", "boolean", "string"]}}'
    )
    digests = {
        memory(
            'ENSURE PROPOSITION ?p ({id: "C-1"}, "rated", :v)', {"v": v}, dry_run=True
        ).plan_digest
        for v in (0, False, None, "", "0", 1, True)
    }
    assert len(digests) == 7


def test_too_many_statements_are_no_transaction(memory: Memory) -> None:
    clauses = " ".join(f'CREATE CONCEPT ?c{n} {{TYPE "Person"}}' for n in range(1001))
    with pytest.raises(TransactionTooLarge):
        memory(f"MUTATE {{ {clauses} }}")


def test_captured_evidence_is_made_in_the_transaction_that_cites_it(
    memory: Memory, people: dict[str, str]
) -> None:
    captured = CreateEvidence("?ingest#msg", "user_statement", "I live in Riga")
    text = (
        'ASSERT ?a ({id: "C-1"}, "lives_in", "C-4") {by: "C-1", mode: "stated", evidence: :msg,'
        ' at: "2026-03-01T00:00:00.000Z"}'
    )
    made = memory(text, minted={"msg": "ingest#msg"}, capture=[captured])
    (cited,) = memory.edges(made.handles["a"], "evidence")
    assert cited.target == made.commit.ids["?ingest#msg"]
    assert made.commit.seq == 2
    assert set(made.handles) == {"a"}
    with pytest.raises(DanglingReference):
        memory(text, minted={"msg": "ingest#msg"})


def test_a_model_dates_what_it_takes_from_a_captured_message(
    memory: Memory, people: dict[str, str]
) -> None:
    model = Authority("model", gates=Gates(model=True))
    captured = CreateEvidence("?ingest#msg", "user_statement", "I live in Riga")
    text = 'ASSERT ({id: "C-1"}, "lives_in", "C-4") {by: "C-1", mode: "stated", evidence: :msg%s}'
    given: dict[str, Any] = {"minted": {"msg": "ingest#msg"}, "capture": [captured]}
    with pytest.raises(ConstraintViolation):
        memory(text % "", authority=model, **given)
    memory(text % ', valid: {from: "2026-01-01T00:00:00.000Z"}', authority=model, **given)
    memory(text % "", **given)


def test_a_reader_of_other_peoples_words_may_not_speak_for_them(
    memory: Memory, people: dict[str, str]
) -> None:
    speaker = Authority(
        "ada", "C-1", PERMISSIONS - {"record_attributed_assertion", "assert_as_actor"}
    )
    claim = 'ASSERT (?w, "lives_in", "C-4") {by: ?w, mode: "stated"}'
    own = f'MUTATE {{ UPSERT CONCEPT ?w {{MATCH {{key: "person:ada"}}}} {claim} }}'
    other = f'MUTATE {{ UPSERT CONCEPT ?w {{MATCH {{key: "person:ben"}}}} {claim} }}'
    memory(own, authority=speaker)
    with pytest.raises(NotAuthorized):
        memory(other, authority=speaker)
    bens = memory('ASSERT ?a ({id: "C-2"}, "lives_in", "C-4") {by: "C-2", mode: "stated"}').handles[
        "a"
    ]
    with pytest.raises(RetractionNotAuthorized):
        memory(f'TRANSITION "{bens}" TO "retracted"', authority=speaker)
    memory('TRANSITION "A-1" TO "retracted"', authority=speaker)


def test_the_status_of_a_skill_moves_by_a_verdict_alone(memory: Memory) -> None:
    memory(
        """
        MUTATE {
          CREATE CONCEPT ?s {TYPE "Skill"
            SET ATTRIBUTES {skill_class: "workflow", summary: "check first", status: "proposed"}
            SET STRUCTURAL {("current_revision", ?r)}}
          CREATE CONCEPT ?r {TYPE "SkillRevision"
            SET ATTRIBUTES {task_family: "deploy", procedure: "check",
              behavior_digest: :digest}
            SET STRUCTURAL {("revision_of", ?s)}}
        }
        """,
        {"digest": f"sha256:{'0' * 64}"},
    )
    with pytest.raises(VersionConflict):
        memory('UPDATE "C-1" SET ATTRIBUTES {status: "trialed"}')
    with pytest.raises(ConstraintViolation):
        memory('UPDATE "C-1" SET ATTRIBUTES {status: "trialed"} EXPECT VERSION 1')
    with pytest.raises(ConstraintViolation):
        memory('UPDATE "C-1" SET ATTRIBUTES {status: "validated"}')
    memory('UPDATE "C-1" SET ATTRIBUTES {status: "proposed", summary: "check twice"}')
    assert memory.attributes("C-1")["status"] == "proposed"


def test_writers_at_once_lose_no_increment(memory: Memory, people: dict[str, str]) -> None:
    memory('UPDATE "C-1" SET ATTRIBUTES {n: 0}')
    text = (
        "UPDATE ?p SET ATTRIBUTES {n: ADD(?p.attributes.n, 1)}"
        ' WHERE { ?p CONCEPT {key: "person:ada"} }'
    )
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: memory(text), range(12)))
    assert memory.attributes("C-1") == {"n": 12}
    assert len({one.commit.seq for one in made}) == 12


def test_one_of_several_guarded_writers_wins(memory: Memory, people: dict[str, str]) -> None:
    def attempt(n: int) -> bool:
        try:
            memory('UPDATE "C-1" SET ATTRIBUTES {winner: :n} EXPECT VERSION 1', {"n": n})
        except VersionConflict:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        won = list(pool.map(attempt, range(6)))
    assert won.count(True) == 1
    assert memory.attributes("C-1") == {"winner": won.index(True)}


# selection


def test_where_chooses_from_the_state_before_the_transaction(
    memory: Memory, people: dict[str, str]
) -> None:
    made = memory(
        """
        MUTATE {
          CREATE CONCEPT ?new {TYPE "Person" NAME "Eve"}
          UPDATE ?p SET ATTRIBUTES {seen: true} WHERE { ?p CONCEPT {type: "Person"} }
        }
        """
    )
    assert [count.as_json() for count in made.counts] == [{"matched": 2, "updated": 2}]
    assert memory.attributes("C-1") == memory.attributes("C-2") == {"seen": True}
    assert memory.attributes(made.handles["new"]) == {}


def test_a_limit_takes_the_lowest_ids(memory: Memory) -> None:
    clauses = " ".join(f'CREATE CONCEPT ?c{n} {{TYPE "Person"}}' for n in range(12))
    memory(f"MUTATE {{ {clauses} }}")
    text = 'UPDATE ?p SET ATTRIBUTES {a: 1} WHERE { ?p CONCEPT {type: "Person"} } LIMIT :n'
    assert memory(text, {"n": 10}).result == {"matched": 10, "updated": 10}
    assert memory.attributes("C-10") == {"a": 1}
    assert memory.attributes("C-11") == {}
    assert memory(text, {"n": 0}).result == {"matched": 0, "updated": 0}


def test_a_limit_counts_targets_not_rows(memory: Memory, people: dict[str, str]) -> None:
    memory(
        'MUTATE { ENSURE PROPOSITION ({id: "C-1"}, "knows", "C-2")'
        ' ENSURE PROPOSITION ({id: "C-2"}, "knows", "C-1")'
        ' CREATE CONCEPT ?i {TYPE "Insight" SET ATTRIBUTES {summary: "a"}}'
        ' CREATE CONCEPT ?j {TYPE "Insight" SET ATTRIBUTES {summary: "b"}} }'
    )
    made = memory(
        'UPDATE ?i SET STRUCTURAL {("about", ?p)} WHERE { ?i CONCEPT {type: "Insight"}'
        ' ?p CONCEPT {type: "Person"} } LIMIT 1'
    )
    assert made.result == {"matched": 1, "updated": 1}
    about = memory.edges("C-5", "kip://profiles/cognitive-memory/about")
    assert {edge.target for edge in about} == {"C-1", "C-2"}


def test_computed_values_are_each_targets_own(memory: Memory, people: dict[str, str]) -> None:
    memory(
        'MUTATE { UPDATE "C-1" SET ATTRIBUTES {n: 1} UPDATE "C-2" SET ATTRIBUTES {n: 2, w: "x"} }'
    )
    memory(
        "UPDATE ?p SET ATTRIBUTES {n: MUL(?p.attributes.n, 10), w: ADD(?p.attributes.w, 1)}"
        ' WHERE { ?p CONCEPT {type: "Person"} }'
    )
    assert memory.attributes("C-1") == {"n": 10}
    assert memory.attributes("C-2") == {"n": 20, "w": "x"}


def test_a_where_beside_a_named_target_is_a_guard(memory: Memory, people: dict[str, str]) -> None:
    text = 'UPDATE "C-1" SET ATTRIBUTES {a: :a} WHERE { ?p CONCEPT {name: :name} }'
    assert memory(text, {"a": 1, "name": "Ben"}).result == {"matched": 1, "updated": 1}
    assert memory(text, {"a": 2, "name": "Nobody"}).result == {"matched": 0, "updated": 0}
    assert memory.attributes("C-1") == {"a": 1}


def test_a_literal_that_looks_like_an_id_is_no_target(
    memory: Memory, people: dict[str, str]
) -> None:
    memory('ENSURE PROPOSITION ?z ({id: "C-1"}, "timezone", "C-2")')
    where = '{ ?p PROPOSITION ({id: "C-1"}, "timezone", ?o) }'
    made = memory(f"UPDATE ?o SET ATTRIBUTES {{a: 1}} WHERE {where}")
    assert made.result == {"matched": 0, "updated": 0}
    assert memory.attributes("C-2") == {}
    memory(f'UPDATE "C-1" SET ATTRIBUTES {{zone: ?o}} WHERE {where}')
    assert memory.attributes("C-1") == {"zone": "C-2"}


def test_one_target_gets_one_successor(memory: Memory, people: dict[str, str]) -> None:
    for place in ("C-3", "C-4"):
        memory(f'ASSERT ({{id: "C-1"}}, "lives_in", "{place}") {{by: "C-1", mode: "stated"}}')
    with pytest.raises(DuplicateMutationTarget):
        memory(
            'TRANSITION ?old TO "superseded" BY ?new WHERE { ?old ASSERTION {id: "A-1"}'
            ' ?new ASSERTION {} FILTER(?new.id != "A-1") }'
        )
    memory(
        'TRANSITION ?old TO "superseded" BY ?new WHERE { ?old ASSERTION {id: "A-1"}'
        ' ?new ASSERTION {id: "A-3"} }'
    )
    assert memory.element("A-1").doc["superseded_by"] == "A-3"


def test_a_merge_is_of_one_pair(memory: Memory, people: dict[str, str]) -> None:
    memory('CREATE CONCEPT ?d {TYPE "Person" NAME "Ada" SET FIELDS {key: "person:adah"}}')
    text = 'MERGE CONCEPT ?s INTO ?t WHERE { ?s CONCEPT {key: "person:adah"} ?t CONCEPT {%s} }'
    with pytest.raises(IdentityMergeConflict):
        memory(text % 'name: "Ada"')
    with pytest.raises(NotFoundOrNotVisible):
        memory(text % 'name: "Nobody"')
    memory(text % 'key: "person:ada"')
    assert memory.element("C-5").state == "merged"


def test_a_sweep_is_bounded(
    memory: Memory, people: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "MAX_TARGETS", 3)
    text = "UPDATE ?c SET ATTRIBUTES {a: 1} WHERE { ?c CONCEPT {} }"
    with pytest.raises(TransactionTooLarge):
        memory(text)
    assert memory(f"{text} LIMIT 3").result == {"matched": 3, "updated": 3}
    monkeypatch.setattr(selection, "MAX_OPERATIONS", 3)
    with pytest.raises(TransactionTooLarge):
        memory(
            'UPDATE ?a SET STRUCTURAL {("about", ?b)} WHERE'
            ' { ?a CONCEPT {type: "Place"} ?b CONCEPT {type: "Person"} }'
        )
