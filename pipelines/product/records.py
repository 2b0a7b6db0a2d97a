"""A record for each claim of memory: what it says, what became of it, and where it is from.

What somebody claims, whether the claim still stands, and whether it is stored where it is read are
three different things, and a record has each by itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from storage import epochs
from storage.canonical import digest
from storage.clock import to_text
from storage.database import Scope, Transaction, sql
from storage.errors import Conflict, InvalidInput
from storage.graph import state
from storage.graph.errors import NotFoundOrNotVisible
from storage.graph.schema import environment, local_name
from storage.graph.state import NOW, Stored
from storage.source_digests import is_message, message_digest

#: The path that writes, in the origin of elements and the channel of commits.
CHANNEL = "product"
#: Records of a page, at most.
MAX_PAGE = 100
#: The epoch of a walk, and the record that it has come to.
_CURSOR = re.compile(r"([0-9]{1,18})/(A-[1-9][0-9]{0,17})", re.ASCII)

Stance = Literal["support", "reject", "uncertain"]
Lifecycle = Literal["active", "expired", "retracted", "superseded", "misrecorded"]
Storage = Literal["current", "archived", "tombstoned"]


@dataclass(frozen=True, slots=True)
class Named:
    """A concept, as it is called now."""

    id: str
    type: str | None
    name: str | None


@dataclass(frozen=True, slots=True)
class SourceRef:
    """An evidence that a claim cites. `available`: its bytes have not been erased."""

    evidence_ref: str
    evidence_class: str
    role: str
    content_digest: str | None
    available: bool


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One claim. `revision` is another one whenever anything about the claim has changed.

    `value` is a concept, or the literal itself.
    """

    id: str
    revision: str
    proposition_ref: str
    subject: Named
    predicate: str
    predicate_ref: str
    value: Named | str | int | float | bool | None
    stance: Stance
    lifecycle: Lifecycle
    storage: Storage
    mode: str
    confidence: float | None
    asserted_by: Named
    asserted_at: datetime
    valid_time: Mapping[str, Any] | None
    context_refs: tuple[str, ...]
    sources: tuple[SourceRef, ...]

    @property
    def refs(self) -> set[str]:
        """The elements that the record tells something of."""
        value = {self.value.id} if isinstance(self.value, Named) else set()
        sources = {source.evidence_ref for source in self.sources}
        told = {self.proposition_ref, self.subject.id, self.asserted_by.id}
        return told | value | sources | {*self.context_refs}

    def as_json(self) -> dict[str, Any]:
        """Plain data, for previews and hosts that write it down."""
        told = asdict(self)
        told["asserted_at"] = to_text(self.asserted_at)
        told["context_refs"] = list(self.context_refs)
        told["sources"] = [asdict(source) for source in self.sources]
        return told


@dataclass(frozen=True, slots=True)
class Page:
    """Records in a fixed order; `after` is where the next page begins, None: no more.

    It holds for as long as nothing changes what may be processed; `product_records` refuses it then
    with `StaleCursor`.
    """

    records: tuple[MemoryRecord, ...]
    after: str | None


@dataclass(frozen=True, slots=True)
class Source:
    """What a source says. `matches`: its payload is the one that its digest was taken of.

    That proves where it is from, and not that what was concluded from it is right. None: the digest
    covers more than the payload, and was taken elsewhere.
    """

    ref: SourceRef
    payload: Any
    media_type: str | None
    observed_at: datetime | None
    matches: bool | None


class StaleCursor(Conflict):
    """Records were changed, excluded or erased since the walk began."""

    code = "product_cursor_stale"
    default = "Records have changed since the first page; begin again with the first page."


class SourceMismatch(Conflict):
    """The words of a correction are not those that were written."""

    code = "product_source_mismatch"
    default = "The text of this source is not the one that its digest was taken of."


def product_records(
    tx: Transaction,
    scope: Scope,
    at: datetime,
    *,
    after: str | None = None,
    limit: int = 50,
    subject: str | None = None,
    all_states: bool = False,
) -> Page:
    """A page of the claims of a space, or of those about a subject (the id of a concept).

    Archived ones, and those that were withdrawn or replaced, come only with `all_states`. `after`
    is that of the page before; raises `StaleCursor` for one from before a change, and
    `InvalidInput` for what is none.
    """
    limit = max(1, min(limit, MAX_PAGE))
    # read first: what changes while the page is read makes its cursor an old one
    epoch = epochs.current(tx, scope)
    position = "" if after is None else _position(after, epoch)
    found: list[MemoryRecord] = []
    while True:
        ids = _ids(tx, scope, position, subject)
        made = _records(tx, scope, ids, at)
        for ref in ids:
            record = made.get(ref)
            position = ref
            if record is None or not (all_states or _shown(record)):
                continue
            found.append(record)
            if len(found) == limit:
                return Page(tuple(found), f"{epoch}/{ref}")
        if len(ids) < MAX_PAGE:
            return Page(tuple(found), None)


def _position(after: str, epoch: int) -> str:
    """The record after which a page begins."""
    known = _CURSOR.fullmatch(after)
    if known is None:
        raise InvalidInput("This is no cursor of a page of records.", field="after")
    if int(known[1]) != epoch:
        raise StaleCursor()
    return known[2]


def product_record(tx: Transaction, scope: Scope, record_id: str, at: datetime) -> MemoryRecord:
    """One record, whatever its state; raises `NotFoundOrNotVisible`."""
    record = _records(tx, scope, [record_id], at).get(record_id)
    if record is None:
        raise NotFoundOrNotVisible(f"There is no record {record_id!r} here.")
    return record


def product_source(
    tx: Transaction, scope: Scope, record_id: str, evidence_ref: str, at: datetime
) -> Source:
    """What a source of a record says.

    Raises `NotFoundOrNotVisible`, also for erased bytes, and `SourceMismatch` for the words of a
    correction that are not those that its digest was taken of.
    """
    record = product_record(tx, scope, record_id, at)
    ref = next((one for one in record.sources if one.evidence_ref == evidence_ref), None)
    row = None
    if ref is not None and ref.available:
        row = tx.execute(
            "select o.payload -> 'inline', o.media_type, o.observed_at, o.payload ->> 'mode',"
            " e.origin ->> 'channel' from evidence o join element e on e.space_id = o.space_id"
            " and e.id = o.id where o.space_id = %s and o.id = %s",
            (scope.space_id, evidence_ref),
        ).fetchone()
    if ref is None or row is None or row[3] == "purged":
        raise NotFoundOrNotVisible(f"There is no source {evidence_ref!r} of that record here.")
    payload = row[0]
    known = {digest(payload)}
    if is_message(payload):
        known.add(message_digest(payload))
    matches = True if ref.content_digest in known else None
    # what is written here has a digest of its payload; of what was taken in, it covers more
    if matches is None and row[4] == CHANNEL:
        raise SourceMismatch()
    return Source(ref, payload, row[1], row[2], matches)


def _shown(record: MemoryRecord) -> bool:
    return record.lifecycle in ("active", "expired") and record.storage == "current"


def _ids(tx: Transaction, scope: Scope, after: str, subject: str | None) -> list[str]:
    """The next assertions in the order of their ids as text, all or those about a subject."""
    about = (
        "assertion a where a.space_id = %(space)s"
        if subject is None
        else """
        (select id from proposition p where p.space_id = %(space)s
            and p.subject_id = %(subject)s offset 0) p
        cross join lateral (select a.id, a.space_id from assertion a where a.space_id = %(space)s
            and a.proposition_id = p.id offset 0) a where true"""
    )
    rows = tx.execute(
        sql(f"select a.id from {about} and a.id > %(after)s order by a.id limit %(limit)s"),
        {"space": scope.space_id, "subject": subject, "after": after, "limit": MAX_PAGE},
    )
    return [ref for (ref,) in rows]


def _records(
    tx: Transaction, scope: Scope, ids: Collection[str], at: datetime
) -> dict[str, MemoryRecord]:
    claims = {i: c for i, c in state.load(tx, scope, ids).items() if c.assertion is not None}
    about = {c.assertion.proposition for c in claims.values() if c.assertion is not None}
    propositions = state.load(tx, scope, about)
    cited = state.edges_from(tx, scope, set(claims), ["evidence"])
    named = {edge.target for edge in cited}
    named |= {c.assertion.actor for c in claims.values() if c.assertion is not None}
    for stored in propositions.values():
        assert stored.proposition is not None
        named |= {stored.proposition.subject, stored.proposition.object_id or ""}
    there = state.load(tx, scope, named - {""})
    sources: dict[str, list[SourceRef]] = {}
    for edge in cited:
        evidence = there.get(edge.target)
        if evidence is not None and evidence.evidence is not None:
            sources.setdefault(edge.source, []).append(
                SourceRef(
                    edge.target,
                    evidence.evidence.evidence_class,
                    edge.role or "support",
                    evidence.evidence.content_digest,
                    not evidence.evidence.purged,
                )
            )
    extra = _more(tx, scope, set(claims), at)
    found = {}
    for ref, claim in claims.items():
        assert claim.assertion is not None
        about_it = propositions.get(claim.assertion.proposition)
        if about_it is not None:
            found[ref] = _record(claim, about_it, there, sources.get(ref, []), extra[ref])
    return found


def _more(
    tx: Transaction, scope: Scope, ids: Collection[str], at: datetime
) -> dict[str, tuple[float | None, str, bool]]:
    """Confidence, recording validity, and whether its time is over, of claims."""
    rows = tx.execute(
        f"""
        select a.id, a.confidence, v.recording, coalesce(a.until_latest <= %(at)s, false)
          from unnest(%(ids)s::text[]) as w(id)
          join lateral (select * from assertion a where a.space_id = %(space)s and a.id = w.id
                 limit 1) a on true
          join lateral (select recording from element_ver v where v.space_id = %(space)s
                 and v.id = w.id and v.seq_to = {NOW} limit 1) v on true
        """,
        {"space": scope.space_id, "ids": sorted(ids), "at": at},
    )
    return {ref: (confidence, recording, ended) for ref, confidence, recording, ended in rows}


def _record(
    claim: Stored,
    stored: Stored,
    there: Mapping[str, Stored],
    sources: list[SourceRef],
    extra: tuple[float | None, str, bool],
) -> MemoryRecord:
    said, tuple_ = claim.assertion, stored.proposition
    assert said is not None
    assert tuple_ is not None
    confidence, recording, ended = extra
    lifecycle: Any = claim.status or "active"
    if recording != "valid":
        lifecycle = "misrecorded"
    elif lifecycle == "active" and ended:
        lifecycle = "expired"
    storage: Any = "current" if claim.state == "active" else claim.state
    value = tuple_.object_lit if tuple_.object_id is None else _named(tuple_.object_id, there)
    return MemoryRecord(
        id=claim.id,
        revision=digest(["record", claim.id, claim.version]),
        proposition_ref=stored.id,
        subject=_named(tuple_.subject, there),
        predicate=local_name(tuple_.predicate_ref),
        predicate_ref=tuple_.predicate_ref,
        value=value,
        stance=said.stance,  # type: ignore[arg-type]
        lifecycle=lifecycle,
        storage=storage,
        mode=said.mode,
        confidence=confidence,
        asserted_by=_named(said.actor, there),
        asserted_at=said.asserted_at,
        valid_time=said.valid.as_json(),
        context_refs=tuple(sorted(said.contexts)),
        sources=tuple(sources),
    )


def _named(ref: str, there: Mapping[str, Stored]) -> Named:
    found = there.get(ref)
    if found is None:
        return Named(ref, None, None)
    return Named(
        ref, None if found.schema_ref is None else local_name(found.schema_ref), found.name
    )


def is_exclusive(tx: Transaction, scope: Scope, predicate_ref: str) -> bool:
    """Whether a new value of a predicate takes the place of the one before."""
    predicate = environment(tx, scope).predicate(predicate_ref)
    return predicate.functional or predicate.functional_by_type
