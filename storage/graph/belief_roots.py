"""Where claims come from: the independent sources at the root of what they cite.

Evidence that was made of other evidence stands for what it was made of: a summary, a translation or
a copy adds no source. The way back goes from an element to the activities that made it, to what
those used, and on; cycles end it, and what rests on nothing but itself has no root at all (contract
kip-engine section 4, step 5). Bytes that are equal are one source, and so is one run of a tool.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from storage.database import Scope, Transaction, sql
from storage.graph.errors import ResourceExhausted
from storage.graph.state import at_seq

#: References that one question follows back at most; more than that is refused, never cut off.
MAX_STEPS = 20_000


@dataclass(frozen=True, slots=True)
class Provenance:
    """What is known of the elements that claims rest on.

    `corrected` are evidence that a later record corrects, `derived` elements that were made of
    something. `made_of` says of what, `runs` by which activities that used nothing known.
    """

    digests: Mapping[str, str] = field(default_factory=dict)
    corrected: frozenset[str] = frozenset()
    derived: frozenset[str] = frozenset()
    made_of: Mapping[str, frozenset[str]] = field(default_factory=dict)
    runs: Mapping[str, frozenset[str]] = field(default_factory=dict)
    actors: Mapping[str, str] = field(default_factory=dict)

    def roots(self, elements: Iterable[str]) -> frozenset[str]:
        """The sources at the root of some elements; none for what rests on itself alone."""
        found: set[str] = set()
        seen: set[str] = set()
        ahead = list(elements)
        while ahead:
            element = ahead.pop()
            if element in seen:
                continue
            seen.add(element)
            sources = self.made_of.get(element)
            if sources:
                ahead.extend(sources)
            else:
                found.update(self._root(element))
        return frozenset(found)

    def _root(self, element: str) -> Iterable[str]:
        if (actor := self.actors.get(element)) is not None:
            return (f"testimony:{actor}",)
        runs = self.runs.get(element, frozenset())
        return (self.digests.get(element, element), *runs)


def provenance(
    tx: Transaction, scope: Scope, elements: Collection[str], seq: int | None
) -> Provenance:
    """What evidence (and claims that cite none) come from, at present or at `seq`.

    One statement, and a second one when any of it was made of something. Raises
    `ResourceExhausted` beyond `MAX_STEPS` references.
    """
    if not elements:
        return Provenance()
    rows = tx.execute(
        sql(
            f"""
            select w.id, e.content_digest, wrong.it, made.it or run.it
              from unnest(%(ids)s::text[]) as w(id)
              left join lateral (select content_digest from evidence e
                     where e.space_id = %(space)s and e.id = w.id limit 1) e on true
              left join lateral (select true as it from element_ver v
                     where v.space_id = %(space)s and v.id = w.id and v.status = 'corrected'
                       and {at_seq("v", seq)} limit 1) wrong on true
              left join lateral (select true as it from edge d
                     where d.space_id = %(space)s and d.source_id = w.id
                       and d.field_lineage in ('generated_by', 'source')
                       and left(d.target_id, 2) in ('X-', 'E-') and {at_seq("d", seq)}
                     limit 1) made on true
              left join lateral (select true as it from edge d
                     where d.space_id = %(space)s and d.target_id = w.id
                       and d.field_lineage = 'outputs' and {at_seq("d", seq)}
                     limit 1) run on true
            """
        ),
        {"space": scope.space_id, "ids": sorted(elements), "seq": seq},
    ).fetchall()
    digests = {element: digest for element, digest, _, _ in rows if digest is not None}
    corrected = frozenset(element for element, _, wrong, _ in rows if wrong)
    derived = [element for element, _, _, made in rows if made]
    if not derived:
        return Provenance(digests, corrected)
    return _followed(tx, scope, derived, seq, digests, corrected)


#: What the element `x.id` was made of: the inputs of the activities that made it (null for one that
#: used nothing), the evidence that it was taken from, the evidence that it cites.
_MADE_OF = """
    select i.target_id as parent, a.id as via
      from (select d.target_id as id from edge d
             where d.space_id = %(space)s and d.source_id = x.id
               and d.field_lineage = 'generated_by' and {edge}
             union
            select d.source_id from edge d
             where d.space_id = %(space)s and d.target_id = x.id
               and d.field_lineage = 'outputs' and {edge}) a
      join lateral (select 1 from activity c where c.space_id = %(space)s and c.id = a.id
                       and c.activity_class not in ('dependency_validation', 'recording_repair')
                     limit 1) c on true
      left join lateral (select i.target_id from edge i
             where i.space_id = %(space)s and i.source_id = a.id
               and i.field_lineage = 'inputs' and {input} offset 0) i on true
    union all
    select d.target_id, '' from edge d
     where d.space_id = %(space)s and d.source_id = x.id
       and (d.field_lineage = 'source' and d.target_id like 'E-%%'
            or d.field_lineage = 'evidence' and d.role = 'support') and {edge}
"""


def _followed(
    tx: Transaction,
    scope: Scope,
    derived: list[str],
    seq: int | None,
    digests: dict[str, str],
    corrected: frozenset[str],
) -> Provenance:
    made_of = _MADE_OF.format(edge=at_seq("d", seq), input=at_seq("i", seq))
    rows = tx.execute(
        sql(
            f"""
            with recursive back(child, parent, via) as (
                select x.id, m.parent, m.via from unnest(%(ids)s::text[]) as x(id)
                  join lateral ({made_of}) m on true
                union
                select x.id, m.parent, m.via from (select parent as id from back
                                                    where parent is not null) x
                  join lateral ({made_of}) m on true
            )
            select b.child, b.parent, b.via, e.content_digest, a.asserted_by
              from (select * from back limit %(most)s) b
              left join lateral (select content_digest from evidence e
                     where e.space_id = %(space)s and e.id = b.parent limit 1) e on true
              left join lateral (select asserted_by from assertion a
                     where a.space_id = %(space)s and a.id = b.parent limit 1) a on true
            """
        ),
        {"space": scope.space_id, "ids": derived, "seq": seq, "most": MAX_STEPS + 1},
    ).fetchall()
    if len(rows) > MAX_STEPS:
        raise ResourceExhausted("The sources of these claims reach too far back to follow.")
    edges: dict[str, set[str]] = defaultdict(set)
    cited: dict[str, set[str]] = defaultdict(set)
    used: dict[tuple[str, str], set[str]] = defaultdict(set)
    actors: dict[str, str] = {}
    for child, parent, via, digest, actor in rows:
        if via:
            used[child, via].update(() if parent is None else (parent,))
        else:
            cited[child].add(parent)
        if digest is not None:
            digests[parent] = digest
        if actor is not None:
            actors[parent] = actor
    for (child, _), inputs in used.items():
        # what a claim cites is narrower than what the run that recorded it had before it
        if not (child.startswith("A-") and cited[child]):
            edges[child] |= inputs
    for child, sources in cited.items():
        edges[child] |= sources
    made = _bearing(edges)
    runs: dict[str, set[str]] = defaultdict(set)
    for (child, via), inputs in used.items():
        if not any(made.get(one) or one[:2] in ("E-", "A-") for one in inputs):
            runs[child].add(via)
    return Provenance(
        digests,
        corrected,
        frozenset(derived),
        {child: frozenset(parents) for child, parents in made.items()},
        {child: frozenset(activities) for child, activities in runs.items()},
        actors,
    )


def _bearing(edges: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The references without those to things that say nothing: no evidence, no claim, made of
    neither."""
    made = {child: set(parents) for child, parents in edges.items()}
    while True:
        silent = {
            parent
            for parents in made.values()
            for parent in parents
            if parent[:2] not in ("E-", "A-") and not made.get(parent)
        }
        if not silent:
            return {child: parents for child, parents in made.items() if parents}
        for parents in made.values():
            parents -= silent
