from __future__ import annotations

from storage.kip.language.ast_kml import Mutation
from storage.kip.language.command import read
from storage.kip.language.desugar import statements
from storage.kip.language.printer import printed


def long_form(text: str) -> list[str]:
    statement = read(text).statement
    assert isinstance(statement, Mutation)
    return [printed(one) for one in statements(statement)]


def test_an_assertion_is_a_proposition_a_claim_and_a_replacement() -> None:
    assert long_form(
        'ASSERT ?a (:tam, "prefers", :mate) {mode: "stated", by: :tam, evidence: [:e1, :e2], '
        'at: :t, context: :c, key: :k} SUPERSEDING "A-1"'
    ) == [
        'ENSURE PROPOSITION ?a#proposition (:tam, "prefers", :mate)',
        "CREATE ASSERTION ?a { CLIENT KEY :k SET FIELDS {proposition: ?a#proposition, "
        'mode: "stated", asserted_by: :tam, asserted_at: :t, context_refs: :c, '
        'stance: "support"} SET STRUCTURAL { ("evidence", :e1) {role: "support"} '
        '("evidence", :e2) {role: "support"} } }',
        'TRANSITION "A-1" TO "superseded" BY ?a',
    ]


def test_assertions_without_handles_do_not_meet() -> None:
    texts = long_form(
        'MUTATE { ASSERT (:a, "p", 1) {by: :a, mode: "stated", stance: "reject"} '
        'ASSERT (:a, "p", 2) {by: :a, mode: "stated"} TRANSITION :x TO "archived" }'
    )
    assert [text.split(" (")[0] for text in texts[::2]] == [
        "ENSURE PROPOSITION ?0#assert#proposition",
        "ENSURE PROPOSITION ?1#assert#proposition",
        'TRANSITION :x TO "archived"',
    ]
