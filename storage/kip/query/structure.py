"""Structural references as a table: stored ones, and those that provenance implies."""

from __future__ import annotations

from storage.graph.schema import local_name
from storage.kip.query.relation import Build, Relation

#: The profile whose fields are computed from activities.
_PROFILE = "kip://profiles/cognitive-memory/"
_COMPILING = "('skill_compilation', 'procedural_consolidation')"
_CONSOLIDATING = (
    "('semantic_consolidation', 'procedural_consolidation', 'experience_formation',"
    " 'skill_compilation', 'reflection')"
)


def edges(relation: Relation, lineages: frozenset[str]) -> str:
    """Join the references of some fields; returns the alias."""
    build = relation.build
    computed = [_computed(build, lineage) for lineage in sorted(lineages)]
    if any(computed):
        parts = [one for one in computed if one is not None]
        stored = frozenset(n for n, one in zip(sorted(lineages), computed, strict=True) if not one)
        if stored:
            parts.append(
                "select d.source_id, d.field_ref, d.field_lineage, d.target_id, d.position, d.role"
                f" from edge d where d.space_id = %(space)s and {build.at('d')}"
                f" and {build.one_of('d.field_lineage', stored)}"
            )
        return relation.join("d", f"({' union all '.join(parts)}) $it")
    alias = relation.join("d", "edge $it")
    relation.where(f"{alias}.space_id = %(space)s")
    relation.where(build.at(alias))
    relation.where(build.one_of(f"{alias}.field_lineage", lineages))
    return alias


def edge_document(alias: str) -> str:
    """A reference as a value; a core field has no declared position."""
    return (
        f"jsonb_build_object('field', {alias}.field_ref, 'index', case when {alias}.field_ref"
        f" <> {alias}.field_lineage then {alias}.position end, 'role', {alias}.role,"
        f" 'source', jsonb_build_object('id', {alias}.source_id),"
        f" 'target', jsonb_build_object('id', {alias}.target_id))"
    )


def _computed(build: Build, lineage: str) -> str | None:
    """The references of a computed field of the cognitive-memory profile, from activities."""
    if not lineage.startswith(_PROFILE):
        return None
    made = "o.target_id", "i.target_id"
    match local_name(lineage):
        case "derived_from":
            (source, target), classes, extra = made, None, ""
        case "compiled_from":
            (source, target), classes, extra = made, _COMPILING, " and left(i.target_id, 1) = 'C'"
        case "compiled_by":
            source, target, classes, extra = "o.target_id", "x.id", _COMPILING, ""
        case "consolidated_to":
            source, target, classes = "i.target_id", "o.target_id", _CONSOLIDATING
            extra = " and left(o.target_id, 1) = 'C'"
        case _:
            return None
    ref = build.parameter(build.snapshot.schema.structural(lineage).ref)
    inputs = (
        ""
        if target == "x.id"
        else " join edge i on i.space_id = %(space)s and i.source_id = x.id"
        f" and i.field_lineage = 'inputs' and {build.at('i')}"
    )
    of_class = f" and x.activity_class in {classes}" if classes else ""
    return (
        f"select distinct {source} as source_id, {ref}::text as field_ref,"
        f" {build.parameter(lineage)}::text as field_lineage, {target} as target_id,"
        " null::int as position, null::text as role"
        " from edge o join activity x on x.space_id = %(space)s and x.id = o.source_id"
        f" join element_ver w on w.space_id = %(space)s and w.id = x.id and {build.at('w')}"
        f" and w.status = 'completed'{inputs}"
        f" where o.space_id = %(space)s and o.field_lineage = 'outputs' and {build.at('o')}"
        f"{of_class}{extra}"
    )
