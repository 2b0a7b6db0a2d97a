from __future__ import annotations

import pytest

from storage.kip.language.ast_expressions import Expression
from storage.kip.language.ast_kql import Find
from storage.kip.language.ast_patterns import Filter
from storage.kip.language.command import parse
from storage.kip.language.printer import printed


def condition(text: str) -> Expression:
    statement = parse(f"FIND(?x) WHERE {{ ?x {{}} FILTER({text}) }}")
    assert isinstance(statement, Find)
    clause = statement.where.clauses[1]
    assert isinstance(clause, Filter)
    return clause.expression


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("?a || ?b && ?c", "?a || (?b && ?c)"),
        ("?a && ?b || ?c", "(?a && ?b) || ?c"),
        ("?a == ?b != ?c", "(?a == ?b) != ?c"),
        ("?a < ?b == ?c > ?d", "(?a < ?b) == (?c > ?d)"),
        ("!?a == ?b", "(!?a) == ?b"),
        ("-?a < ?b && ?c", "((-?a) < ?b) && ?c"),
        ("?a && ?b && ?c", "(?a && ?b) && ?c"),
    ],
)
def test_operators_bind_in_their_order(text: str, grouped: str) -> None:
    assert condition(text) == condition(grouped)


@pytest.mark.parametrize(
    "text",
    [
        "?a && (?b || ?c)",
        "!(?a && ?b)",
        "-(3)",
        "-(-3)",
        "!(!(?a))",
        "(?a < ?b) < ?c",
        "?a == (?b == ?c)",
        "IN(-?x.a, [1, {b: [:c]}])",
    ],
)
def test_printing_keeps_the_grouping(text: str) -> None:
    assert condition(printed(condition(text))) == condition(text)
