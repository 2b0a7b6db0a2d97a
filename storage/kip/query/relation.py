"""A SELECT under construction, and what the variables of a query stand for in it.

A variable stands for an element (a text column with its id), for a JSON value (a jsonb column), or
for either; where both are null it is unbound. Every value of a caller becomes a parameter; names
that appear in the SQL are made here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from storage.graph.state import NOW
from storage.kip.errors import ConstraintViolation, ResourceExhausted
from storage.kip.query.limits import MAX_SOURCES, MAX_VALUES
from storage.kip.snapshot import Snapshot

ALL_KINDS = "CPAEX"
#: How JSON writes a NUL: a backslash that is not escaped itself.
_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


@dataclass(frozen=True, slots=True)
class Binding:
    """What a variable stands for, as SQL expressions.

    `id` is null or absent where it is no element, `value` (jsonb) where it is no JSON value.
    `text` is the same value as text, where it is a string for certain. `lineage` makes schema
    symbols of several versions one. `certain`: it is bound in every row. `kinds` are the letters
    of the kinds that the element may be of. `score` and `mode` come from a search.
    """

    id: str | None = None
    value: str | None = None
    text: str | None = None
    lineage: str | None = None
    kinds: str = ALL_KINDS
    certain: bool = True
    score: str | None = None
    mode: str | None = None

    @property
    def unbound(self) -> str:
        """The condition that it stands for nothing."""
        parts = [f"{part} is null" for part in (self.id, self.value) if part is not None]
        return f"({' and '.join(parts)})" if parts else "true"

    def equals(self, other: Binding) -> str:
        """The condition that both stand for the same."""
        parts = []
        if self.id is not None and other.id is not None:
            parts.append(f"{self.id} = {other.id}")
        if self.lineage is not None and other.lineage is not None:
            parts.append(f"{self.lineage} = {other.lineage}")
        elif self.text is not None and other.text is not None:
            parts.append(f"{self.text} = {other.text}")
        elif self.value is not None and other.value is not None:
            parts.append(f"{self.value} = {other.value}")
        return f"({' or '.join(parts)})" if parts else "false"


def json_text(value: Any) -> str:
    """A JSON value as text that the database takes. Raises `ConstraintViolation`."""
    text = json.dumps(value, ensure_ascii=False)
    _check_text(text)
    if _ESCAPED_NUL.search(text):
        raise ConstraintViolation("A string contains a NUL character.")
    return text


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConstraintViolation("A string contains half a character.") from None
    if "\x00" in text:
        raise ConstraintViolation("A string contains a NUL character.")


def either(first: Binding, second: Binding) -> Binding:
    """What stands for the first where that is bound, else for the second."""

    def joined(part: str) -> str | None:
        one, other = getattr(first, part), getattr(second, part)
        if one is None or other is None:
            return one or other
        return f"coalesce({one}, {other})"

    texts = all(one.value is None or one.text is not None for one in (first, second))
    symbols = first.lineage is not None and second.lineage is not None
    return Binding(
        id=second.id if second.certain and second.value is None else joined("id"),
        value=second.value if second.certain and second.id is None else joined("value"),
        text=joined("text") if texts else None,
        lineage=joined("lineage") if symbols else None,
        kinds=_kinds(first, second),
        certain=first.certain or second.certain,
        score=joined("score"),
        mode=joined("mode"),
    )


def _kinds(first: Binding, second: Binding) -> str:
    return "".join(kind for kind in ALL_KINDS if kind in first.kinds or kind in second.kinds)


@dataclass
class Build:
    """What the parts of one statement share: its parameters, its names, its snapshot."""

    snapshot: Snapshot
    merges: bool
    hits: Mapping[int, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    with_: list[str] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)
    _aliases: int = 0

    def __post_init__(self) -> None:
        self.parameters["space"] = self.snapshot.scope.space_id
        if not self.now:
            self.parameters["seq"] = self.snapshot.seq

    @property
    def now(self) -> bool:
        """Whether the present is read."""
        return self.snapshot.as_of is None

    def at(self, alias: str) -> str:
        """The condition that a row of a table with versions holds at the snapshot."""
        if self.now:
            return f"{alias}.seq_to = {NOW}"
        return f"{alias}.seq_from <= %(seq)s and {alias}.seq_to > %(seq)s"

    def since(self, column: str) -> str:
        """The condition that what happened at that sequence had happened at the snapshot."""
        return "true" if self.now else f"{column} <= %(seq)s"

    def parameter(self, value: Any) -> str:
        """A placeholder for a value. Raises `ConstraintViolation` for what no text can hold."""
        if isinstance(value, str):
            _check_text(value)
        if len(self.parameters) >= MAX_VALUES:
            raise ResourceExhausted("The query carries too many values.")
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return f"%({name})s"

    def json(self, value: Any) -> str:
        """A placeholder for a JSON value, as jsonb."""
        return f"{self.parameter(json_text(value))}::jsonb"

    def deeper(self, sql: str, steps: Sequence[str]) -> str:
        """What a path reads from a JSON value; null where there is nothing."""
        for step in steps:
            sql = f"({sql} -> {self.parameter(step)}::text)"
        return sql

    def one_of(self, column: str, values: frozenset[str]) -> str:
        """The condition that a text column is one of a few values."""
        if len(values) == 1:
            return f"{column} = {self.parameter(next(iter(values)))}"
        return f"{column} = any({self.parameter(sorted(values))}::text[])"

    def alias(self, letter: str) -> str:
        """A name that no other table of the statement has."""
        self._aliases += 1
        if self._aliases > MAX_SOURCES:
            raise ResourceExhausted("The query joins too many patterns.")
        return f"{letter}{self._aliases}"

    def column(self, variable: str) -> str:
        """The name that a variable has in columns."""
        return f"v{self._numbers.setdefault(variable, len(self._numbers))}"

    def canonical(self, relation: Relation, element: str) -> str:
        """The id that an element has been merged into; its own where no merge is known."""
        if not self.merges:
            return element
        alias = relation.left("k", f"canon $it on $it.id = {element}")
        return f"coalesce({alias}.canonical, {element})"

    def canonical_of(self, element: str) -> str:
        """The same as a scalar subquery, for one element."""
        if not self.merges:
            return element
        alias = self.alias("k")
        return (
            f"coalesce((select {alias}.canonical from canon {alias}"
            f" where {alias}.id = {element}), {element})"
        )

    def alike(self, element: str) -> str:
        """A subquery of all ids that mean the same as an element, itself among them."""
        alias = self.alias("k")
        canonical = self.canonical_of(element)
        return (
            f"(select {canonical} union all"
            f" select {alias}.id from canon {alias} where {alias}.canonical = {canonical})"
        )

    def statement(self, select: str) -> str:
        """A whole statement: the common tables that the parts need, and the select."""
        tables = list(self.with_)
        if self.merges:
            tables.insert(
                0,
                "links(id, target) as (select m.source_id, m.target_id from merge_link m"
                f" where m.space_id = %(space)s and {self.since('m.seq_from')}),"
                " chains(id, target) as (select id, target from links union"
                " select c.id, l.target from chains c join links l on l.id = c.target),"
                " canon(id, canonical) as materialized (select c.id, c.target from chains c"
                " where not exists (select from links l where l.id = c.target))",
            )
        return f"with recursive {', '.join(tables)} {select}" if tables else select


class Relation:
    """The patterns of a block so far: what to read, under which conditions, bound to what."""

    def __init__(self, build: Build, outer: Relation | None = None) -> None:
        self.build = build
        self.outer = outer
        self.sources: list[str] = []
        self.conditions: list[str] = []
        self.bindings: dict[str, Binding] = dict(outer.bindings) if outer else {}
        self.multiple = False
        self._joined: dict[tuple[str, str], str] = {}

    def restart(self) -> None:
        """Begin anew with what is bound around: what was read so far is part of a subquery now."""
        self.sources, self.conditions = [], []
        self.bindings = dict(self.outer.bindings) if self.outer else {}
        self._joined = {}

    def join(self, letter: str, table: str) -> str:
        """Read a table too; `$it` in `table` is its alias, which is returned."""
        alias = self.build.alias(letter)
        text = table.replace("$it", alias)
        self.sources.append(f"cross join {text}" if self.sources else text)
        return alias

    def left(self, letter: str, table: str) -> str:
        """Read a table where it has a row; `table` is `name $it on condition`."""
        known = self._found(("left", table))
        if known is not None:
            return known
        if not self.sources:
            self.sources.append("(values (0)) one(zero)")
        alias = self.build.alias(letter)
        self.sources.append(f"left join {table.replace('$it', alias)}")
        self._joined["left", table] = alias
        return alias

    def where(self, condition: str) -> None:
        """Keep the rows for which a condition holds."""
        if condition not in ("true", "(true)"):
            self.conditions.append(condition)

    def _found(self, key: tuple[str, str]) -> str | None:
        known = self._joined.get(key)
        return known if known is not None or self.outer is None else self.outer._found(key)

    def know(self, table: str, element: str, alias: str) -> None:
        """An alias already reads that table's row of an element."""
        self._joined.setdefault((table, element), alias)

    def fact(self, table: str, element: str) -> str:
        """The alias of a table's row of an element, joined if it is not yet."""
        known = self._found((table, element))
        if known is not None:
            return known
        build = self.build
        if table == "element_ver":
            held = build.at("$it")
        elif table == "element":
            held = build.since("$it.created_seq")
        else:
            held = "true"
        alias = self.left(
            table[0],
            f"{table} $it on $it.space_id = %(space)s and $it.id = {element} and {held}",
        )
        self._joined[table, element] = alias
        return alias

    def bind(self, name: str, new: Binding) -> None:
        """Let a variable stand for what a pattern found; it agrees with what it stood for."""
        old = self.bindings.get(name)
        if old is None:
            self.bindings[name] = new
            return
        loose = [one.unbound for one in (old, new) if not one.certain]
        self.where(f"({' or '.join([*loose, old.equals(new)])})")
        self.bindings[name] = old if old.certain else either(old, new)

    def select(self, columns: str) -> str:
        """The finished SELECT of these columns."""
        sources = f" from {' '.join(self.sources)}" if self.sources else ""
        conditions = f" where {' and '.join(self.conditions)}" if self.conditions else ""
        return f"select {columns}{sources}{conditions}"

    def exported(self, names: list[str]) -> list[tuple[str, str]]:
        """(expression, column name) of everything that these variables consist of."""
        columns = []
        for name in names:
            binding = self.bindings.get(name)
            base = self.build.column(name)
            for suffix, part in _parts(binding):
                columns.append((part or f"null::{_TYPES[suffix]}", f"{base}_{suffix}"))
        return columns

    def imported(self, name: str, alias: str, like: Binding, *, certain: bool) -> Binding:
        """A variable as columns of a subquery that exported it."""
        base = self.build.column(name)
        parts = {
            suffix: None if part is None else f"{alias}.{base}_{suffix}"
            for suffix, part in _parts(like)
        }
        return Binding(**parts, kinds=like.kinds, certain=certain)


_TYPES = {
    "id": "text",
    "value": "jsonb",
    "text": "text",
    "lineage": "text",
    "score": "double precision",
    "mode": "text",
}


def _parts(binding: Binding | None) -> list[tuple[str, str | None]]:
    return [(suffix, None if binding is None else getattr(binding, suffix)) for suffix in _TYPES]
