"""The words of a space: LIST and DESCRIBE of types, predicates, facets, fields and packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from storage.graph.errors import SchemaPackageUnavailable
from storage.graph.package import Package
from storage.graph.schema import Schema, Symbol
from storage.graph.symbols import CORE, CORE_FIELDS, DRAFT, KIND_NAMES, SECTIONS, SymbolKind
from storage.kip.errors import ConstraintViolation
from storage.kip.language.ast_meta import Describe, List
from storage.kip.meta.answered import Answered, Asking, Cursors, needed, text

_KINDS: Mapping[str, SymbolKind] = {
    "TYPES": "concept_type",
    "PREDICATES": "predicate",
    "FACETS": "facet",
    "STRUCTURAL FIELDS": "structural_field",
}
_ONE: Mapping[str, SymbolKind] = {
    "TYPE": "concept_type",
    "PREDICATE": "predicate",
    "FACET": "facet",
    "STRUCTURAL FIELD": "structural_field",
}
#: What this module lists and describes.
LISTED = frozenset({*_KINDS, "SCHEMA PACKAGES"})
DESCRIBED = frozenset({*_ONE, "PACKAGE", "COMPATIBILITY"})
_STATUSES = frozenset({"active", "superseded", "deprecated", "retired"})


def listed(asking: Asking, statement: List) -> Answered:
    """A page of words or of packages, in the order of their refs.

    The cursor is good while the space's vocabulary stays as it is.
    """
    snapshot = asking.snapshot
    status = text(statement.status)
    if status is not None and status not in _STATUSES:
        raise ConstraintViolation(f"STATUS is one of {', '.join(sorted(_STATUSES))}.")
    if statement.target == "SCHEMA PACKAGES":
        rows = [row for row in packages(snapshot.schema) if status in (None, row["status"])]
    else:
        rows = [_row(one) for one in snapshot.schema.symbols(_KINDS[statement.target])]
    cursors = Cursors(
        asking,
        f"LIST {statement.target}",
        [statement.target, status],
        pinned=snapshot.schema_env_version,
    )
    page, cursor = cursors.page(rows, statement.limit, statement.cursor)
    return Answered(page, cursor)


def describe(asking: Asking, statement: Describe) -> Answered:
    """One word with its definition and what matches as the same, one package, or two compared.

    Raises `SchemaSymbolNotFound`, `SchemaSymbolAmbiguous`, `SchemaPackageUnavailable`.
    """
    schema = asking.snapshot.schema
    named = needed(statement.value)
    if statement.target == "PACKAGE":
        return Answered(_package(schema, named))
    if statement.target == "COMPATIBILITY":
        return Answered(_compatibility(schema, named, needed(statement.to)))
    kind = _ONE[statement.target]
    if kind == "structural_field" and named in CORE_FIELDS:
        return Answered(_core_field(named))
    found = schema.symbol(kind, named)
    lineages = sorted(schema.lineages(kind, found.ref))
    return Answered({**_row(found), "lineages": lineages, "definition": dict(found.definition)})


def packages(schema: Schema) -> list[dict[str, Any]]:
    """Every package of the space as LIST SCHEMA PACKAGES tells of it: core, drafts, installed."""
    newest = {one.id: one.ref for one in sorted(schema.packages, key=lambda one: one.order)}
    rows = [_package_row(CORE, "active")]
    if schema.drafts:
        rows.append(_package_row(DRAFT, "active"))
    rows += [
        _package_row(one.ref, "active" if newest[one.id] == one.ref else "superseded", one.digest)
        for one in schema.packages
    ]
    return sorted(rows, key=lambda row: row["package_ref"])


def _row(symbol: Symbol) -> dict[str, Any]:
    return {
        "ref": symbol.ref,
        "local_name": symbol.local_name,
        "package_ref": symbol.package_ref,
        "status": symbol.status,
    }


def _core_field(name: str) -> dict[str, Any]:
    sources, targets, single = CORE_FIELDS[name]
    return {
        "ref": name,
        "local_name": name,
        "package_ref": CORE,
        "status": "active",
        "lineages": [name],
        "definition": {
            "kind": "StructuralFieldDefinition",
            "source": {"kinds": [KIND_NAMES[kind] for kind in sources]},
            "target": {"kinds": [KIND_NAMES[kind] for kind in targets]},
            "cardinality": {"min": 0, "max": 1 if single else None},
            "ordered": False,
        },
    }


def _package_row(ref: str, status: str, digest: str | None = None) -> dict[str, Any]:
    id, _, number = ref.rpartition("@")
    row = {"package_ref": ref, "package_id": id, "version": number, "status": status}
    return {**row, "content_digest": digest} if digest else row


def _package(schema: Schema, named: str) -> dict[str, Any]:
    """A package by exact ref, or by id (then its newest version)."""
    rows = [row for row in packages(schema) if named in (row["package_ref"], row["package_id"])]
    if not rows:
        raise SchemaPackageUnavailable(f"The package {named!r} is not installed here.")
    row = next((row for row in rows if row["status"] == "active"), rows[-1])
    return {**row, "symbols": _symbols(schema, row["package_ref"])}


def _symbols(schema: Schema, package_ref: str) -> dict[str, list[str]]:
    symbols = {
        section: [one.local_name for one in schema.symbols(kind) if one.package_ref == package_ref]
        for kind, section in SECTIONS.items()
    }
    if package_ref == CORE:
        symbols["structural_fields"] = sorted(CORE_FIELDS)
    return symbols


def _compatibility(schema: Schema, old: str, new: str) -> dict[str, Any]:
    """What writing against `new` instead of `old` would meet: words added, gone and changed.

    Compatible means that every word of the old package is there and means the same; both are
    compared as they are installed.
    """
    before, after = _installed(schema, old), _installed(schema, new)
    added, removed, changed = [], [], []
    for section in SECTIONS.values():
        was, becomes = before.definitions(section), after.definitions(section)
        added += [f"{section}/{name}" for name in becomes if name not in was]
        removed += [f"{section}/{name}" for name in was if name not in becomes]
        changed += [
            f"{section}/{name}" for name in was if name in becomes and was[name] != becomes[name]
        ]
    return {
        "from": before.ref,
        "to": after.ref,
        "same_package": before.id == after.id,
        "compatible": before.id == after.id and not (removed or changed),
        "added": sorted(added),
        "removed": sorted(removed),
        "changed": sorted(changed),
        "lineage_maps": [
            {"kind": one.kind, "from": one.from_lineage, "to": one.to_lineage}
            for one in schema.maps
            if one.from_lineage.startswith(f"{before.id}/")
            and one.to_lineage.startswith(f"{after.id}/")
        ],
    }


def _installed(schema: Schema, ref: str) -> Package:
    for one in schema.packages:
        if one.ref == ref:
            return one
    raise SchemaPackageUnavailable(
        f"{ref!r} is no package that is installed here; write its exact ref."
    )
