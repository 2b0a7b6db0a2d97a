"""Signed tokens: what is let in, and everything that is not."""

from __future__ import annotations

import base64
from typing import Any

import cbor2
import pytest
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from storage.credentials import cwt
from storage.errors import InvalidInput, Unauthenticated

NOW = 1_800_000_000.0
SIGNING, PUBLIC = cwt.new_key()
KEYS = cwt.public_keys(PUBLIC)
CLAIMS: dict[Any, Any] = {2: "ana", 3: "sp1", 4: int(NOW) + 600, 5: int(NOW), 9: "read write"}


def signed(
    claims: Any = None,
    *,
    headers: Any = None,
    unprotected: Any = None,
    tags: tuple[int, ...] = (18,),
    key: str = SIGNING,
) -> str:
    protected = cbor2.dumps({1: -8} if headers is None else headers)
    payload = cbor2.dumps(CLAIMS if claims is None else claims)
    private = Ed25519PrivateKey.from_private_bytes(base64.b64decode(key))
    signature = private.sign(cbor2.dumps(["Signature1", protected, b"", payload]))
    message: Any = [protected, unprotected or {}, payload, signature]
    for tag in tags:
        message = cbor2.CBORTag(tag, message)
    return base64.b64encode(cbor2.dumps(message)).decode()


def refuse(token: str, keys: Any = KEYS) -> None:
    with pytest.raises(Unauthenticated):
        cwt.verify(token, keys, at=NOW)


@pytest.mark.parametrize("tags", [(), (18,), (18, 61), (61,)])
def test_a_token_is_taken_tagged_and_bare(tags: tuple[int, ...]) -> None:
    claims = cwt.verify(signed(tags=tags), KEYS, at=NOW)
    assert claims == cwt.Claims("ana", frozenset({"sp1"}), frozenset({"read", "write"}))
    assert claims.covers("sp1")
    assert not claims.covers("sp2")


def test_both_base64_alphabets_are_read_with_and_without_padding() -> None:
    token = signed()
    for form in (token, token.rstrip("="), token.replace("+", "-").replace("/", "_")):
        assert cwt.verify(form, KEYS, at=NOW).subject == "ana"


def test_a_minted_token_is_let_in_until_it_expires() -> None:
    token = cwt.mint(SIGNING, subject="ana", audience="*", scope="*", seconds=60, at=NOW)
    claims = cwt.verify(token, KEYS, at=NOW + 59)
    assert claims.scopes == {"*"}
    assert claims.covers("anything")
    with pytest.raises(Unauthenticated):
        cwt.verify(token, KEYS, at=NOW + 60 + cwt.LEEWAY)


@pytest.mark.parametrize(
    "changed",
    [
        {4: int(NOW) - 60},
        {4: None},
        {4: True},
        {4: float("inf")},
        {5: int(NOW) + 60},
        {2: ""},
        {2: None},
        {2: "a\nb"},
        {3: None},
        {3: [1]},
        {9: ""},
        {9: "admin"},
        {9: None},
    ],
)
def test_a_claim_that_is_missing_wrong_or_out_of_time_refuses_the_token(
    changed: dict[int, Any],
) -> None:
    refuse(signed({**CLAIMS, **changed}))
    refuse(signed({k: v for k, v in CLAIMS.items() if k not in changed or k == 5} | changed))


@pytest.mark.parametrize("gone", [2, 3, 4, 9])
def test_nothing_is_assumed_for_a_claim_that_is_not_there(gone: int) -> None:
    refuse(signed({k: v for k, v in CLAIMS.items() if k != gone}))


def test_the_algorithm_is_read_from_the_protected_header_alone() -> None:
    refuse(signed(headers={}, unprotected={1: -8}))
    refuse(signed(headers={1: -7}))
    refuse(signed(headers={1: -8, 2: [99]}))


def test_a_mac_made_with_the_public_key_is_no_signature() -> None:
    protected, payload = cbor2.dumps({1: 5}), cbor2.dumps(CLAIMS)
    mac = hmac.HMAC(base64.b64decode(PUBLIC), hashes.SHA256())
    mac.update(cbor2.dumps(["MAC0", protected, b"", payload]))
    message = cbor2.CBORTag(17, [protected, {}, payload, mac.finalize()])
    refuse(base64.b64encode(cbor2.dumps(message)).decode())


def test_another_key_and_no_key_refuse() -> None:
    refuse(signed(key=cwt.new_key()[0]))
    refuse(signed(), ())


def test_a_cose_key_is_read_and_its_kid_chooses() -> None:
    raw = base64.b64decode(PUBLIC)
    named = base64.b64encode(cbor2.dumps({1: 1, -1: 6, -2: raw, 2: b"k1"})).decode()
    keys = cwt.public_keys(f"{cwt.new_key()[1]}, {named}")
    assert len(keys) == 2
    assert cwt.verify(signed(headers={1: -8, 4: b"k1"}), keys, at=NOW).subject == "ana"
    refuse(signed(headers={1: -8, 4: b"k2"}), keys)


@pytest.mark.parametrize("text", ["x", "AAAA", base64.b64encode(b"\xa1\x01\x02").decode()])
def test_keys_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        cwt.public_keys(text)


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_changed_byte_anywhere_refuses_the_token(place: int, change: int) -> None:
    raw = bytearray(base64.b64decode(signed()))
    raw[place % len(raw)] ^= change
    token = base64.b64encode(bytes(raw)).decode()
    try:
        claims = cwt.verify(token, KEYS, at=NOW)
    except Unauthenticated:
        return
    # a tag may be changed into what means the same; what was signed may not
    assert claims == cwt.verify(signed(), KEYS, at=NOW)


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_any_text_is_answered_with_a_refusal(value: bytes | str) -> None:
    refuse(value if isinstance(value, str) else base64.b64encode(value).decode())


def assembled(
    message: bytes | None = None, *, headers: bytes | None = None, payload: bytes | None = None
) -> str:
    """A well signed token of these very bytes."""
    protected = cbor2.dumps({1: -8}) if headers is None else headers
    claims = cbor2.dumps(CLAIMS) if payload is None else payload
    private = Ed25519PrivateKey.from_private_bytes(base64.b64decode(SIGNING))
    signature = private.sign(cbor2.dumps(["Signature1", protected, b"", claims]))
    whole = cbor2.dumps([protected, {}, claims, signature]) + (message or b"")
    return base64.b64encode(whole).decode()


def pairs(claims: dict[Any, Any], *more: tuple[Any, Any]) -> bytes:
    """A CBOR map that may say a thing twice."""
    said = [*claims.items(), *more]
    return bytes([0xA0 + len(said)]) + b"".join(cbor2.dumps(part) for pair in said for part in pair)


def test_a_token_put_together_by_hand_is_taken() -> None:
    assert cwt.verify(assembled(), KEYS, at=NOW).subject == "ana"
    assert cwt.verify(assembled(payload=pairs(CLAIMS)), KEYS, at=NOW).subject == "ana"
    # a length that is not told beforehand says the same
    streamed = b"\xbf" + pairs(CLAIMS)[1:] + b"\xff"
    assert cwt.verify(assembled(payload=streamed), KEYS, at=NOW).subject == "ana"


@pytest.mark.parametrize(
    "token",
    [
        assembled(b"\x00"),
        assembled(payload=cbor2.dumps(CLAIMS) + b"\x00"),
        assembled(headers=cbor2.dumps({1: -8}) + cbor2.dumps({2: [99]})),
    ],
    ids=["message", "claims", "header"],
)
def test_nothing_may_follow_a_part_of_a_token(token: str) -> None:
    refuse(token)


@pytest.mark.parametrize(
    "token",
    [
        assembled(payload=pairs(CLAIMS, (4, int(NOW) + 10**6))),
        assembled(payload=pairs(CLAIMS, (4.0, int(NOW) + 10**6))),
        assembled(payload=pairs({**CLAIMS, 4: 1}, (4, int(NOW) + 600))),
        assembled(headers=pairs({1: -8}, (1, -7))),
        assembled(headers=pairs({1: -7}, (1, -8))),
        assembled(headers=cbor2.dumps({True: -8})),
        assembled(headers=cbor2.dumps({1.0: -8})),
        assembled(headers=cbor2.dumps({1: -8.0})),
        assembled(payload=cbor2.dumps({float(k): v for k, v in CLAIMS.items()})),
    ],
)
def test_a_label_is_an_integer_or_a_text_and_there_once(token: str) -> None:
    refuse(token)


def test_critical_headers_are_refused_wherever_they_are() -> None:
    refuse(signed(unprotected={2: [99]}))


def test_scopes_are_parted_by_blanks_alone() -> None:
    refuse(signed({**CLAIMS, 9: "read\u00a0write"}))
    assert cwt.verify(signed({**CLAIMS, 9: " read  write "}), KEYS, at=NOW).scopes == {
        "read",
        "write",
    }


RAW = base64.b64decode(PUBLIC)


@pytest.mark.parametrize(
    "key",
    [
        {1: 1, -1: 6, -2: RAW, 3: -7},
        {1: 1, -1: 6, -2: RAW, 4: [1]},
        {1: 1, -1: 6, -2: RAW, 2: 5},
        {1: 1, -1: 6, -2: RAW, -4: base64.b64decode(SIGNING)},
        {1: True, -1: 6, -2: RAW},
    ],
    ids=["another algorithm", "for signing only", "kid that is no bytes", "private", "kty true"],
)
def test_a_cose_key_that_is_not_for_verifying_is_refused(key: dict[int, Any]) -> None:
    with pytest.raises(InvalidInput):
        cwt.public_keys(base64.b64encode(cbor2.dumps(key)).decode())


def test_a_cose_key_for_verifying_is_read_whatever_else_it_says() -> None:
    told = {1: 1, -1: 6, -2: RAW, 3: -8, 4: [2], 2: b"k", 5: b"x"}
    (key,) = cwt.public_keys(base64.b64encode(cbor2.dumps(told)).decode())
    assert key.kid == b"k"
    with pytest.raises(InvalidInput):
        cwt.public_keys(base64.b64encode(cbor2.dumps(told) + b"\x00").decode())


# points of small order: anybody can sign for them
_P = 2**255 - 19
_ORDER_8 = (
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
)
SMALL = [0, 1, _P - 1, _P, _P + 1, *(int.from_bytes(bytes.fromhex(y), "little") for y in _ORDER_8)]


@pytest.mark.parametrize("y", [*SMALL, *(y | 1 << 255 for y in SMALL)])
def test_a_key_for_which_anybody_can_sign_is_refused(y: int) -> None:
    with pytest.raises(InvalidInput):
        cwt.public_keys(base64.b64encode(y.to_bytes(32, "little")).decode())
