"""The order in which the clauses of a block count."""

from __future__ import annotations

import pytest

from storage.kip.language.ast_kql import Find
from storage.kip.language.ast_patterns import Clause
from storage.kip.language.command import read
from storage.kip.query.blocks import in_order


def clauses(where: str) -> tuple[Clause, ...]:
    query = read(f"FIND(?x) WHERE {{ {where} }}").statement
    assert isinstance(query, Find)
    return query.where.clauses


@pytest.mark.parametrize(
    ("where", "order"),
    [
        ("?x {} FILTER(?x.name == 1) ?y {}", [0, 1, 2]),
        ("FILTER(?x.name == 1) ?x {} ?y {}", [1, 0, 2]),
        ("FILTER(?x.name == ?y.name) ?x {} ?y {}", [1, 2, 0]),
        ("FILTER(?x.name == 1) OPTIONAL { ?x {} }", [1, 0]),
        ("OPTIONAL { ?x {} } FILTER(?x.name == 1) ?x {}", [0, 1, 2]),
        ('?b BELIEF (?x, "p", ?y) ?x {}', [1, 0]),
        ("?b BELIEF (?x) ?x (?s, ?p, ?o)", [1, 0]),
        ('FILTER(?b.status == "accepted") ?b BELIEF (?x) ?x (?s, ?p, ?o)', [2, 1, 0]),
        ('?b BELIEF (?x, "p", ?y) ?c BELIEF (?y, "p", ?x)', [0, 1]),
        ("NOT { ?x {} } ?x {}", [0, 1]),
    ],
)
def test_filters_and_beliefs_wait_for_their_variables(where: str, order: list[int]) -> None:
    written = clauses(where)
    assert list(in_order(written, frozenset())) == [written[index] for index in order]


def test_what_is_bound_around_is_not_waited_for() -> None:
    written = clauses("FILTER(?x.name == 1) ?x {}")
    assert list(in_order(written, frozenset({"x"}))) == list(written)
