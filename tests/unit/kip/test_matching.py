"""When an answer is the one that a fixture expects."""

from __future__ import annotations

import pytest

from deploy.kip.matching import contains, flattened, normalised, pointed, same


def test_ids_are_renamed_as_they_are_met_by_sorted_names() -> None:
    value = [{"refs": {"p": "P-9"}, "id": "A-7", "tx_id": "txn-1"}, "A-7", "C-3", "Not-an id"]
    assert normalised(value) == [
        {"id": "A:<1>", "refs": {"p": "P:<2>"}},
        "A:<1>",
        "C:<3>",
        "Not-an id",
    ]


def test_rows_have_no_order_unless_they_are_ordered() -> None:
    assert same(["b", "a"], ["a", "b"], ordered=False)
    assert not same(["b", "a"], ["a", "b"], ordered=True)
    assert not same(["a", "a"], ["a", "b"], ordered=False)
    rows = [["C-2", "Ben"], ["C-1", "Ada"]]
    assert same(rows, [["C:<1>", "Ada"], ["C:<2>", "Ben"]], ordered=False)
    assert not same(rows, [["C:<1>", "Ada"], ["C:<1>", "Ben"]], ordered=False)


def test_numbers_are_numbers_and_truth_is_not_one() -> None:
    assert same([1.0], [1], ordered=True)
    assert not same([True], [1], ordered=True)
    assert not same([None], [], ordered=False)


def test_what_is_contained_may_have_more() -> None:
    assert contains([{"a": 1, "b": 2}, {"c": 3}], [{"b": 2}])
    assert not contains([{"a": 1}], [{"b": 2}])
    assert not contains({"a": [1]}, {"a": 1})


def test_an_answer_is_flattened() -> None:
    assert flattened({"error": {"code": "X"}, "results": []}) == ("X", None)
    assert flattened({"results": [{"error": {"code": "Y"}}, {"result": 1}]}) == ("Y", None)
    assert flattened({"results": [{"result": [1]}]}) == (None, [1])


def test_a_pointer_points() -> None:
    assert pointed([{"a/b": [1, 2]}], "/0/a~1b/1") == 2
    for wrong in ("/1", "/0/c", "/0/a~1b/x", "/0/a~1b/9"):
        with pytest.raises(LookupError):
            pointed([{"a/b": [1, 2]}], wrong)
