"""Taking a closure out of memory: one commit, with the words that neighbours carry in the index."""

from __future__ import annotations

from collections.abc import Collection

from storage import probe_cache
from storage.clock import now
from storage.database import Scope, Transaction, sql
from storage.graph.changes import ChangeSet, Purge, PurgePayload
from storage.graph.commit import Commit, commit
from storage.graph.state import version
from storage.search import index as search_index
from storage.search.documents import Document


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
    made = commit(
        tx,
        scope,
        principal,
        ChangeSet((*purges, *(PurgePayload(id) for id in sorted(payloads)))),
        tx_class="forget",
    )
    if made.seq is not None:
        probe_cache.forget_misses(tx, scope)
    return made


def refuse(tx: Transaction, scope: Scope, digests: Collection[str], plan: str) -> None:
    """Take in no source of these digests any more; on behalf of a plan."""
    tx.execute(
        """
        insert into source_suppression (space_id, source_digest, plan_ref, created_at)
        select %s, digest, %s, %s from unnest(%s::text[]) as n(digest)
        on conflict (space_id, source_digest) do nothing
        """,
        (scope.space_id, plan, now(), sorted(digests)),
    )


def allow_again(tx: Transaction, scope: Scope, plan: str) -> None:
    """Withdraw what a plan refuses that has erased nothing."""
    tx.execute(
        "delete from source_suppression where space_id = %s and plan_ref = %s",
        (scope.space_id, plan),
    )


def unwind(tx: Transaction, scope: Scope, evidence: Collection[str]) -> None:
    """Take the words of evidence out of what is embedded of the message after it."""
    rows = tx.execute(
        r"""
        select n.element_id, n.kind, n.text, n.at
          from search_document d
          join search_document n on n.space_id = d.space_id and n.kind = d.kind
               and n.embed_text is not null and starts_with(n.embed_text, d.text || E'\n')
         where d.space_id = %(space)s and d.element_id = any(%(ids)s)
           and n.element_id <> all(%(ids)s)
        """,
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
        r"""
        select element_id from search_document d
         where space_id = %(space)s and (element_id = any(%(all)s) or (embed_text is not null
           and length(embed_text) > length(text)
           and encode(sha256(convert_to(left(embed_text, length(embed_text) - length(text) - 1),
                                        'UTF8')), 'hex') = any(%(texts)s)))
        """,
        values,
    )
    found["index"] = [id for (id,) in indexed]
    return found
