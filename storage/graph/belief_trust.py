"""What trust the protected trust state puts in actors.

A trust record names a subject `{"actor": id}`, a context ({} for every one), a trust class and the
policy that it is meant for. The newest record of an actor and a policy holds. Nothing that memory
says of itself is ever read here.
"""

from __future__ import annotations

from collections.abc import Collection

from storage.database import Scope, Transaction

#: The commit that a historical question stands at; trust set later did not hold then.
_THEN = """
    (select committed_at from commit_record
      where space_id = %(space)s and space_seq <= %(seq)s
      order by space_seq desc limit 1)
"""


def trust_version(tx: Transaction, scope: Scope, seq: int | None) -> str:
    """The version of the trust state, at present or at `seq`."""
    row = tx.execute(
        "select coalesce(max(id), 0) from trust_record where space_id = %(space)s"
        f" and (%(seq)s::bigint is null or set_at <= {_THEN})",
        {"space": scope.space_id, "seq": seq},
    ).fetchone()
    assert row is not None
    return f"trust:{row[0]}"


def trust_classes(
    tx: Transaction, scope: Scope, actors: Collection[str], policy: str, seq: int | None
) -> dict[str, str]:
    """The trust class of each actor that a record of that policy names."""
    rows = tx.execute(
        "select distinct on (subject->>'actor') subject->>'actor', trust_class from trust_record"
        " where space_id = %(space)s and policy = %(policy)s and context = '{}'::jsonb"
        "   and subject->>'actor' = any(%(actors)s)"
        f"  and (%(seq)s::bigint is null or set_at <= {_THEN})"
        " order by subject->>'actor', id desc",
        {"space": scope.space_id, "policy": policy, "actors": sorted(actors), "seq": seq},
    )
    return dict(rows.fetchall())
