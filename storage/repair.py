"""Recording repair: what memory wrote down although its source never said it (contract, section 7).

The claim is marked as never recorded rightly: it counts for nothing from then on, while its words,
its lifecycle and the source stay as they are, and reads of the time before still have it. An
activity of class `recording_repair` tells what was wrong and what stands in its place. Only the
host repairs; no statement of the language does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from storage.canonical import digest
from storage.clock import now
from storage.database import Scope, Transaction
from storage.graph import state
from storage.graph.changes import ChangeSet, CreateActivity, Guard, InvalidateRecording
from storage.graph.commit import commit, lock
from storage.graph.errors import ConstraintViolation, KipError, NotFoundOrNotVisible
from storage.graph.state import Stored
from storage.kip.errors import NotAuthorized
from storage.search import index as search_index

_CHANNEL = "recording_repair"
_FACET = "RecordingRepair"
_ABSENT = object()


class DigestMismatch(KipError):
    """The source is not the one that the repair was made from."""

    code = "DigestMismatch"
    status = 409


@dataclass(frozen=True, slots=True)
class RecordingRepair:
    """What was recorded wrongly, and from which part of which source.

    `source_locator` is a JSON Pointer into the payload of the evidence. `expected_versions` has
    the version of every invalidated claim as it was looked at.
    """

    source_ref: str
    source_digest: str
    source_locator: str
    invalidated_refs: tuple[str, ...]
    replacement_refs: tuple[str, ...]
    reason: Literal["extraction_error", "attribution_error"]
    expected_versions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Repaired:
    """The activity of a repair. `seq` is None for one that was done before."""

    activity: str
    seq: int | None
    head_seq: int


def repair(tx: Transaction, scope: Scope, principal: str, record: RecordingRepair) -> Repaired:
    """Invalidate what was recorded wrongly, in the caller's transaction.

    The same repair again changes nothing. Raises `NotFoundOrNotVisible`, `DigestMismatch` for
    another source, `ConstraintViolation` for a locator that finds nothing and for claims that are
    not of that source, `VersionConflict`, and `NotAuthorized` for who has not recorded it.
    """
    space = lock(tx, scope)
    key = f"{_CHANNEL}:{digest({**asdict(record), 'by': principal})}"
    known = state.by_client_key(tx, scope, [("X", key)]).get(("X", key))
    if known is not None:
        return Repaired(known[0], None, space.head_seq)
    _check(tx, scope, principal, record)
    at = now()
    made = commit(
        tx,
        scope,
        principal,
        ChangeSet(
            (
                CreateActivity(
                    "?repair",
                    _CHANNEL,
                    "completed",
                    at,
                    at,
                    inputs=(record.source_ref,),
                    outputs=record.replacement_refs,
                    client_key=key,
                    facets={_FACET: _facet(record)},
                ),
                *(
                    InvalidateRecording(
                        ref, "?repair", guards=(Guard(record.expected_versions[ref]),)
                    )
                    for ref in record.invalidated_refs
                ),
            )
        ),
        tx_class=_CHANNEL,
    )
    search_index.remove(tx, scope, list(record.invalidated_refs))
    return Repaired(made.ids["?repair"], made.seq, made.head_seq)


def inline_payload(tx: Transaction, scope: Scope, evidence: str) -> Any:
    """The payload that is kept with an evidence; None when its bytes are elsewhere, or erased."""
    row = tx.execute(
        "select payload -> 'inline' from evidence where space_id = %s and id = %s",
        (scope.space_id, evidence),
    ).fetchone()
    return None if row is None else row[0]


def source_digest_of(tx: Transaction, scope: Scope, evidence: str) -> str | None:
    """The digest that a repair names its source by; None for evidence without bytes here."""
    found = state.load(tx, scope, [evidence]).get(evidence)
    payload = inline_payload(tx, scope, evidence)
    if found is None or found.evidence is None or payload is None:
        return None
    return found.evidence.content_digest or digest(payload)


def recorder_of(tx: Transaction, scope: Scope, refs: list[str]) -> dict[str, str | None]:
    """Who wrote each of some elements."""
    rows = tx.execute(
        "select w.id, e.origin ->> 'principal_id' from unnest(%s::text[]) as w(id)"
        " join lateral (select origin from element e where e.space_id = %s and e.id = w.id"
        " limit 1) e on true",
        (refs, scope.space_id),
    )
    return dict(rows.fetchall())


def _check(tx: Transaction, scope: Scope, principal: str, record: RecordingRepair) -> None:
    claims = [*record.invalidated_refs, *record.replacement_refs]
    stored = state.load(tx, scope, [record.source_ref, *claims])
    for ref in (record.source_ref, *claims):
        if ref not in stored:
            raise NotFoundOrNotVisible(f"There is no element {ref!r} here.")
    if not record.invalidated_refs or set(record.expected_versions) != set(record.invalidated_refs):
        raise ConstraintViolation("A repair says the version of each claim that it invalidates.")
    payload = inline_payload(tx, scope, record.source_ref)
    if source_digest_of(tx, scope, record.source_ref) != record.source_digest:
        raise DigestMismatch("The source is not the one that this repair was made from.")
    if _pointed(payload, record.source_locator) is _ABSENT:
        raise ConstraintViolation("The locator finds nothing in the source.")
    _check_claims(tx, scope, stored, record)
    if any(by != principal for by in recorder_of(tx, scope, claims).values()):
        raise NotAuthorized("Only who recorded a claim repairs its recording.")


def _check_claims(
    tx: Transaction, scope: Scope, stored: Mapping[str, Stored], record: RecordingRepair
) -> None:
    """All are claims out of the source; what is new bears the time at which it was said."""
    claims = (*record.invalidated_refs, *record.replacement_refs)
    cited = {
        edge.source
        for edge in state.edges_from(tx, scope, claims, ["evidence"])
        if edge.target == record.source_ref and edge.role == "support"
    }
    if strange := [ref for ref in claims if stored[ref].assertion is None or ref not in cited]:
        raise ConstraintViolation(f"{strange[0]} is no claim out of {record.source_ref}.")
    wrong = stored[record.invalidated_refs[0]].assertion
    assert wrong is not None
    for ref in record.replacement_refs:
        said = stored[ref].assertion
        if said is None or said.asserted_at != wrong.asserted_at:
            raise ConstraintViolation(f"{ref} does not bear the time of the original claim.")


def _pointed(document: Any, pointer: str) -> Any:
    """What a JSON Pointer (RFC 6901) finds; `_ABSENT` when that is nothing."""
    if pointer == "":
        return _ABSENT if document is None else document
    if not pointer.startswith("/"):
        return _ABSENT
    for step in pointer[1:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict) and name in document:
            document = document[name]
        elif isinstance(document, list) and name.isdecimal() and int(name) < len(document):
            document = document[int(name)]
        else:
            return _ABSENT
    return document


def _facet(record: RecordingRepair) -> dict[str, Any]:
    return {
        "source_ref": record.source_ref,
        "source_digest": record.source_digest,
        "source_locator": record.source_locator,
        "invalidated_refs": list(record.invalidated_refs),
        "replacement_refs": list(record.replacement_refs),
        "reason": record.reason,
        "expected_versions": dict(record.expected_versions),
    }
