"""Who is who: concepts that were merged are one, from the merge on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from storage.database import Scope, Transaction, sql


@dataclass(frozen=True, slots=True)
class Identity:
    """Merge redirects, resolved. `survivors` maps merged elements to what they are now."""

    survivors: Mapping[str, str] = field(default_factory=dict)

    def of(self, element: str) -> str:
        """The element that this one is the same as."""
        return self.survivors.get(element, element)

    def all_of(self, elements: Iterable[str]) -> frozenset[str]:
        """Each of the elements as what it is the same as."""
        return frozenset(map(self.of, elements))

    def members(self, elements: Collection[str]) -> dict[str, list[str]]:
        """Under each surviving element: itself and everything known to be merged into it."""
        found: dict[str, list[str]] = defaultdict(list)
        for element in {*map(self.of, elements)}:
            found[element].append(element)
        for merged, survivor in sorted(self.survivors.items()):
            if survivor in found:
                found[survivor].append(merged)
        return dict(found)


#: Nothing is merged.
DISTINCT = Identity()


def identity_version(tx: Transaction, scope: Scope, seq: int | None) -> int:
    """The sequence of the last merge, at present or at `seq`; 0 when nothing was ever merged."""
    row = tx.execute(
        "select coalesce(max(seq_from), 0) from merge_link where space_id = %(space)s"
        " and (%(seq)s::bigint is null or seq_from <= %(seq)s)",
        {"space": scope.space_id, "seq": seq},
    ).fetchone()
    assert row is not None
    return int(row[0])


def identity_of(
    tx: Transaction, scope: Scope, elements: Collection[str], seq: int | None
) -> Identity:
    """What elements are the same as, with everything else that is the same as they are."""
    if not elements:
        return DISTINCT
    rows = tx.execute(
        sql(
            """
            with recursive up(id) as (
                select id from unnest(%(ids)s::text[]) as w(id)
                union
                select m.target_id from up
                  join lateral (select target_id from merge_link m
                         where m.space_id = %(space)s and m.source_id = up.id
                           and (%(seq)s::bigint is null or m.seq_from <= %(seq)s)
                         limit 1) m on true
            ), down(source, target) as (
                select m.source_id, m.target_id from up
                  join lateral (select source_id, target_id from merge_link m
                         where m.space_id = %(space)s and m.target_id = up.id
                           and (%(seq)s::bigint is null or m.seq_from <= %(seq)s)
                        offset 0) m on true
                union
                select m.source_id, m.target_id from down
                  join lateral (select source_id, target_id from merge_link m
                         where m.space_id = %(space)s and m.target_id = down.source
                           and (%(seq)s::bigint is null or m.seq_from <= %(seq)s)
                        offset 0) m on true
            )
            select source, target from down
            """
        ),
        {"space": scope.space_id, "ids": sorted(elements), "seq": seq},
    ).fetchall()
    links: dict[str, str] = dict(rows)
    return Identity({merged: _survivor(merged, links) for merged in links})


def _survivor(element: str, links: Mapping[str, str]) -> str:
    seen = {element}
    while (following := links.get(element)) is not None and following not in seen:
        element = following
        seen.add(element)
    return element
