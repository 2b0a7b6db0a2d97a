"""Whole elements as JSON documents, as a query projects them and PREVIEW compares them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from storage.database import sql
from storage.kip.query import fields
from storage.kip.query.relation import Build, Relation
from storage.kip.query.session import has_merges
from storage.kip.snapshot import Snapshot


def documents(
    snapshot: Snapshot, ids: Collection[str], *, merges: bool | None = None
) -> dict[str, dict[str, Any]]:
    """The documents of elements by id, whatever their state; unknown ids are left out.

    A purged element is what its stub keeps: `_system.state` "purged", `governance.purged` true.
    """
    by_kind: dict[str, list[str]] = {}
    for element_id in dict.fromkeys(ids):
        if kind := fields.kind_of(element_id):
            by_kind.setdefault(kind, []).append(element_id)
    if not by_kind:
        return {}
    if merges is None:
        merges = has_merges(snapshot)
    found: dict[str, dict[str, Any]] = {}
    for kind, wanted in sorted(by_kind.items()):
        build = Build(snapshot, merges)
        relation = Relation(build)
        source = relation.join("i", f"unnest({build.parameter(wanted)}::text[]) $it(id)")
        element = relation.fact("element", f"{source}.id")
        document = fields.document(relation, f"{source}.id", kind)
        relation.where(f"{element}.id is not null")
        select = relation.select(f"{source}.id, {document}")
        rows = snapshot.tx.execute(sql(build.statement(select)), build.parameters)
        found.update(rows.fetchall())
    return found
