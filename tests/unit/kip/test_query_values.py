"""What a statement carries, and how solutions in memory are compared."""

from __future__ import annotations

from typing import Any

import pytest

from storage.kip.errors import ConstraintViolation
from storage.kip.query.evaluate import Element, compared
from storage.kip.query.layout import portable
from storage.kip.query.relation import Binding, either, json_text


@pytest.mark.parametrize("value", ["\x00", ["a", {"b": "\x00"}], {"\x00": 1}, "\\\x00"])
def test_a_nul_is_refused(value: Any) -> None:
    with pytest.raises(ConstraintViolation):
        json_text(value)


@pytest.mark.parametrize("value", ["\\u0000", {"a": ["\\\\u0000"]}, "%s $it {}"])
def test_what_only_looks_like_a_nul_is_not(value: Any) -> None:
    assert json_text(value)


@pytest.mark.parametrize(
    ("operator", "left", "right", "truth"),
    [
        ("==", 1, 1.0, True),
        ("==", 1, True, False),
        ("!=", 1, "1", True),
        ("==", None, None, None),
        ("<", "a", 1, None),
        ("<", True, False, None),
        (">=", "é", "z", True),
        ("==", Element("C-1"), {"id": "C-1"}, True),
        ("==", "C-1", Element("C-1"), True),
        ("!=", Element("C-1"), Element("C-2"), True),
        ("==", {"a": 1, "b": [1]}, {"b": [1.0], "a": 1}, True),
    ],
)
def test_comparisons_convert_nothing(operator: str, left: Any, right: Any, truth: Any) -> None:
    assert compared(operator, left, right) is truth


def test_sums_stay_in_the_portable_range() -> None:
    assert portable(3.0) == 3
    assert isinstance(portable(3.0), int)
    with pytest.raises(ConstraintViolation):
        portable(2**53)


def test_a_variable_that_one_branch_leaves_unbound_takes_the_other() -> None:
    loose = Binding(id="a.id", certain=False, kinds="C")
    both = either(loose, Binding(value="b.value", certain=False, kinds=""))
    assert (both.id, both.value, both.certain) == ("a.id", "b.value", False)
    assert either(loose, Binding(id="b.id", kinds="CP")).id == "b.id"
