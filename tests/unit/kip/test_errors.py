from __future__ import annotations

import pytest

from storage.graph.errors import SourceSuppressed, VersionConflict
from storage.kip.errors import REGISTRY, KipError, as_kip
from storage.kip.language.command import read

_RETRIES = {
    "safe_same_request",
    "requires_refresh",
    "requires_different_input",
    "requires_authority",
    "requires_new_snapshot",
    "requires_reacquire_artifact",
    "outcome_lookup_required",
    "non_retryable",
}


def test_the_registry_has_every_code_with_a_known_retry_class() -> None:
    assert len(REGISTRY) == 78
    assert {entry.retry_class for entry in REGISTRY.values()} <= _RETRIES
    assert all(entry.meaning and entry.hint for entry in REGISTRY.values())


def test_an_error_has_the_category_and_retry_class_of_its_code() -> None:
    assert (VersionConflict.category, VersionConflict.retry_class) == (
        "transaction",
        "requires_refresh",
    )
    # A suppressed source answers as if the caller lacked authority, and for good.
    assert SourceSuppressed.category == "governance"
    assert SourceSuppressed.retry_class == "non_retryable"


def test_an_error_with_a_code_that_the_registry_lacks_cannot_be_defined() -> None:
    with pytest.raises(KeyError):
        type("Unheard", (KipError,), {"code": "Unheard"})


def test_an_error_of_the_language_says_where_and_what_helps() -> None:
    with pytest.raises(KipError) as caught:
        read("FIND(?x)\nWHERE { ?x {a: Plot} }")
    assert as_kip(caught.value) == {
        "code": "InvalidSyntax",
        "category": "syntax",
        "message": "Expected a value to match, found Plot.",
        "hint": "Names of the vocabulary, ids and values are quoted strings or :parameters.",
        "retry": {"class": "requires_different_input"},
        "details": {"line": 2, "column": 16},
    }


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("FIND(?x)\r\nWHERE { ?x = }", 2, 12),
        ("FIND(?x)\rWHERE { ?x ; }", 2, 12),
        ('// one\n// two\n  "é" ', 3, 3),
        ('FIND(?x) WHERE { ?x {a: "日本" b: 1} }', 1, 30),
        ("", 1, 1),
        ("FIND(?x) WHERE {", 1, 17),
    ],
)
def test_lines_and_columns_are_counted_from_one_in_characters(
    text: str, line: int, column: int
) -> None:
    with pytest.raises(KipError) as caught:
        read(text)
    assert (caught.value.data["line"], caught.value.data["column"]) == (line, column)


@pytest.mark.parametrize(
    ("text", "helps"),
    [
        ('RETRACT ASSERTION "A-1"', 'TRANSITION :a TO "retracted"'),
        ("FIND(?x) WHERE { ?x {} } AS OF TX 3", "AS OF SEQ"),
        ("FIND(?x) WHERE { ?x {}, ?y {} }", "without commas"),
        ("FIND(?x) WHERE { ?x {} FILTER(?x.a AND ?x.b) }", "&&"),
        ("FIND(?x) WHERE { ?x {name: 'a'} }", "double quotes"),
        ("FIND(?x) WHERE { ?x {} } OFFSET 3", "CURSOR"),
        ("FIND(?x) WHERE { ?x {} };", "one command"),
        ("FIND(?x) WHERE { ?x {a: 1,} }", "last comma"),
        ("FIND(?x) WHERE { ?x {} FILTER(1 < ?x.a < 3) }", "&&"),
        ('ASSERT (:a, "p", :b) {by: :a}', "mode"),
        ("UPDATE :c EXPECT VERSION 3 SET FIELDS {name: 1}", "Guards come last"),
    ],
)
def test_common_mistakes_get_a_hint_of_their_own(text: str, helps: str) -> None:
    with pytest.raises(KipError) as caught:
        read(text)
    assert helps in caught.value.data["hint"]
