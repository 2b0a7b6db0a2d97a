"""The words that elements are found by."""

from __future__ import annotations

from datetime import UTC, datetime

from storage.graph import wording


def test_a_concept_is_found_by_its_names_and_by_every_string_of_its_attributes() -> None:
    doc = {
        "aliases": ["Countess"],
        "attributes": {"born": 1815, "told": {"of": ["engines", " "]}, "by": "Babbage"},
        "facets": {"ref": {"hidden": "no"}},
    }
    assert wording.of_concept("Ada", "person:ada", doc) == (
        "Ada\nCountess\nperson:ada\nengines\nBabbage"
    )
    assert wording.of_concept(None, None, {}) == ""


def test_a_statement_is_a_sentence() -> None:
    ref = "kip://domains/general@1.0.0/lives_in"
    assert wording.of_statement("Ada", ref, "London") == "Ada lives in London"
    assert wording.of_statement("Ada", ref, "London", rejected=True) == "Ada not lives in London"


def test_literals_are_found_as_they_are_written() -> None:
    assert [wording.of_literal(v) for v in ("x", 3, 2.5, True, False, None)] == [
        "x",
        "3",
        "2.5",
        "true",
        "false",
        "null",
    ]


def test_evidence_is_found_by_every_string_of_its_payload() -> None:
    assert wording.of_evidence("plain") == "plain"
    assert (
        wording.of_evidence({"role": "user", "content": [{"type": "text", "text": "a"}, 4, "b"]})
        == "a\nb"
    )
    assert wording.of_evidence(None) == ""


def test_a_concept_happened_when_its_attributes_say_so() -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    text = "2026-03-01T00:00:00.000Z"
    assert wording.happened_at({"attributes": {"created_at": text}}) == at
    assert wording.happened_at({"attributes": {"created_at": "soon", "started_at": 5}}) is None
    assert wording.happened_at({}) is None
