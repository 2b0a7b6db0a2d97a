import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import strict_cbor
from storage.errors import InvalidInput
from tests.unit.api.test_strict_json import VALUES


@given(VALUES)
def test_every_plain_value_comes_back_as_it_was(value):
    assert strict_cbor.decode(strict_cbor.encode(value)) == value


@pytest.mark.parametrize(
    "number",
    [2**53 + 1, 2**63, 2**64 - 1, 2**64, -(2**64), -(2**64) - 1, 10**999, -(10**999)],
    ids=range(8),
)
def test_an_integer_stays_that_integer_whatever_its_size(number):
    found = strict_cbor.decode(strict_cbor.encode({"a": [number]}))["a"][0]
    assert (type(found), found) == (int, number)


@pytest.mark.parametrize(
    "body",
    [
        cbor2.dumps(10**1000),
        cbor2.dumps(-(10**1000)),
        # numbers that have a shorter form, and what is no number
        b"\xc2\x41\x01",
        b"\xc3\x41\x00",
        b"\xc2\x49\x00" + b"\xff" * 8,
        b"\xc2\x01",
        b"\xc2\x61a",
        b"\xc2\xc2\x41\x01",
    ],
    ids=range(8),
)
def test_a_big_number_has_one_form_and_a_bound(body):
    with pytest.raises(InvalidInput):
        strict_cbor.decode(body)


@given(st.binary(max_size=80))
def test_no_bytes_do_anything_but_decode_or_be_refused(body):
    try:
        found = strict_cbor.decode(body)
    except InvalidInput:
        return
    strict_cbor.encode(found)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x18",
        b"\x01\x02",
        b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x5b\x7f\xff\xff\xff\xff\xff\xff\xff",
        b"\x81" * 65 + b"\x01",
        b"\x9f" * 100_000,
        b"\xa2\x61a\x01\x61a\x02",
        b"\xa1\x01\x02",
        b"\xa1\x80\x02",
        b"\x41a",
        b"\xf7",
        b"\xe0",
        b"\xf9\x7c\x00",
        b"\xf9\x7e\x00",
        b"\xc2\x41\x01",
        b"\xc1\x01",
        b"\xd9\xd9\xf7\x01",
        b"\xd8\x1c\x81\xd8\x1d\x00",
        b"\xd9\x04\x00\x01",
        b"\x61\x00",
        b"\x63\xed\xa0\x80",
        cbor2.dumps({"a": cbor2.CBORTag(4, [1, 2])}),
    ],
    ids=lambda body: body[:12].hex() or "empty",
)
def test_what_json_cannot_say_and_bombs_are_refused(body):
    with pytest.raises(InvalidInput):
        strict_cbor.decode(body)


def test_indefinite_lengths_that_end_are_read():
    assert strict_cbor.decode(b"\xbf\x61a\x9f\x01\xff\xff") == {"a": [1]}


def test_64_levels_are_read():
    assert strict_cbor.decode(b"\x81" * 64 + b"\x01")


def test_a_shared_reference_bomb_is_refused_before_it_unfolds():
    body = b"\xd8\x1c\x82\x61x\x61x"
    for _ in range(20):
        body = b"\xd8\x1c\x82" + body + b"\xd8\x1d\x00"
    with pytest.raises(InvalidInput, match="tags"):
        strict_cbor.decode(body)
