"""CBOR Web Tokens (RFC 8392) as COSE_Sign1 (RFC 9052) with Ed25519.

The algorithm is taken from the protected header and must be EdDSA; a critical header that is not
understood refuses the token. `exp`, `sub`, `aud` and `scope` must be there: nothing is assumed in
a token's favour. Each part of a token is one CBOR item that says everything once, so that no two
readers can take it for different things. Tokens come tagged (61, 18) or bare, keys as 32 raw bytes
or as a COSE_Key.
"""

from __future__ import annotations

import base64
import binascii
import io
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cbor2
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from storage.errors import InvalidInput, Unauthenticated

#: Seconds by which clocks may differ.
LEEWAY = 30
#: No token of ours or of a known issuer is longer, in characters.
MAX_CHARS = 8192
#: Longest subject, in characters.
MAX_SUBJECT = 256

_SIGN1, _CWT = 18, 61
_ALG, _CRIT, _KID = 1, 2, 4
_EDDSA = -8
#: Labels of a COSE_Key (RFC 9052 section 7, RFC 9053 section 7.2).
_KTY, _KEY_ID, _KEY_ALG, _KEY_OPS, _CRV, _X, _D = 1, 2, 3, 4, -1, -2, -4
_OKP, _ED25519, _VERIFY = 1, 6, 2
_SUB, _AUD, _EXP, _NBF, _IAT, _SCOPE = 2, 3, 4, 5, 6, 9
_SCOPES = frozenset({"read", "write", "*"})


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that tokens may be signed with; `kid` where its COSE_Key names one."""

    key: Ed25519PublicKey
    kid: bytes | None = None


@dataclass(frozen=True, slots=True)
class Claims:
    """What a valid token says: whose it is, for which space (`*`: any), and what for."""

    subject: str
    audience: frozenset[str]
    scopes: frozenset[str]

    def covers(self, space_id: str) -> bool:
        """Whether the token is for this space."""
        return not self.audience.isdisjoint((space_id, "*"))


def public_keys(configured: str) -> tuple[PublicKey, ...]:
    """The keys of `ED25519_PUBKEYS`, Base64 separated by commas; raises `InvalidInput`."""
    return _public_keys(configured)


@lru_cache(maxsize=4)
def _public_keys(configured: str) -> tuple[PublicKey, ...]:
    return tuple(_public_key(part) for part in configured.replace(",", " ").split())


def _public_key(text: str) -> PublicKey:
    wrong = InvalidInput(
        "ED25519_PUBKEYS holds Base64 of 32 raw bytes or of a COSE_Key, of public keys that verify."
    )
    try:
        raw, kid = _bytes(text), None
        if len(raw) != 32:
            raw, kid = _of_cose_key(_decoded(raw))
        if _is_small(raw):
            raise wrong
        return PublicKey(Ed25519PublicKey.from_public_bytes(raw), kid)
    except (_Refused, ValueError, TypeError, cbor2.CBORError, RecursionError):
        raise wrong from None


def _of_cose_key(parts: Any) -> tuple[bytes, bytes | None]:
    """The point and the id of a COSE_Key that verifies; raises `_Refused` for any other."""
    _need(isinstance(parts, dict))
    kind = (parts.get(_KTY), parts.get(_CRV), parts.get(_KEY_ALG, _EDDSA))
    _need(kind == (_OKP, _ED25519, _EDDSA) and all(type(part) is int for part in kind))
    uses, kid, point = parts.get(_KEY_OPS, [_VERIFY]), parts.get(_KEY_ID), parts.get(_X)
    _need(isinstance(uses, list) and _VERIFY in uses and _D not in parts)
    _need(isinstance(point, bytes) and (kid is None or isinstance(kid, bytes)))
    return point, kid


#: The y of the points whose order divides 8. A key that is one (all zeros, say) verifies
#: signatures that anybody can make.
_PRIME = 2**255 - 19
_ORDER_8 = 2707385501144840649318225287225658788936804267575313519463743609750303402022
_SMALL = frozenset({0, 1, _PRIME - 1, _ORDER_8, _PRIME - _ORDER_8})


def _is_small(raw: bytes) -> bool:
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    return y % _PRIME in _SMALL


def verify(token: str, keys: Sequence[PublicKey], *, at: float | None = None) -> Claims:
    """The claims of a token; raises `Unauthenticated`, which does not say what was wrong with it.

    `at` is the present in Unix seconds.
    """
    try:
        return _verified(token, keys, time.time() if at is None else at)
    except (
        _Refused,
        InvalidSignature,
        cbor2.CBORError,
        ValueError,
        TypeError,
        RecursionError,
        OverflowError,
    ):
        raise Unauthenticated("The token is not valid here, or not any more.") from None


class _Refused(Exception):
    """A rule that the token breaks."""


def _need(held: bool) -> None:
    if not held:
        raise _Refused()


def _verified(token: str, keys: Sequence[PublicKey], at: float) -> Claims:
    _need(len(token) <= MAX_CHARS)
    message = _decoded(_bytes(token))
    if isinstance(message, cbor2.CBORTag) and message.tag == _CWT:
        message = message.value
    if isinstance(message, cbor2.CBORTag):
        _need(message.tag == _SIGN1)
        message = message.value
    # inside a tag the decoder gives immutable values
    _need(isinstance(message, list | tuple) and len(message) == 4)
    protected, unprotected, payload, signature = message
    _need(all(isinstance(part, bytes) for part in (protected, payload, signature)))
    headers = _decoded(protected)
    _check_labels(headers)
    _check_labels(unprotected)
    _need(type(headers.get(_ALG)) is int and headers[_ALG] == _EDDSA)
    _need(_CRIT not in headers and _CRIT not in unprotected)
    signed = cbor2.dumps(["Signature1", protected, b"", payload])
    kid = headers.get(_KID, unprotected.get(_KID))
    _check_signature(signed, signature, [k for k in keys if k.kid in (None, kid)])
    return _claims(_decoded(payload), at)


def _decoded(raw: bytes) -> Any:
    """The one CBOR item that fills `raw`, in which no map says a thing twice."""
    stream = io.BytesIO(raw)
    item = cbor2.CBORDecoder(stream, allow_duplicate_keys=False).decode()
    _need(stream.tell() == len(raw))
    return item


def _check_labels(labelled: Any) -> None:
    """Labels are integers or texts (RFC 9052 section 1.5); Python would take 1.0 and true for 1."""
    _need(isinstance(labelled, Mapping))
    _need(all(type(label) in (int, str) for label in labelled))


def _check_signature(signed: bytes, signature: bytes, keys: Sequence[PublicKey]) -> None:
    for key in keys:
        try:
            key.key.verify(signature, signed)
            return
        except InvalidSignature:
            continue
    raise _Refused()


def _claims(claims: Any, at: float) -> Claims:
    _check_labels(claims)
    expires, begins = claims.get(_EXP), claims.get(_NBF, 0)
    for moment in (expires, begins):
        _need(isinstance(moment, int | float) and not isinstance(moment, bool))
        _need(math.isfinite(moment))
    _need(at < expires + LEEWAY and begins - LEEWAY <= at)
    subject, audience = claims.get(_SUB), claims.get(_AUD)
    _need(isinstance(subject, str) and 0 < len(subject) <= MAX_SUBJECT and subject.isprintable())
    audience = [audience] if isinstance(audience, str) else audience
    _need(isinstance(audience, list) and all(isinstance(name, str) for name in audience))
    scope = claims.get(_SCOPE, claims.get("scope"))
    words = scope.split(" ") if isinstance(scope, str) else scope
    _need(isinstance(words, list) and all(isinstance(word, str) for word in words))
    scopes = frozenset(words) & _SCOPES
    _need(bool(scopes))
    return Claims(subject, frozenset(audience), scopes)


def new_key() -> tuple[str, str]:
    """A fresh signing key and its public key, both as Base64 of their 32 raw bytes."""
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return _text(key.private_bytes_raw()), _text(public)


def mint(
    signing_key: str, *, subject: str, audience: str, scope: str, seconds: float, at: float
) -> str:
    """A token signed with the Base64 key; `at` is Unix seconds. Raises `InvalidInput`."""
    if scope not in _SCOPES:
        raise InvalidInput("A scope is read, write or *.", field="scope")
    if not subject or len(subject) > MAX_SUBJECT or not subject.isprintable():
        raise InvalidInput(f"A subject has 1 to {MAX_SUBJECT} characters.", field="sub")
    try:
        key = Ed25519PrivateKey.from_private_bytes(_bytes(signing_key))
    except ValueError:
        raise InvalidInput("A signing key is Base64 of 32 raw bytes.", field="key") from None
    claims = {
        _SUB: subject,
        _AUD: audience,
        _EXP: int(at + seconds),
        _NBF: int(at),
        _IAT: int(at),
        _SCOPE: scope,
    }
    protected, payload = cbor2.dumps({_ALG: _EDDSA}), cbor2.dumps(claims)
    signature = key.sign(cbor2.dumps(["Signature1", protected, b"", payload]))
    sign1 = cbor2.CBORTag(_SIGN1, [protected, {}, payload, signature])
    return base64.urlsafe_b64encode(cbor2.dumps(sign1)).decode("ascii").rstrip("=")


def _bytes(text: str) -> bytes:
    """Base64 in either alphabet, padded or not."""
    plain = text.strip().replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except binascii.Error as error:
        raise ValueError("not Base64") from error


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")
