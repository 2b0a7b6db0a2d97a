"""Page cursors: opaque, and good only for the caller, route, space and filters they were made for.

A cursor is where the next page begins, sealed with AES-GCM under a key of the installation; what
it is bound to is authenticated along with it. A changed or borrowed cursor is `CursorInvalid`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from collections.abc import Mapping
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from api.errors import CursorInvalid
from storage import secret_keys
from storage.canonical import canonical_json
from storage.database import Scope, database
from storage.principals import Principal
from storage.settings import settings

_NONCE = 12
_SYSTEM = Scope("_system")


def seal(caller: Principal, route: str, filters: Mapping[str, object], position: int) -> str:
    """A cursor for the page that begins after `position`."""
    nonce = os.urandom(_NONCE)
    bound = _bound(caller, route, filters)
    return _text(nonce + _cipher().encrypt(nonce, json.dumps(position).encode(), bound))


def opened(
    caller: Principal, route: str, filters: Mapping[str, object], cursor: str | None
) -> int | None:
    """The position that `cursor` stands for, None without one; raises `CursorInvalid`."""
    if cursor is None:
        return None
    try:
        sealed = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
        if _text(sealed) != cursor:
            raise CursorInvalid()
        bound = _bound(caller, route, filters)
        plain = _cipher().decrypt(sealed[:_NONCE], sealed[_NONCE:], bound)
    except (InvalidTag, UnicodeEncodeError, binascii.Error, ValueError):
        raise CursorInvalid() from None
    return int(json.loads(plain))


def _text(sealed: bytes) -> str:
    return base64.b64encode(sealed, altchars=b"-_").decode("ascii")


def _bound(caller: Principal, route: str, filters: Mapping[str, object]) -> bytes:
    return canonical_json([caller.space_id, caller.subject, route, filters]).encode()


def _cipher() -> AESGCM:
    return AESGCM(_key(settings().cursor_key, settings().database_url))


@lru_cache(maxsize=4)
def _key(configured: str, database_url: str) -> bytes:
    """The operator's key, else the one that the database keeps for all API processes."""
    if configured:
        return hashlib.sha256(configured.encode()).digest()
    with database().transaction(_SYSTEM) as tx:
        return secret_keys.get_or_make(tx, _SYSTEM, "cursor")
