"""What the WHERE of a mutation, or of an export, chooses: elements, the lowest ids first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from storage.database import sql
from storage.kip.language.ast_patterns import Block
from storage.kip.query.compile import relation_of
from storage.kip.query.relation import Build
from storage.kip.query.session import bounded, has_merges
from storage.kip.snapshot import Snapshot


def targets(
    snapshot: Snapshot, block: Block, variables: Sequence[str], *, limit: int | None = None
) -> list[dict[str, Any]]:
    """The distinct bindings of some variables, by id number of the first one, then the next.

    A variable of elements has its id, one of values the JSON value. Rows in which one of them is
    unbound are left out. Without variables there is one empty row if the block matches at all.
    Raises what the block deserves.
    """
    build = Build(snapshot, has_merges(snapshot))
    relation = relation_of(build, block)
    cap = f" limit {build.parameter(limit)}::bigint" if limit is not None else ""
    columns, order = [], []
    for index, name in enumerate(variables):
        binding = relation.bindings[name]
        relation.where(f"not {binding.unbound}")
        columns.append(f"{binding.id or 'null::text'} as i{index}")
        columns.append(f"{binding.value or 'null::jsonb'} as j{index}")
        order += [f"length(i{index})", f'i{index} collate "C"', f"j{index}"]
    if not variables:
        select = f"select exists ({relation.select('')})"
    else:
        select = (
            f"select * from (select distinct * from ({relation.select(', '.join(columns))}) s) t"
            f" order by {', '.join(order)}{cap}"
        )
    with bounded():
        rows = snapshot.tx.execute(sql(build.statement(select)), build.parameters).fetchall()
    if not variables:
        return [{}] if rows[0][0] and limit != 0 else []
    return [
        {
            name: row[2 * index] if row[2 * index] is not None else row[2 * index + 1]
            for index, name in enumerate(variables)
        }
        for row in rows
    ]
