"""Opaque tokens that a caller keeps for us (cursors, snapshot tokens), and secrets at rest.

A token is a JSON value, sealed with AES-GCM under a key of the installation; what it is bound to
(whose it is, what it is for) is authenticated along with it and not part of it. A changed or
borrowed token cannot be opened. Each purpose has a key of its own, the operator's
(`BRAINSTEM_CURSOR_KEY`, `BRAINSTEM_SECRET_KEY`) or one that the database keeps.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from functools import lru_cache
from typing import Any, Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from storage import secret_keys
from storage.canonical import canonical_json
from storage.database import Scope, database
from storage.settings import settings

Purpose = Literal["cursor", "secret"]

_NONCE = 12
_SYSTEM = Scope("_system")


class NotSealed(ValueError):
    """The text is no token that was sealed here for what it is presented with."""


def seal(bound: Any, value: Any, *, purpose: Purpose = "cursor") -> str:
    """A token of the JSON `value`, good only together with the JSON `bound`."""
    nonce = os.urandom(_NONCE)
    plain = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    return _text(nonce + _cipher(purpose).encrypt(nonce, plain, _bytes(bound)))


def unseal(bound: Any, token: str, *, purpose: Purpose = "cursor") -> Any:
    """The value that was sealed; raises `NotSealed`."""
    try:
        sealed = base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True)
        if _text(sealed) != token:
            raise NotSealed()
        opened = _cipher(purpose).decrypt(sealed[:_NONCE], sealed[_NONCE:], _bytes(bound))
        return json.loads(opened)
    except (InvalidTag, UnicodeEncodeError, binascii.Error, ValueError):
        raise NotSealed() from None


def _text(sealed: bytes) -> str:
    return base64.b64encode(sealed, altchars=b"-_").decode("ascii")


def _bytes(bound: Any) -> bytes:
    return canonical_json(bound).encode("utf-8", "surrogatepass")


def _cipher(purpose: Purpose) -> AESGCM:
    config = settings()
    configured = config.cursor_key if purpose == "cursor" else config.secret_key
    return AESGCM(_key(purpose, configured, config.database_url))


@lru_cache(maxsize=4)
def _key(purpose: Purpose, configured: str, database_url: str) -> bytes:
    """The operator's key, else the one that the database keeps for all processes."""
    if configured:
        return hashlib.sha256(configured.encode()).digest()
    with database().transaction(_SYSTEM) as tx:
        return secret_keys.get_or_make(tx, _SYSTEM, purpose)
