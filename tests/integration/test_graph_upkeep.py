"""Retention, merges, purges: what is done to an element as a whole, and what is left of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from psycopg.sql import SQL, Identifier

from storage.database import Database, Scope, Transaction
from storage.graph import state, transactions
from storage.graph.changes import (
    Change,
    ChangeSet,
    Citation,
    CreateActivity,
    CreateAssertion,
    CreateConcept,
    CreateEvidence,
    DefineSymbol,
    Elsewhere,
    EnsureProposition,
    Guard,
    Link,
    MergeConcept,
    Purge,
    PurgePayload,
    SetRetention,
    Transition,
    UpdateConcept,
    UpdateRecord,
    UpsertConcept,
    Value,
)
from storage.graph.commit import Commit, commit, preview
from storage.graph.errors import (
    ActivityTerminal,
    ConstraintViolation,
    DuplicateMutationTarget,
    IdentityMergeConflict,
    ImmutableField,
    KipError,
    LegalHoldConflict,
    NotFoundOrNotVisible,
    PurgeDenied,
    SchemaFieldNotFound,
    StructuralReferenceInvalid,
    TypeMismatch,
    VersionConflict,
)
from storage.graph.wording import Wording

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
CANARY = "xylophonecanary"
MNEMONIC = "kip://profiles/cognitive-memory@2.0.0/MnemonicState"
PIN = {"artifact_ref": "kip:strength-half-life-30d", "content_digest": "sha256:" + "a" * 64}
Write = Callable[..., Commit]
Ask = Callable[..., Any]


@pytest.fixture
def write(database: Database, space: str) -> Write:
    """Commit some changes to the test's space."""

    def run(*changes: Change, **named: Any) -> Commit:
        with database.transaction(Scope(space)) as tx:
            given = ChangeSet(changes, named.pop("wording", {}))
            return commit(tx, Scope(space), "tester", given, tx_class="test", at=AT, **named)

    return run


@pytest.fixture
def ask(database: Database, space: str) -> Ask:
    """Run a reading function on the test's space."""

    def run(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        with database.transaction(Scope(space), snapshot=True) as tx:
            return function(tx, Scope(space), *arguments, **named)

    return run


def stored(ask: Ask, element: str) -> state.Stored | None:
    found: state.Stored | None = ask(state.load, [element]).get(element)
    return found


def versions(tx: Transaction, scope: Scope, element: str) -> list[tuple[Any, ...]]:
    return tx.execute(
        "select seq_from, version, state, name, doc from element_ver"
        " where space_id = %s and id = %s order by seq_from",
        (scope.space_id, element),
    ).fetchall()


def person(handle: str, name: str) -> UpsertConcept:
    return UpsertConcept(handle, type="Person", key=f"person:{name.lower()}", initial_name=name)


def place(handle: str, name: str) -> UpsertConcept:
    return UpsertConcept(handle, type="Place", key=f"place:{name.lower()}", initial_name=name)


def lives(handle: str, who: str, where: str, **more: Any) -> tuple[Change, ...]:
    fields: dict[str, Any] = {"asserted_by": who, "mode": "stated", **more}
    return (
        EnsureProposition(f"?p{handle[1:]}", who, "lives_in", where),
        CreateAssertion(handle, f"?p{handle[1:]}", **fields),
    )


# retention


def test_retention_is_a_plane_of_its_own_and_members_that_are_not_named_stay(
    write: Write, ask: Ask
) -> None:
    a = write(person("?a", "Ada")).ids["?a"]
    made = write(SetRetention(a, {"retention_class": "short", "legal_hold": True}))
    (entry,) = made.changes
    assert (entry.op, entry.planes) == ("retention", {"retention": 2})
    assert entry.touched == ("retention.legal_hold", "retention.retention_class")
    write(SetRetention(a, {"retention_class": None, "expires_at": "2031-01-01T00:00:00.000Z"}))
    held = stored(ask, a)
    assert held is not None
    assert held.doc["retention"] == {"legal_hold": True, "expires_at": "2031-01-01T00:00:00.000Z"}
    assert write(SetRetention(a, {"legal_hold": True})).effect == "no_effect"
    with pytest.raises(VersionConflict):
        write(SetRetention(a, {"legal_hold": None}, guards=(Guard(1, "retention"),)))
    write(SetRetention(a, {"legal_hold": False, "expires_at": None}))
    freed = stored(ask, a)
    assert freed is not None
    assert "retention" not in freed.doc


@pytest.mark.parametrize(
    ("error", "values"),
    [
        (SchemaFieldNotFound, {"review_at": "2030-01-01T00:00:00.000Z"}),
        (TypeMismatch, {"retention_class": 7}),
        (TypeMismatch, {"expires_at": 0}),
        (ConstraintViolation, {"expires_at": "2030-01-01T00:00:00Z"}),
        (TypeMismatch, {"legal_hold": "yes"}),
    ],
)
def test_what_retention_is_not_is_refused(
    write: Write, error: type[KipError], values: dict[str, Any]
) -> None:
    a = write(person("?a", "Ada")).ids["?a"]
    with pytest.raises(error):
        write(SetRetention(a, values))


# upserts, facets


def test_an_upsert_changes_and_takes_away(write: Write, ask: Ask) -> None:
    made = write(
        person("?b", "Ben"),
        UpsertConcept(
            "?k",
            type="Commitment",
            key="k",
            name="send it",
            attributes={"summary": "send it", "status": "pending", "priority": 1},
            facets={"MnemonicState": {"salience": 0.5, "utility": 0.1}},
            links=(Link("committed_to", "?b"),),
            aliases=("the letter",),
            canonical_id="urn:k",
        ),
    )
    k = made.ids["?k"]
    again = write(
        UpsertConcept(
            "?k",
            type="Commitment",
            key="k",
            unset_name=True,
            unset_attributes=("priority", "summary"),
            attributes={"summary": "send it at once"},
            unset_facets={"MnemonicState": ("utility",)},
            unlinks=(Link("committed_to", made.ids["?b"]),),
            aliases=(),
            canonical_id="urn:k",
        )
    )
    (entry,) = again.changes
    assert entry.touched == (
        "attributes.priority",
        "attributes.summary",
        f"facets.{MNEMONIC}.utility",
        "fields.aliases",
        "fields.name",
        "structural.committed_to",
    )
    now = stored(ask, k)
    assert now is not None
    assert now.name is None
    assert now.doc["attributes"] == {"summary": "send it at once", "status": "pending"}
    assert now.doc["facets"] == {MNEMONIC: {"salience": 0.5}}
    with pytest.raises(ImmutableField):
        write(UpsertConcept("?k", id=k, canonical_id="urn:other"))
    with pytest.raises(ConstraintViolation):
        write(UpdateConcept(k, unset_attributes=("summary",)))


def test_members_of_facets_change_apart_and_immutable_ones_never(write: Write, ask: Ask) -> None:
    outcome = {
        "task_family": "deploy",
        "attempt_ref": None,
        "metric": "m",
        "window": "w",
        "terminal": True,
        "observation_key": "k",
        "observer_config_digest": PIN["content_digest"],
        "outcome_status": "success",
    }
    e = write(CreateEvidence("?e", "outcome", "x", facets={"OutcomeRecord": outcome})).ids["?e"]
    with pytest.raises(ImmutableField):
        write(UpdateRecord(e, facets={"OutcomeRecord": {"magnitude": 0.5}}))
    for change in (
        UpdateRecord(e, facets={"OutcomeRecord": {"outcome_status": "failure"}}),
        UpdateRecord(e, unset_facets={"OutcomeRecord": ("outcome_status",)}),
        UpdateRecord(e, unset_facets={"OutcomeRecord": ()}),
        UpdateRecord(e, facets={"OutcomeRecord": {"verdict": "promote"}}),
        UpdateRecord(e, facets={"GradingState": {"graded_count": 1}}),
    ):
        with pytest.raises(ConstraintViolation):
            write(change)
    wrong = {**outcome, "outcome_status": "splendid"}
    with pytest.raises(ConstraintViolation):
        write(CreateEvidence("?e", "outcome", "x", facets={"OutcomeRecord": wrong}))
    assert write(UpdateRecord(e, facets={"OutcomeRecord": outcome})).effect == "no_effect"
    a = write(person("?a", "Ada")).ids["?a"]
    strength = {"memory_strength": 0.8, "strength_policy": PIN}
    made = write(UpdateConcept(a, facets={"MnemonicState": strength}))
    assert made.changes[0].planes == {"facets": {MNEMONIC: 1}}
    write(UpdateConcept(a, name="Ada L.", guards=(Guard(1, "MnemonicState"),)))
    with pytest.raises(VersionConflict) as refused:
        write(UpdateConcept(a, name="Ada M.", guards=(Guard(2, MNEMONIC),)))
    assert refused.value.data["plane"] == MNEMONIC
    pin = {"artifact_ref": "x", "content_digest": "md5:1"}
    with pytest.raises(ConstraintViolation):
        write(UpdateConcept(a, facets={"MnemonicState": {"strength_policy": pin}}))


def test_a_facet_goes_with_the_activity_that_it_ends_up_on(write: Write) -> None:
    record: dict[str, Any] = {
        "source_refs": ["E-1"],
        "extractor_version": "1",
        "schema_version": "1",
        "preserved_fields": [],
        "known_omissions": [],
        "reencoding_eligible": True,
    }
    facets = {"CompressionRecord": record}
    made = write(
        CreateActivity("?x", "extraction", facets=facets),
        Transition("?x", "completed", ended_at=AT),
    )
    with pytest.raises(ActivityTerminal):
        write(UpdateRecord(made.ids["?x"], facets=facets))
    for activity in (
        CreateActivity("?x", "extraction", facets=facets),
        CreateActivity("?x", "reflection", "completed", facets=facets),
        CreateActivity(
            "?x", "extraction", "completed", facets={"CompressionRecord": {"source_refs": ["E-1"]}}
        ),
    ):
        with pytest.raises(ConstraintViolation):
            write(activity)


def test_a_skill_moves_with_a_verdict_only(write: Write, ask: Ask) -> None:
    behaviour = {"task_family": "t", "procedure": "p", "behavior_digest": "sha256:" + "b" * 64}
    made = write(
        CreateConcept(
            "?s",
            "Skill",
            attributes={"skill_class": "workflow", "summary": "s", "status": "proposed"},
            links=(Link("current_revision", "?r"),),
        ),
        CreateConcept(
            "?r", "SkillRevision", attributes=behaviour, links=(Link("revision_of", "?s"),)
        ),
    )
    s = made.ids["?s"]
    with pytest.raises(ConstraintViolation):
        write(UpdateConcept(s, attributes={"task_family": 7}))
    with pytest.raises(VersionConflict):
        write(UpdateConcept(s, attributes={"status": "trialed"}))
    move = UpdateConcept(s, attributes={"status": "trialed"}, guards=(Guard(1),))
    with pytest.raises(ConstraintViolation):
        write(move)
    record: dict[str, Any] = {
        "trial_ref": None,
        "revision_refs": [made.ids["?r"]],
        "from_status": "proposed",
        "to_status": "trialed",
        "rule_digest": "sha256:" + "c" * 64,
        "parameters_digest": "sha256:" + "c" * 64,
        "cutoff": "2026-03-01T09:00:00.000Z",
        "attempt_refs": [],
        "outcome_refs": [],
        "excluded_samples": [],
        "missing_attempt_refs": [],
        "comparison": {"status": "insufficient", "effect": None, "uncertainty": {}},
        "replay_artifact": PIN,
    }
    verdict = CreateActivity(
        "?v",
        "lifecycle_verdict",
        "completed",
        outputs=(s,),
        facets={"EvaluationRecord": record},
    )
    write(move, verdict)
    now = stored(ask, s)
    assert now is not None
    assert now.doc["attributes"]["status"] == "trialed"
    with pytest.raises(ConstraintViolation):
        write(UpdateConcept(made.ids["?r"], attributes={"procedure": "q"}))


def test_ordered_fields_place_and_close_up(write: Write, ask: Ask) -> None:
    def step(handle: str) -> CreateConcept:
        return CreateConcept(
            handle, "ExperienceStep", attributes={"summary": handle, "step_kind": "action"}
        )

    made = write(
        CreateConcept(
            "?e",
            "Experience",
            attributes={"goal": "g", "outcome_status": "success"},
            links=(Link("has_step", "?2"), Link("has_step", "?1", position=0)),
        ),
        *(step(f"?{n}") for n in range(1, 5)),
    )
    e, ids = made.ids["?e"], made.ids

    def steps() -> list[str]:
        lineage = "kip://profiles/cognitive-memory/has_step"
        edges = ask(state.edges_from, [e], [lineage])
        assert [edge.position for edge in edges] == list(range(len(edges)))
        names = {element: handle for handle, element in ids.items()}
        return [names[edge.target] for edge in edges]

    assert steps() == ["?1", "?2"]
    write(
        UpdateConcept(e, links=(Link("has_step", ids["?3"]), Link("has_step", ids["?4"], None, 1)))
    )
    assert steps() == ["?1", "?4", "?2", "?3"]
    write(UpdateConcept(e, unlinks=(Link("has_step", ids["?4"]),)))
    assert steps() == ["?1", "?2", "?3"]
    with pytest.raises(StructuralReferenceInvalid):
        write(UpdateConcept(e, links=(Link("has_step", ids["?4"], position=4),)))


# merges


def test_a_merged_concept_stays_and_writes_through_it_go_to_what_it_is(
    write: Write, ask: Ask
) -> None:
    made = write(person("?al", "Al"), person("?alice", "Alice"), place("?t", "Tartu"))
    al, alice, t = (made.ids[h] for h in ("?al", "?alice", "?t"))
    old = write(EnsureProposition("?p", al, "lives_in", t)).ids["?p"]
    merge = write(MergeConcept(al, alice))
    (entry,) = merge.changes
    assert entry.as_json() == {
        "op": "merge",
        "kind": "concept",
        "id": al,
        "old_version": 1,
        "new_version": 2,
        "schema_ref": "kip://profiles/cognitive-memory@2.0.0/Person",
        "state": {"from": "active", "to": "merged"},
        "refs": {"merged_into": alice},
        "touched": ["fields.merged_into"],
    }
    away = stored(ask, al)
    assert away is not None
    assert (away.state, away.name, away.doc["merged_into"]) == ("merged", "Al", alice)
    assert write(MergeConcept(al, alice)).effect == "no_effect"
    assert write(MergeConcept(alice, alice)).effect == "no_effect"
    assert write(MergeConcept(al, al)).effect == "no_effect"
    with pytest.raises(IdentityMergeConflict):
        write(MergeConcept(alice, al))
    with pytest.raises(IdentityMergeConflict):
        write(MergeConcept(al, made.ids["?t"]))
    with pytest.raises(NotFoundOrNotVisible):
        write(MergeConcept(al, "C-99"))
    new = write(person("?x", "Al"), EnsureProposition("?p", "?x", "lives_in", t))
    assert new.ids["?x"] == alice
    assert new.ids["?p"] != old
    assert write(EnsureProposition("?p", al, "lives_in", t)).ids["?p"] == new.ids["?p"]
    write(UpdateConcept(al, name="Alice L."))
    survivor = stored(ask, alice)
    assert survivor is not None
    assert survivor.name == "Alice L."
    claim = write(*lives("?s", alice, t)).ids["?s"]
    write(*lives("?n", al, t), Transition(claim, "superseded", by="?n"))


def test_merges_form_chains_and_never_cycles(write: Write, ask: Ask) -> None:
    ids = write(*(person(f"?{n}", f"P{n}") for n in range(4))).ids
    write(MergeConcept(ids["?0"], ids["?1"]), MergeConcept(ids["?1"], ids["?2"]))
    write(UpdateConcept(ids["?0"], name="All one"))
    survivor = stored(ask, ids["?2"])
    assert survivor is not None
    assert survivor.name == "All one"
    with pytest.raises(IdentityMergeConflict):
        write(MergeConcept(ids["?2"], ids["?0"]))
    with pytest.raises(IdentityMergeConflict):
        write(MergeConcept(ids["?2"], ids["?3"]), MergeConcept(ids["?3"], ids["?2"]))
    identity = ask(
        lambda tx, scope: tx.execute(
            "select identity_version from space where space_id = %s", (scope.space_id,)
        ).fetchone()
    )
    assert identity == (2,)


def test_an_object_elsewhere_stands_where_elements_may(write: Write) -> None:
    a = write(person("?a", "Ada")).ids["?a"]
    made = write(EnsureProposition("?p", a, "lives_in", Elsewhere("urn:place:tartu")))
    again = write(EnsureProposition("?p", a, "lives_in", Elsewhere("urn:place:tartu")))
    assert (again.effect, again.ids["?p"]) == ("no_effect", made.ids["?p"])
    with pytest.raises(ConstraintViolation):
        write(EnsureProposition("?p", a, "timezone", Elsewhere("urn:x")))


# purges


def test_a_purge_leaves_a_stub_and_nothing_of_the_past(write: Write, ask: Ask) -> None:
    a = write(person("?a", "Ada")).ids["?a"]
    write(UpdateConcept(a, attributes={"secret": "1"}))
    made = write(Purge(a))
    (entry,) = made.changes
    assert entry.as_json() == {
        "op": "purge",
        "kind": "concept",
        "id": a,
        "old_version": 2,
        "new_version": 3,
        "schema_ref": "kip://profiles/cognitive-memory@2.0.0/Person",
        "state": {"from": "active", "to": "purged"},
    }
    ((seq, version, gone, name, doc),) = ask(versions, a)
    assert (seq, version, gone, name) == (3, 3, "purged", None)
    assert doc["governance"]["purged"] is True
    assert doc["governance"]["content_digest"].startswith("sha256:")
    with pytest.raises(NotFoundOrNotVisible):
        write(Purge(a))
    history = ask(transactions.between, limit=10, element=a)
    assert [(r.seq, r.changes[0]["op"], r.changes[0]["new_version"]) for r in history] == [
        (1, "create", 1),
        (2, "update", 2),
        (3, "purge", 3),
    ]
    assert "touched" not in history[1].changes[0]
    assert write(person("?a", "Ada")).ids["?a"] != a


@pytest.mark.parametrize(
    "refer",
    [
        lambda ids: lives("?s", ids["?a"], ids["?t"]),
        lambda ids: (EnsureProposition("?p", ids["?b"], "knows", ids["?a"]),),
        lambda ids: lives("?s", ids["?b"], ids["?t"], asserted_by=ids["?a"]),
        lambda ids: lives("?s", ids["?b"], ids["?t"], contexts=(ids["?a"],)),
        lambda ids: (UpdateConcept(ids["?k"], links=(Link("committed_to", ids["?a"]),)),),
        lambda ids: (CreateActivity("?x", "extraction", outputs=(ids["?a"],)),),
    ],
    ids=["subject", "object", "actor", "context", "structure", "activity"],
)
def test_what_is_referred_to_is_not_purged_unless_that_is_said(
    write: Write, ask: Ask, refer: Callable[[Any], tuple[Change, ...]]
) -> None:
    ids = write(
        person("?a", "Ada"),
        person("?b", "Ben"),
        place("?t", "Tartu"),
        CreateConcept("?k", "Commitment", attributes={"summary": "s", "status": "pending"}),
    ).ids
    write(*refer(ids))
    with pytest.raises(PurgeDenied):
        write(Purge(ids["?a"]))
    write(Purge(ids["?a"], "tombstone_reference"))
    assert stored(ask, ids["?a"]) is None


def test_what_others_were_merged_into_is_erased_with_them_or_not_at_all(
    write: Write, ask: Ask
) -> None:
    ids = write(person("?a", "Ada"), person("?b", "Ada B"), person("?c", "Cy")).ids
    write(MergeConcept(ids["?b"], ids["?a"]))
    for policy in ("deny_if_referenced", "tombstone_reference"):
        with pytest.raises(PurgeDenied):
            write(Purge(ids["?a"], policy))
    # named together they hold one another no longer
    write(Purge(ids["?a"], "tombstone_reference"), Purge(ids["?b"], "tombstone_reference"))
    assert stored(ask, ids["?a"]) is None
    assert stored(ask, ids["?b"]) is None


def test_replaced_claims_and_evidence_hold_what_replaced_them(write: Write) -> None:
    ids = write(
        person("?a", "Ada"),
        place("?t", "Tartu"),
        *lives("?old", "?a", "?t"),
        CreateAssertion("?new", "?pold", "?a", "stated"),
        CreateEvidence("?e", "message", "x"),
        CreateEvidence("?f", "message", "y"),
    ).ids
    write(
        Transition(ids["?old"], "superseded", by=ids["?new"]),
        Transition(ids["?e"], "corrected", by=ids["?f"]),
    )
    for element in (ids["?new"], ids["?f"]):
        with pytest.raises(PurgeDenied):
            write(Purge(element))


def test_a_cascade_takes_what_refers_and_stops_at_a_hold(write: Write, ask: Ask) -> None:
    ids = write(
        person("?a", "Ada"),
        person("?b", "Ben"),
        place("?t", "Tartu"),
        *lives("?s", "?a", "?t", asserted_by="?b"),
        *lives("?o", "?b", "?t"),
        CreateActivity("?x", "extraction", "completed", outputs=("?s",)),
    ).ids
    write(SetRetention(ids["?s"], {"legal_hold": True}))
    with pytest.raises(LegalHoldConflict):
        write(Purge(ids["?a"], "authorized_cascade"))
    assert stored(ask, ids["?a"]) is not None
    write(SetRetention(ids["?s"], {"legal_hold": False}))
    write(SetRetention(ids["?a"], {"legal_hold": True}))
    with pytest.raises(LegalHoldConflict):
        write(Purge(ids["?a"]))
    write(SetRetention(ids["?a"], {"legal_hold": None}))
    made = write(Purge(ids["?a"], "authorized_cascade"))
    assert {c.id for c in made.changes} == {ids[h] for h in ("?a", "?ps", "?s", "?x")}
    assert all(stored(ask, ids[h]) is not None for h in ("?b", "?t", "?po", "?o"))
    with pytest.raises(ConstraintViolation):
        write(Purge(ids["?b"], "delete_everything"))  # type: ignore[arg-type]


def test_purges_of_one_change_set_do_not_hold_one_another(write: Write) -> None:
    ids = write(person("?a", "Ada"), place("?t", "Tartu"), *lives("?s", "?a", "?t")).ids
    made = write(*(Purge(ids[h]) for h in ("?a", "?ps", "?s")))
    assert len(made.changes) == 3
    with pytest.raises(DuplicateMutationTarget):
        write(UpdateConcept(ids["?t"], name="x"), Purge(ids["?t"]))


def test_a_payload_goes_and_the_record_stays(write: Write, ask: Ask) -> None:
    ids = write(
        person("?a", "Ada"),
        place("?t", "Tartu"),
        CreateEvidence("?e", "message", {"content": "hi"}, "sha256:1", media_type="text/plain"),
        *lives("?s", "?a", "?t", citations=(Citation("?e"),)),
    ).ids
    with pytest.raises(ConstraintViolation):
        write(PurgePayload(ids["?a"]))
    write(SetRetention(ids["?e"], {"legal_hold": True}))
    with pytest.raises(LegalHoldConflict):
        write(PurgePayload(ids["?e"]))
    write(SetRetention(ids["?e"], {"legal_hold": False}))
    made = write(PurgePayload(ids["?e"]))
    assert [(c.op, c.new_version) for c in made.changes] == [("payload_purge", 4)]
    assert write(PurgePayload(ids["?e"])).effect == "no_effect"
    row = ask(
        lambda tx, scope: tx.execute(
            "select payload, content_digest, media_type from evidence where space_id = %s",
            (scope.space_id,),
        ).fetchone()
    )
    assert row == ({"mode": "purged"}, "sha256:1", "text/plain")
    assert [e.target for e in ask(state.edges_from, [ids["?s"]], ["evidence"])] == [ids["?e"]]


def everywhere(tx: Transaction, scope: Scope, word: str) -> list[str]:
    """The tables of the space in which a word stands anywhere."""
    tables = tx.execute(
        "select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid"
        " and a.attname = 'space_id' where c.relkind = 'r' and c.relrowsecurity"
        " and has_table_privilege(c.oid, 'select')"
    ).fetchall()
    assert len(tables) > 20
    return [
        name
        for (name,) in tables
        if tx.execute(
            SQL("select 1 from {} t where space_id = %s and t::text ilike %s limit 1").format(
                Identifier(name)
            ),
            (scope.space_id, f"%{word}%"),
        ).fetchone()
    ]


def test_a_purge_leaves_no_byte(write: Write, ask: Ask) -> None:
    ids = write(
        CreateConcept(
            "?a",
            "Person",
            name=f"Ada {CANARY}",
            key=f"person:{CANARY}",
            client_key=f"client:{CANARY}",
            aliases=(CANARY,),
            canonical_id=f"urn:{CANARY}",
            attributes={CANARY: 1, "note": CANARY},
        ),
        place("?t", "Tartu"),
        CreateEvidence("?e", "message", {"content": CANARY}, media_type="text/plain"),
        EnsureProposition("?tz", "?a", "timezone", Value(CANARY)),
        CreateAssertion("?s", "?tz", "?a", "stated", citations=(Citation("?e"),)),
        CreateActivity(
            "?x",
            "extraction",
            "completed",
            inputs=("?e",),
            outputs=("?s",),
            parameters_digest=CANARY,
        ),
        wording={"?e": Wording(CANARY, f"before {CANARY}")},
    ).ids
    write(UpdateConcept(ids["?a"], name=f"{CANARY} the second", attributes={CANARY: 2}))
    write(SetRetention(ids["?a"], {"retention_class": CANARY}))
    before = ask(everywhere, CANARY)
    assert {"element", "element_ver", "proposition", "evidence", "search_document"} <= set(before)
    write(PurgePayload(ids["?e"]))
    write(Purge(ids["?a"], "authorized_cascade"))
    assert ask(everywhere, CANARY) == []
    again = write(CreateEvidence("?e", "message", {"content": CANARY}, client_key=CANARY)).ids["?e"]
    write(Purge(again))
    assert ask(everywhere, CANARY) == []
    assert json.dumps(CANARY) not in json.dumps(
        [r.envelope() for r in ask(transactions.between, limit=100)]
    )


def test_what_still_refers_to_an_erased_concept_does_not_say_its_name(
    write: Write, ask: Ask
) -> None:
    ids = write(
        CreateConcept("?a", "Person", name=CANARY),
        place("?t", "Tartu"),
        *lives("?s", "?a", "?t"),
        DefineSymbol(
            "predicate", "doubts", {"description": "x", "object": {"kinds": ["Proposition"]}}
        ),
        person("?b", "Ben"),
        EnsureProposition("?d", "?b", "doubts", "?ps"),
        CreateAssertion("?o", "?d", "?b", "stated"),
    ).ids
    assert ask(everywhere, CANARY)
    write(Purge(ids["?a"], "tombstone_reference"))
    assert ask(everywhere, CANARY) == []
    assert stored(ask, ids["?o"]) is not None


def test_a_preview_says_what_a_commit_would_do_and_does_nothing(write: Write, ask: Ask) -> None:
    made = write(person("?a", "Ada"))
    change = ChangeSet((UpdateConcept(made.ids["?a"], name="Ada L."), person("?b", "Ben")))
    seen = ask(preview, change)
    assert (seen.seq, seen.ids) == (None, {"?b": "C-2"})
    assert {(c.op, c.id) for c in seen.changes} == {("update", "C-1"), ("create", "C-2")}
    assert ask(versions, "C-1")[0][1:4] == (1, "active", "Ada")
    assert ask(preview, ChangeSet((person("?a", "Ada"),))).effect == "no_effect"
