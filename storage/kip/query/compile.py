"""A whole query as one statement: solutions, made distinct, grouped, sorted, cut to a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from storage.kip.language.ast_expressions import Aggregate, Projection
from storage.kip.language.ast_kql import Find, SortKey
from storage.kip.language.ast_patterns import Block
from storage.kip.language.ast_terms import Variable
from storage.kip.query import expressions
from storage.kip.query.blocks import solve
from storage.kip.query.relation import Binding, Build, Relation
from storage.kip.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Key:
    """One column that rows are sorted by; `type` is what a cursor's value of it is cast to."""

    column: str
    type: str
    descending: bool = False
    collated: bool = False

    def order(self) -> str:
        """Its part of ORDER BY."""
        collation = ' collate "C"' if self.collated else ""
        return f"{self.column}{collation} {'desc' if self.descending else 'asc'} nulls last"


@dataclass(frozen=True, slots=True)
class Output:
    """Where one projection's value is in a row: columns by position, and how to read them.

    `what`: "json", "element" (an id), "either" (id, json), "count", "sum", "avg", "extreme".
    """

    what: str
    columns: tuple[int, ...]


@dataclass
class Compiled:
    """A statement with its parameters, and what its columns are."""

    sql: str
    parameters: Mapping[str, Any]
    outputs: list[Output]
    keys: list[Key]
    #: Position of the first key's column.
    keys_at: int
    paged: bool


@dataclass
class _Columns:
    """Columns of the select that the final one reads from, each expression once."""

    items: list[str] = field(default_factory=list)

    def of(self, sql: str) -> str:
        if sql not in self.items:
            self.items.append(sql)
        return f"c{self.items.index(sql)}"

    def select(self) -> str:
        return ", ".join(f"{sql} as c{index}" for index, sql in enumerate(self.items))


def relation_of(build: Build, block: Block) -> Relation:
    """The solutions of a block."""
    relation = Relation(build)
    solve(relation, block)
    return relation


def query(
    snapshot: Snapshot,
    find: Find,
    *,
    merges: bool,
    hits: Mapping[int, Any],
    limit: int,
    after: Sequence[Any] | None,
) -> Compiled:
    """Compile a query. `after` holds the key values of the last row of the page before."""
    build = Build(snapshot, merges, hits)
    relation = relation_of(build, find.where)
    plan = _Plan(build, relation)
    aggregated = any(isinstance(one, Aggregate) for one in find.projections)
    grouped = aggregated and not all(isinstance(one, Aggregate) for one in find.projections)
    for one in find.projections:
        plan.project(one)
    for sort in find.order_by:
        plan.sort(sort, aggregated=aggregated)
    if aggregated:
        for one in find.projections:
            if not isinstance(one, Aggregate):
                plan.tie(one)
    else:
        for name, binding in relation.bindings.items():
            plan.tie_binding(name, binding)
    inner = plan.inner(relation)
    select = plan.outer(inner, aggregated=aggregated)
    keys_at = len(plan.selected) - len(plan.keys)
    paged = not aggregated or grouped
    if not paged:
        return Compiled(build.statement(select), build.parameters, plan.outputs, [], keys_at, False)
    where = f" where {_beyond(build, plan.keys, after)}" if after is not None else ""
    order = ", ".join(key.order() for key in plan.keys)
    rows = build.parameter(limit + 1)
    sql = build.statement(
        f"select * from ({select}) r{where}"
        f"{f' order by {order}' if order else ''} limit {rows}::bigint"
    )
    return Compiled(sql, build.parameters, plan.outputs, plan.keys, keys_at, True)


class _Plan:
    """The columns of a statement, as its projections and sort keys ask for them."""

    def __init__(self, build: Build, relation: Relation) -> None:
        self.build, self.relation = build, relation
        self.solution = _Columns()
        self.selected: list[str] = []
        self.groups: list[str] = []
        self.outputs: list[Output] = []
        self.keys: list[Key] = []
        self._keys: list[tuple[str, Key]] = []

    # projections

    def project(self, one: Projection) -> None:
        """Add the columns of one projection."""
        if isinstance(one, Aggregate):
            self.outputs.append(self._aggregate(one))
            return
        if isinstance(one, Variable):
            binding = self.relation.bindings.get(one.name, Binding())
            if binding.id is not None and binding.value is None:
                self._output("element", self._group(binding.id))
                return
            if binding.id is not None:
                columns = [self._group(part) for part in (binding.id, binding.value) if part]
                self._output("either", *columns)
                return
        sql = expressions.value(self.relation, one)
        if sql.text is not None:
            self._output("json", f"to_jsonb({self._group(sql.text)})")
        else:
            self._output("json", self._group(sql.json))

    def _group(self, sql: str) -> str:
        column = self.solution.of(sql)
        if column not in self.groups:
            self.groups.append(column)
        return column

    def _output(self, what: str, *columns: str) -> None:
        first = len(self.selected)
        self.selected.extend(columns)
        self.outputs.append(Output(what, tuple(range(first, first + len(columns)))))

    def _aggregate(self, one: Aggregate) -> Output:
        first = len(self.selected)
        self.selected.extend(self._aggregated(one))
        what = {"COUNT": "count", "SUM": "sum", "AVG": "avg"}.get(one.name, "extreme")
        return Output(what, tuple(range(first, len(self.selected))))

    def _aggregated(self, one: Aggregate) -> list[str]:
        """The SQL of an aggregate: its value, and how many inputs it cannot take."""
        sql = expressions.value(self.relation, one.operand)
        distinct = "distinct " if one.distinct else ""
        plain = sql.element if sql.ref is not None and sql.element is not None else sql.text
        whole = self.solution.of(plain or sql.json)
        if one.name == "COUNT":
            return [f"count({distinct}{whole})"]
        if plain is not None:
            number, text = "null::numeric", whole if sql.element is None else "null::text"
        else:
            number = f"case jsonb_typeof({whole}) when 'number' then {whole}::numeric end"
            text = f"case jsonb_typeof({whole}) when 'string' then {whole} #>> '{{}}' end"
        if one.name in ("SUM", "AVG"):
            function = one.name.lower()
            return [f"{function}({distinct}{number})", f"count({whole}) - count({number})"]
        function = one.name.lower()
        return [
            f"{function}({number})",
            f'{function}({text} collate "C")',
            f"count({number})",
            f"count({text})",
            f"count({whole})",
        ]

    # order

    def sort(self, sort: SortKey, *, aggregated: bool) -> None:
        """Add the columns of one sort key."""
        if isinstance(sort.key, Aggregate):
            parts = self._aggregated(sort.key)
            if sort.key.name in ("MIN", "MAX"):
                self._key(parts[0], "numeric", sort.descending)
                self._key(parts[1], "text", sort.descending, collated=True)
            else:
                self._key(parts[0], "numeric", sort.descending)
            return
        sql = expressions.value(self.relation, sort.key)
        self._value_keys(sql, sort.descending, grouped=aggregated)

    def _value_keys(self, sql: expressions.Sql, descending: bool, *, grouped: bool) -> None:
        column = self._group if grouped else self.solution.of
        if sql.element is not None and sql.ref is not None:
            self._id_keys(column(sql.element), descending)
        elif sql.text is not None:
            self._key(column(sql.text), "text", descending, collated=True)
        else:
            whole = column(sql.json)
            kind = (
                f"case jsonb_typeof({whole}) when 'number' then 1 when 'string' then 2"
                " when 'boolean' then 3 when 'object' then 4 when 'array' then 5 end"
            )
            number = f"case jsonb_typeof({whole}) when 'number' then {whole}::numeric end"
            text = f"case jsonb_typeof({whole}) when 'number' then null else {whole} #>> '{{}}' end"
            self._key(kind, "int", descending)
            self._key(number, "numeric", descending)
            self._key(text, "text", descending, collated=True)

    def _id_keys(self, column: str, descending: bool = False) -> None:
        # ids are numbered: C-9 comes before C-10
        self._key(f"length({column})", "int", descending)
        self._key(column, "text", descending, collated=True)

    def _key(self, sql: str, type_: str, descending: bool, *, collated: bool = False) -> None:
        if any(known == sql for known, _ in self._keys):
            return
        key = Key(f"k{len(self._keys)}", type_, descending, collated)
        self._keys.append((sql, key))

    def tie(self, one: Projection) -> None:
        """Rows that are equal so far are told apart by what they are grouped by."""
        assert not isinstance(one, Aggregate)
        sql = expressions.value(self.relation, one)
        if isinstance(one, Variable):
            binding = self.relation.bindings.get(one.name, Binding())
            for part in (binding.id, binding.value):
                if part is not None:
                    self._tie_part(self._group(part), jsonb=part == binding.value)
        elif sql.text is not None:
            self._key(self._group(sql.text), "text", False, collated=True)
        else:
            self._tie_part(self._group(sql.json), jsonb=True)

    def tie_binding(self, name: str, binding: Binding) -> None:
        """Solutions that are equal so far are told apart by what their variables stand for."""
        if binding.id == "null::text":
            return
        if binding.id is not None:
            self._tie_part(self.solution.of(binding.id), jsonb=False)
        if binding.text is not None:
            self._key(self.solution.of(binding.text), "text", False, collated=True)
        elif binding.value is not None:
            self._tie_part(self.solution.of(binding.value), jsonb=True)

    def _tie_part(self, column: str, *, jsonb: bool) -> None:
        if jsonb:
            # as text, so that a JSON null is told from no value, here and in cursors
            self._key(f"({column})::text", "text", False, collated=True)
        else:
            self._id_keys(column)

    # the statement

    def inner(self, relation: Relation) -> str:
        """The distinct solutions, with every column that something reads."""
        if relation.multiple:
            parts = []
            for binding in relation.bindings.values():
                parts += [part for part in (binding.id, binding.value) if part is not None]
            columns = ", ".join(dict.fromkeys(self.solution.of(part) for part in parts))
            select = relation.select(self.solution.select() or "1")
            return (
                f"select distinct on ({columns}) * from ({select}) s"
                if columns
                else (f"{select} limit 1")
            )
        return relation.select(self.solution.select() or "1")

    def outer(self, inner: str, *, aggregated: bool) -> str:
        """The select of outputs and keys over the solutions."""
        self.keys = [key for _, key in self._keys]
        columns = [f"{sql} as o{index}" for index, sql in enumerate(self.selected)]
        columns += [f"{sql} as {key.column}" for sql, key in self._keys]
        self.selected.extend(key.column for key in self.keys)
        group = ""
        if aggregated and self.groups:
            group = f" group by {', '.join(self.groups)}"
        return f"select {', '.join(columns)} from ({inner}) d{group}"


def _beyond(build: Build, keys: Sequence[Key], after: Sequence[Any]) -> str:
    """The condition that a row comes after the one with these key values."""
    branches: list[str] = []
    equal: list[str] = []
    for key, last in zip(keys, after, strict=True):
        value = f"{build.parameter(last)}::{key.type}"
        collation = ' collate "C"' if key.collated else ""
        if last is not None:
            sign = "<" if key.descending else ">"
            past = f"({key.column}{collation} {sign} {value} or {key.column} is null)"
            branches.append(" and ".join([*equal, past]))
            equal.append(f"{key.column} = {value}")
        else:
            equal.append(f"{key.column} is null")
    return f"({' or '.join(f'({branch})' for branch in branches)})" if branches else "false"
