"""Canonical JSON: equal meaning, equal bytes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.canonical import canonical_json, digest

_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(_json)
def test_it_reads_back_as_the_same_value(value):
    assert json.loads(canonical_json(value)) == value


@given(st.dictionaries(st.text(), _json))
def test_the_order_of_members_does_not_matter(value):
    assert digest(value) == digest(dict(reversed(value.items())))


def test_an_integral_float_is_the_integer():
    assert digest({"a": 1.0}) == digest({"a": 1})
    assert digest({"a": 1.5}) != digest({"a": 1})


def test_what_json_cannot_say_is_refused():
    with pytest.raises(ValueError, match="Out of range"):
        canonical_json(float("nan"))
