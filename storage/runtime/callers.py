"""A caller of the runtime inbox as the configuration knows it, and the instance of a space."""

from __future__ import annotations

from dataclasses import dataclass

from storage.canonical import digest
from storage.database import Scope, Transaction
from storage.graph import state
from storage.graph.changes import UpsertConcept
from storage.graph.keys import person_key
from storage.principals import SUBJECT_PREFIX
from storage.runtime.configuration import Mapping, Role, SpaceRuntime
from storage.spaces import Space

#: The channel of commits that the runtime makes, in the origin of elements.
CHANNEL = "runtime"
_PERSON = "kip://profiles/cognitive-memory/Person"


@dataclass(frozen=True, slots=True)
class RuntimeCaller:
    """A verified credential's holder, as `mapped` found it in the configuration.

    `signed` says that the credential is a signed token rather than a space token; `subject` is that
    of a signed one. `audience` None: sees every wake.
    """

    principal: str
    actor: str
    audience: frozenset[str] | None
    roles: frozenset[Role]
    signed: bool
    runtime: SpaceRuntime
    subject: str | None = None

    @property
    def author(self) -> str:
        """The principal of its commits."""
        return f"{CHANNEL}:{self.principal}"

    def wrote(self, principal: str) -> bool:
        """Whether a commit's principal is this caller, here or by another way in."""
        own = {self.author}
        if self.subject is not None:
            own.add(f"{SUBJECT_PREFIX}{self.subject}")
        return principal in own


def mapped(
    runtime: SpaceRuntime, *, cwt_subject: str | None, token_digest: str | None
) -> RuntimeCaller | None:
    """The caller of a verified credential; None where the configuration does not name it."""
    for one in runtime.callers:
        by_subject = cwt_subject is not None and one.cwt_subject == cwt_subject
        by_token = token_digest is not None and one.space_token_digest == token_digest
        if by_subject or by_token:
            return _caller(one, runtime)
    return None


def _caller(found: Mapping, runtime: SpaceRuntime) -> RuntimeCaller:
    return RuntimeCaller(
        found.principal,
        found.actor or found.principal,
        None if found.audience == "all" else frozenset(found.audience),
        frozenset(found.roles),
        found.cwt_subject is not None,
        runtime,
        found.cwt_subject,
    )


def instance_of(space: Space) -> str:
    """The digest that tells a space from another one of the same name, before or after it."""
    return digest(["space instance", space.space_id, space.created_at.isoformat()])


def person(tx: Transaction, scope: Scope, caller: RuntimeCaller) -> str | None:
    """The Person that stands for the caller; None where memory knows none yet."""
    key = (_PERSON, person_key(caller.actor))
    return state.concepts_by_key(tx, scope, [key]).get(key)


def person_change(caller: RuntimeCaller, handle: str) -> UpsertConcept:
    """The change that makes the caller's Person where there is none."""
    return UpsertConcept(
        handle, type="Person", key=person_key(caller.actor), initial_name=caller.actor
    )
