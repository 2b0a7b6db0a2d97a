"""The one transaction function: identity, versions, sequence, lifecycle, references, refusals."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from storage.database import Database, Scope, Transaction
from storage.errors import NotFound
from storage.graph import claims, state
from storage.graph.belief import Question
from storage.graph.changes import (
    Change,
    ChangeSet,
    Citation,
    CreateActivity,
    CreateAssertion,
    CreateConcept,
    CreateEvidence,
    DefineSymbol,
    EnsureProposition,
    Guard,
    Link,
    Transition,
    UpdateConcept,
    UpsertConcept,
    Value,
)
from storage.graph.commit import Commit, commit
from storage.graph.errors import (
    ActivityTerminal,
    ClientKeyConflict,
    ConstraintViolation,
    DanglingReference,
    DuplicateLocalHandle,
    DuplicateMutationTarget,
    EvidenceCorrectionConflict,
    IdentityConflict,
    IdentitySelectorRequired,
    InvalidLifecycleTransition,
    KipError,
    NotFoundOrNotVisible,
    SchemaFieldNotFound,
    SchemaSymbolConflict,
    SchemaSymbolNotFound,
    SourceSuppressed,
    StructuralReferenceInvalid,
    SupersessionMismatch,
    TypeMismatch,
    VersionConflict,
)
from storage.graph.validity import Bound, ValidTime

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
Write = Callable[..., Commit]


@pytest.fixture
def write(database: Database, space: str) -> Write:
    """Commit some changes to the test's space."""

    def run(*changes: Change, at: datetime = AT) -> Commit:
        with database.transaction(Scope(space)) as tx:
            return commit(tx, Scope(space), "tester", ChangeSet(changes), tx_class="test", at=at)

    return run


@pytest.fixture
def ask(database: Database, space: str) -> Callable[..., Any]:
    """Run a reading function on the test's space."""

    def run(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        with database.transaction(Scope(space), snapshot=True) as tx:
            return function(tx, Scope(space), *arguments, **named)

    return run


def rows(tx: Transaction, scope: Scope, query: str) -> list[tuple[Any, ...]]:
    return tx.execute(query, (scope.space_id,)).fetchall()  # type: ignore[arg-type]


def person(handle: str, name: str) -> UpsertConcept:
    return UpsertConcept(handle, type="Person", key=f"person:{name.lower()}", initial_name=name)


def place(handle: str, name: str) -> UpsertConcept:
    return UpsertConcept(handle, type="Place", key=f"place:{name.lower()}", initial_name=name)


def lives(handle: str, who: str, where: str, **more: Any) -> tuple[Change, ...]:
    fields: dict[str, Any] = {"asserted_by": who, "mode": "stated", "asserted_at": AT, **more}
    proposition = f"?p{handle[1:]}"
    return (
        EnsureProposition(proposition, who, "lives_in", where),
        CreateAssertion(handle, proposition, **fields),
    )


def test_a_commit_takes_the_next_sequence_and_ids_count_by_kind(write: Write) -> None:
    first = write(person("?a", "Ada"), place("?t", "Tartu"), *lives("?s", "?a", "?t"))
    second = write(person("?b", "Ben"))
    assert (first.seq, second.seq) == (1, 2)
    assert first.ids == {"?a": "C-1", "?t": "C-2", "?ps": "P-1", "?s": "A-1"}
    assert second.ids == {"?b": "C-3"}
    assert first.created == {"C-1", "C-2", "P-1", "A-1"}


def test_what_is_already_so_takes_no_sequence(write: Write) -> None:
    write(person("?a", "Ada"))
    again = write(person("?a", "ADA"), UpdateConcept("?a", attributes={}))
    assert again.effect == "no_effect"
    assert (again.seq, again.head_seq, again.ids) == (None, 1, {"?a": "C-1"})


def test_the_order_of_operations_does_not_matter(write: Write, ask: Callable[..., Any]) -> None:
    changes = [person("?a", "Ada"), place("?t", "Tartu"), *lives("?s", "?a", "?t")]
    made = write(*reversed(changes))
    (view,) = ask(claims.claims_for, Question(AT), assertions=[made.ids["?s"]])
    assert (view.subject, view.predicate, view.object) == ("Ada", "lives_in", "Tartu")
    assert view.belief.status == "accepted"
    assert view.stands


def test_a_key_names_one_concept_of_its_type(write: Write) -> None:
    made = write(person("?a", "Ada"), UpsertConcept("?again", type="Person", key="person:ada"))
    assert made.ids["?a"] == made.ids["?again"]
    other = write(CreateConcept("?p", "Place", key="person:ada"))
    assert other.ids["?p"] != made.ids["?a"]
    with pytest.raises(IdentityConflict):
        write(CreateConcept("?b", "Person", key="person:ada"))
    with pytest.raises(IdentityConflict):
        write(UpsertConcept("?which", key="person:ada"))
    with pytest.raises(SchemaSymbolNotFound):
        write(UpsertConcept("?new", key="person:nobody"))
    with pytest.raises(IdentitySelectorRequired):
        write(UpsertConcept("?new", type="Person"))
    with pytest.raises(IdentityConflict):
        write(CreateConcept("?x", "Person", key="k"), CreateConcept("?y", "Person", key="k"))


def test_a_client_key_tells_a_retry_from_a_conflict(write: Write) -> None:
    create = CreateConcept("?a", "Person", name="Casey", client_key="person:casey")
    made = write(create)
    again = write(create)
    assert again.effect == "no_effect"
    assert again.ids == made.ids
    twice = write(
        CreateConcept("?x", "Person", name="Dana", client_key="d"),
        CreateConcept("?y", "Person", name="Dana", client_key="d"),
    )
    assert twice.ids["?x"] == twice.ids["?y"]
    with pytest.raises(ClientKeyConflict):
        write(CreateConcept("?a", "Person", name="Somebody", client_key="person:casey"))


def test_a_refused_change_set_leaves_nothing(write: Write, ask: Callable[..., Any]) -> None:
    with pytest.raises(SchemaSymbolNotFound):
        write(person("?a", "Ada"), CreateConcept("?s", "Spaceship"))
    assert ask(rows, "select id from element where space_id = %s") == []
    assert ask(rows, "select head_seq from space where space_id = %s") == [(0,)]


@pytest.mark.parametrize(
    ("error", "changes"),
    [
        (DuplicateLocalHandle, (person("?a", "Ada"), person("?a", "Ben"))),
        (DanglingReference, (EnsureProposition("?p", "?x", "lives_in", "?y"),)),
        (NotFoundOrNotVisible, (UpdateConcept("C-99", name="x"),)),
        (
            ConstraintViolation,
            (person("?a", "Ada"), EnsureProposition("?p", "?a", "lives_in", "?a")),
        ),
        (
            ConstraintViolation,
            (person("?a", "Ada"), EnsureProposition("?p", "?a", "lives_in", Value("Tartu"))),
        ),
        (
            ConstraintViolation,
            (person("?a", "Ada"), EnsureProposition("?p", "?a", "timezone", Value(3))),
        ),
        (ConstraintViolation, (CreateConcept("?e", "Event"),)),
        (
            ConstraintViolation,
            (CreateConcept("?k", "Commitment", attributes={"summary": "x", "status": "maybe"}),),
        ),
        (
            ConstraintViolation,
            (CreateConcept("?e", "Event", attributes={"summary": "x", "started_at": "2026"}),),
        ),
        (
            TypeMismatch,
            (CreateConcept("?e", "Event", attributes={"summary": 3}),),
        ),
        (
            SchemaFieldNotFound,
            (
                CreateConcept(
                    "?s",
                    "Skill",
                    attributes={
                        "summary": "x",
                        "skill_class": "workflow",
                        "status": "proposed",
                        "colour": "red",
                    },
                ),
            ),
        ),
        (
            StructuralReferenceInvalid,
            (
                CreateConcept(
                    "?s",
                    "Skill",
                    attributes={
                        "summary": "x",
                        "skill_class": "workflow",
                        "status": "proposed",
                    },
                ),
            ),
        ),
        (
            ConstraintViolation,
            (person("?a", "Ada"), UpdateConcept("?a", links=(Link("committed_to", "?a"),))),
        ),
        (
            ConstraintViolation,
            (CreateConcept("?a", "Person", facets={"MnemonicState": {"effective_strength": 0.5}}),),
        ),
        (
            SchemaFieldNotFound,
            (CreateConcept("?a", "Person", facets={"MnemonicState": {"strength": 0.5}}),),
        ),
        (
            ConstraintViolation,
            (CreateEvidence("?e", "outcome", "x", facets={"OutcomeRecord": {"verdict": "good"}}),),
        ),
        (
            ConstraintViolation,
            (CreateEvidence("?e", "outcome", "x", facets={"MnemonicState": {"salience": 0.5}}),),
        ),
        (ConstraintViolation, (CreateActivity("?x", "extraction", "banana"),)),  # type: ignore[arg-type]
        (
            DuplicateMutationTarget,
            (
                person("?a", "Ada"),
                UpdateConcept("?a", attributes={"description": "one"}),
                UpdateConcept("?a", attributes={"description": "two"}),
            ),
        ),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_what_the_schema_forbids_is_refused(
    write: Write, error: type[KipError], changes: tuple[Change, ...]
) -> None:
    with pytest.raises(error):
        write(*changes)


def test_attributes_merge_and_planes_count_apart(write: Write, ask: Callable[..., Any]) -> None:
    made = write(
        CreateConcept("?k", "Commitment", attributes={"summary": "send it", "status": "pending"}),
        person("?a", "Ada"),
    )
    k = made.ids["?k"]
    changed = write(UpdateConcept(k, attributes={"status": "fulfilled", "note": None}))
    write(UpdateConcept(k, links=(Link("committed_to", made.ids["?a"]),)))
    (entry,) = changed.changes
    assert entry.op == "update"
    assert entry.touched == ("attributes.note", "attributes.status")
    stored = ask(state.load, [k])[k]
    assert stored.version == 3
    assert stored.doc["attributes"] == {"summary": "send it", "status": "fulfilled", "note": None}
    assert (stored.planes["attributes"], stored.planes["structural"]) == (2, 2)
    with pytest.raises(VersionConflict) as refused:
        write(UpdateConcept(k, name="x", guards=(Guard(1, "attributes"),)))
    assert refused.value.data["plane"] == "attributes"
    write(UpdateConcept(k, name="x", guards=(Guard(3), Guard(2, "structural"))))


def test_a_field_of_one_target_is_replaced_and_its_history_stays(
    write: Write, ask: Callable[..., Any]
) -> None:
    made = write(
        person("?a", "Ada"),
        person("?b", "Ben"),
        CreateConcept(
            "?k",
            "Commitment",
            attributes={"summary": "send it", "status": "pending"},
            links=(Link("committed_to", "?a"),),
        ),
    )
    write(UpdateConcept(made.ids["?k"], links=(Link("committed_to", made.ids["?b"]),)))
    edges = ask(rows, "select target_id, seq_from, seq_to from edge where space_id = %s order by 2")
    assert edges == [(made.ids["?a"], 1, 2), (made.ids["?b"], 2, state.NOW)]
    (view,) = ask(claims.commitments)
    assert (view.summary, view.by) == ("send it", "Ben")


def test_propositions_are_one_by_subject_predicate_and_canonical_value(write: Write) -> None:
    made = write(
        person("?a", "Ada"),
        DefineSymbol(
            "predicate",
            "shoe_size",
            {"description": "Size of shoe.", "object": {"literal_types": ["number"]}},
        ),
        EnsureProposition("?one", "?a", "shoe_size", Value(1)),
        EnsureProposition("?same", "?a", "shoe_size", Value(1.0)),
        EnsureProposition("?other", "?a", "shoe_size", Value(1.5)),
        EnsureProposition("?long", "?a", "timezone", Value("x" * 5000)),
    )
    assert made.ids["?one"] == made.ids["?same"] != made.ids["?other"]
    again = write(
        EnsureProposition("?p", made.ids["?a"], "shoe_size", Value(1)),
        EnsureProposition("?q", made.ids["?a"], "timezone", Value("x" * 5000)),
    )
    assert again.effect == "no_effect"
    assert (again.ids["?p"], again.ids["?q"]) == (made.ids["?one"], made.ids["?long"])


def test_a_proposition_may_be_about_a_proposition_given_in_any_order(write: Write) -> None:
    made = write(
        EnsureProposition("?outer", "?a", "doubts", "?inner"),
        EnsureProposition("?inner", "?a", "lives_in", "?t"),
        DefineSymbol(
            "predicate",
            "doubts",
            {"description": "Doubts that.", "object": {"kinds": ["Proposition"]}},
        ),
        person("?a", "Ada"),
        place("?t", "Tartu"),
    )
    assert made.ids["?outer"] != made.ids["?inner"]


def test_drafts_are_defined_once_and_raise_the_environment(
    write: Write, ask: Callable[..., Any]
) -> None:
    define = DefineSymbol("concept_type", "Drink", {"description": "A drink."})
    made = write(define, CreateConcept("?d", "Drink", name="oat milk"))
    assert made.drafts == ("Drink",)
    assert made.schema_env_version == 2
    with pytest.raises(SchemaSymbolConflict):
        write(define)
    quiet = write(DefineSymbol("concept_type", "Drink", {"description": "A drink."}, True))
    assert quiet.effect == "no_effect"
    with pytest.raises(ConstraintViolation):
        write(DefineSymbol("predicate", "bad name", {"description": "x"}))
    stored = ask(state.load, [made.ids["?d"]])[made.ids["?d"]]
    assert stored.schema_ref == "kip://local/draft@0.0.0/Drink"
    assert stored.type_lineage == "kip://local/draft/Drink"


def test_a_correction_supersedes_and_copies_the_interval(
    write: Write, ask: Callable[..., Any]
) -> None:
    made = write(person("?a", "Ada"), place("?b", "Berlin"), *lives("?old", "?a", "?b"))
    a, old = made.ids["?a"], made.ids["?old"]
    later = AT + timedelta(hours=1)
    new = write(
        place("?r", "Aarhus"),
        *lives("?new", a, "?r", asserted_at=later, interval_of=old),
        Transition(old, "superseded", by="?new"),
        at=later,
    )
    views = ask(claims.claims_for, Question(AT), assertions=[old, new.ids["?new"]])
    assert [(v.object, v.status, v.belief.status) for v in views] == [
        ("Berlin", "superseded", "insufficient"),
        ("Aarhus", "active", "accepted"),
    ]
    assert views[1].valid == ValidTime(Bound(latest=AT))
    entry = next(c for c in new.changes if c.id == old)
    assert (entry.op, entry.state_from, entry.state_to) == ("lifecycle", "active", "superseded")
    again = write(Transition(old, "superseded", by=new.ids["?new"]))
    assert again.effect == "no_effect"
    with pytest.raises(InvalidLifecycleTransition):
        write(Transition(old, "retracted"))


def test_a_claim_is_superseded_by_its_own_actor_in_its_own_slot_only(write: Write) -> None:
    made = write(
        person("?a", "Ada"),
        person("?b", "Ben"),
        place("?t", "Tartu"),
        CreateConcept("?work", "Event", attributes={"summary": "at work"}),
        *lives("?old", "?a", "?t"),
    )
    a, b, t, old = (made.ids[h] for h in ("?a", "?b", "?t", "?old"))
    other_actor = lives("?n", a, t, asserted_by=b)
    other_context = lives("?n", a, t, contexts=(made.ids["?work"],))
    other_slot = (
        EnsureProposition("?pn", a, "timezone", Value("+02:00")),
        CreateAssertion("?n", "?pn", a, "stated"),
    )
    for changes in (other_actor, other_context, other_slot):
        with pytest.raises(SupersessionMismatch):
            write(*changes, Transition(old, "superseded", by="?n"))


def test_evidence_is_recognised_by_its_digest_and_corrected_once(
    write: Write, ask: Callable[..., Any]
) -> None:
    said = CreateEvidence("?e", "user_statement", {"content": "hi"}, "sha256:1", once=True)
    made = write(
        said, CreateEvidence("?f", "user_statement", {"content": "hi"}, "sha256:1", once=True)
    )
    assert made.ids["?e"] == made.ids["?f"]
    assert write(said).effect == "no_effect"
    twice = write(CreateEvidence("?g", "user_statement", {"content": "hi"}, "sha256:1"))
    assert twice.ids["?g"] != made.ids["?e"]
    write(Transition(made.ids["?e"], "corrected", by=twice.ids["?g"]))
    third = write(CreateEvidence("?h", "user_statement", "x"))
    with pytest.raises(EvidenceCorrectionConflict):
        write(Transition(made.ids["?e"], "corrected", by=third.ids["?h"]))
    assert ask(claims.evidence, [made.ids["?e"]])[made.ids["?e"]].payload == {"content": "hi"}


def test_an_erased_source_does_not_come_back(write: Write, database: Database, space: str) -> None:
    with database.transaction(Scope(space)) as tx:
        tx.execute(
            "insert into source_suppression values (%s, 'sha256:9', 'plan', now())", (space,)
        )
    with pytest.raises(SourceSuppressed):
        write(CreateEvidence("?e", "message", "x", "sha256:9"))


def test_the_same_testimony_is_recorded_once(write: Write) -> None:
    def said(confidence: float) -> tuple[Change, ...]:
        return (
            person("?a", "Ada"),
            place("?t", "Tartu"),
            CreateEvidence("?e", "user_statement", "I live in Tartu", "sha256:1", once=True),
            *lives(
                "?s",
                "?a",
                "?t",
                citations=(Citation("?e"),),
                confidence=confidence,
                once=True,
            ),
        )

    made = write(*said(0.9))
    assert write(*said(0.8)).effect == "no_effect"
    write(Transition(made.ids["?s"], "retracted"))
    after = write(*said(0.9))
    assert after.effect == "no_effect"
    assert after.ids["?s"] == made.ids["?s"]
    other = write(
        *said(0.9)[:3],
        *lives(
            "?s",
            "?a",
            "?t",
            citations=(Citation("?e"),),
            once=True,
            valid=ValidTime(datetime(2020, 1, 1, tzinfo=UTC)),
        ),
    )
    assert other.ids["?s"] != made.ids["?s"]


def test_a_finished_activity_is_frozen_and_keeps_versions(
    write: Write, ask: Callable[..., Any]
) -> None:
    made = write(
        person("?a", "Ada"),
        CreateEvidence("?e", "message", "x"),
        CreateActivity("?x", "extraction", "running", inputs=("?e",)),
        CreateActivity("?idle", "extraction", outputs=("?a",), only_with_effect=True),
    )
    x = made.ids["?x"]
    assert "?idle" in made.ids
    write(Transition(x, "completed", ended_at=AT, links=(Link("outputs", made.ids["?a"]),)))
    stored = ask(state.load, [x])[x]
    assert stored.status == "completed"
    assert stored.doc["output_versions"] == {made.ids["?a"]: 1}
    with pytest.raises(ActivityTerminal):
        write(Transition(x, "failed"))
    quiet = write(
        CreateActivity("?y", "extraction", outputs=(made.ids["?a"],), only_with_effect=True)
    )
    assert quiet.effect == "no_effect"
    with pytest.raises(InvalidLifecycleTransition):
        write(Transition(made.ids["?a"], "completed"))


def test_archiving_keeps_the_element_and_its_claims(write: Write, ask: Callable[..., Any]) -> None:
    made = write(
        CreateConcept(
            "?i", "Insight", attributes={"summary": "be brief", "insight_class": "constraint"}
        )
    )
    assert [c.text for c in ask(claims.constraints)] == ["be brief"]
    write(Transition(made.ids["?i"], "archived"))
    assert ask(claims.constraints) == []
    assert ask(state.load, [made.ids["?i"]])[made.ids["?i"]].state == "archived"


def test_the_past_answers_as_it_was(write: Write, ask: Callable[..., Any]) -> None:
    made = write(person("?a", "Ada"), place("?b", "Berlin"), *lives("?s", "?a", "?b"))
    write(UpdateConcept(made.ids["?a"], name="Ada L."))
    write(Transition(made.ids["?s"], "retracted"))
    then = ask(claims.claims_for, Question(AT), assertions=[made.ids["?s"]], seq=1)
    now = ask(claims.claims_for, Question(AT), assertions=[made.ids["?s"]])
    assert [(v.subject, v.status, v.belief.status) for v in then] == [("Ada", "active", "accepted")]
    assert [(v.subject, v.status, v.belief.status) for v in now] == [
        ("Ada L.", "retracted", "insufficient")
    ]


def test_commit_records_are_dense_and_name_every_version(
    write: Write, ask: Callable[..., Any]
) -> None:
    made = write(person("?a", "Ada"))
    write(UpdateConcept(made.ids["?a"], name="Ada L."))
    write(UpdateConcept(made.ids["?a"], name="Ada L."))
    write(UpdateConcept(made.ids["?a"], attributes={"description": "x"}), at=AT - timedelta(1))
    records = ask(
        rows,
        "select space_seq, snapshot_seq, committed_at, changes from commit_record"
        " where space_id = %s order by space_seq",
    )
    assert [(seq, snapshot) for seq, snapshot, _, _ in records] == [(1, 0), (2, 1), (3, 2)]
    # a clock that runs backwards does not turn the record around
    assert [at for _, _, at, _ in records] == [AT, AT, AT]
    versions = [entry["new_version"] for _, _, _, entries in records for entry in entries]
    assert versions == [1, 2, 3]
    assert records[2][3][0]["touched"] == ["attributes.description"]


def test_writers_at_once_lose_nothing(database: Database, space: str) -> None:
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(5):
                with database.transaction(Scope(space)) as tx:
                    commit(
                        tx,
                        Scope(space),
                        f"writer {number}",
                        ChangeSet(
                            (
                                person("?shared", "Shared"),
                                person("?own", f"W{number} {turn}"),
                                EnsureProposition("?p", "?own", "knows", "?shared"),
                            )
                        ),
                        tx_class="test",
                    )
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with database.transaction(Scope(space)) as tx:
        seqs = rows(tx, Scope(space), "select space_seq from commit_record where space_id = %s")
        people = rows(tx, Scope(space), "select id from element where space_id = %s and kind = 'C'")
    assert sorted(seqs) == [(n,) for n in range(1, 31)]
    assert len(people) == 31


def test_another_space_sees_nothing_and_cannot_write_here(
    write: Write, database: Database, space: str
) -> None:
    write(person("?a", "Ada"))
    with database.transaction(Scope("somebody_else")) as tx:
        assert rows(tx, Scope(space), "select id from element where space_id = %s") == []
        with pytest.raises(NotFound):
            commit(tx, Scope(space), "x", ChangeSet(()), tx_class="test")
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege),
        database.transaction(Scope("somebody_else")) as tx,
    ):
        tx.execute("insert into source_suppression values (%s, 'd', 'p', now())", (space,))
