"""Taking a closure out of memory, in parts; and the words that neighbours carry in the index."""

from __future__ import annotations

from collections.abc import Collection

from storage import epochs
from storage.clock import now
from storage.database import Scope, Transaction, sql
from storage.graph.changes import ChangeSet, Purge, PurgePayload
from storage.graph.commit import Commit, commit
from storage.graph.state import version
from storage.search import index as search_index
from storage.search.documents import Document

#: What is embedded of a message before its own words, as a column.
_BEFORE = (
    "case when length({0}.embed_text) > length({0}.text)"
    " then left({0}.embed_text, length({0}.embed_text) - length({0}.text) - 1) end"
)


def next_part(
    tx: Transaction, scope: Scope, elements: Collection[str], target: str, most: int
) -> list[str]:
    """The elements to be erased next, at most so many; all of them where the end is reached.

    What was made later goes sooner, so that a claim goes after what was inferred from it. The
    target goes in the end, with its tuple, and with all concepts: one that was merged into another
    goes together with it.
    """
    rows = tx.execute(
        """
        select w.id,
               w.id like 'C-%%' or w.id = %(target)s or coalesce(w.id = (select proposition_id
                 from assertion where space_id = %(space)s and id = %(target)s), false) as last
          from unnest(%(ids)s::text[]) as w(id)
          join lateral (select created_seq from element e where e.space_id = %(space)s
                 and e.id = w.id limit 1) e on true
         order by last, e.created_seq desc, length(w.id), w.id
        """,
        {"space": scope.space_id, "ids": sorted(elements), "target": target},
    ).fetchall()
    early = [id for id, last in rows if not last]
    return early[:most] if len(early) > most else [id for id, _ in rows]


def erase(
    tx: Transaction,
    scope: Scope,
    principal: str,
    *,
    elements: Collection[str],
    payloads: Collection[str],
) -> Commit:
    """Erase elements and payloads of evidence; what is gone already is passed over.

    References to them point at their stubs. Raises `LegalHoldConflict`, and then nothing is erased.
    """
    unwind(tx, scope, [id for id in {*elements, *payloads} if id[0] == "E"])
    purges = [Purge(id, policy="tombstone_reference") for id in sorted(elements)]
    return commit(
        tx,
        scope,
        principal,
        ChangeSet((*purges, *(PurgePayload(id) for id in sorted(payloads)))),
        tx_class="forget",
    )


def refuse(tx: Transaction, scope: Scope, digests: Collection[str], plan: str) -> None:
    """Take in no source of these digests any more; on behalf of a plan.

    What read them before, and is not done, starts again (`storage.epochs`).
    """
    epochs.advance(tx, scope)
    tx.execute(
        """
        insert into source_suppression (space_id, source_digest, plan_ref, created_at)
        select %s, digest, %s, %s from unnest(%s::text[]) as n(digest)
        on conflict do nothing
        """,
        (scope.space_id, plan, now(), sorted(digests)),
    )


def allow_again(tx: Transaction, scope: Scope, plan: str) -> None:
    """Withdraw what is refused on behalf of a plan; what others refuse stays refused."""
    tx.execute(
        "delete from source_suppression where space_id = %s and plan_ref = %s",
        (scope.space_id, plan),
    )


def unwind(tx: Transaction, scope: Scope, evidence: Collection[str]) -> None:
    """Take the words of evidence out of what is embedded of the message after it."""
    if not evidence:
        return
    rows = tx.execute(
        sql(
            f"""
            select n.element_id, n.kind, n.text, n.at from search_document n
             where n.space_id = %(space)s and n.embed_text is not null
               and (n.kind, {_BEFORE.format("n")}) in (
                 select d.kind, d.text from search_document d
                  where d.space_id = %(space)s and d.element_id = any(%(ids)s))
               and n.element_id not in (select unnest(%(ids)s::text[]))
            """
        ),
        {"space": scope.space_id, "ids": sorted(evidence)},
    ).fetchall()
    search_index.put(tx, scope, (Document(id, kind, text, text, at) for id, kind, text, at in rows))


def left(
    tx: Transaction,
    scope: Scope,
    *,
    elements: Collection[str],
    payloads: Collection[str],
    texts: Collection[str],
) -> dict[str, list[str]]:
    """What is still there of erased elements, by surface: `element`, `payload`, `index`."""
    values = {
        "space": scope.space_id,
        "ids": sorted(elements),
        "payloads": sorted(payloads),
        "all": sorted({*elements, *payloads}),
        "texts": list(texts),
    }
    whole = tx.execute(
        sql(
            f"""
            select w.id from unnest(%(ids)s::text[]) as w(id)
              join lateral (select * from element e where e.space_id = %(space)s
                     and e.id = w.id limit 1) e on true
              left join {version("v", "w.id")} on true
             where e.purged_seq is null or e.key is not null or e.client_key is not null
                or v.name is not null or coalesce(v.doc, '{{}}') - 'governance' <> '{{}}'
                or exists (select from element_ver o where o.space_id = %(space)s
                              and o.id = w.id and o.state <> 'purged')
                or exists (select from proposition o where o.space_id = %(space)s and o.id = w.id)
                or exists (select from assertion o where o.space_id = %(space)s and o.id = w.id)
                or exists (select from evidence o where o.space_id = %(space)s and o.id = w.id)
                or exists (select from activity o where o.space_id = %(space)s and o.id = w.id)
                or exists (select from edge o where o.space_id = %(space)s and o.source_id = w.id)
            """
        ),
        values,
    )
    bytes_ = tx.execute(
        "select id from evidence where space_id = %(space)s and id = any(%(payloads)s)"
        ' and payload is distinct from \'{"mode": "purged"}\'::jsonb',
        values,
    )
    found = {
        "element": [id for (id,) in whole],
        "payload": [id for (id,) in bytes_],
        "index": [],
    }
    # no join here: another message's text may hold what was embedded before it
    indexed = tx.execute(
        sql(
            f"""
            select element_id from search_document d
             where space_id = %(space)s and element_id = any(%(all)s)
            union
            select element_id from search_document d
             where space_id = %(space)s and embed_text is not null
               and encode(sha256(convert_to({_BEFORE.format("d")}, 'UTF8')), 'hex')
                   in (select unnest(%(texts)s::text[]))
            """
        ),
        values,
    )
    found["index"] = [id for (id,) in indexed]
    return found
