"""Who may call what: the six admission classes of seed 003 section 2.

A route names its class where it is declared (`api.routes`). Without `ED25519_PUBKEYS` there is no
authentication: every caller is the anonymous principal of the space it names, the server listens
on loopback only (`deploy/gunicorn_conf.py` refuses anything else), and this module keeps out the
one kind of stranger that reaches loopback: a web page in a browser on this machine, by a
cross-origin request or by a host name that was made to point here. Only the runtime inbox asks for
a real credential even then (section 4.6); without keys that is a space token.

Credentials are looked at before spaces are, so that a foreign space and one that does not exist
answer alike.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from urllib.parse import urlsplit

from flask import g, request

from api.errors import ForeignOrigin, WrongShard
from storage import spaces
from storage.canonical import digest_bytes
from storage.credentials import cwt, space_tokens
from storage.credentials.cwt import Claims
from storage.credentials.space_tokens import SpaceToken
from storage.database import Scope, database
from storage.errors import NotAuthorized, Unauthenticated
from storage.principals import Principal, anonymous, of_space_token, of_subject, public_reader
from storage.settings import settings

_SHARD = ("Shard-Id", "X-Shard")
_SAFE = ("GET", "HEAD", "OPTIONS")
_LOCAL: dict[str, bool] = {}


class Admission(Enum):
    """Whom a route lets in."""

    #: Anyone where the space is public; a space token is checked all the same, for its labels.
    PUBLIC_READ = "public read"
    #: Anyone where the space is public; credentials are not looked at there.
    LENIENT_READ = "lenient public read"
    #: A credential that may read.
    READ = "read credential"
    #: A credential that may write.
    WRITE = "write credential"
    #: A signed token that may write; no space token.
    MANAGEMENT = "management"
    #: A credential that may read, even without authentication; `api.runtime.inbox` maps it.
    RUNTIME = "runtime"
    #: The same, one that may write.
    RUNTIME_WRITE = "runtime write"
    #: The same, a signed token that may write; no space token.
    OBSERVER = "observer"

    @property
    def scope(self) -> str:
        """What a credential must allow."""
        return "read" if self in _READING else "write"

    @property
    def takes_space_tokens(self) -> bool:
        """Whether a space token may be enough."""
        return self not in (Admission.MANAGEMENT, Admission.OBSERVER)

    @property
    def needs_credential(self) -> bool:
        """Whether it stays closed to who brings no credential, on a server without keys, too."""
        return self in (Admission.RUNTIME, Admission.RUNTIME_WRITE, Admission.OBSERVER)

    @property
    def open_to_public(self) -> bool:
        """Whether a public space answers without a credential."""
        return self in (Admission.PUBLIC_READ, Admission.LENIENT_READ)


_READING = (Admission.PUBLIC_READ, Admission.LENIENT_READ, Admission.READ, Admission.RUNTIME)


def admit(space_id: str, admission: Admission, *, across_labels: bool = False) -> Principal:
    """The caller's principal in the space.

    `across_labels` says that the answer spans all labels, which a labelled token may not see.
    Raises `InvalidInput` for what is no space id, `Unauthenticated` and `NotAuthorized`.
    """
    scope = spaces.scope_of(space_id)
    credential = _bearer()
    if not authenticating():
        if not admission.needs_credential:
            return anonymous(scope.space_id)
        if not admission.takes_space_tokens:
            raise Unauthenticated("This server has no keys, and can verify no signed token.")
        return _by_space_token(scope, admission, credential, across_labels=across_labels)
    if credential is not None and not credential.startswith(space_tokens.PREFIX):
        return _by_claims(scope, admission, credential)
    return _by_space_token(scope, admission, credential, across_labels=across_labels)


def admit_manager() -> Claims | None:
    """The claims of a platform manager (`MANAGERS`); None without authentication.

    Raises `Unauthenticated` and `NotAuthorized`.
    """
    if not authenticating():
        return None
    claims = cwt.verify(_bearer() or "", _keys())
    if claims.subject not in settings().managers.replace(",", " ").split():
        raise NotAuthorized("Only a platform manager may do that.")
    _need_scope(claims.scopes, "write")
    return claims


def admit_operator() -> None:
    """Let in who works on this machine, and platform managers from elsewhere."""
    forwarded = any(name in request.headers for name in ("Forwarded", "X-Forwarded-For"))
    peer = request.remote_addr or ""
    if forwarded or not _names_loopback(f"[{peer}]" if ":" in peer else peer):
        admit_manager()


def credential_digest() -> str | None:
    """The digest of the credential that came along, by which one token is told from another."""
    credential = _bearer()
    return None if credential is None else digest_bytes(credential.encode())


def standing(space_id: str) -> Callable[[], bool]:
    """Tells, whenever it is called, whether the credential of this request still holds.

    For answers that last: what was let in once must not go on when its token was revoked or has
    expired. Looking is no use of a token. Raises `DatabaseUnavailable`.
    """
    scope, credential = Scope(space_id), _bearer()

    def holds() -> bool:
        if credential is None or not authenticating():
            return True
        if credential.startswith(space_tokens.PREFIX):
            with database().transaction(scope) as tx:
                return space_tokens.is_valid(tx, scope, credential)
        try:
            return cwt.verify(credential, _keys()).covers(space_id)
        except Unauthenticated:
            return False

    return holds


def authenticating() -> bool:
    """Whether callers must say who they are."""
    return bool(settings().ed25519_pubkeys.strip())


def check_request() -> None:
    """Refuse foreign pages (`ForeignOrigin`) and requests meant for another shard.

    A request for a space that names no shard is meant for shard 0 (seed 003 section 1): on another
    one it would find, or make, a space of the same name that is not the one it means.
    """
    if not authenticating():
        _check_origin()
    given = {request.headers[name] for name in _SHARD if name in request.headers}
    if not given and request.path.startswith(("/v1/", "/admin/")):
        given = {"0"}
    if given - {str(settings().sharding)}:
        raise WrongShard()


def _by_claims(scope: Scope, admission: Admission, credential: str) -> Principal:
    try:
        claims = cwt.verify(credential, _keys())
        if not claims.covers(scope.space_id):
            raise NotAuthorized("The token is not for this space.")
    except (Unauthenticated, NotAuthorized):
        if _is_public(scope, admission):
            return public_reader(scope.space_id)
        raise
    return _let_in(scope, admission, of_subject(scope.space_id, claims.subject, claims.scopes))


def _by_space_token(
    scope: Scope, admission: Admission, credential: str | None, *, across_labels: bool
) -> Principal:
    if credential is None or admission is Admission.LENIENT_READ:
        if _is_public(scope, admission):
            return public_reader(scope.space_id)
        if credential is None:
            raise Unauthenticated()
    token = _used(scope, credential)
    if token is None:
        raise Unauthenticated("The token is not valid here, or not any more.")
    if not admission.takes_space_tokens:
        raise NotAuthorized("A space token cannot do that; bring a signed token of the space.")
    labels = None if token.labels is None else frozenset(token.labels)
    scopes = frozenset({token.scope})
    caller = _let_in(scope, admission, of_space_token(scope.space_id, token.name, scopes, labels))
    if across_labels and token.labels is not None:
        raise NotAuthorized("A token that is limited to labels cannot read this.")
    return caller


def _used(scope: Scope, credential: str) -> SpaceToken | None:
    """The valid token of that value; one request is one use, however often it is looked at."""
    if "used_token" not in g:
        with database().transaction(scope) as tx:
            g.used_token = space_tokens.used(tx, scope, credential)
    token: SpaceToken | None = g.used_token
    return token


def _bearer() -> str | None:
    """The credential that came along; None for none, and for another scheme."""
    scheme, _, credential = request.headers.get("Authorization", "").partition(" ")
    credential = credential.strip()
    return credential if scheme.lower() == "bearer" and credential else None


def _keys() -> tuple[cwt.PublicKey, ...]:
    return cwt.public_keys(settings().ed25519_pubkeys)


def _is_public(scope: Scope, admission: Admission) -> bool:
    """Whether anyone may come in here; asked only where no credential settles it."""
    if not admission.open_to_public:
        return False
    with database().transaction(scope) as tx:
        space = spaces.find(tx, scope)
    return space is not None and space.public


def _let_in(scope: Scope, admission: Admission, caller: Principal) -> Principal:
    """The caller, if its scopes reach so far; where anyone may come in, with what anyone may do."""
    needed = admission.scope
    if caller.scopes.isdisjoint(("*", needed)) and _is_public(scope, admission):
        # it goes on as itself, and sees no more than the public
        return replace(caller, scopes=caller.scopes | {needed}, labels=frozenset())
    _need_scope(caller.scopes, needed)
    return caller


def _need_scope(scopes: frozenset[str], needed: str) -> None:
    if "*" not in scopes and needed not in scopes:
        raise NotAuthorized(f"The credential does not allow to {needed}.")


def _check_origin() -> None:
    if not _is_local(request.host):
        raise ForeignOrigin()
    if request.method not in _SAFE or "Upgrade" in request.headers:
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != request.host:
            raise ForeignOrigin()
        if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise ForeignOrigin()


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
