"""Writing a planned commit: a fixed number of statements, however many elements it has.

Arrays are unnested (COPY cannot be used where row-level security holds).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from storage.database import Scope, Transaction
from storage.graph.changes import CreateEvidence
from storage.graph.erasing import erase
from storage.graph.planning.planned import Edge, Planned, WriteSet
from storage.graph.validity import Bounds


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, allow_nan=False)


def _columns(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def write(
    tx: Transaction,
    scope: Scope,
    planned: WriteSet,
    *,
    seq: int,
    tx_id: str,
    at: datetime,
    origin: dict[str, Any],
) -> None:
    """Write elements, versions, facts and references of one commit at sequence `seq`."""
    elements = planned.elements
    _elements(tx, scope, [e for e in elements if e.new], seq, at, origin)
    erase(tx, scope, elements, seq)
    _versions(tx, scope, elements, seq, tx_id, at)
    _propositions(tx, scope, [e for e in elements if e.new and e.kind == "P"], seq)
    _assertions(tx, scope, [e for e in elements if e.new and e.kind == "A"], seq)
    _evidence(tx, scope, [e for e in elements if e.new and e.kind == "E"], seq)
    _activities(tx, scope, [e for e in elements if e.new and e.kind == "X"], seq)
    _edges(tx, scope, planned.edges, planned.ended, seq)
    _merges(tx, scope, planned.merges, seq)
    _drafts(tx, scope, planned, seq)


def _elements(
    tx: Transaction,
    scope: Scope,
    new: Sequence[Planned],
    seq: int,
    at: datetime,
    origin: dict[str, Any],
) -> None:
    if not new:
        return
    rows = [
        (e.id, e.kind, e.schema_ref, e.type_lineage, e.key, e.client_key, e.client_digest)
        for e in new
    ]
    tx.execute(
        """
        insert into element (space_id, id, kind, schema_ref, type_lineage, key, client_key,
                             client_digest, created_seq, created_at, origin)
        select %s, id, kind, schema_ref, type_lineage, key, client_key, client_digest, %s, %s, %s
          from unnest(%s::text[], %s::"char"[], %s::text[], %s::text[], %s::text[], %s::text[],
                      %s::text[])
               as n(id, kind, schema_ref, type_lineage, key, client_key, client_digest)
        """,
        (scope.space_id, seq, at, _json(origin), *_columns(rows)),
    )


def _versions(
    tx: Transaction, scope: Scope, elements: Sequence[Planned], seq: int, tx_id: str, at: datetime
) -> None:
    if not elements:
        return
    # the versions of what was erased are gone already
    old = [e.id for e in elements if not e.new and e.erased != "element"]
    if old:
        tx.execute(
            "update element_ver set seq_to = %s where space_id = %s and id = any(%s)"
            " and seq_to = 9223372036854775807",
            (seq, scope.space_id, old),
        )
    rows = [
        (
            e.id,
            e.version,
            e.state,
            e.status,
            _recording(e),
            _json(e.planes),
            e.name,
            _json(e.doc),
        )
        for e in elements
    ]
    tx.execute(
        """
        insert into element_ver (space_id, id, version, seq_from, updated_at, tx_id, state, status,
                                 recording, planes, name, doc)
        select %s, id, version, %s, %s, %s, state, status, recording, planes, name, doc
          from unnest(%s::text[], %s::int[], %s::text[], %s::text[], %s::text[], %s::jsonb[],
                      %s::text[], %s::jsonb[])
               as n(id, version, state, status, recording, planes, name, doc)
        """,
        (scope.space_id, seq, at, tx_id, *_columns(rows)),
    )


def _recording(element: Planned) -> str:
    validity = element.doc.get("_system", {}).get("recording_validity")
    return "valid" if validity is None else str(validity["status"])


def _propositions(tx: Transaction, scope: Scope, new: Sequence[Planned], seq: int) -> None:
    if not new:
        return
    rows = []
    for element in new:
        made = element.proposition
        assert made is not None
        # a literal null is a JSON null, not an absent one
        literal = None if made.object_id is not None else json.dumps(made.object_lit)
        rows.append(
            (
                element.id,
                made.subject,
                made.predicate_ref,
                made.predicate_lineage,
                made.object_id,
                literal,
                made.object_key,
            )
        )
    tx.execute(
        """
        insert into proposition (space_id, id, created_seq, subject_id, predicate_ref,
                                 predicate_lineage, object_id, object_lit, object_key)
        select %s, id, %s, subject_id, predicate_ref, predicate_lineage, object_id, object_lit,
               object_key
          from unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::jsonb[],
                      %s::text[]) as n(id, subject_id, predicate_ref, predicate_lineage, object_id,
                                       object_lit, object_key)
        """,
        (scope.space_id, seq, *_columns(rows)),
    )


def _assertions(tx: Transaction, scope: Scope, new: Sequence[Planned], seq: int) -> None:
    if not new:
        return
    rows = []
    for element in new:
        said, create = element.said, element.assertion
        assert said is not None
        assert create is not None
        bounds = Bounds.of(said.valid, said.asserted_at)
        rows.append(
            (
                element.id,
                said.proposition,
                said.actor,
                said.stance,
                said.mode,
                None if create.confidence is None else float(create.confidence),
                said.asserted_at,
                _json(said.valid.as_json()),
                bounds.from_earliest,
                bounds.from_latest,
                bounds.until_earliest,
                bounds.until_latest,
                bounds.start_key,
                bounds.from_written,
                _json(sorted(said.contexts)),
            )
        )
    tx.execute(
        """
        insert into assertion (space_id, id, created_seq, proposition_id, asserted_by, stance, mode,
                               confidence, asserted_at, valid_time, from_earliest, from_latest,
                               until_earliest, until_latest, start_key, from_written, context_refs)
        select %s, id, %s, proposition_id, asserted_by, stance, mode, confidence, asserted_at,
               valid_time, from_earliest, from_latest, until_earliest, until_latest, start_key,
               from_written, array(select jsonb_array_elements_text(contexts))
          from unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::text[],
                      %s::double precision[], %s::timestamptz[], %s::jsonb[], %s::timestamptz[],
                      %s::timestamptz[], %s::timestamptz[], %s::timestamptz[], %s::timestamptz[],
                      %s::boolean[], %s::jsonb[])
               as n(id, proposition_id, asserted_by, stance, mode, confidence, asserted_at,
                    valid_time, from_earliest, from_latest, until_earliest, until_latest,
                    start_key, from_written, contexts)
        """,
        (scope.space_id, seq, *_columns(rows)),
    )


def _payload(made: CreateEvidence) -> dict[str, Any]:
    if made.content_ref is not None:
        return {"mode": "external", "content_ref": made.content_ref}
    return {"inline": made.payload}


def _evidence(tx: Transaction, scope: Scope, new: Sequence[Planned], seq: int) -> None:
    if not new:
        return
    rows = []
    for element in new:
        made = element.evidence
        assert made is not None
        rows.append(
            (
                element.id,
                made.evidence_class,
                _json(_payload(made)),
                made.content_digest,
                made.media_type,
                made.observed_at,
            )
        )
    tx.execute(
        """
        insert into evidence (space_id, id, created_seq, evidence_class, payload, content_digest,
                              media_type, observed_at)
        select %s, id, %s, evidence_class, payload, content_digest, media_type, observed_at
          from unnest(%s::text[], %s::text[], %s::jsonb[], %s::text[], %s::text[],
                      %s::timestamptz[])
               as n(id, evidence_class, payload, content_digest, media_type, observed_at)
        """,
        (scope.space_id, seq, *_columns(rows)),
    )


def _activities(tx: Transaction, scope: Scope, new: Sequence[Planned], seq: int) -> None:
    if not new:
        return
    rows = [(e.id, e.activity_class, e.activity and e.activity.parameters_digest) for e in new]
    tx.execute(
        """
        insert into activity (space_id, id, created_seq, activity_class, parameters_digest)
        select %s, id, %s, activity_class, parameters_digest
          from unnest(%s::text[], %s::text[], %s::text[])
               as n(id, activity_class, parameters_digest)
        """,
        (scope.space_id, seq, *_columns(rows)),
    )


def _edges(
    tx: Transaction, scope: Scope, written: Sequence[Edge], ended: Sequence[Edge], seq: int
) -> None:
    if ended:
        rows = [(edge.source, edge.field.lineage, edge.target) for edge in ended]
        tx.execute(
            """
            update edge e set seq_to = %s
              from unnest(%s::text[], %s::text[], %s::text[]) as n(source, field, target)
             where e.space_id = %s and e.source_id = n.source and e.field_lineage = n.field
               and e.target_id = n.target and e.seq_to = 9223372036854775807
            """,
            (seq, *_columns(rows), scope.space_id),
        )
    if not written:
        return
    made = [
        (edge.source, edge.field.ref, edge.field.lineage, edge.target, edge.position, edge.role)
        for edge in written
    ]
    tx.execute(
        """
        insert into edge (space_id, source_id, field_ref, field_lineage, target_id, seq_from,
                          position, role)
        select %s, source, field_ref, field_lineage, target, %s, position, role
          from unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::int[], %s::text[])
               as n(source, field_ref, field_lineage, target, position, role)
        """,
        (scope.space_id, seq, *_columns(made)),
    )


def _merges(tx: Transaction, scope: Scope, merges: Sequence[tuple[str, str]], seq: int) -> None:
    if not merges:
        return
    tx.execute(
        """
        insert into merge_link (space_id, source_id, target_id, seq_from)
        select %s, source, target, %s from unnest(%s::text[], %s::text[]) as n(source, target)
        """,
        (scope.space_id, seq, *_columns(merges)),
    )


def _drafts(tx: Transaction, scope: Scope, planned: WriteSet, seq: int) -> None:
    if not planned.drafts:
        return
    rows = [(d.symbol_kind, d.name, _json(dict(d.definition))) for d in planned.drafts]
    tx.execute(
        """
        insert into draft_symbol (space_id, symbol_kind, name, definition, created_seq)
        select %s, symbol_kind, name, definition, %s
          from unnest(%s::text[], %s::text[], %s::jsonb[]) as n(symbol_kind, name, definition)
        """,
        (scope.space_id, seq, *_columns(rows)),
    )
