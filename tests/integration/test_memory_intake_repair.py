"""Repairing a recording: what memory wrote down although its source never said it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from storage import repair
from storage.clock import to_millis
from storage.graph.changes import ChangeSet, PurgePayload, Transition, UpdateConcept
from storage.graph.commit import commit
from storage.graph.errors import ConstraintViolation, NotFoundOrNotVisible, VersionConflict
from storage.kip.errors import NotAuthorized
from storage.repair import DigestMismatch, RecordingRepair
from tests import memory_interface, providers
from tests.memory_interface import Caller, World, with_model
from tests.providers import Answer, Provider

provider = providers.provider
world = memory_interface.world
keyed_world = memory_interface.keyed_world

SPRING = datetime(2026, 4, 1, tzinfo=UTC)
SAID = "I visited Oslo, and I live in Bergen."


def claim(object_: str, quote: str, message: int = 0, **more: Any) -> Any:
    told = {"message": message, "quote": quote, "subject": "user", "predicate": "lives_in"}
    return {**told, "object": object_, **more}


@pytest.fixture
def model(world: World, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Provider:
    with_model(provider, monkeypatch)
    return provider


def misheard(caller: Caller, model: Provider) -> Any:
    """A claim that the model read out of the message wrongly."""
    model.script(Answer({"claims": [claim("Oslo", "visited Oslo, and I live")]}))
    message = {"role": "user", "content": SAID, "timestamp": to_millis(SPRING)}
    view = caller.done("observe", source_ref=caller.stage(message))
    assert view["progress"]["disposition"] == "formed"
    return view


def report(caller: Caller, **more: Any) -> Any:
    return caller.done(
        "revise",
        source_ref=caller.stage("I never said that I live in Oslo."),
        target_ref="A-1",
        change_kind="misrecorded",
        **more,
    )


def test_a_recording_is_repaired_with_what_the_source_really_says(
    world: World, model: Provider
) -> None:
    caller = world.caller()
    misheard(caller, model)
    before, head = world.element("A-1"), world.head
    source = world.rows("select payload, content_digest from evidence where space_id = %s")
    model.script(Answer({"claims": [claim("Bergen", "I live in Bergen")]}))
    view = report(caller)
    assert view["progress"]["disposition"] == "formed"
    new = world.claims()[-1]
    assert view["result"]["memory_refs"] == [new, "A-1"]
    assert '"message": 0' in model.requests[-1].text.replace('\\"', '"')
    after = world.element("A-1")
    [(activity, facet)] = world.rows(
        "select x.id, v.doc -> 'facets' from activity x join element_ver v"
        " on v.space_id = x.space_id and v.id = x.id where x.space_id = %s"
        " and x.activity_class = 'recording_repair'"
    )
    assert after["_system"]["recording_validity"] == {
        "status": "invalidated",
        "repair_ref": activity,
    }
    assert after["_system"]["version"] == before["_system"]["version"] + 1
    for member in ("lifecycle", "asserted_at", "valid_time", "stance", "evidence", "proposition"):
        assert after[member] == before[member]
    assert (
        world.rows(
            "select payload, content_digest from evidence where space_id = %s and id = 'E-1'"
        )
        == source
    )
    told = world.element(new)
    assert told["asserted_at"] == "2026-04-01T00:00:00.000Z"
    assert told["evidence"] == [{"id": "E-1", "role": "support"}]
    [record] = facet.values()
    assert record["invalidated_refs"] == ["A-1"]
    assert record["replacement_refs"] == [new]
    assert (record["source_ref"], record["source_locator"]) == ("E-1", "/content")
    assert world.believed() == {"user lives_in Bergen": "accepted"}
    assert world.believed(seq=head) == {"user lives_in Oslo": "accepted"}
    assert world.element("A-1", head)["_system"]["recording_validity"] == "valid"
    assert world.rows(
        "select count(*) from search_document where space_id = %s and element_id = 'A-1'"
    ) == [(0,)]


def test_a_source_that_says_nothing_leaves_the_slot_empty(world: World, model: Provider) -> None:
    caller = world.caller()
    misheard(caller, model)
    model.script(Answer({"claims": []}))
    view = report(caller)
    assert view["progress"]["disposition"] == "formed"
    assert view["result"]["memory_refs"] == ["A-1"]
    assert world.believed() == {}
    # the claim is taken for known when its message comes again, and stays invalid
    model.otherwise = Answer({"claims": [claim("Oslo", "visited Oslo, and I live")]})
    caller.done("observe", source_ref="E-1")
    assert world.claims() == ["A-1"]
    # and a later version keeps the mark
    with world.database.transaction(world.scope) as tx:
        commit(
            tx,
            world.scope,
            "anonymous",
            ChangeSet((Transition("A-1", "archived"),)),
            tx_class="test",
        )
    assert world.rows(
        "select recording from element_ver where space_id = %s and id = 'A-1'"
        " order by version desc limit 1"
    ) == [("invalidated",)]


def test_without_a_model_the_claim_is_withdrawn_and_the_source_read_again(world: World) -> None:
    caller = world.caller()
    caller.done("observe", source_ref=caller.stage("I live in Oslo."))
    view = report(caller)
    assert view["progress"]["disposition"] == "formed"
    assert view["result"]["memory_refs"] == ["A-1"]
    assert world.believed() == {}


def test_what_the_report_claims_is_not_taken(world: World, model: Provider) -> None:
    caller = world.caller()
    misheard(caller, model)
    model.script(Answer({"claims": [claim("Oslo", "I live in Oslo", message=1)]}))
    assert report(caller)["progress"]["disposition"] == "formed"
    assert world.claims() == ["A-1"]


def test_a_repair_that_would_supersede_is_refused_and_rolled_back(
    world: World, model: Provider
) -> None:
    caller = world.caller()
    misheard(caller, model)
    head = world.head
    model.otherwise = Answer(
        {"claims": [claim("Bergen", "I live in Bergen", change="correction", replaces="Oslo")]}
    )
    view = report(caller)
    assert view["progress"]["phase"] == "failed"
    assert view["progress"]["error"]["code"] == "ConstraintViolation"
    assert world.head == head


def test_a_claim_whose_source_is_gone_cannot_be_repaired(world: World, model: Provider) -> None:
    caller = world.caller()
    misheard(caller, model)
    with world.database.transaction(world.scope) as tx:
        commit(tx, world.scope, "x", ChangeSet((PurgePayload("E-1"),)), tx_class="test")
    head = world.head
    view = report(caller)
    assert view["progress"]["error"]["code"] == "UnsupportedCapability"
    assert world.head == head


def test_only_who_recorded_it_repairs_it(keyed_world: World) -> None:
    world = keyed_world
    world.caller("ana").done("observe", source_ref=world.caller("ana").stage("I live in Oslo."))
    view = report(world.caller("eve"))
    assert view["progress"]["error"]["code"] == "NotAuthorized"
    assert world.element("A-1")["_system"]["recording_validity"] == "valid"


# --- the repair itself ----------------------------------------------------------------------------


def a_repair(world: World, **changed: Any) -> RecordingRepair:
    with world.database.transaction(world.scope) as tx:
        digest = repair.source_digest_of(tx, world.scope, "E-1")
    assert digest is not None
    members: dict[str, Any] = {
        "source_ref": "E-1",
        "source_digest": digest,
        "source_locator": "/content",
        "invalidated_refs": ("A-1",),
        "replacement_refs": (),
        "reason": "extraction_error",
        "expected_versions": {"A-1": 1},
    }
    return RecordingRepair(**{**members, **changed})


def repaired(world: World, record: RecordingRepair, by: str = "anonymous") -> Any:
    with world.database.transaction(world.scope) as tx:
        return repair.repair(tx, world.scope, by, record)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"source_digest": "sha256:" + "0" * 64}, DigestMismatch),
        ({"source_locator": "/nothing/here"}, ConstraintViolation),
        ({"source_locator": "content"}, ConstraintViolation),
        ({"expected_versions": {"A-1": 2}}, VersionConflict),
        ({"expected_versions": {}}, ConstraintViolation),
        ({"invalidated_refs": ("A-9",), "expected_versions": {"A-9": 1}}, NotFoundOrNotVisible),
        ({"replacement_refs": ("A-2",)}, ConstraintViolation),
        ({"source_ref": "E-9"}, NotFoundOrNotVisible),
    ],
)
def test_a_repair_is_checked_before_anything_is_written(
    world: World, changed: dict[str, Any], error: type[Exception]
) -> None:
    caller = world.caller()
    caller.done("observe", source_ref=caller.stage("I live in Oslo."))
    caller.done("observe", source_ref=caller.stage("I love tea."))
    head = world.head
    with pytest.raises(error):
        repaired(world, a_repair(world, **changed))
    assert world.head == head


def test_the_same_repair_again_takes_no_sequence(world: World) -> None:
    caller = world.caller()
    caller.done("observe", source_ref=caller.stage("I live in Oslo."))
    record = a_repair(world)
    with pytest.raises(NotAuthorized):
        repaired(world, record, by="user:eve")
    first = repaired(world, record)
    again = repaired(world, record)
    assert first.seq == world.head
    assert (again.activity, again.seq) == (first.activity, None)


def test_a_repaired_claim_does_not_come_back_into_the_index(world: World) -> None:
    caller = world.caller()
    caller.done("observe", source_ref=caller.stage("I live in Oslo."))
    repaired(world, a_repair(world))
    [(place,)] = world.rows("select object_id from proposition where space_id = %s")
    with world.database.transaction(world.scope) as tx:
        renamed = ChangeSet((UpdateConcept(place, name="Oslo, Norway"),))
        commit(tx, world.scope, "anonymous", renamed, tx_class="test")
    assert world.rows(
        "select count(*) from search_document where space_id = %s and element_id = 'A-1'"
    ) == [(0,)]
