"""Who may call, and for which space.

Authentication comes with the Anda API issue. Until then the server listens on loopback only
(`deploy/gunicorn_conf.py` refuses anything else), every caller is the anonymous principal of the
space it names, and this module keeps out the one kind of stranger that reaches loopback: a web
page in a browser on this machine, by a cross-origin request or by a host name that was made to
point here.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from flask import request

from api.errors import ForeignOrigin, WrongShard
from storage import spaces
from storage.principals import Principal, anonymous
from storage.settings import settings

_SAFE = ("GET", "HEAD", "OPTIONS")
_LOCAL: dict[str, bool] = {}


def admit(space_id: str) -> Principal:
    """The caller's principal in the space; raises `InvalidInput` for what is no space id."""
    return anonymous(spaces.scope_of(space_id).space_id)


def check_request() -> None:
    """Refuse foreign pages (`ForeignOrigin`) and requests meant for another shard."""
    if not _is_local(request.host):
        raise ForeignOrigin()
    if request.method not in _SAFE or "Upgrade" in request.headers:
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != request.host:
            raise ForeignOrigin()
        if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise ForeignOrigin()
    shard = request.headers.get("Shard-Id") or request.headers.get("X-Shard")
    if shard is not None and shard != str(settings().sharding):
        raise WrongShard()


def _is_local(host: str) -> bool:
    known = _LOCAL.get(host)
    if known is None:
        known = _names_loopback(host)
        if len(_LOCAL) < 1000:
            _LOCAL[host] = known
    return known


def _names_loopback(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
        if name == "localhost" or name.endswith(".localhost"):
            return True
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
