"""Facets: addressed by lineage, with the members that are computed and never stored."""

from __future__ import annotations

from collections.abc import Sequence

from storage.clock import to_text
from storage.graph.schema import lineage_of
from storage.kip.query.relation import Build, Relation

#: The policy that computes `effective_strength`, and the digest that a pin of it must carry.
STRENGTH_POLICY = {
    "artifact_ref": "kip:strength-half-life-30d",
    "content_digest": "sha256:a50a89b83f937c97cabf0f8371cccfd326f4fdd438b6d7b9ead507d77927b227",
}
#: Half-life under that policy, in seconds; beyond so many of them nothing is left of a strength.
_HALF_LIFE = 30 * 86400
_MOST_HALVES = 1000
_MNEMONIC = "kip://profiles/cognitive-memory/MnemonicState"


def refs_of(build: Build, symbol: str) -> list[str]:
    """The exact refs under which a facet's values may be stored, newest first.

    Raises `SchemaSymbolNotFound` and `SchemaSymbolAmbiguous`.
    """
    schema = build.snapshot.schema
    lineages = schema.lineages("facet", symbol)
    known = [one.ref for one in schema.symbols("facet")]
    return [ref for ref in reversed(known) if lineage_of(ref) in lineages]


def one(relation: Relation, element: str, symbol: str, steps: Sequence[str]) -> str:
    """What a path reads from one facet of an element."""
    build = relation.build
    refs = refs_of(build, symbol)
    version = relation.fact("element_ver", element)
    stored = [f"{version}.doc -> 'facets' -> {build.parameter(ref)}::text" for ref in refs]
    facet = f"({stored[0]})" if len(stored) == 1 else f"coalesce({', '.join(stored)})"
    if any(lineage_of(ref) == _MNEMONIC for ref in refs):
        if not steps:
            return _with_strength(build, facet)
        if steps[0] == "effective_strength":
            return build.deeper(_strength(build, facet), steps[1:])
    return build.deeper(facet, steps)


def every(relation: Relation, element: str) -> str:
    """All facets of an element, by exact ref."""
    version = relation.fact("element_ver", element)
    strong = _with_strength(relation.build, "f.value")
    return (
        f"case when {version}.id is not null then coalesce((select jsonb_object_agg(f.key,"
        f" case when f.key like 'kip://profiles/cognitive-memory@_%%/MnemonicState' then {strong}"
        f" else f.value end) from jsonb_each({version}.doc -> 'facets') f), '{{}}'::jsonb) end"
    )


def _with_strength(build: Build, facet: str) -> str:
    strength = _strength(build, facet)
    return (
        f"case when {facet} is not null then {facet} || jsonb_build_object('effective_strength',"
        f" {strength}) end"
    )


def _strength(build: Build, facet: str) -> str:
    """Strength as it has decayed since its anchor; null where a part of the rule is missing."""
    pin, now = build.json(STRENGTH_POLICY), build.parameter(to_text(build.snapshot.read_at))
    anchor = f"kip_instant({facet} ->> 'last_metabolized_at')"
    base = f"({facet} -> 'memory_strength')"
    halves = f"extract(epoch from {now}::timestamptz - {anchor}) / {_HALF_LIFE}"
    return (
        f"case when ({facet} -> 'strength_policy') @> {pin} and jsonb_typeof({base}) = 'number'"
        f" then case when {anchor} is null then null"
        f" when {now}::timestamptz <= {anchor} then {base}"
        f" else to_jsonb(({base})::float8 * power(0.5::float8, least({halves}, {_MOST_HALVES})"
        f"::float8)) end end"
    )
