"""Taking content away for good: from every version, from facts, from what records say of it.

Only this edits rows of the past. An erased element keeps its id, its kind, its type, and a digest
of what it was; the versions that envelopes name stay counted, their paths go.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence

from storage.database import Scope, Transaction, sql
from storage.graph.planning.planned import Planned
from storage.search import index as search_index

#: The tables that hold an element's facts, by kind.
_FACTS = {"P": "proposition", "A": "assertion", "E": "evidence", "X": "activity"}


def erase(tx: Transaction, scope: Scope, elements: Sequence[Planned], seq: int) -> None:
    """Erase what the planned elements say is to be erased, at sequence `seq`."""
    payloads = [e.id for e in elements if e.erased == "payload"]
    if payloads:
        tx.execute(
            "update evidence set payload = %s where space_id = %s and id = any(%s)",
            (json.dumps({"mode": "purged"}), scope.space_id, payloads),
        )
    gone = [e for e in elements if e.erased == "element"]
    if gone:
        _forget_statements(tx, scope, [e.id for e in gone if e.kind in "CP"])
        _erase_elements(tx, scope, gone, seq)


def _erase_elements(tx: Transaction, scope: Scope, gone: Sequence[Planned], seq: int) -> None:
    ids = [element.id for element in gone]
    for kind, table in _FACTS.items():
        of_kind = [element.id for element in gone if element.kind == kind]
        if of_kind:
            tx.execute(
                sql(f"delete from {table} where space_id = %s and id = any(%s)"),
                (scope.space_id, of_kind),
            )
    tx.execute(
        "delete from edge where space_id = %s and source_id = any(%s)", (scope.space_id, ids)
    )
    history: dict[str, list[int]] = defaultdict(list)
    for element_id, at in tx.execute(
        "delete from element_ver where space_id = %s and id = any(%s) returning id, seq_from",
        (scope.space_id, ids),
    ):
        history[element_id].append(at)
    stubs = [
        json.dumps(
            {
                "content_digest": element.doc["governance"]["content_digest"],
                "history": sorted(history[element.id]),
            }
        )
        for element in gone
    ]
    tx.execute(
        """
        update element e set key = null, client_key = null, client_digest = null,
               purged_seq = %s, stub = n.stub
          from unnest(%s::text[], %s::jsonb[]) as n(id, stub)
         where e.space_id = %s and e.id = n.id
        """,
        (seq, ids, stubs, scope.space_id),
    )
    _scrub_records(tx, scope, ids, sorted({at for seqs in history.values() for at in seqs}))


def _forget_statements(tx: Transaction, scope: Scope, ids: Sequence[str]) -> None:
    """Take out of the index what says erased concepts' names: propositions and claims of them."""
    about: set[str] = set()
    fresh = list(ids)
    while fresh:
        rows = tx.execute(
            """
            select p.id from unnest(%(ids)s::text[]) as w(id)
              cross join lateral (
                select id from proposition where space_id = %(space)s and subject_id = w.id
                union
                select id from proposition where space_id = %(space)s
                   and object_key = 'e:' || w.id) p
            """,
            {"space": scope.space_id, "ids": fresh},
        ).fetchall()
        fresh = [id for (id,) in rows if id not in about]
        about.update(fresh)
    if not about:
        return
    claims = tx.execute(
        """
        select a.id from unnest(%s::text[]) as w(id)
          cross join lateral (select id from assertion
                 where space_id = %s and proposition_id = w.id) a
        """,
        (sorted(about), scope.space_id),
    ).fetchall()
    search_index.remove(tx, scope, [*sorted(about), *(id for (id,) in claims)])


def _scrub_records(tx: Transaction, scope: Scope, ids: Sequence[str], seqs: Sequence[int]) -> None:
    """Take the paths out of what records say of elements: names of attributes are content, too."""
    tx.execute(
        """
        update commit_record c set changes = (
            select coalesce(jsonb_agg(
                       case when x.entry ->> 'id' in (select unnest(%(ids)s::text[]))
                            then x.entry - 'touched' - 'refs'
                            else x.entry end order by x.place), '[]')
              from jsonb_array_elements(c.changes) with ordinality as x(entry, place))
         where c.space_id = %(space)s and c.space_seq = any(%(seqs)s)
        """,
        {"space": scope.space_id, "ids": list(ids), "seqs": list(seqs)},
    )
