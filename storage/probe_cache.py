"""Questions that a space could not answer a moment ago. Table `probe_miss` (migration 0007).

Only a search that looked at everything and found nothing is remembered, with the sequence that it
read; any commit moves the space on and so ends all that was remembered before it. A question is
kept as a keyed digest and never in words: nothing of it can be read back, or guessed from outside.
A miss says that nothing was found, not that something is untrue.
"""

from __future__ import annotations

import hashlib
import hmac

from storage import secret_keys
from storage.database import Scope, Transaction
from storage.search.analyser import version

#: Misses of one space that are kept at most.
MAX_MISSES = 1000
_PURPOSE = "probe"


def known_miss(tx: Transaction, scope: Scope, query: str) -> bool:
    """Whether `query` was searched in vain in the very state that the space is in now."""
    row = tx.execute(
        "select key from secret_key where space_id = %s and purpose = %s",
        (scope.space_id, _PURPOSE),
    ).fetchone()
    if row is None:
        return False
    found = tx.execute(
        """
        select from probe_miss m
          join space s on s.space_id = m.space_id and s.head_seq = m.head_seq
         where m.space_id = %s and m.query_digest = %s
        """,
        (scope.space_id, _digest(bytes(row[0]), query)),
    ).fetchone()
    return found is not None


def remember_miss(tx: Transaction, scope: Scope, query: str, head_seq: int) -> None:
    """Note that an exhaustive search for `query` at `head_seq` found nothing.

    What an older state of the space could not answer is dropped. While another request writes to
    this space's misses nothing is noted: it is a cache, and nobody waits for it.
    """
    mine = tx.execute(
        "select pg_try_advisory_xact_lock(hashtextextended('probe/' || %s, 0))", (scope.space_id,)
    ).fetchone()
    if mine != (True,):
        return
    key = secret_keys.get_or_make(tx, scope, _PURPOSE)
    tx.execute(
        "delete from probe_miss where space_id = %s and head_seq < %s", (scope.space_id, head_seq)
    )
    tx.execute(
        """
        insert into probe_miss as m (space_id, query_digest, head_seq) values (%s, %s, %s)
        on conflict (space_id, query_digest)
        do update set head_seq = greatest(m.head_seq, excluded.head_seq), missed_at = now()
        """,
        (scope.space_id, _digest(key, query), head_seq),
    )
    tx.execute(
        """
        delete from probe_miss where space_id = %(space)s and query_digest in (
            select query_digest from probe_miss where space_id = %(space)s
             order by missed_at desc, query_digest offset %(most)s)
        """,
        {"space": scope.space_id, "most": MAX_MISSES},
    )


def forget_misses(tx: Transaction, scope: Scope) -> int:
    """Drop all that is remembered of a space; says how many questions that were."""
    return tx.execute("delete from probe_miss where space_id = %s", (scope.space_id,)).rowcount


def _digest(key: bytes, query: str) -> bytes:
    """Also of the analyser: another one might find what this one did not."""
    meaning = f"{version()}\0{query.strip()}"
    return hmac.digest(key, meaning.encode("utf-8", "surrogatepass"), hashlib.sha256)
