"""DESCRIBE of everything but words, and the listings that go with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from storage.clock import to_text
from storage.graph import transactions
from storage.graph.errors import NotFoundOrNotVisible
from storage.graph.policies import DEFAULT, policies, policy_of
from storage.graph.validity import instant
from storage.kip.errors import REGISTRY
from storage.kip.language.ast_meta import Describe, List
from storage.kip.language.ast_terms import ObjectValue
from storage.kip.language.check_values import plain
from storage.kip.meta import capabilities, primer, receipts, vocabulary
from storage.kip.meta.answered import Answered, Asking, Cursors, needed, text, whole
from storage.kip.meta.limits import limits
from storage.kip.meta.memory_interface import descriptor
from storage.kip.snapshot import Snapshot, open_snapshot

#: Trust records that one answer shows.
_TRUST = 1_000
#: What reading needs no permission of its own for, once the host has let a caller in.
_READING = ("discover", "read", "search", "project", "read_history")


def describe(asking: Asking, statement: Describe) -> Answered:
    """Answer a DESCRIBE. Raises what its target deserves, such as `NotFoundOrNotVisible`."""
    return Answered(_DESCRIBED[statement.target](asking, statement))


def listed(asking: Asking, statement: List) -> Answered:
    """LIST SPACES and LIST EPISTEMIC POLICIES."""
    if statement.target == "SPACES":
        rows: list[dict[str, Any]] = [_space_row(asking.snapshot)]
    else:
        rows = [
            {"id": one.id, "version": one.version, "name": one.name, "default": one.id == DEFAULT}
            for one in policies()
        ]
    cursors = Cursors(asking, f"LIST {statement.target}", None, pinned=None)
    page, cursor = cursors.page(rows, statement.limit, statement.cursor)
    return Answered(page, cursor)


def _protocol(asking: Asking, statement: Describe) -> dict[str, Any]:
    return primer.protocol()


def _capabilities(asking: Asking, statement: Describe) -> dict[str, Any]:
    return {
        "kip": "2.0",
        "capabilities": capabilities.described(),
        "search_modes": primer.search_modes(),
        "epistemic_policies": [one.id for one in policies()],
        "limits": limits(),
        "memory_interface": descriptor(asking.snapshot.scope),
    }


def _space(asking: Asking, statement: Describe) -> dict[str, Any]:
    snapshot = asking.snapshot
    wanted = text(statement.value)
    own = snapshot.scope.space_id
    if wanted not in (None, own, transactions.uri(own)):
        raise NotFoundOrNotVisible("There is no such space, or not for this caller.")
    return {
        **_space_row(snapshot),
        "elements": primer.element_counts(snapshot),
        "packages": [row["package_ref"] for row in vocabulary.packages(snapshot.schema)],
    }


def _space_row(snapshot: Snapshot) -> dict[str, Any]:
    row = snapshot.tx.execute(
        "select name, description, public, first_seq, created_at from space where space_id = %s",
        (snapshot.scope.space_id,),
    ).fetchone()
    assert row is not None
    name, description, public, first_seq, created_at = row
    return {
        "id": snapshot.scope.space_id,
        "name": name,
        "description": description,
        "public": public,
        "space_seq": snapshot.head_seq,
        "first_seq": first_seq,
        "schema_environment_version": snapshot.schema_env_version,
        "created_at": to_text(created_at),
    }


def _environment(asking: Asking, statement: Describe) -> dict[str, Any]:
    snapshot = asking.snapshot
    seq = whole(statement.as_of)
    if seq is not None:
        snapshot = open_snapshot(snapshot.tx, snapshot.scope, as_of=seq)
    schema = snapshot.schema
    return {
        "space_id": snapshot.scope.space_id,
        "snapshot_seq": snapshot.seq,
        "schema_environment_version": snapshot.schema_env_version,
        "digest": schema.digest,
        "packages": vocabulary.packages(schema),
        "draft_symbols": schema.drafts,
        "lineage_maps": [
            {"kind": one.kind, "from": one.from_lineage, "to": one.to_lineage}
            for one in schema.maps
        ],
    }


def _snapshot(asking: Asking, statement: Describe) -> dict[str, Any]:
    """The coordinate of now, of a sequence, or of the last commit at or before a time."""
    snapshot = asking.snapshot
    seq = whole(statement.as_of)
    if statement.at_time is not None:
        seq = _seq_at(snapshot, getattr(statement.at_time, "value", None))
    if seq is not None:
        snapshot = open_snapshot(snapshot.tx, snapshot.scope, as_of=seq)
    committed = snapshot.tx.execute(
        "select committed_at from commit_record where space_id = %s and space_seq = %s",
        (snapshot.scope.space_id, snapshot.seq),
    ).fetchone()
    return {
        "space_id": snapshot.scope.space_id,
        "snapshot_seq": snapshot.seq,
        "current_space_seq": snapshot.head_seq,
        "schema_environment_version": snapshot.schema_env_version,
        "committed_at": to_text(committed[0]) if committed else None,
    }


def _seq_at(snapshot: Snapshot, given: Any) -> int:
    at = instant(given, "AT TIME")
    return min(transactions.seq_at(snapshot.tx, snapshot.scope, at), snapshot.seq)


def _policy(asking: Asking, statement: Describe) -> dict[str, Any]:
    return policy_of(text(statement.value) or DEFAULT).described()


def _trust(asking: Asking, statement: Describe) -> dict[str, Any]:
    """What the protected trust state says, of one actor or of all; nobody changes it by KIP."""
    actor = text(statement.value)
    rows = asking.snapshot.tx.execute(
        """
        select id, subject, context, trust_class, policy, set_at from trust_record
         where space_id = %s order by id limit %s
        """,
        (asking.snapshot.scope.space_id, _TRUST + 1),
    ).fetchall()
    records = [
        {
            "subject": subject,
            "context": context,
            "trust_class": trust_class,
            "policy": policy,
            "set_at": to_text(set_at),
        }
        for _, subject, context, trust_class, policy, set_at in rows[:_TRUST]
        if actor is None or subject.get("actor") == actor
    ]
    return {
        "records": records,
        "truncated": len(rows) > _TRUST,
        "default_trust_class": "unknown",
        "managed_by": "the owner of the space, outside the language",
    }


def _access(asking: Asking, statement: Describe) -> dict[str, Any]:
    """What the caller may do; with `{operation}`, whether it may do that."""
    authority = asking.authority
    granted = sorted({*_READING, *(authority.permissions if authority else ())})
    told: dict[str, Any] = {
        "principal": asking.caller,
        "actor": authority.actor if authority else None,
        "space_id": asking.snapshot.scope.space_id,
        "permissions": granted,
    }
    options = _plain(statement.options)
    operation = options.get("operation")
    if operation is not None:
        told["operation"] = operation
        told["allowed"] = operation in granted
    return told


def _plain(value: ObjectValue | None) -> Mapping[str, Any]:
    return {} if value is None else plain(value)


def _error(asking: Asking, statement: Describe) -> dict[str, Any]:
    entry = REGISTRY.get(needed(statement.value))
    if entry is None:
        raise NotFoundOrNotVisible("KIP 2.0 has no error of that code.")
    return {
        "code": entry.code,
        "category": entry.category,
        "meaning": entry.meaning,
        "hint": entry.hint,
        "retry": {"class": entry.retry_class},
    }


def _primer(asking: Asking, statement: Describe) -> dict[str, Any]:
    return primer.primer(asking, text(statement.mode) or "compact")


def _transaction(asking: Asking, statement: Describe) -> dict[str, Any]:
    if statement.by_key:
        return receipts.by_key(asking, needed(statement.value))
    return receipts.by_id(asking, needed(statement.value))


_DESCRIBED: Mapping[str, Callable[[Asking, Describe], dict[str, Any]]] = {
    "PRIMER": _primer,
    "PROTOCOL": _protocol,
    "CAPABILITIES": _capabilities,
    "SPACE": _space,
    "SCHEMA ENVIRONMENT": _environment,
    "SNAPSHOT": _snapshot,
    "TRANSACTION": _transaction,
    "EPISTEMIC POLICY": _policy,
    "TRUST": _trust,
    "ACCESS": _access,
    "ERROR": _error,
}
