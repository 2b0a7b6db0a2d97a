"""The rows that belief is made of: propositions by id or slot, and the assertions about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from storage.database import Scope, Transaction, sql
from storage.graph.errors import ResourceExhausted
from storage.graph.state import at_seq, version
from storage.graph.validity import Bounds

#: Propositions, and assertions about them, that one question may take into account. Beyond, it is
#: refused: a belief that left some of them out would be no belief.
MAX_CONSIDERED = 100_000


@dataclass(frozen=True, slots=True)
class StoredProposition:
    """A proposition as it is stored, with the type of its object."""

    id: str
    subject: str
    predicate_ref: str
    lineage: str
    object_id: str | None
    object_lit: Any
    object_key: str
    object_type: str | None


@dataclass(frozen=True, slots=True)
class Record:
    """An assertion with what it cites in support. `void` says why it cannot count at all."""

    id: str
    proposition: str
    actor: str
    stance: str
    mode: str
    confidence: float | None
    asserted_at: datetime
    bounds: Bounds
    contexts: tuple[str, ...]
    evidence: tuple[str, ...]
    void: str = ""


def propositions(
    tx: Transaction,
    scope: Scope,
    seq: int | None,
    *,
    ids: Sequence[str] = (),
    slots: Sequence[tuple[str, str]] = (),
) -> list[StoredProposition]:
    """Propositions by id, or all of some slots (subject, predicate lineage).

    Those that were deleted, or did not exist yet at `seq`, are left out. Raises
    `ResourceExhausted` beyond `MAX_CONSIDERED`, as does `records`.
    """
    if slots:
        wanted = "unnest(%(subjects)s::text[], %(lineages)s::text[]) as w(subject, lineage)"
        match = "p.subject_id = w.subject and p.predicate_lineage = w.lineage"
    else:
        wanted, match = "unnest(%(ids)s::text[]) as w(id)", "p.id = w.id"
    rows = tx.execute(
        sql(
            f"""
            select p.id, p.subject_id, p.predicate_ref, p.predicate_lineage, p.object_id,
                   p.object_lit, p.object_key, o.type_lineage
              from {wanted}
              join lateral (select * from proposition p
                     where p.space_id = %(space)s and {match} offset 0) p on true
              join {version("v", "p.id", seq)} on true
              left join lateral (select type_lineage from element o
                     where o.space_id = %(space)s and o.id = p.object_id limit 1) o on true
             where v.state in ('active', 'archived') and not v.quarantined
             limit %(most)s
            """
        ),
        {
            "space": scope.space_id,
            "most": MAX_CONSIDERED + 1,
            "seq": seq,
            "ids": list(ids),
            "subjects": [subject for subject, _ in slots],
            "lineages": [lineage for _, lineage in slots],
        },
    ).fetchall()
    _refuse_beyond(len(rows))
    return [StoredProposition(*row) for row in rows]


def records(
    tx: Transaction,
    scope: Scope,
    proposition_ids: Sequence[str],
    seq: int | None,
    *,
    everything: bool = False,
) -> list[Record]:
    """The assertions about some propositions that may count, in order of their ids.

    Archived ones count; deleted ones are never there. `everything` adds those that were retracted,
    superseded, misrecorded or quarantined, with what makes them void.
    """
    if not proposition_ids:
        return []
    counts = "" if everything else "and v.status = 'active' and v.recording = 'valid'"
    quarantined = "" if everything else "and not v.quarantined"
    rows = tx.execute(
        sql(
            f"""
            select a.id, a.proposition_id, a.asserted_by, a.stance, a.mode, a.confidence,
                   a.asserted_at,
                   a.from_earliest, a.from_latest, a.until_earliest, a.until_latest, a.start_key,
                   a.from_written, a.context_refs,
                   array(select d.target_id from edge d
                          where d.space_id = %(space)s and d.source_id = a.id
                            and d.field_lineage = 'evidence' and d.role = 'support'
                            and {at_seq("d", seq)}),
                   v.status, v.recording, v.quarantined
              from unnest(%(ids)s::text[]) as p(id)
              join lateral (select * from assertion a where a.space_id = %(space)s
                     and a.proposition_id = p.id offset 0) a on true
              join {version("v", "a.id", seq)} on true
             where v.state in ('active', 'archived') {counts} {quarantined}
             limit %(most)s
            """
        ),
        {
            "space": scope.space_id,
            "ids": sorted(set(proposition_ids)),
            "seq": seq,
            "most": MAX_CONSIDERED + 1,
        },
    ).fetchall()
    _refuse_beyond(len(rows))
    found = []
    for row in rows:
        element, proposition, actor, stance, mode, confidence, at, *bounds = row[:13]
        contexts, evidence, status, recording, hidden = row[13:]
        found.append(
            Record(
                element,
                proposition,
                actor,
                stance,
                mode,
                confidence,
                at,
                Bounds(*bounds),
                tuple(contexts),
                tuple(sorted(evidence, key=in_order)),
                _void(status, recording, hidden),
            )
        )
    return sorted(found, key=lambda record: in_order(record.id))


def in_order(element: str) -> tuple[int, str]:
    """Ids as they were given: `A-2` before `A-10`."""
    return len(element), element


def _refuse_beyond(considered: int) -> None:
    if considered > MAX_CONSIDERED:
        raise ResourceExhausted("Too much is claimed there to be weighed at once; ask for less.")


def _void(status: str | None, recording: str, quarantined: bool) -> str:
    if quarantined:
        return "quarantined"
    if recording != "valid":
        return "recording_invalidated"
    return "" if status == "active" else status or "inactive"
