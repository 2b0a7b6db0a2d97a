"""The words of one space at one moment: which there are, what they mean, which mean the same.

A local name resolves to one lineage, or is ambiguous; matching goes by `Schema.lineages`, since a
promoted draft and what it was promoted to count as one (contract kip-engine section 2).
`kip://core` is code in `symbols`; packages are data, those that come with Brainstem in `packages/`;
a space adds drafts of its own, `kip://local/draft@0.0.0`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Generic, TypeVar

from storage.canonical import digest
from storage.database import Scope, Transaction
from storage.graph import package as packages
from storage.graph.changes import DefineSymbol
from storage.graph.drafting import check_draft
from storage.graph.errors import (
    ResourceExhausted,
    SchemaSymbolAmbiguous,
    SchemaSymbolConflict,
    SchemaSymbolNotFound,
)
from storage.graph.package import BUILTIN, Package
from storage.graph.symbols import (
    CORE,
    CORE_FIELDS,
    DRAFT,
    KIND_NAMES,
    SECTIONS,
    Definition,
    Endpoint,
    FacetDef,
    FieldDef,
    PredicateDef,
    SymbolKind,
    TypeDef,
    core_fields,
    facet_of,
    field_of,
    lineage_of,
    local_name,
    package_of,
    predicate_of,
    type_of,
)
from storage.graph.values import check_json, check_values

__all__ = [
    "BUILTIN",
    "CORE",
    "CORE_FIELDS",
    "DRAFT",
    "KIND_NAMES",
    "MAX_DRAFTS",
    "SECTIONS",
    "Endpoint",
    "FacetDef",
    "FieldDef",
    "LineageMap",
    "PredicateDef",
    "Schema",
    "Symbol",
    "SymbolKind",
    "TypeDef",
    "builtin",
    "check_json",
    "check_values",
    "environment",
    "keep_environment",
    "lineage_of",
    "local_name",
]

#: Draft symbols that one space may define (seed 003).
MAX_DRAFTS = 512

_WORDS: Mapping[SymbolKind, str] = {
    "concept_type": "concept type",
    "predicate": "predicate",
    "facet": "facet",
    "structural_field": "structural field",
}
D = TypeVar("D", bound=Definition)
#: The rows that an environment is made of: installed packages, drafts, lineage maps.
_Rows = tuple[
    tuple[str, ...],
    tuple[tuple[SymbolKind, str, str], ...],
    tuple[tuple[SymbolKind, str, str], ...],
]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A word as META lists and describes it. `definition` is as its package gives it."""

    kind: SymbolKind
    ref: str
    definition: Mapping[str, Any]
    status: str = "active"

    @property
    def local_name(self) -> str:
        """The name without its package."""
        return local_name(self.ref)

    @property
    def package_ref(self) -> str:
        """The package that it is of."""
        return package_of(self.ref)


@dataclass(frozen=True, slots=True)
class LineageMap:
    """`from_lineage` was promoted to `to_lineage`: both match as one."""

    kind: SymbolKind
    from_lineage: str
    to_lineage: str


@dataclass(slots=True)
class _Table(Generic[D]):
    """Symbols of one kind, found by exact ref, lineage or local name.

    `classes` has the lineages that match as one, and `heads` what each of them came to.
    """

    kind: SymbolKind
    by_lineage: dict[str, D] = field(default_factory=dict)
    by_ref: dict[str, D] = field(default_factory=dict)
    by_name: dict[str, tuple[str, ...]] = field(default_factory=dict)
    classes: dict[str, frozenset[str]] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)

    def add(self, definition: D) -> None:
        """Add a definition; of one lineage the last one is written with."""
        lineage, name = definition.lineage, local_name(definition.ref)
        self.by_ref[definition.ref] = definition
        self.by_lineage[lineage] = definition
        known = self.by_name.get(name, ())
        if lineage not in known:
            self.by_name[name] = (*known, lineage)

    def get(self, symbol: str) -> D:
        if symbol.startswith("kip://"):
            found = self.by_ref.get(symbol) or self.by_lineage.get(symbol)
            if found is None:
                raise self._unknown(symbol)
            return found
        lineages = self.by_name.get(symbol, ())
        if not lineages:
            raise self._unknown(symbol)
        heads = {self.heads.get(lineage, lineage) for lineage in lineages}
        if len(heads) > 1:
            raise SchemaSymbolAmbiguous(
                f"{symbol!r} may be {' or '.join(sorted(lineages))}; write one of them."
            )
        (head,) = heads
        return self.by_lineage.get(head) or self.by_lineage[lineages[0]]

    def same(self, lineage: str) -> frozenset[str]:
        return self.classes.get(lineage) or frozenset({lineage})

    def _unknown(self, symbol: str) -> SchemaSymbolNotFound:
        return SchemaSymbolNotFound(f"There is no {_WORDS[self.kind]} {symbol!r}.")

    def copy(self) -> _Table[D]:
        return _Table(
            self.kind,
            dict(self.by_lineage),
            dict(self.by_ref),
            dict(self.by_name),
            self.classes,
            self.heads,
        )


class Schema:
    """The schema environment of one space at one moment; look up by local name, lineage or ref."""

    def __init__(
        self,
        types: _Table[TypeDef],
        predicates: _Table[PredicateDef],
        facets: _Table[FacetDef],
        fields: _Table[FieldDef],
        packages: tuple[Package, ...] = (),
        maps: tuple[LineageMap, ...] = (),
        drafts: int = 0,
    ) -> None:
        self._types, self._predicates = types, predicates
        self._facets, self._fields = facets, fields
        #: The packages of the space, in the order of their refs; core and drafts are none of them.
        self.packages = packages
        #: What was promoted to what.
        self.maps = maps
        #: How many symbols the space has drafted.
        self.drafts = drafts

    def type(self, symbol: str) -> TypeDef:
        """Raises `SchemaSymbolNotFound` or `SchemaSymbolAmbiguous`, as do the next three."""
        return self._types.get(symbol)

    def predicate(self, symbol: str) -> PredicateDef:
        """The predicate of that name."""
        return self._predicates.get(symbol)

    def facet(self, symbol: str) -> FacetDef:
        """The facet of that name."""
        return self._facets.get(symbol)

    def structural(self, symbol: str, kind: str | None = None) -> FieldDef:
        """The structural field of that name.

        A core field's plain name is its own for the kinds (`A`, `E`, `X`) that carry it, and for
        an unknown `kind`; elsewhere the name is a package's to give.
        """
        core = _CORE.get(symbol)
        if core is not None and (kind is None or core.source.takes(kind, None)):
            return core
        return self._fields.get(symbol)

    def lineages(self, kind: SymbolKind, symbol: str) -> frozenset[str]:
        """Every lineage that matches a name: the one it resolves to and what counts as the same.

        For structural fields a core field and a package's field of one name are both in the set.
        Raises `SchemaSymbolNotFound` and `SchemaSymbolAmbiguous`.
        """
        table = self._table(kind)
        core = kind == "structural_field" and symbol in _CORE
        if core and symbol not in table.by_name:
            return frozenset({symbol})
        found = table.same(table.get(symbol).lineage)
        return found | {symbol} if core else found

    def symbols(self, kind: SymbolKind) -> list[Symbol]:
        """All words of a kind from packages and drafts, in the order of their refs."""
        table = self._table(kind)
        return [self._symbol(kind, table.by_ref[ref]) for ref in sorted(table.by_ref)]

    def symbol(self, kind: SymbolKind, symbol: str) -> Symbol:
        """One word. Raises `SchemaSymbolNotFound` and `SchemaSymbolAmbiguous`."""
        return self._symbol(kind, self._table(kind).get(symbol))

    def required_fields(self, type_lineage: str) -> list[FieldDef]:
        """The structural fields that a concept of that type cannot be without."""
        return [
            definition
            for definition in self._fields.by_lineage.values()
            if definition.min > 0 and type_lineage in definition.source.lineages
        ]

    @property
    def digest(self) -> str:
        """A digest of everything that the environment is made of."""
        return digest(
            {
                "packages": {one.ref: one.digest for one in self.packages},
                "drafts": {
                    kind: {
                        one.local_name: dict(one.definition)
                        for one in self.symbols(kind)
                        if one.package_ref == DRAFT
                    }
                    for kind in SECTIONS
                },
                "maps": [[one.kind, one.from_lineage, one.to_lineage] for one in self.maps],
            }
        )

    @property
    def lock(self) -> dict[str, Any]:
        """What the environment consists of, by name (`schema_env.lock`)."""
        return {
            "packages": [one.ref for one in self.packages],
            "drafts": [
                one.local_name
                for kind in SECTIONS
                for one in self.symbols(kind)
                if one.package_ref == DRAFT
            ],
        }

    def knows_type(self, name: str) -> bool:
        """Whether some package or draft has a type of that local name."""
        return name in self._types.by_name

    def knows_predicate(self, name: str) -> bool:
        """Whether some package or draft has a predicate of that local name."""
        return name in self._predicates.by_name

    def resolved(self, symbol: DefineSymbol) -> DefineSymbol:
        """The same draft with exact refs for the local names of types.

        Raises `SchemaSymbolNotFound` and `SchemaSymbolAmbiguous`.
        """
        if symbol.symbol_kind != "predicate":
            return symbol
        definition = dict(symbol.definition)
        for end in ("subject", "object"):
            given = definition.get(end)
            if isinstance(given, Mapping) and "concept_types" in given:
                refs = [self._exact(name) for name in given["concept_types"]]
                definition[end] = {**given, "concept_types": refs}
        return replace(symbol, definition=definition)

    def with_draft(self, symbol: DefineSymbol) -> Schema:
        """This environment and one symbol more.

        Raises `SchemaSymbolConflict` for a known name, `ConstraintViolation` for a definition that
        a draft may not have, `ResourceExhausted` beyond `MAX_DRAFTS` symbols.
        """
        known = self.knows_type if symbol.symbol_kind == "concept_type" else self.knows_predicate
        if known(symbol.name):
            raise SchemaSymbolConflict(f"{symbol.name!r} exists already.")
        if self.drafts >= MAX_DRAFTS:
            raise ResourceExhausted(f"A space defines at most {MAX_DRAFTS} symbols of its own.")
        check_draft(symbol)
        grown = Schema(
            self._types.copy(),
            self._predicates.copy(),
            self._facets,
            self._fields,
            self.packages,
            self.maps,
            self.drafts,
        )
        grown._add_draft(symbol.symbol_kind, symbol.name, symbol.definition)
        return grown

    def _add_draft(self, kind: SymbolKind, name: str, definition: Mapping[str, Any]) -> None:
        ref = f"{DRAFT}/{name}"
        if kind == "concept_type":
            self._types.add(type_of(ref, definition))
        else:
            made = predicate_of(ref, definition, self._exact)
            classes = self._types.classes
            self._predicates.add(
                replace(
                    made,
                    subject=made.subject.widened(classes),
                    object=made.object.widened(classes),
                )
            )
        self.drafts += 1

    def _add_types(self, package: Package) -> None:
        for name, raw in package.definitions("concept_types").items():
            self._types.add(type_of(f"{package.ref}/{name}", raw))

    def _add_relations(self, package: Package) -> None:
        """What may name types, once those of all packages are there."""

        def exact(name: str) -> str:
            own = f"{package.ref}/{name}"
            return own if own in self._types.by_ref else self._exact(name)

        for name, raw in package.definitions("predicates").items():
            self._predicates.add(predicate_of(f"{package.ref}/{name}", raw, exact))
        for name, raw in package.definitions("facets").items():
            self._facets.add(facet_of(f"{package.ref}/{name}", raw, exact))
        for name, raw in package.definitions("structural_fields").items():
            self._fields.add(field_of(f"{package.ref}/{name}", raw, exact))

    def _exact(self, name: str) -> str:
        return self._types.get(name).ref

    def _map(self, maps: Sequence[LineageMap]) -> None:
        """Let mapped lineages match as one; after all symbols are added."""
        self.maps = tuple(maps)
        for kind in SECTIONS:
            table = self._table(kind)
            table.classes, table.heads = _classes(m for m in maps if m.kind == kind)
        classes = self._types.classes
        for name, one in self._predicates.by_ref.items():
            self._predicates.by_ref[name] = replace(
                one, subject=one.subject.widened(classes), object=one.object.widened(classes)
            )
        for name, facet in self._facets.by_ref.items():
            self._facets.by_ref[name] = replace(facet, applies=facet.applies.widened(classes))
        for name, link in self._fields.by_ref.items():
            self._fields.by_ref[name] = replace(
                link, source=link.source.widened(classes), target=link.target.widened(classes)
            )
        for table in (self._predicates, self._facets, self._fields):
            for lineage, definition in table.by_lineage.items():
                table.by_lineage[lineage] = table.by_ref[definition.ref]  # type: ignore[assignment]

    def _symbol(self, kind: SymbolKind, definition: Definition) -> Symbol:
        return Symbol(kind, definition.ref, definition.definition)

    def _table(self, kind: SymbolKind) -> _Table[Any]:
        tables: Mapping[SymbolKind, _Table[Any]] = {
            "concept_type": self._types,
            "predicate": self._predicates,
            "facet": self._facets,
            "structural_field": self._fields,
        }
        return tables[kind]


_CORE = {one.ref: one for one in core_fields()}


def build(
    installed: Iterable[Package],
    drafts: Iterable[tuple[SymbolKind, str, Mapping[str, Any]]] = (),
    maps: Sequence[LineageMap] = (),
) -> Schema:
    """The environment of some packages, drafts and lineage maps.

    Raises `KipError` for packages and drafts that name types which are not there.
    """
    schema = Schema(
        _Table("concept_type"), _Table("predicate"), _Table("facet"), _Table("structural_field")
    )
    ordered = sorted(installed, key=lambda one: (one.id, one.order))
    for package in ordered:
        schema._add_types(package)
    for package in ordered:
        schema._add_relations(package)
    schema.packages = tuple(ordered)
    for kind, name, definition in drafts:
        schema._add_draft(kind, name, definition)
    if maps:
        schema._map(maps)
    return schema


@lru_cache(maxsize=1)
def builtin() -> Schema:
    """Core and the built-in packages, without any draft; shared, never changed."""
    return build(packages.builtin(name) for name in BUILTIN)


def environment(tx: Transaction, scope: Scope, *, seq: int | None = None) -> Schema:
    """The environment of a space, at present or at `seq`.

    A space that never changed its own has the built-in packages.
    """
    row = tx.execute(
        "select seq_from, digest, lock -> 'packages' from schema_env"
        " where space_id = %(space)s and (%(seq)s::bigint is null or seq_from <= %(seq)s)"
        " order by version desc limit 1",
        {"space": scope.space_id, "seq": seq},
    ).fetchone()
    return environment_of(tx, scope, row)


def environment_of(tx: Transaction, scope: Scope, row: tuple[Any, ...] | None) -> Schema:
    """The environment of a row of `schema_env`: (seq_from, digest, packages); None: the first."""
    if row is None:
        return builtin()
    seq_from, known, refs = row
    made = _environments.get(known)
    if made is None:
        made = _made_of(_rows(tx, scope, seq_from, refs))
        if known is not None:
            with _environments_lock:
                while len(_environments) >= _KEPT:
                    del _environments[next(iter(_environments))]
                _environments[known] = made
    return made


def keep_environment(tx: Transaction, scope: Scope, schema: Schema, version: int, seq: int) -> None:
    """Note that the space has this environment, as `version`, from sequence `seq` on."""
    tx.execute(
        "insert into schema_env (space_id, version, seq_from, lock, digest)"
        " values (%s, %s, %s, %s, %s)",
        (scope.space_id, version, seq, json.dumps(schema.lock), schema.digest),
    )


#: Environments by the digest of everything that they are made of, so that none is ever stale.
_environments: dict[str | None, Schema] = {}
_environments_lock = threading.Lock()
_KEPT = 256


def _rows(tx: Transaction, scope: Scope, seq: int, refs: Sequence[str]) -> _Rows:
    """What the environment that began at `seq` is made of."""
    space = {"space": scope.space_id, "seq": seq, "refs": list(refs)}
    bodies = tx.execute(
        "select package_ref, body::text from schema_package where space_id = %(space)s"
        " and package_ref = any(%(refs)s)",
        space,
    ).fetchall()
    drafts = tx.execute(
        "select symbol_kind, name, definition::text from draft_symbol where space_id = %(space)s"
        " and created_seq <= %(seq)s order by symbol_kind, created_seq, name",
        space,
    ).fetchall()
    maps = tx.execute(
        "select symbol_kind, from_lineage, to_lineage from lineage_map where space_id = %(space)s"
        " and seq_from <= %(seq)s order by seq_from, symbol_kind, from_lineage",
        space,
    ).fetchall()
    own: dict[str, str] = dict(bodies)
    return tuple(own.get(ref, ref) for ref in refs), tuple(drafts), tuple(maps)


@lru_cache(maxsize=64)
def _made_of(rows: _Rows) -> Schema:
    bodies, drafts, maps = rows
    installed = []
    for body in bodies:
        known = packages.builtin_by_ref(body)
        if known is not None:
            installed.append(known)
        elif body != CORE:
            installed.append(packages.read(json.loads(body)))
    return build(
        installed,
        [(kind, name, json.loads(definition)) for kind, name, definition in drafts],
        [LineageMap(*row) for row in maps],
    )


def _classes(maps: Iterable[LineageMap]) -> tuple[dict[str, frozenset[str]], dict[str, str]]:
    """The sets of lineages that maps make one, and the lineage that each of them came to."""
    target = {one.from_lineage: one.to_lineage for one in maps}
    heads: dict[str, str] = {}
    for lineage in (*target, *target.values()):
        head, seen = lineage, {lineage}
        while head in target and target[head] not in seen:
            head = target[head]
            seen.add(head)
        heads[lineage] = head
    members: dict[str, set[str]] = {}
    for lineage, head in heads.items():
        members.setdefault(head, set()).add(lineage)
    return {lineage: frozenset(members[head]) for lineage, head in heads.items()}, heads
