"""BELIEF and BELIEF SLOT as documents: written by commits, projected at a snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage.clock import to_text
from storage.database import Database, Scope
from storage.graph.changes import (
    Change,
    ChangeSet,
    Citation,
    CreateActivity,
    CreateAssertion,
    CreateConcept,
    CreateEvidence,
    EnsureProposition,
    Link,
    MergeConcept,
    Transition,
    Value,
)
from storage.graph.commit import commit
from storage.graph.errors import (
    NotFoundOrNotVisible,
    ProjectionPolicyUnavailable,
    SchemaFieldNotFound,
    SchemaSymbolNotFound,
)
from storage.graph.validity import UNSTATED, ValidTime
from storage.kip.errors import ConstraintViolation, TypeMismatch, UnsupportedCapability
from storage.kip.language.ast_terms import ArrayValue, Literal, Member, ObjectValue
from storage.kip.query.beliefs import BeliefTarget, epistemic, project
from storage.kip.snapshot import Snapshot, open_snapshot
from tests.integration.test_graph_plans import Explaining

START = datetime(2026, 1, 1, tzinfo=UTC)
BASIS = "DependencyBasis"


def day(number: int) -> datetime:
    return START + timedelta(days=number)


class World:
    """A space that tests write to; names of handles stay known from one commit to the next."""

    def __init__(self, database: Database, space: str) -> None:
        self.database, self.scope = database, Scope(space)
        self.ids: dict[str, str] = {}
        self.seq = 0

    def write(self, *changes: Change) -> int:
        with self.database.transaction(self.scope) as tx:
            done = commit(tx, self.scope, "tester", ChangeSet(changes), tx_class="test")
        self.ids |= done.ids
        self.seq = done.head_seq
        return self.seq

    def concepts(self, **types: str) -> None:
        self.write(
            *(CreateConcept(f"?{name}", type=kind, name=name) for name, kind in types.items())
        )

    def claim(
        self,
        handle: str,
        subject: str,
        predicate: str,
        value: str | Value,
        by: str,
        *,
        mode: Any = "stated",
        stance: Any = "support",
        at: int = 0,
        valid: ValidTime = UNSTATED,
        contexts: Sequence[str] = (),
        evidence: Sequence[str] = (),
        confidence: float | None = None,
    ) -> list[Change]:
        where = f"?p{handle[1:]}"
        return [
            EnsureProposition(
                where,
                self.ref(subject),
                predicate,
                value if isinstance(value, Value) else self.ref(value),
            ),
            CreateAssertion(
                handle,
                where,
                self.ref(by),
                mode,
                stance,
                confidence=confidence,
                asserted_at=day(at),
                valid=valid,
                contexts=tuple(map(self.ref, contexts)),
                citations=tuple(Citation(self.ref(one)) for one in evidence),
            ),
        ]

    def ref(self, handle: str) -> str:
        return self.ids.get(handle, handle)

    @contextmanager
    def at(self, seq: int | None = None) -> Iterator[Snapshot]:
        with self.database.transaction(self.scope, snapshot=True) as tx:
            yield open_snapshot(tx, self.scope, as_of=seq, read_at=day(500))

    def ask(
        self,
        *targets: BeliefTarget,
        when: int = 400,
        seq: int | None = None,
        **options: Any,
    ) -> list[Any]:
        with self.at(seq) as snapshot:
            given = epistemic(snapshot, written(options), Literal(to_text(day(when))))
            return project(snapshot, targets, given)

    def status(self, subject: str, predicate: str, value: str | Value, **more: Any) -> str:
        end = Literal(value.value) if isinstance(value, Value) else self.ref(value)
        target = BeliefTarget.of_tuple(self.ref(subject), predicate, end)
        (found,) = self.ask(target, **more)
        return str(found["status"])


def written(value: Any) -> Any:
    """A value as the tree of a command has it."""
    if isinstance(value, dict):
        return ObjectValue(tuple(Member(name, written(one)) for name, one in value.items()))
    if isinstance(value, list):
        return ArrayValue(tuple(map(written, value)))
    return Literal(value)


@pytest.fixture
def world(database: Database, space: str) -> World:
    made = World(database, space)
    made.concepts(
        alice="Person",
        bob="Person",
        carol="Person",
        beijing="Place",
        shanghai="Place",
        rome="Place",
    )
    return made


def test_a_document_says_what_is_believed_and_on_what_basis(world: World) -> None:
    world.write(
        CreateEvidence("?e", "message", "I live in Beijing", content_digest="d1"),
        *world.claim(
            "?a", "?alice", "lives_in", "?beijing", "?alice", at=9, evidence=["?e"], confidence=0.6
        ),
    )
    world.write(
        *world.claim(
            "?b", "?alice", "lives_in", "?shanghai", "?alice", at=252, valid=ValidTime(day(243))
        )
    )
    (found,) = world.ask(BeliefTarget.of_proposition(world.ids["?pa"]), when=151)
    basis = found["basis"]
    assert found == {
        "proposition_id": world.ids["?pa"],
        "subject": {"id": world.ids["?alice"]},
        "predicate_ref": "kip://domains/general@1.0.0/lives_in",
        "object": {"id": world.ids["?beijing"]},
        "status": "accepted",
        "candidate_status": "accepted",
        "slot_status": "accepted",
        "conflict_refs": [],
        "conflict_reasons": [],
        "leading": "support",
        "support": {
            "score": None,
            "score_semantics": None,
            "assertion_ids": [world.ids["?a"]],
            "root_groups": [
                {
                    "actors": [{"id": world.ids["?alice"]}],
                    "assertion_ids": [world.ids["?a"]],
                    "evidence": [world.ids["?e"]],
                    "contribution": 0.6,
                }
            ],
        },
        "opposition": {
            "score": None,
            "score_semantics": None,
            "assertion_ids": [],
            "root_groups": [],
        },
        "uncertainty": {"level": None, "reasons": []},
        "precedence": {"rule": None},
        "policy": {"id": "kip:memory-default", "version": "1"},
        "explanation": {
            "supporting": [world.ids["?a"]],
            "opposing": [],
            "undecided": [],
            "indeterminate": [],
            "excluded": [],
        },
        "basis": basis,
    }
    assert basis["authorization_view"]
    assert {k: v for k, v in basis.items() if k != "authorization_view"} == {
        "space_id": f"kip:space:{world.scope.space_id}",
        "snapshot_seq": world.seq,
        "schema_environment_version": 1,
        "identity_version": 0,
        "policy": {"id": "kip:memory-default", "version": "1"},
        "trust_version": "trust:0",
        "context_refs": [],
        "purpose": "unspecified",
        "risk": "unspecified",
        "valid_at": to_text(day(151)),
        "next_invalid_at": to_text(day(243)),
    }
    assert world.status("?alice", "lives_in", "?beijing", when=262) == "insufficient"
    assert world.status("?alice", "lives_in", "?shanghai", when=262) == "accepted"
    assert world.status("?alice", "lives_in", "?beijing", when=4) == "uncertain"


def test_a_tuple_that_nobody_stored_is_one_insufficient_row(world: World) -> None:
    alice = world.ids["?alice"]
    targets = [
        BeliefTarget.of_tuple(alice, "lives_in", world.ids["?rome"]),
        BeliefTarget.of_tuple(alice, "timezone", Literal("+08:00")),
        BeliefTarget.of_tuple(Literal("Alice"), "lives_in", world.ids["?rome"]),
        BeliefTarget.of_slot(alice, "lives_in"),
        BeliefTarget.of_slot(Literal("Alice"), "lives_in"),
        BeliefTarget.of_candidates(alice, "lives_in"),
        BeliefTarget.of_candidates(Literal("Alice"), "lives_in"),
        BeliefTarget.of_proposition("P-999999"),
    ]
    stored, literal, nobody, slot, no_slot, rows, no_rows, unknown = world.ask(*targets)
    for found in (stored, literal, nobody):
        assert (found["status"], found["proposition_id"]) == ("insufficient", None)
    assert literal["object"] == "+08:00"
    assert nobody["subject"] == "Alice"
    for found in (slot, no_slot):
        assert found["status"] == "insufficient"
        assert (found["accepted_values"], found["candidate_projections"]) == ([], [])
    assert (rows, no_rows, unknown) == ([], [], [])
    with world.at() as snapshot:
        assert snapshot.head_seq == world.seq


def test_an_open_object_gives_a_row_for_each_value_and_a_slot_all_of_them(world: World) -> None:
    world.write(
        *world.claim("?a", "?alice", "speaks", Value("French"), "?alice"),
        *world.claim("?b", "?alice", "speaks", Value("German"), "?bob", stance="reject"),
        EnsureProposition("?c", world.ids["?alice"], "speaks", Value("Welsh")),
    )
    alice = world.ids["?alice"]
    rows, slot = world.ask(
        BeliefTarget.of_candidates(alice, "speaks"), BeliefTarget.of_slot(alice, "speaks")
    )
    assert {row["object"]: row["status"] for row in rows} == {
        "French": "accepted",
        "German": "rejected",
        "Welsh": "insufficient",
    }
    assert (slot["status"], slot["accepted_values"]) == ("accepted", ["French"])
    assert slot["candidate_projections"] == rows
    assert slot["predicate_ref"] == "kip://domains/general@1.0.0/speaks"


def test_values_of_one_slot_contest_each_other_unless_the_policy_decides(world: World) -> None:
    world.write(
        *world.claim("?a", "?alice", "lives_in", "?beijing", "?bob", at=5),
        *world.claim("?b", "?alice", "lives_in", "?rome", "?carol", at=5),
    )
    target = BeliefTarget.of_proposition(world.ids["?pa"])
    (found,) = world.ask(target)
    assert (found["status"], found["candidate_status"], found["slot_status"], found["leading"]) == (
        "contested",
        "accepted",
        "contested",
        "none",
    )
    assert found["conflict_reasons"] == ["functional_value"]
    assert found["conflict_refs"] == [world.ids["?pb"]]
    (slot,) = world.ask(BeliefTarget.of_slot(world.ids["?alice"], "lives_in"))
    assert (slot["status"], slot["accepted_values"]) == ("contested", [])
    world.write(*world.claim("?c", "?alice", "lives_in", "?rome", "?alice", at=1))
    (found,) = world.ask(target, policy="kip:structural")
    assert (found["status"], found["leading"]) == ("contested", "opposition")
    (found,) = world.ask(target)
    assert found["status"] == "uncertain"
    assert found["uncertainty"]["reasons"] == ["outranked"]
    assert found["precedence"]["rule"] == "first_person_testimony"


def test_copies_and_summaries_of_one_source_are_one_group(world: World) -> None:
    world.write(
        CreateEvidence("?seen", "observation", "rain", content_digest="d-rain"),
        CreateEvidence("?copy", "document", "rain", content_digest="d-rain"),
        CreateActivity("?sum", "summarization", "completed", inputs=("?seen",)),
        CreateEvidence("?other", "observation", "puddles", content_digest="d-puddles"),
        # two records of which each was made of the other, and nothing else
        CreateActivity(
            "?x1", "summarization", "completed", inputs=("?loop2",), outputs=("?loop1",)
        ),
        CreateActivity(
            "?x2", "summarization", "completed", inputs=("?loop1",), outputs=("?loop2",)
        ),
        CreateEvidence("?loop1", "derived_result", "hearsay", content_digest="d-l1"),
        CreateEvidence("?loop2", "derived_result", "gossip", content_digest="d-l2"),
    )
    world.write(
        CreateEvidence(
            "?summary",
            "derived_result",
            "it rained",
            links=(Link("generated_by", world.ids["?sum"]),),
        ),
        *world.claim("?a", "?alice", "speaks", Value("French"), "?alice", evidence=["?seen"]),
        *world.claim("?b", "?alice", "speaks", Value("French"), "?bob", evidence=["?copy"]),
        *world.claim("?c", "?alice", "speaks", Value("French"), "?carol", evidence=["?summary"]),
        *world.claim("?d", "?alice", "speaks", Value("Welsh"), "?bob", evidence=["?loop1"]),
    )
    target = BeliefTarget.of_proposition(world.ids["?pa"])
    (found,) = world.ask(target)
    (group,) = found["support"]["root_groups"]
    assert group["assertion_ids"] == [world.ids[one] for one in ("?a", "?b", "?c")]
    assert len(group["actors"]) == 3
    assert group["contribution"] is None
    world.write(
        *world.claim("?f", "?alice", "speaks", Value("French"), "?bob", evidence=["?other"])
    )
    (found,) = world.ask(target)
    assert len(found["support"]["root_groups"]) == 2
    (looped,) = world.ask(BeliefTarget.of_proposition(world.ids["?pd"]), explanation="ledger")
    assert looped["status"] == "uncertain"
    assert looped["uncertainty"]["reasons"] == ["circular_provenance"]
    (entry,) = looped["explanation"]["assertions"]
    assert (entry["roots"], entry["limited_by"]) == ([], "circular_provenance")


def test_more_independent_sources_lead_a_contested_claim(world: World) -> None:
    world.write(
        CreateEvidence("?one", "message", "one", content_digest="d1"),
        *world.claim("?a", "?alice", "knows", "?bob", "?alice", evidence=["?one"]),
        *world.claim("?b", "?alice", "knows", "?bob", "?carol", evidence=["?one"]),
        *world.claim("?c", "?alice", "knows", "?bob", "?bob", stance="reject"),
    )
    target = BeliefTarget.of_proposition(world.ids["?pa"])
    (found,) = world.ask(target)
    assert (found["status"], found["leading"]) == ("contested", "none")
    world.write(*world.claim("?d", "?alice", "knows", "?bob", "?carol"))
    (found,) = world.ask(target)
    assert (found["status"], found["leading"]) == ("contested", "support")


def test_an_inference_stands_as_long_as_its_premises_do(world: World) -> None:
    world.write(CreateEvidence("?e", "document", "Rome", content_digest="d"))
    (read,) = world.ask(BeliefTarget.of_slot(world.ids["?alice"], "knows"))

    def basis(version: int) -> dict[str, Any]:
        pins = [{"id": world.ids["?e"], "version": version}]
        groups = [{"role": "all_of", "pins": pins}]
        return {BASIS: {"basis_seq": world.seq, "groups": groups, "policy_basis": read["basis"]}}

    world.write(
        *world.claim("?a", "?alice", "knows", "?bob", "?carol", mode="inferred", evidence=["?e"]),
        *world.claim("?b", "?alice", "knows", "?carol", "?carol", mode="inferred", evidence=["?e"]),
        *world.claim("?c", "?bob", "knows", "?carol", "?carol", mode="inferred", evidence=["?e"]),
        CreateActivity("?x", "inference", "completed", outputs=("?a",), facets=basis(1)),
        CreateActivity("?y", "inference", "completed", outputs=("?c",), facets=basis(2)),
    )
    derived = BeliefTarget.of_proposition(world.ids["?pa"])
    bare = BeliefTarget.of_proposition(world.ids["?pb"])
    stale = BeliefTarget.of_proposition(world.ids["?pc"])
    then = world.seq
    first, second, third = world.ask(derived, bare, stale)
    assert first["status"] == "accepted"
    assert (second["status"], second["uncertainty"]["reasons"]) == (
        "uncertain",
        ["dependency_unverifiable"],
    )
    assert third["uncertainty"]["reasons"] == ["dependency_needs_review"]
    world.write(
        CreateEvidence("?better", "document", "Not Rome", content_digest="d2"),
        Transition(world.ids["?e"], "corrected", by="?better"),
    )
    (later,) = world.ask(derived)
    assert later["uncertainty"]["reasons"] == ["dependency_needs_review"]
    (before,) = world.ask(derived, seq=then)
    assert before["status"] == "accepted"


def test_corrected_evidence_gives_no_unqualified_support(world: World) -> None:
    world.write(
        CreateEvidence("?e", "message", "x", content_digest="d"),
        *world.claim("?a", "?alice", "lives_in", "?rome", "?alice", evidence=["?e"]),
    )
    then = world.seq
    world.write(
        CreateEvidence("?new", "message", "y", content_digest="d2"),
        Transition(world.ids["?e"], "corrected", by="?new"),
    )
    (found,) = world.ask(BeliefTarget.of_proposition(world.ids["?pa"]))
    assert (found["status"], found["uncertainty"]["reasons"]) == (
        "uncertain",
        ["evidence_corrected"],
    )
    assert world.status("?alice", "lives_in", "?rome", seq=then) == "accepted"


def test_the_past_is_believed_as_it_was(world: World) -> None:
    world.write(*world.claim("?a", "?alice", "lives_in", "?rome", "?alice", at=3))
    first = world.seq
    world.write(Transition(world.ids["?a"], "retracted"))
    assert world.status("?alice", "lives_in", "?rome", seq=first) == "accepted"
    (now,) = world.ask(BeliefTarget.of_proposition(world.ids["?pa"]))
    assert now["status"] == "insufficient"
    assert now["explanation"]["excluded"] == [{"id": world.ids["?a"], "reason": "retracted"}]
    assert world.status("?alice", "lives_in", "?rome", seq=first - 1) == "insufficient"


def test_contexts_bound_what_counts(world: World) -> None:
    world.concepts(work="Person")
    world.write(
        *world.claim("?a", "?alice", "timezone", Value("+01:00"), "?alice", contexts=["?work"]),
        *world.claim("?b", "?alice", "timezone", Value("+02:00"), "?alice", at=1),
    )
    scoped, general = Value("+01:00"), Value("+02:00")
    work = [{"id": world.ids["?work"]}]
    assert world.status("?alice", "timezone", scoped) == "insufficient"
    assert world.status("?alice", "timezone", scoped, context_refs=work) == "accepted"
    assert world.status("?alice", "timezone", general, context_refs=work) == "uncertain"
    assert world.status("?alice", "timezone", general) == "accepted"
    (found,) = world.ask(BeliefTarget.of_proposition(world.ids["?pa"]))
    assert found["explanation"]["excluded"] == [
        {"id": world.ids["?a"], "reason": "context_mismatch"}
    ]
    with pytest.raises(NotFoundOrNotVisible):
        world.status("?alice", "timezone", scoped, context_refs=["C-999999"])


def test_modes_beyond_the_ordinary_count_on_request(world: World) -> None:
    world.write(
        *world.claim("?a", "?alice", "speaks", Value("French"), "?alice", mode="hypothetical"),
        *world.claim("?b", "?alice", "speaks", Value("German"), "?alice", mode="predicted"),
        *world.claim("?c", "?alice", "speaks", Value("Welsh"), "?alice", mode="imported"),
    )
    said = [Value("French"), Value("German"), Value("Welsh")]
    assert {world.status("?alice", "speaks", one) for one in said} == {"insufficient"}
    more = {"include_hypothetical": True}
    assert [world.status("?alice", "speaks", one, **more) for one in said] == [
        "accepted",
        "insufficient",
        "insufficient",
    ]
    assert world.status("?alice", "speaks", said[1], include_predicted=True) == "accepted"


def test_trust_decides_under_the_conformance_policy_alone(world: World) -> None:
    world.write(
        *world.claim("?a", "?alice", "speaks", Value("French"), "?alice"),
        *world.claim("?b", "?alice", "speaks", Value("German"), "?bob"),
        *world.claim("?c", "?alice", "speaks", Value("Welsh"), "?carol"),
        *world.claim("?d", "?alice", "speaks", Value("Greek"), "?alice", mode="imported"),
    )
    policy = "test-deterministic"
    with world.database.transaction(world.scope) as tx:
        for name, trust in (("?alice", "trusted"), ("?carol", "untrusted")):
            tx.execute(
                "insert into trust_record (space_id, subject, context, trust_class, policy, set_at)"
                " values (%s, jsonb_build_object('actor', %s::text), '{}', %s, %s, now())",
                (world.scope.space_id, world.ids[name], trust, policy),
            )
    rows, standard = (
        {row["object"]: row for row in found}
        for found in (
            world.ask(BeliefTarget.of_candidates(world.ids["?alice"], "speaks"), policy=policy)[0],
            world.ask(BeliefTarget.of_candidates(world.ids["?alice"], "speaks"))[0],
        )
    )
    assert {name: row["status"] for name, row in rows.items()} == {
        "French": "accepted",
        "German": "uncertain",
        "Welsh": "insufficient",
        "Greek": "accepted",
    }
    assert rows["German"]["uncertainty"]["reasons"] == ["low_trust"]
    assert rows["Welsh"]["explanation"]["excluded"] == [
        {"id": world.ids["?c"], "reason": "untrusted_source"}
    ]
    assert rows["French"]["basis"]["trust_version"] != "trust:0"
    assert {name: row["status"] for name, row in standard.items()} == {
        "French": "accepted",
        "German": "accepted",
        "Welsh": "accepted",
        "Greek": "insufficient",
    }


def test_options_are_checked_and_none_is_passed_over(world: World) -> None:
    def ask(**options: Any) -> Any:
        return world.ask(BeliefTarget.of_slot(world.ids["?alice"], "lives_in"), **options)[0]

    for options, error in (
        ({"curiosity": 0.5}, SchemaFieldNotFound),
        ({"policy": "strict"}, ProjectionPolicyUnavailable),
        ({"policy": 7}, TypeMismatch),
        ({"explanation": "everything"}, ConstraintViolation),
        ({"include_hypothetical": "yes"}, TypeMismatch),
        ({"include_historical": True}, UnsupportedCapability),
        ({"context_refs": world.ids["?alice"]}, TypeMismatch),
        ({"purpose": ""}, ConstraintViolation),
    ):
        with pytest.raises(error):
            ask(**options)
    with pytest.raises(SchemaSymbolNotFound):
        world.ask(BeliefTarget.of_slot(world.ids["?alice"], "sings"))
    quiet = ask(explanation="none", purpose="answer_user", risk="low", include_historical=False)
    assert quiet["explanation"] is None
    assert (quiet["basis"]["purpose"], quiet["basis"]["risk"]) == ("answer_user", "low")
    with world.at() as snapshot:
        assert epistemic(snapshot, None, None).valid_at == day(500)


def test_merged_people_and_places_have_one_slot(world: World) -> None:
    world.concepts(alicia="Person", milan="Place", milano="Place")
    world.write(
        *world.claim("?a", "?alice", "lives_in", "?milan", "?alice", at=3, valid=ValidTime(day(3))),
        *world.claim("?b", "?alicia", "lives_in", "?milano", "?alicia", at=5),
        *world.claim("?c", "?alicia", "lives_in", "?rome", "?alicia", at=1),
    )
    then = world.seq
    assert world.status("?alice", "lives_in", "?milano") == "insufficient"
    world.write(
        MergeConcept(world.ids["?alicia"], world.ids["?alice"]),
        MergeConcept(world.ids["?milano"], world.ids["?milan"]),
    )
    for subject in ("?alice", "?alicia"):
        (slot,) = world.ask(BeliefTarget.of_slot(world.ids[subject], "lives_in"))
        assert slot["subject"] == {"id": world.ids["?alice"]}
        assert slot["accepted_values"] == [{"id": world.ids["?milan"]}]
        assert len(slot["candidate_projections"]) == 2
    (found,) = world.ask(BeliefTarget.of_proposition(world.ids["?pb"]))
    assert found["proposition_id"] == world.ids["?pb"]
    assert found["support"]["assertion_ids"] == [world.ids["?a"], world.ids["?b"]]
    assert found["basis"]["identity_version"] == world.seq
    assert world.status("?alice", "lives_in", "?milano", seq=then) == "insufficient"
    (old,) = world.ask(BeliefTarget.of_proposition(world.ids["?pc"]), when=2)
    # alicia's word on Rome was the same person's: it ended when alice moved to Milan
    assert old["status"] == "accepted"
    assert world.status("?alicia", "lives_in", "?rome") == "insufficient"


def test_every_statement_is_answered_by_indexes(world: World) -> None:
    world.concepts(alicia="Person")
    world.write(
        CreateEvidence("?e", "document", "x", content_digest="d"),
        CreateActivity("?x", "inference", "completed", inputs=("?e",)),
        MergeConcept(world.ids["?alicia"], world.ids["?alice"]),
    )
    world.write(
        CreateEvidence("?f", "derived_result", "y", links=(Link("generated_by", world.ids["?x"]),)),
        *world.claim("?a", "?alice", "lives_in", "?rome", "?alice", mode="inferred"),
        *world.claim("?b", "?alicia", "lives_in", "?rome", "?bob", evidence=["?f"]),
    )
    then = world.seq
    world.write(Transition(world.ids["?a"], "retracted"))
    options = {"policy": "test-deterministic", "context_refs": [world.ids["?alicia"]]}
    for seq in (None, then):
        with world.at(seq) as snapshot:
            snapshot.tx.execute("set local enable_seqscan = off")
            explaining = Explaining(snapshot.tx)
            inside = replace(snapshot, tx=explaining)  # type: ignore[arg-type]
            given = epistemic(inside, written(options), None)
            (found, rows) = project(
                inside,
                [
                    BeliefTarget.of_proposition(world.ids["?pa"]),
                    BeliefTarget.of_candidates(world.ids["?alice"], "prefers"),
                ],
                given,
            )
            assert isinstance(found, dict)
            assert rows == []
        assert len(explaining.plans) > 8
        for plan in explaining.plans:
            assert "Seq Scan" not in plan, plan


class Counting:
    """A transaction that counts its statements."""

    def __init__(self, tx: Any) -> None:
        self.tx, self.statements = tx, 0

    def execute(self, query: Any, parameters: Any = None) -> Any:
        self.statements += 1
        return self.tx.execute(query, parameters)


def test_any_number_of_targets_takes_the_same_statements(world: World) -> None:
    people = {f"p{number}": "Person" for number in range(40)}
    world.concepts(**people)
    world.write(
        *(
            change
            for name in people
            for change in world.claim(f"?a{name}", f"?{name}", "lives_in", "?rome", f"?{name}")
        )
    )
    targets = [BeliefTarget.of_proposition(world.ids[f"?pa{name}"]) for name in people]

    def statements(asked: Sequence[BeliefTarget]) -> int:
        with world.at() as snapshot:
            given = epistemic(snapshot, None, None)
            counting = Counting(snapshot.tx)
            inside = replace(snapshot, tx=counting)  # type: ignore[arg-type]
            found = project(inside, asked, given)
            assert all(isinstance(one, dict) and one["status"] == "accepted" for one in found)
            return counting.statements

    assert statements(targets[:1]) == statements(targets) <= 5
