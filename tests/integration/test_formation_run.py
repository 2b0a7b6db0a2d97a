"""The formation pipeline's writing half: messages and a proposal become memory, once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from pipelines.formation.alone import Alone, form, rehearse
from pipelines.formation.proposal import (
    Background,
    Claim,
    ClaimRef,
    Commitment,
    Constraint,
    Conversation,
    Proposal,
    Retraction,
    Usage,
)
from pipelines.formation.reading import space_items
from pipelines.formation.run import run
from pipelines.work import Result
from storage import conversations, spaces
from storage.clock import to_millis
from storage.database import Database, Scope
from storage.errors import ModelUnavailable, NotFound
from storage.graph import claims, state
from storage.graph.belief import Question
from storage.source_digests import message_digest

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@dataclass
class Scripted:
    """An encoder that says what a test tells it to."""

    proposal: Proposal | Callable[[Conversation, Background], Proposal]
    heard: list[tuple[Conversation, Background]] = field(default_factory=list)
    id: str = "scripted"

    def encode(self, conversation: Conversation, background: Background) -> Proposal:
        self.heard.append((conversation, background))
        if isinstance(self.proposal, Proposal):
            return self.proposal
        return self.proposal(conversation, background)


def message(name: str, text: str, minute: int, role: str = "user", **more: Any) -> dict[str, Any]:
    at = to_millis(NOON.replace(minute=minute))
    return {"role": role, "name": name, "content": text, "timestamp": at, **more}


def lives(who: str, where: str, at: int, **more: Any) -> Claim:
    return Claim(who, "lives_in", where, "Place", "support", who, at, **more)


TALK = [
    message("Ada", "I live in Berlin.", 0),
    message("Bo", "I love oat milk and I'll bring the tent.", 1),
    message("Ada", "Always answer in French.", 2),
    message("Helper", "Bien sûr.", 3, role="assistant"),
]
HEARD = Proposal(
    claims=(
        lives("Ada", "Berlin", 0),
        Claim("Bo", "prefers", "oat milk", "Drink", "support", "Bo", 1),
        Claim("Bo", "owns", "a tent", "Thing", "support", "Bo", 1),
    ),
    commitments=(Commitment("bring the tent", "Bo", 1, due=NOON, owed_to="Ada"),),
    constraints=(Constraint("Always answer in French.", "Ada", 2),),
    summary="Ada and Bo plan a trip.",
)


@pytest.fixture
def scope(space: str) -> Scope:
    return Scope(space)


def look(database: Database, scope: Scope, function: Callable[..., Any], *a: Any, **n: Any) -> Any:
    with database.transaction(scope, snapshot=True) as tx:
        return function(tx, scope, *a, **n)


def count(database: Database, scope: Scope, table: str) -> int:
    with database.transaction(scope) as tx:
        row = tx.execute(f"select count(*) from {table} where space_id = %s", (scope.space_id,))
        found = row.fetchone()
    assert found is not None
    return int(found[0])


def indexed(database: Database, scope: Scope) -> dict[str, list[str]]:
    with database.transaction(scope) as tx:
        rows = tx.execute(
            "select kind, text from search_document where space_id = %s order by text",
            (scope.space_id,),
        ).fetchall()
    found: dict[str, list[str]] = {}
    for kind, text in rows:
        found.setdefault(kind, []).append(text)
    return found


def test_everything_of_a_conversation_lands_in_one_commit(database: Database, scope: Scope) -> None:
    result = form(database, scope, TALK, Scripted(HEARD))
    assert (result.disposition, result.resolved_seq, result.available_seq) == ("formed", 1, 1)
    assert count(database, scope, "commit_record") == 1
    assert count(database, scope, "evidence") == 4
    assert look(database, scope, space_items) == {
        "claims": [
            {
                "subject": "Ada",
                "predicate": "lives_in",
                "object": "Berlin",
                "stance": "support",
                "asserted_by": "Ada",
                "valid_from": None,
                "valid_until": None,
            },
            {
                "subject": "Bo",
                "predicate": "prefers",
                "object": "oat milk",
                "stance": "support",
                "asserted_by": "Bo",
                "valid_from": None,
                "valid_until": None,
            },
            {
                "subject": "Bo",
                "predicate": "owns",
                "object": "a tent",
                "stance": "support",
                "asserted_by": "Bo",
                "valid_from": None,
                "valid_until": None,
            },
        ],
        "commitments": [
            {
                "summary": "bring the tent",
                "by": "Bo",
                "due": "2026-03-02T12:00:00.000Z",
                "status": "pending",
            }
        ],
        "constraints": ["Always answer in French."],
    }
    documents = indexed(database, scope)
    assert documents["event"] == ["Ada and Bo plan a trip."]
    assert documents["claim"] == [
        "Ada lives in Berlin",
        "Bo owns a tent",
        "Bo prefers oat milk",
    ]
    assert documents["commitment"] == ["Bo: bring the tent (2026-03-02)"]
    assert documents["constraint"] == ["Ada: Always answer in French."]
    assert "Ada: I live in Berlin." in documents["evidence"]


def test_every_item_cites_its_message_and_has_its_time(database: Database, scope: Scope) -> None:
    result = form(database, scope, TALK, Scripted(HEARD))
    refs = result.result["memory_refs"]
    views = look(
        database,
        scope,
        claims.claims_for,
        Question(NOON),
        assertions=[ref for ref in refs if ref.startswith("A-")],
    )
    said = {view.object: view for view in views}
    assert said["Berlin"].asserted_at == NOON
    assert said["oat milk"].asserted_at == NOON.replace(minute=1)
    evidence = look(database, scope, claims.evidence, [e for v in views for e in v.evidence])
    assert evidence[said["Berlin"].evidence[0]].payload == TALK[0]
    assert evidence[said["Berlin"].evidence[0]].source == "Ada"
    (promise,) = look(database, scope, claims.commitments)
    assert (promise.by, promise.owed_to, promise.created_at) == (
        "Bo",
        ("Ada",),
        NOON.replace(minute=1),
    )
    assert promise.evidence == said["oat milk"].evidence
    (rule,) = look(database, scope, claims.constraints)
    assert rule.by == "Ada"
    assert evidence.keys() | set(rule.evidence) == {"E-1", "E-2", "E-3"}


def test_the_record_is_settled_with_the_run(database: Database, scope: Scope) -> None:
    spent = Usage(input_tokens=10, output_tokens=2, requests=1)
    result = form(database, scope, TALK, Scripted(Proposal(summary="s", usage=spent, model="m")))
    record = look(database, scope, conversations.get, result.result["conversation"])
    assert record.status == "completed"
    assert record.messages == TALK
    assert record.usage == {
        "input_tokens": 10,
        "output_tokens": 2,
        "cached_tokens": 0,
        "requests": 1,
    }
    assert record.artifacts[0]["disposition"] == "evidence_only"


def test_a_conversation_sent_again_changes_nothing_and_asks_no_encoder(
    database: Database, scope: Scope
) -> None:
    form(database, scope, TALK, Scripted(HEARD))
    before = look(database, scope, space_items)
    again = Scripted(HEARD)
    result = form(database, scope, TALK, again)
    assert (result.disposition, result.resolved_seq, result.available_seq) == ("skipped", None, 1)
    assert again.heard == []
    assert look(database, scope, space_items) == before
    assert count(database, scope, "evidence") == 4


def test_a_conversation_that_grew_adds_what_is_new_only(database: Database, scope: Scope) -> None:
    form(database, scope, TALK, Scripted(HEARD))
    grown = [*TALK, message("Ada", "No, Aarhus, I mistyped. And the tent is here, thanks.", 9)]
    heard = Proposal(
        claims=(
            *HEARD.claims,
            lives("Ada", "Aarhus", 4, change="correction", revises=ClaimRef(index=0)),
        ),
        commitments=(Commitment("bring the tent", "Bo", 1, status="fulfilled"),),
        constraints=HEARD.constraints,
        summary="The same, longer.",
    )
    encoder = Scripted(heard)
    result = form(database, scope, grown, encoder)
    assert result.disposition == "formed"
    assert encoder.heard[0][1].claims == ()
    assert count(database, scope, "evidence") == 5
    assert count(database, scope, "assertion") == 4
    items = look(database, scope, space_items)
    assert [c["object"] for c in items["claims"]] == ["oat milk", "a tent", "Aarhus"]
    assert [(c["summary"], c["status"]) for c in items["commitments"]] == [
        ("bring the tent", "fulfilled")
    ]
    assert items["constraints"] == ["Always answer in French."]
    assert "Ada lives in Berlin" not in indexed(database, scope)["claim"]


def test_what_other_messages_did_to_a_promise_survives_a_resend(
    database: Database, scope: Scope
) -> None:
    form(database, scope, TALK, Scripted(HEARD))
    (promise,) = look(database, scope, claims.commitments)
    done = Proposal(
        commitments=(
            Commitment("bring the tent", "Bo", 0, status="fulfilled", revises=promise.id),
        ),
        summary="done",
    )
    result = form(database, scope, [message("Bo", "I brought the tent.", 20)], Scripted(done))
    assert result.disposition == "formed"
    resent = [*TALK, message("Ada", "Nice weather.", 30)]
    form(database, scope, resent, Scripted(HEARD))
    items = look(database, scope, space_items)
    assert [(c["summary"], c["status"]) for c in items["commitments"]] == [
        ("bring the tent", "fulfilled")
    ]


def test_known_claims_are_offered_and_can_be_corrected_retracted_and_withdrawn(
    database: Database, scope: Scope
) -> None:
    form(database, scope, TALK, Scripted(HEARD))

    def later(conversation: Conversation, background: Background) -> Proposal:
        known = {claim.object: claim.id for claim in background.claims}
        return Proposal(
            claims=(
                lives(
                    "Ada", "Aarhus", 0, change="correction", revises=ClaimRef(known=known["Berlin"])
                ),
            ),
            retractions=(Retraction(ClaimRef(known=known["a tent"]), 1),),
            constraints=(Constraint("x", "Ada", 0, withdraws=background.constraints[0].id),),
            summary="s",
        )

    form(
        database,
        scope,
        [
            message("Ada", "Aarhus, not Berlin; and stop the French.", 40),
            message("Bo", "The tent was a joke.", 41),
        ],
        Scripted(later),
    )
    items = look(database, scope, space_items)
    assert [(c["object"], c["asserted_by"]) for c in items["claims"]] == [
        ("oat milk", "Bo"),
        ("Aarhus", "Ada"),
    ]
    assert items["constraints"] == []
    assert "constraint" not in indexed(database, scope)
    (view,) = [
        v
        for v in look(database, scope, claims.claims_for, Question(NOON), propositions=["P-1"])
        if v.object == "Berlin"
    ]
    assert view.status == "superseded"


def test_nobody_takes_back_what_another_said(database: Database, scope: Scope) -> None:
    form(database, scope, TALK, Scripted(HEARD))

    def meddle(conversation: Conversation, background: Background) -> Proposal:
        known = {claim.object: claim.id for claim in background.claims}
        return Proposal(
            claims=(
                Claim(
                    "Ada",
                    "lives_in",
                    "Oslo",
                    "Place",
                    "support",
                    "Bo",
                    0,
                    change="correction",
                    revises=ClaimRef(known=known.get("Berlin")),
                ),
            ),
            retractions=(Retraction(ClaimRef(known=known.get("Berlin")), 0),),
            summary="s",
        )

    talk = [message("Bo", "Ada lives in Oslo.", 50), message("Ada", "Hm.", 51)]
    result = form(database, scope, talk, Scripted(meddle))
    items = look(database, scope, space_items)
    assert ("Berlin", "Ada") in [(c["object"], c["asserted_by"]) for c in items["claims"]]
    assert any("retraction" in warning for warning in result.result["warnings"])


def test_a_correction_of_another_subject_takes_the_old_claim_back(
    database: Database, scope: Scope
) -> None:
    heard = Proposal(
        claims=(
            lives("Ada", "Berlin", 0),
            Claim(
                "Eva",
                "lives_in",
                "Berlin",
                "Place",
                "support",
                "Ada",
                1,
                change="correction",
                revises=ClaimRef(index=0),
            ),
        ),
        summary="s",
    )
    talk = [message("Ada", "I live in Berlin.", 0), message("Ada", "I mean Eva does.", 1)]
    form(database, scope, talk, Scripted(heard))
    items = look(database, scope, space_items)
    assert [c["subject"] for c in items["claims"]] == ["Eva"]


def test_what_the_schema_cannot_carry_is_left_out_with_a_warning(
    database: Database, scope: Scope
) -> None:
    heard = Proposal(
        claims=(
            Claim("Acme", "lives_in", "Berlin", "Place", "support", "Ada", 0, "Organization"),
            Claim("Ada", "Bad Predicate!", "x", "Thing", "support", "Ada", 0),
            Claim("Ada", "prefers", " ", "Drink", "support", "Ada", 0),
            Claim("Ada", "prefers", "a\x00b", "Drink", "support", "Ada", 0),
            Claim("Ada", "prefers", "the plan", "Commitment", "support", "Ada", 0),
            Claim("Ada", "speaks", "fi", "Language", "support", "Ada", 0),
            Claim("Ada", "comes_from", "Turku", "City", "support", "Ada", 0),
            lives("Ada", "Oslo", 0, valid_from="2026-13-45"),
            lives("Ada", "Rome", 7),
        ),
        commitments=(Commitment("x", "Ada", 99),),
        summary="s",
    )
    result = form(database, scope, [message("Ada", "…", 0)], Scripted(heard))
    items = look(database, scope, space_items)
    assert [(c["predicate"], c["object"]) for c in items["claims"]] == [
        ("prefers", "the plan"),
        ("speaks", "fi"),
        ("comes_from", "Turku"),
        ("lives_in", "Oslo"),
    ]
    assert len(result.result["warnings"]) == 7
    with database.transaction(scope) as tx:
        drafts = tx.execute(
            "select name from draft_symbol where space_id = %s order by name", (scope.space_id,)
        ).fetchall()
    assert drafts == [("Thing",), ("comes_from",)]


def test_messages_without_text_are_passed_over_and_parts_are_kept(
    database: Database, scope: Scope
) -> None:
    parts = [{"type": "image", "url": "u"}, {"type": "Text", "text": "Look!"}, "And this."]
    talk = [
        message("Ada", "  ", 0),
        message("Ada", "", 1),
        {"role": "user", "name": "Ada", "content": parts},
        {"role": "tool", "content": "42", "timestamp": to_millis(NOON)},
    ]
    encoder = Scripted(Proposal(summary="s"))
    result = form(database, scope, talk, encoder, {"timestamp": "2026-03-02T12:30:00.000Z"})
    heard = encoder.heard[0][0].messages
    assert [(m.speaker, m.text) for m in heard] == [("Ada", "Look!\nAnd this."), ("tool", "42")]
    assert heard[0].at == NOON.replace(minute=30)
    assert result.disposition == "evidence_only"
    evidence = look(database, scope, claims.evidence, ["E-1", "E-2"])
    assert evidence["E-1"].payload["content"] == parts
    assert (evidence["E-2"].evidence_class, evidence["E-2"].source) == ("tool_result", None)


def test_an_erased_message_is_neither_read_nor_stored(database: Database, scope: Scope) -> None:
    form(database, scope, TALK[:1], Scripted(Proposal(summary="s")))
    with database.transaction(scope) as tx:
        tx.execute(
            "insert into source_suppression select space_id, content_digest, 'plan', now()"
            " from evidence where space_id = %s",
            (scope.space_id,),
        )
    encoder = Scripted(Proposal(summary="s"))
    form(database, scope, TALK, encoder)
    assert [m.text for m in encoder.heard[0][0].messages] == [m["content"] for m in TALK[1:]]
    assert count(database, scope, "evidence") == 4


def test_a_failing_encoder_writes_nothing(database: Database, scope: Scope) -> None:
    def fail(conversation: Conversation, background: Background) -> Proposal:
        raise ModelUnavailable()

    with pytest.raises(ModelUnavailable):
        form(database, scope, TALK, Scripted(fail))
    assert count(database, scope, "evidence") == 0
    result = form(database, scope, TALK, Scripted(HEARD))
    assert result.disposition == "formed"


def test_an_effect_may_be_applied_again_after_a_rollback(database: Database, scope: Scope) -> None:
    with database.transaction(scope) as tx:
        number = conversations.next_id(tx, scope)
        conversations.create(
            tx, scope, number, "formation", job_id="", principal="p", messages=TALK
        )
    effect = run(Alone(database, scope, {"conversation": number}), Scripted(HEARD))
    results: list[Result] = []

    def apply_and(fail: bool) -> None:
        with database.transaction(scope) as tx:
            results.append(effect.apply(tx))
            if fail:
                raise NotFound

    with pytest.raises(NotFound):
        apply_and(fail=True)
    apply_and(fail=False)
    assert results[0] == results[1]
    assert count(database, scope, "commit_record") == 1


def test_a_missing_record_is_said_so(database: Database, scope: Scope) -> None:
    with pytest.raises(NotFound):
        run(Alone(database, scope, {"conversation": 10**9}), Scripted(HEARD))


def test_counts_follow_the_space_and_a_deleted_space_leaves_nothing(
    database: Database, scope: Scope
) -> None:
    form(database, scope, TALK, Scripted(HEARD))
    found = look(database, scope, spaces.counts)
    # nine that were told of, and a task to review each of three drafted words
    assert (found.concepts, found.propositions, found.conversations) == (12, 3, 1)
    with database.transaction(scope) as tx:
        spaces.delete(tx, scope)
    for table in ("space", "element", "edge", "evidence", "search_document", "conversation"):
        assert count(database, scope, table) == 0
    with pytest.raises(NotFound):
        look(database, scope, spaces.counts)


def test_a_rehearsal_leaves_no_trace(database: Database, clean: None) -> None:
    items = rehearse(database, TALK, Scripted(HEARD))
    assert len(items["claims"]) == 3
    with database.ledger() as tx:
        assert tx.execute("select count(*) from space").fetchone() == (0,)


def test_messages_of_one_digest_are_one_evidence(database: Database, scope: Scope) -> None:
    twice = [message("Ada", "Hello!", 0), message("Ada", "Hello!", 0)]
    form(database, scope, twice, Scripted(Proposal(summary="s")))
    assert count(database, scope, "evidence") == 1
    with database.transaction(scope) as tx:
        assert len(state.load(tx, scope, ["E-1", "E-2"])) == 1


def test_the_record_of_a_formation_does_not_keep_what_was_erased(
    database: Database, scope: Scope
) -> None:
    with database.transaction(scope) as tx:
        tx.execute(
            "insert into source_suppression (space_id, source_digest, plan_ref, created_at)"
            " values (%s, %s, 'pln', now())",
            (scope.space_id, message_digest(TALK[0])),
        )
    form(database, scope, TALK, Scripted(Proposal()))
    with database.transaction(scope) as tx:
        [record] = conversations.list_page(tx, scope, "formation", before_id=None, limit=5)
    said = [m["content"] for m in record.messages]
    assert said == ["", *(m["content"] for m in TALK[1:])]
    assert record.messages[0]["timestamp"] == TALK[0]["timestamp"]
    assert "name" not in record.messages[0]
