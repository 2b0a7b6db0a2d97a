import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import strict_json
from storage.errors import InvalidInput

TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=("Cs",)))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(VALUES, st.booleans())
def test_every_plain_value_comes_back_as_it_was(value, ascii_only):
    body = json.dumps(value, ensure_ascii=ascii_only).encode()
    found = strict_json.decode(body)
    assert found == value
    assert json.dumps(found) == json.dumps(value)


@given(st.binary(max_size=60))
def test_no_bytes_do_anything_but_decode_or_be_refused(body):
    try:
        strict_json.decode(body)
    except InvalidInput:
        return
    json.loads(body)


def test_integers_stay_integers_at_any_size():
    assert strict_json.decode(b'{"n": 123456789012345678901234567890}') == {
        "n": 123456789012345678901234567890
    }


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"1 2", "not valid JSON"),
        (b"\xef\xbb\xbf{}", "not valid JSON"),
        (b'["\x00"]', "not valid JSON"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"b": {"a": 1, "a": 1}}', "twice"),
        (b"NaN", "NaN"),
        (b"[-Infinity]", "-Infinity"),
        (b"[1e999]", "out of range"),
        (b"[" + b"9" * 1001 + b"]", "digits"),
        (b"\xff", "not valid UTF-8"),
        (b'"\xed\xa0\x80"', "not valid UTF-8"),
        (b'["\\u0000"]', "NUL"),
        (b'{"\\u0000": 1}', "NUL"),
        (b'{"a": [{"b": "x\\u0000y"}]}', "NUL"),
        (b'["\\ud800"]', "surrogates"),
        (b'["\\udc00\\ud800"]', "surrogates"),
        (b"[" * 65 + b"]" * 65, "deeper than 64"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "deeper than 64"),
        (b"[" * 500_000, "deeper than 64"),
    ],
)
def test_what_is_loose_or_dangerous_is_refused(body, says):
    with pytest.raises(InvalidInput, match=says):
        strict_json.decode(body)


def test_64_levels_are_read():
    assert strict_json.decode(b"[" * 64 + b"]" * 64)
    assert strict_json.decode(b'{"a":' * 64 + b"1" + b"}" * 64)


def test_nul_is_found_at_the_deepest_level_that_is_read():
    with pytest.raises(InvalidInput, match="NUL"):
        strict_json.decode(b"[" * 64 + b'"\\u0000"' + b"]" * 64)


def test_a_surrogate_pair_is_one_character():
    assert strict_json.decode(b'["\\ud83d\\ude00"]') == ["\N{GRINNING FACE}"]
