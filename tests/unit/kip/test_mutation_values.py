"""Values that UPDATE computes from what its target holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.graph.errors import ConstraintViolation
from storage.graph.schema import builtin
from storage.kip.errors import UnsupportedCapability
from storage.kip.language.ast_kml import SetAttributes, Update
from storage.kip.language.command import read
from storage.kip.language.literals import SAFE_INTEGER
from storage.kip.mutation.values import Values

FACET = "kip://profiles/cognitive-memory@2.0.0/MnemonicState"
TARGET: dict[str, Any] = {
    "name": "Ada",
    "attributes": {"n": 4, "half": 0.5, "word": "four", "gone": None, "yes": True},
    "facets": {FACET: {"salience": 0.25}},
}


def written(members: str, document: dict[str, Any] | None = TARGET) -> dict[str, Any]:
    """What `SET ATTRIBUTES {members}` writes to a target."""
    statement = read(
        f"UPDATE ?x SET ATTRIBUTES {{{members}}} WHERE {{ ?x CONCEPT {{}} }}"
    ).statement
    assert isinstance(statement, Update)
    (action,) = statement.actions
    assert isinstance(action, SetAttributes)
    return Values(builtin(), {"x": "C-1"}, document).members(action.members)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("ADD(?x.attributes.n, 3)", 7),
        ("MUL(?x.attributes.n, ?x.attributes.half)", 2),
        ("ADD(MUL(?x.attributes.half, 3), 1)", 2.5),
        ("CLAMP(?x.attributes.n, 0, 1)", 1),
        ("CLAMP(?x.attributes.half, 0, 1)", 0.5),
        ("COALESCE(?x.attributes.none, 9)", 9),
        ("COALESCE(?x.attributes.n, 9)", 4),
        ('MUL(?x.facets["MnemonicState"].salience, 2)', 0.5),
        (f'MUL(?x.facets["{FACET}"].salience, 2)', 0.5),
        ("?x.attributes.word", "four"),
        ("?x.name", "Ada"),
    ],
)
def test_a_value_is_computed_from_the_target(expression: str, value: Any) -> None:
    assert written(f"v: {expression}") == {"v": value}


@pytest.mark.parametrize(
    "expression",
    [
        "ADD(?x.attributes.none, 1)",
        "ADD(?x.attributes.gone, 1)",
        "ADD(?x.attributes.word, 1)",
        "ADD(?x.attributes.yes, 1)",
        "MUL(COALESCE(?x.attributes.none, null), 2)",
        "COALESCE(?x.attributes.word, 1)",
        "CLAMP(?x.attributes.word, 0, 1)",
        'ADD(?x.facets["NoSuchFacet"].salience, 1)',
        "?x.attributes.none",
        "ADD(?x.name.of.it, 1)",
    ],
)
def test_a_value_that_is_no_number_skips_its_key(expression: str) -> None:
    assert written(f"v: {expression}, kept: 1") == {"kept": 1}


def test_a_written_null_is_a_value() -> None:
    assert written("v: null, list: [1, ?x.attributes.n, ?x.attributes.none]") == {
        "v": None,
        "list": [1, 4, None],
    }


def test_a_target_of_the_same_transaction_has_nothing_to_read() -> None:
    assert written("v: COALESCE(?x.attributes.n, 1), w: ADD(?x.attributes.n, 1)", None) == {"v": 1}


@pytest.mark.parametrize(
    "expression",
    [
        f"ADD({SAFE_INTEGER}, ?x.attributes.n)",
        "MUL(9e15, 10.5)",
        f"MUL({SAFE_INTEGER}, -2)",
        "MUL(MUL(9e15, 10), 0)",
        "CLAMP(?x.attributes.n, 2, 1)",
    ],
)
def test_a_number_that_grows_too_large_fails(expression: str) -> None:
    with pytest.raises(ConstraintViolation):
        written(f"v: {expression}")


def test_a_variable_is_the_id_of_what_where_bound() -> None:
    assert written("v: ?x") == {"v": "C-1"}


def test_a_handle_is_no_value() -> None:
    statement = read(
        'MUTATE { CREATE CONCEPT ?c {TYPE "Person"} UPDATE "C-1" SET ATTRIBUTES {v: ?c} }'
    ).statement
    update = statement.statements[1]  # type: ignore[union-attr]
    with pytest.raises(UnsupportedCapability):
        Values(builtin()).members(update.actions[0].members)


@given(
    st.integers(-SAFE_INTEGER, SAFE_INTEGER) | st.floats(-1e300, 1e300),
    st.integers(-SAFE_INTEGER, SAFE_INTEGER) | st.floats(-1e300, 1e300),
)
def test_what_is_computed_is_a_portable_number_or_refused(a: float, b: float) -> None:
    document = {"attributes": {"a": a, "b": b}}
    for call in ("ADD", "MUL", "COALESCE"):
        try:
            made = written(f"v: {call}(?x.attributes.a, ?x.attributes.b)", document)["v"]
        except ConstraintViolation:
            continue
        assert not float(made).is_integer() or abs(made) <= SAFE_INTEGER
