"""The contracts of product hosts on a real space: records, changes of them, and subscriptions."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pipelines.formation.alone import form
from pipelines.formation.builtin import BuiltinEncoder
from pipelines.product import changes as product
from pipelines.product.changes import (
    Caller,
    Changed,
    ChangeRequest,
    Expired,
    RevisionConflict,
    product_change,
    product_commit,
    product_discard,
    product_prepare,
    recover,
)
from pipelines.product.records import (
    MemoryRecord,
    Named,
    SourceMismatch,
    product_record,
    product_records,
    product_source,
)
from storage.clock import now, to_text
from storage.database import Database, Scope
from storage.errors import Conflict, InvalidInput, NotFound
from storage.graph.changes import (
    ChangeSet,
    CreateAssertion,
    CreateConcept,
    EnsureProposition,
    SetRetention,
    Value,
)
from storage.graph.commit import commit
from storage.graph.errors import LegalHoldConflict, NotFoundOrNotVisible
from storage.kip.errors import IdempotencyConflict, NotAuthorized, UnsupportedCapability
from storage.kip.protocol.caller import trusted
from storage.kip.protocol.execute import execute
from storage.migrations import versions
from tests.services import Services

BEGAN = now() - timedelta(days=10)


@pytest.fixture
def scope(space: str) -> Scope:
    return Scope(space)


def said(text: str, name: str = "Ada", days: float = 0) -> dict[str, Any]:
    at = int((BEGAN + timedelta(days=days)).timestamp() * 1000)
    return {"role": "user", "name": name, "content": text, "timestamp": at}


def records(database: Database, scope: Scope, **wanted: Any) -> list[MemoryRecord]:
    with database.transaction(scope, snapshot=True) as tx:
        return list(product_records(tx, scope, now(), **wanted).records)


def record(database: Database, scope: Scope, record_id: str) -> MemoryRecord:
    with database.transaction(scope, snapshot=True) as tx:
        return product_record(tx, scope, record_id, now())


def head(database: Database, scope: Scope) -> int:
    with database.transaction(scope) as tx:
        row = tx.execute("select head_seq from space where space_id = %s", (scope.space_id,))
        found = row.fetchone()
    assert found is not None
    return int(found[0])


def concept(database: Database, scope: Scope, type_name: str, name: str) -> str:
    with database.transaction(scope) as tx:
        change = CreateConcept("?c", type_name, name=name)
        return commit(tx, scope, "test", ChangeSet((change,)), tx_class="test").ids["?c"]


def believed(scope: Scope, old: MemoryRecord, place: str, at: str) -> str:
    answer = execute(
        {
            "command": "FIND(?b.status) WHERE { ?s {id: :s} ?o {id: :o} ?b BELIEF"
            ' (?s, "lives_in", ?o) } FOR TIME :at',
            "parameters": {"s": old.subject.id, "o": place, "at": at},
        },
        trusted(scope.space_id, "tester"),
        readonly=True,
    )
    assert answer["status"] == "succeeded", answer
    (status,) = answer["results"][0]["result"]
    return str(status)


@pytest.fixture
def lived(database: Database, scope: Scope) -> MemoryRecord:
    """That Ada lives in Berlin, as formation has it."""
    form(database, scope, [said("I live in Berlin.")], BuiltinEncoder())
    (found,) = records(database, scope)
    return found


def ada(found: MemoryRecord) -> Caller:
    return Caller("ada@example", found.asserted_by.id)


def asked(found: MemoryRecord, kind: Any, operation: str = "op-1", **more: Any) -> ChangeRequest:
    return ChangeRequest(operation, found.id, found.revision, kind, **more)


def test_a_record_tells_what_is_claimed_and_where_it_is_from(
    database: Database, scope: Scope, lived: MemoryRecord
) -> None:
    assert (lived.subject.name, lived.predicate) == ("Ada", "lives_in")
    assert isinstance(lived.value, Named)
    assert lived.value.name == "Berlin"
    assert (lived.stance, lived.lifecycle, lived.storage) == ("support", "active", "current")
    (source,) = lived.sources
    assert (source.evidence_class, source.available) == ("user_statement", True)
    assert record(database, scope, lived.id) == lived
    with database.transaction(scope) as tx:
        told = product_source(tx, scope, lived.id, source.evidence_ref, now())
        assert told.payload["content"] == "I live in Berlin."
        for wrong in ("E-999", lived.id):
            with pytest.raises(NotFoundOrNotVisible):
                product_source(tx, scope, lived.id, wrong, now())
        with pytest.raises(NotFoundOrNotVisible):
            product_record(tx, scope, "A-999", now())


def test_pages_have_every_record_once(database: Database, scope: Scope) -> None:
    with database.transaction(scope) as tx:
        people = [CreateConcept(f"?p{n}", "Person", name=f"P{n}") for n in range(7)]
        tuples = [EnsureProposition(f"?t{n}", f"?p{n}", "speaks", Value("nl")) for n in range(7)]
        claims = [CreateAssertion(f"?a{n}", f"?t{n}", f"?p{n}", "stated") for n in range(7)]
        made = commit(tx, scope, "test", ChangeSet((*people, *tuples, *claims)), tx_class="test")
        seen: list[str] = []
        after = None
        while True:
            page = product_records(tx, scope, now(), after=after, limit=3)
            seen += [one.id for one in page.records]
            after = page.after
            if after is None:
                break
    assert sorted(seen) == sorted(made.ids[f"?a{n}"] for n in range(7))
    assert len(records(database, scope, subject=made.ids["?p3"])) == 1


def test_a_correction_supersedes_in_the_time_of_the_old_claim(
    database: Database, scope: Scope, lived: MemoryRecord
) -> None:
    munich = concept(database, scope, "Place", "Munich")
    request = asked(lived, "correct", value=munich, statement="I said Berlin, I meant Munich.")
    before = head(database, scope)
    prepared = product_prepare(database, scope, ada(lived), request)
    assert prepared.preview["superseded"] == lived.id
    assert product_prepare(database, scope, ada(lived), request) == prepared
    assert head(database, scope) == before
    done = product_commit(database, scope, ada(lived), "op-1", prepared.preview_digest)
    assert head(database, scope) == before + 1
    assert product_commit(database, scope, ada(lived), "op-1", prepared.preview_digest) == done
    assert head(database, scope) == before + 1
    old, new = record(database, scope, lived.id), record(database, scope, done.record_id)
    assert (old.lifecycle, old.storage) == ("superseded", "current")
    assert old.revision != lived.revision
    assert new.context_refs == lived.context_refs
    assert new.asserted_by == lived.asserted_by
    assert new.valid_time == {"from": {"latest": to_text(lived.asserted_at)}}
    berlin = lived.value
    assert isinstance(berlin, Named)
    for at in (to_text(lived.asserted_at + timedelta(days=1)), to_text(now())):
        assert believed(scope, lived, munich, at) == "accepted"
        assert believed(scope, lived, berlin.id, at) != "accepted"
    with database.transaction(scope) as tx:
        revised = tx.execute(
            "select count(*) from activity where space_id = %s"
            " and activity_class = 'belief_revision'",
            (scope.space_id,),
        ).fetchone()
    assert revised == (1,)


def test_a_change_of_the_world_leaves_the_old_value_to_its_time(
    database: Database, scope: Scope, lived: MemoryRecord
) -> None:
    munich = concept(database, scope, "Place", "Munich")
    since = now() - timedelta(days=2)
    request = asked(
        lived, "world_change", value=munich, statement="I moved to Munich.", since=since
    )
    done = product_change(database, scope, ada(lived), request)
    assert product_change(database, scope, ada(lived), request) == done
    berlin = lived.value
    assert isinstance(berlin, Named)
    assert record(database, scope, lived.id).lifecycle == "active"
    earlier = to_text(lived.asserted_at + timedelta(days=1))
    assert believed(scope, lived, berlin.id, earlier) == "accepted"
    assert believed(scope, lived, munich, to_text(now())) == "accepted"
    assert believed(scope, lived, berlin.id, to_text(now())) != "accepted"


def test_a_value_of_many_that_the_world_took_away_is_said_to_hold_no_longer(
    database: Database, scope: Scope
) -> None:
    with database.transaction(scope) as tx:
        made = commit(
            tx,
            scope,
            "test",
            ChangeSet(
                (
                    CreateConcept("?p", "Person", name="Ada"),
                    EnsureProposition("?t", "?p", "speaks", Value("nl")),
                    CreateAssertion("?a", "?t", "?p", "stated", asserted_at=BEGAN),
                )
            ),
            tx_class="test",
        )
    found = record(database, scope, made.ids["?a"])
    request = asked(found, "world_change", value=Value("fr"), statement="I speak French now.")
    product_change(database, scope, ada(found), request)
    told = records(database, scope)
    assert sorted((one.value, one.stance) for one in told) == [
        ("fr", "support"),
        ("nl", "reject"),
        ("nl", "support"),
    ]


def test_contexts_are_kept_by_both_kinds_of_revision(database: Database, scope: Scope) -> None:
    with database.transaction(scope) as tx:
        made = commit(
            tx,
            scope,
            "test",
            ChangeSet(
                (
                    CreateConcept("?p", "Person", name="Ada"),
                    CreateConcept("?x", "Event", attributes={"summary": "at work"}),
                    EnsureProposition("?t", "?p", "timezone", Value("+08:00")),
                    CreateAssertion("?a", "?t", "?p", "stated", contexts=("?x",)),
                )
            ),
            tx_class="test",
        )
    found = record(database, scope, made.ids["?a"])
    fixed = product_change(
        database,
        scope,
        ada(found),
        asked(found, "correct", value=Value("+07:00"), statement="+07:00, I meant."),
    )
    corrected = record(database, scope, fixed.record_id)
    moved = product_change(
        database,
        scope,
        ada(found),
        asked(corrected, "world_change", "op-2", value=Value("+01:00"), statement="+01:00 now."),
    )
    for ref in (fixed.record_id, moved.record_id):
        assert record(database, scope, ref).context_refs == (made.ids["?x"],)


def test_what_is_refused_changes_nothing(
    database: Database, scope: Scope, lived: MemoryRecord
) -> None:
    munich = concept(database, scope, "Place", "Munich")
    bob = Caller("bob@example", concept(database, scope, "Person", "Bob"))
    request = asked(lived, "correct", value=munich, statement="I meant Munich.")
    before = head(database, scope)
    berlin = lived.value
    assert isinstance(berlin, Named)
    for caller, wrong, error in (
        (ada(lived), asked(lived, "misrecorded"), UnsupportedCapability),
        (bob, request, NotAuthorized),
        (ada(lived), replace(request, value=None), InvalidInput),
        (ada(lived), replace(request, statement=" "), InvalidInput),
        (ada(lived), replace(request, value=berlin.id), InvalidInput),
        (ada(lived), replace(request, since=now()), InvalidInput),
        (ada(lived), replace(request, revision="sha256:0"), RevisionConflict),
        (ada(lived), replace(request, record_id="A-999"), NotFoundOrNotVisible),
    ):
        with pytest.raises(error):
            product_prepare(database, scope, caller, wrong)
    prepared = product_prepare(database, scope, ada(lived), request)
    with pytest.raises(IdempotencyConflict):
        product_prepare(database, scope, ada(lived), replace(request, statement="Other words."))
    with pytest.raises(RevisionConflict):
        product_commit(database, scope, ada(lived), "op-1", "sha256:0")
    with pytest.raises(NotFound):
        product_commit(database, scope, bob, "op-1", prepared.preview_digest)
    assert head(database, scope) == before


def test_a_prepared_change_ends_with_its_time_its_record_or_its_caller_s_will(
    database: Database, scope: Scope, lived: MemoryRecord
) -> None:
    munich = concept(database, scope, "Place", "Munich")
    request = asked(lived, "correct", value=munich, statement="I meant Munich.")
    first = product_prepare(database, scope, ada(lived), request)
    second = product_prepare(database, scope, ada(lived), replace(request, operation_id="op-2"))
    third = product_prepare(database, scope, ada(lived), replace(request, operation_id="op-3"))
    with database.transaction(scope) as tx:
        tx.execute(
            "update product_request set expires_at = now() where space_id = %s"
            " and operation_id = 'op-1'",
            (scope.space_id,),
        )
    with pytest.raises(Expired):
        product_commit(database, scope, ada(lived), "op-1", first.preview_digest)
    product_discard(database, scope, ada(lived), "op-2")
    product_discard(database, scope, ada(lived), "op-2")
    with pytest.raises(Expired):
        product_commit(database, scope, ada(lived), "op-2", second.preview_digest)
    product_change(database, scope, ada(lived), replace(request, operation_id="op-4"))
    with pytest.raises(RevisionConflict):
        product_commit(database, scope, ada(lived), "op-3", third.preview_digest)
    with pytest.raises(Conflict):
        product_discard(database, scope, ada(lived), "op-4")


def test_what_is_suppressed_is_archived_and_not_formed_anew(
    database: Database, scope: Scope, lived: MemoryRecord
) -> None:
    done = product_change(database, scope, ada(lived), asked(lived, "suppress"))
    assert done.status == "completed"
    assert records(database, scope) == []
    (kept,) = records(database, scope, all_states=True)
    assert (kept.storage, kept.lifecycle) == ("archived", "active")
    form(database, scope, [said("I live in Berlin.")], BuiltinEncoder())
    assert records(database, scope) == []


def canary(services: Services, word: str) -> list[str]:
    """Tables that hold a word anywhere."""
    with psycopg.connect(services.admin_url) as conn:
        tables = [
            name
            for (name,) in conn.execute(
                "select relname from pg_class c where relkind = 'r'"
                " and relnamespace = 'public'::regnamespace"
            )
        ]
        return [
            name
            for name in tables
            if conn.execute(
                f"select 1 from {name} t where t::text ilike %s limit 1", (f"%{word}%",)
            ).fetchone()
        ]


def test_what_is_deleted_is_gone_with_its_copies_and_what_was_prepared_about_it(
    database: Database, scope: Scope, services: Services
) -> None:
    form(database, scope, [said("I live in Zanzquibar.")], BuiltinEncoder())
    (found,) = records(database, scope)
    munich = concept(database, scope, "Place", "Munich")
    words = "No, Zanzquibar was wrong, it was Munich."
    open_ = asked(found, "correct", "op-open", value=munich, statement=words)
    pending = product_prepare(database, scope, ada(found), open_)
    request = asked(found, "delete")
    prepared = product_prepare(database, scope, ada(found), request)
    for sentence in ("in Zanzquibar", "Zanzquibar was"):
        assert canary(services, sentence)
    assert found.id in prepared.preview["erases"]
    done = product_commit(database, scope, ada(found), "op-1", prepared.preview_digest)
    assert done.status == "completed"
    assert product_commit(database, scope, ada(found), "op-1", prepared.preview_digest) == done
    with pytest.raises(NotFoundOrNotVisible):
        record(database, scope, found.id)
    with pytest.raises(Expired):
        product_commit(database, scope, ada(found), "op-open", pending.preview_digest)
    # the place itself is shared, and stays until it is forgotten by its id
    for sentence in ("in Zanzquibar", "Zanzquibar was"):
        assert canary(services, sentence) == []
    form(database, scope, [said("I live in Zanzquibar.")], BuiltinEncoder())
    assert records(database, scope, all_states=True) == []


def test_a_correction_outlives_the_claim_that_it_corrected(
    database: Database, scope: Scope, lived: MemoryRecord
) -> None:
    munich = concept(database, scope, "Place", "Munich")
    words = "It was Munich."
    fixed = product_change(
        database, scope, ada(lived), asked(lived, "correct", value=munich, statement=words)
    )
    old = record(database, scope, lived.id)
    done = product_change(database, scope, ada(lived), asked(old, "delete", "op-2"))
    assert done.status == "completed"
    (left,) = records(database, scope, all_states=True)
    assert (left.id, left.lifecycle) == (fixed.record_id, "active")
    assert fixed.evidence_ref is not None
    with database.transaction(scope) as tx:
        told = product_source(tx, scope, left.id, fixed.evidence_ref, now())
    assert (told.payload["content"], told.matches) == (words, True)


def test_a_deletion_that_was_accepted_before_a_stop_is_carried_out(
    database: Database, scope: Scope, lived: MemoryRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = product_prepare(database, scope, ada(lived), asked(lived, "delete"))

    def stop(*_: Any) -> Changed:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(product, "_finish", stop)
        with pytest.raises(KeyboardInterrupt):
            product_commit(database, scope, ada(lived), "op-1", prepared.preview_digest)
    # the source is refused from the moment on that the deletion was accepted
    form(database, scope, [said("I live in Berlin.")], BuiltinEncoder())
    assert [one.id for one in records(database, scope)] == [lived.id]
    assert recover(database, scope) == 1
    assert recover(database, scope) == 0
    done = product_commit(database, scope, ada(lived), "op-1", prepared.preview_digest)
    assert done.status == "completed"
    with pytest.raises(NotFoundOrNotVisible):
        record(database, scope, lived.id)


def test_what_a_legal_hold_keeps_is_not_deleted(
    database: Database, scope: Scope, lived: MemoryRecord
) -> None:
    with database.transaction(scope) as tx:
        hold = SetRetention(lived.sources[0].evidence_ref, {"legal_hold": True})
        commit(tx, scope, "test", ChangeSet((hold,)), tx_class="test")
    with pytest.raises(LegalHoldConflict):
        product_prepare(database, scope, ada(lived), asked(lived, "delete"))
    assert record(database, scope, lived.id).lifecycle == "active"


def test_a_suppression_is_taken_back_by_another_change_once(
    database: Database, scope: Scope, lived: MemoryRecord
) -> None:
    product_change(database, scope, ada(lived), asked(lived, "suppress"))
    hidden = record(database, scope, lived.id)
    request = asked(hidden, "restore", "op-2", undoes="op-1")
    for caller, wrong, error in (
        (ada(lived), replace(request, revision=lived.revision), RevisionConflict),
        (ada(lived), replace(request, undoes=None), InvalidInput),
        (ada(lived), replace(request, undoes="op-9"), NotFound),
        (Caller("bob@example", lived.asserted_by.id), request, NotFound),
    ):
        with pytest.raises(error):
            product_change(database, scope, caller, wrong)
    prepared = product_prepare(database, scope, ada(lived), request)
    assert prepared.preview["restores"][0] == lived.id
    done = product_commit(database, scope, ada(lived), "op-2", prepared.preview_digest)
    assert product_commit(database, scope, ada(lived), "op-2", prepared.preview_digest) == done
    (shown,) = records(database, scope)
    assert (shown.id, shown.storage, shown.lifecycle) == (lived.id, "current", "active")
    # the source is found again, and may be sent again
    with database.transaction(scope) as tx:
        found = tx.execute(
            "select count(*) from search_document where space_id = %s and element_id = any(%s)",
            (scope.space_id, [lived.id, lived.sources[0].evidence_ref]),
        ).fetchone()
    assert found == (2,)
    form(database, scope, [said("I live in Berlin.")], BuiltinEncoder())
    assert [one.id for one in records(database, scope)] == [lived.id]
    # hidden again by another operation, it is not shown by the old one
    product_change(database, scope, ada(lived), asked(shown, "suppress", "op-3"))
    again = record(database, scope, lived.id)
    with pytest.raises(Conflict):
        product_change(database, scope, ada(lived), asked(again, "restore", "op-4", undoes="op-1"))
    product_change(database, scope, ada(lived), asked(again, "restore", "op-5", undoes="op-3"))
    assert [one.id for one in records(database, scope)] == [lived.id]


def test_suppressions_of_two_callers_under_one_name_are_two(
    database: Database, scope: Scope
) -> None:
    form(database, scope, [said("I live in Berlin. I speak Dutch.")], BuiltinEncoder())
    home, tongue = sorted(records(database, scope), key=lambda one: one.predicate)
    ana, bob = (Caller(name, home.asserted_by.id) for name in ("ana", "bob"))
    product_change(database, scope, ana, asked(home, "suppress"))
    product_change(database, scope, bob, asked(tongue, "suppress"))
    hidden = record(database, scope, home.id)
    product_change(database, scope, ana, asked(hidden, "restore", "op-2", undoes="op-1"))
    with database.transaction(scope) as tx:
        (row,) = tx.execute(
            "select count(distinct plan_ref) from source_suppression where space_id = %s",
            (scope.space_id,),
        ).fetchall()
    # bob's stands
    assert row == (1,)


def test_what_supports_another_record_stays_in_sight_until_that_goes_too(
    database: Database, scope: Scope
) -> None:
    form(database, scope, [said("I live in Berlin. I speak Dutch.")], BuiltinEncoder())
    home, tongue = sorted(records(database, scope), key=lambda one: one.predicate)
    first = product_change(database, scope, ada(home), asked(home, "suppress"))
    assert first.archived == (home.id,)
    second = product_change(database, scope, ada(home), asked(tongue, "suppress", "op-2"))
    assert tongue.sources[0].evidence_ref in second.archived


def test_a_correction_whose_words_are_not_those_of_its_digest_is_not_told(
    database: Database, scope: Scope, lived: MemoryRecord, services: Services
) -> None:
    munich = concept(database, scope, "Place", "Munich")
    request = asked(lived, "correct", value=munich, statement="It was Munich.")
    fixed = product_change(database, scope, ada(lived), request)
    assert fixed.evidence_ref is not None
    with psycopg.connect(services.admin_url) as conn:
        conn.execute(
            "update evidence set payload = jsonb_set(payload, '{inline,content}', '\"Bonn\"')"
            " where space_id = %s and id = %s",
            (scope.space_id, fixed.evidence_ref),
        )
    with database.transaction(scope) as tx, pytest.raises(SourceMismatch):
        product_source(tx, scope, fixed.record_id, fixed.evidence_ref, now())


def test_a_correction_that_was_deleted_tells_nothing(
    database: Database, scope: Scope, lived: MemoryRecord, services: Services
) -> None:
    munich = concept(database, scope, "Place", "Munich")
    words = "It was Munich, by Quibbletown."
    request = asked(lived, "correct", value=munich, statement=words)
    fixed = product_change(database, scope, ada(lived), request)
    new = record(database, scope, fixed.record_id)
    product_change(database, scope, ada(lived), asked(new, "delete", "op-2"))
    assert canary(services, "Quibbletown") == []
    assert fixed.evidence_ref is not None
    with database.transaction(scope) as tx:
        with pytest.raises(NotFoundOrNotVisible):
            product_source(tx, scope, fixed.record_id, fixed.evidence_ref, now())
        kept = tx.execute(
            "select request_digest, preview_digest, result ->> 'record_id' from product_request"
            " where space_id = %s and operation_id = 'op-1'",
            (scope.space_id,),
        ).fetchone()
    # by which the operation is known again
    assert kept is not None
    assert all(kept)
    assert product_change(database, scope, ada(lived), request).record_id == fixed.record_id


def test_words_that_were_prepared_and_never_committed_go_when_a_space_is_opened(
    database: Database, scope: Scope, lived: MemoryRecord, services: Services
) -> None:
    munich = concept(database, scope, "Place", "Munich")
    request = asked(lived, "correct", value=munich, statement="It was Munich, near Fizzlewick.")
    product_prepare(database, scope, ada(lived), request)
    with database.transaction(scope) as tx:
        tx.execute(
            "update product_request set expires_at = now() where space_id = %s", (scope.space_id,)
        )
    assert recover(database, scope) == 0
    assert canary(services, "Fizzlewick") == []


def test_a_suppression_of_before_can_be_taken_back_after_the_migration(
    database: Database, scope: Scope, lived: MemoryRecord, services: Services
) -> None:
    product_change(database, scope, ada(lived), asked(lived, "suppress"))
    text = Path(versions.__path__[0], "0015_processing_epochs.sql").read_text()
    begin = text.index("alter table source_suppression no force")
    end = text.index("alter table product_request force")
    refs = "select distinct plan_ref from source_suppression where space_id = %s"
    with psycopg.connect(services.database_url) as conn:
        conn.execute("alter table source_suppression no force row level security")
        before = conn.execute(refs, (scope.space_id,)).fetchall()
        # as it was kept before
        conn.execute(
            "update source_suppression set plan_ref = 'product:op-1' where space_id = %s",
            (scope.space_id,),
        )
        conn.execute(text[begin:end])
        conn.execute("alter table source_suppression no force row level security")
        assert conn.execute(refs, (scope.space_id,)).fetchall() == before
        conn.rollback()
    assert len(before) == 1
