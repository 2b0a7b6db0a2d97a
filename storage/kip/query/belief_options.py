"""WITH EPISTEMIC and FOR TIME: under what a query asks what is believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from storage.clock import from_millis, to_millis, to_text
from storage.database import sql
from storage.graph.belief import Question
from storage.graph.belief_identity import identity_of, identity_version
from storage.graph.belief_trust import trust_version
from storage.graph.errors import NotFoundOrNotVisible, SchemaFieldNotFound
from storage.graph.policies import DEFAULT, Policy, policy_of
from storage.graph.state import version
from storage.graph.validity import instant
from storage.kip.errors import ConstraintViolation, TypeMismatch, UnsupportedCapability
from storage.kip.language.ast_terms import ObjectValue, Scalar
from storage.kip.language.check_values import plain
from storage.kip.snapshot import Snapshot

#: How much of its grounds a projection tells.
EXPLANATIONS = ("none", "summary", "ledger")
#: What a basis says of a purpose or a risk that nobody stated.
UNSPECIFIED = "unspecified"
_MEMBERS = frozenset(
    {
        "policy",
        "context_refs",
        "purpose",
        "risk",
        "include_historical",
        "include_hypothetical",
        "include_predicted",
        "explanation",
    }
)


@dataclass(frozen=True, slots=True)
class Epistemic:
    """The coordinates of every projection of one query.

    `contexts` are sorted, as what they are merged into. `purpose` and `risk` are stated by the
    caller and disclosed in the basis; no policy here acts on them.
    """

    policy: Policy
    contexts: tuple[str, ...]
    valid_at: datetime
    modes: frozenset[str]
    purpose: str
    risk: str
    explanation: str
    identity_version: int
    trust_version: str

    @property
    def question(self) -> Question:
        """The same for `storage.graph.belief`."""
        return Question(self.valid_at, frozenset(self.contexts), self.policy.id, self.modes)


def epistemic(
    snapshot: Snapshot, options: ObjectValue | None, for_time: Scalar | None
) -> Epistemic:
    """Read WITH EPISTEMIC and FOR TIME; both may be absent.

    Without FOR TIME the moment is that of the request, whatever AS OF says. Raises
    `SchemaFieldNotFound` for a member that is not known, `ProjectionPolicyUnavailable`,
    `NotFoundOrNotVisible` for a context that is no concept here, `TypeMismatch`,
    `ConstraintViolation`, and `UnsupportedCapability` for `include_historical: true`.
    """
    given = {} if options is None else plain(options)
    if unknown := sorted(set(given) - _MEMBERS):
        raise SchemaFieldNotFound(f"WITH EPISTEMIC has no member {unknown[0]!r}.")
    policy = policy_of(_text(given, "policy", DEFAULT))
    if _flag(given, "include_historical"):
        raise UnsupportedCapability("include_historical: true is not supported; use FOR TIME.")
    explanation = _text(given, "explanation", "summary")
    if explanation not in EXPLANATIONS:
        raise ConstraintViolation(f"explanation is one of {', '.join(EXPLANATIONS)}.")
    modes = {m for m in ("hypothetical", "predicted") if _flag(given, f"include_{m}")}
    merged = identity_version(snapshot.tx, snapshot.scope, snapshot.as_of)
    return Epistemic(
        policy=policy,
        contexts=_contexts(snapshot, given.get("context_refs"), merges=merged > 0),
        valid_at=_moment(snapshot, for_time),
        modes=policy.modes | modes,
        purpose=_text(given, "purpose", UNSPECIFIED),
        risk=_text(given, "risk", UNSPECIFIED),
        explanation=explanation,
        identity_version=merged,
        trust_version=trust_version(snapshot.tx, snapshot.scope, snapshot.as_of),
    )


def _moment(snapshot: Snapshot, for_time: Scalar | None) -> datetime:
    if for_time is None:
        return from_millis(to_millis(snapshot.read_at))
    return instant(plain(for_time), "FOR TIME")


def _text(given: Mapping[str, Any], name: str, default: str) -> str:
    value = given.get(name, default)
    if not isinstance(value, str):
        raise TypeMismatch(f"{name} takes a string.")
    if not value:
        raise ConstraintViolation(f"{name} is empty.")
    return value


def _flag(given: Mapping[str, Any], name: str) -> bool:
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise TypeMismatch(f"{name} takes true or false.")
    return value


def _contexts(snapshot: Snapshot, value: Any, *, merges: bool) -> tuple[str, ...]:
    """The concepts that `context_refs` names, by id or as `{"id": …}`."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise TypeMismatch("context_refs takes an array of references.")
    ids = {_reference(item) for item in value}
    if not ids:
        return ()
    rows = snapshot.tx.execute(
        sql(
            f"""
            select e.id from unnest(%(ids)s::text[]) as w(id)
              join lateral (select id from element e where e.space_id = %(space)s
                     and e.id = w.id and e.kind = 'C' limit 1) e on true
              join {version("v", "e.id", snapshot.as_of)} on true
             where v.state in ('active', 'archived', 'merged')
            """
        ),
        {"ids": sorted(ids), "space": snapshot.scope.space_id, "seq": snapshot.seq},
    )
    if missing := sorted(ids - {element for (element,) in rows}):
        raise NotFoundOrNotVisible(f"There is no context {missing[0]!r}.")
    if merges:
        known = identity_of(snapshot.tx, snapshot.scope, ids, snapshot.as_of)
        return tuple(sorted(known.all_of(ids)))
    return tuple(sorted(ids))


def _reference(item: Any) -> str:
    if isinstance(item, dict) and set(item) == {"id"}:
        item = item["id"]
    if not isinstance(item, str):
        raise TypeMismatch("A context reference is an id.")
    return item


def moment_text(at: datetime | None) -> str | None:
    """A time as documents spell it."""
    return None if at is None else to_text(at)
