"""Promotion of drafts: a word that a space made up becomes one of an installed package.

What was written with the draft keeps its exact ref. From the new version of the environment on,
both lineages match as one (contract kip-engine section 2). A draft is promoted once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from storage.database import Scope, Transaction
from storage.graph.commit import control, lock
from storage.graph.errors import (
    ConstraintViolation,
    KipError,
    SchemaSymbolConflict,
    SchemaSymbolNotFound,
)
from storage.graph.schema import (
    DRAFT,
    LineageMap,
    Schema,
    build,
    environment,
    keep_environment,
    lineage_of,
)
from storage.graph.state import NOW
from storage.graph.symbols import Endpoint, PredicateDef, TypeDef
from storage.graph.values import check_values

DraftKind = Literal["concept_type", "predicate"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A word that the space made up. `promoted_to` is the lineage that it was promoted to."""

    kind: DraftKind
    name: str
    definition: Mapping[str, Any]
    promoted_to: str | None

    @property
    def ref(self) -> str:
        """The ref that elements keep."""
        return f"{DRAFT}/{self.name}"


@dataclass(frozen=True, slots=True)
class Promotion:
    """What was promoted: the draft's exact ref, and the exact ref that it matches now."""

    promoted: str
    to: str
    schema_env_version: int
    seq: int


def drafts(schema: Schema) -> list[Draft]:
    """The drafts of an environment, types before predicates, by name."""
    targets = {(one.kind, one.from_lineage): one.to_lineage for one in schema.maps}
    kinds: tuple[DraftKind, ...] = ("concept_type", "predicate")
    return [
        Draft(
            kind,
            symbol.local_name,
            symbol.definition,
            targets.get((kind, lineage_of(symbol.ref))),
        )
        for kind in kinds
        for symbol in schema.symbols(kind)
        if symbol.package_ref == DRAFT
    ]


def promote(
    tx: Transaction, scope: Scope, principal: str, kind: DraftKind, draft: str, to: str
) -> Promotion:
    """Let a draft and an installed symbol of its kind match as one.

    `draft` is a local name or exact ref; `to` an exact ref, a lineage, or a local name that one
    package alone has. Raises `SchemaSymbolNotFound` and `SchemaSymbolAmbiguous` for either,
    `SchemaSymbolConflict` for a draft that was promoted before, and `ConstraintViolation` where
    what was written with the draft would not be valid as `to`, since a promotion cannot be taken
    back; `NotFound` for an unknown space.
    """
    space = lock(tx, scope)
    present = environment(tx, scope)
    known = {one.name: one for one in drafts(present) if one.kind == kind}
    own = known.get(draft.removeprefix(f"{DRAFT}/"))
    if own is None:
        raise SchemaSymbolNotFound(f"There is no draft {draft!r} of that kind.")
    if own.promoted_to is not None:
        raise SchemaSymbolConflict(f"{own.ref} was promoted to {own.promoted_to} before.")
    # a local name is looked up among the packages, where the draft itself does not stand
    target = build(present.packages).symbol(kind, to)
    made = LineageMap(kind, lineage_of(own.ref), lineage_of(target.ref))
    packages = build(present.packages)
    if kind == "predicate":
        same = {one.from_lineage: one.to_lineage for one in present.maps}
        misfits = _misfits(tx, scope, made.from_lineage, packages.predicate(target.ref), same)
    else:
        misfits = _strangers(tx, scope, made.from_lineage, packages.type(target.ref))
    if misfits:
        raise ConstraintViolation(
            f"{misfits} elements that were written with {own.ref} would not be valid as "
            f"{target.ref}.",
            data={"misfits": misfits},
        )
    version = space.schema_env_version + 1
    record = control(
        tx,
        scope,
        space,
        principal=principal,
        channel="schema",
        tx_class="schema",
        schema_env_version=version,
    )
    tx.execute(
        "insert into lineage_map (space_id, symbol_kind, from_lineage, to_lineage, seq_from)"
        " values (%s, %s, %s, %s, %s)",
        (scope.space_id, kind, made.from_lineage, made.to_lineage, record.seq),
    )
    grown = build(
        present.packages,
        [(one.kind, one.name, one.definition) for one in drafts(present)],
        (*present.maps, made),
    )
    keep_environment(tx, scope, grown, version, record.seq)
    return Promotion(own.ref, target.ref, version, record.seq)


def _misfits(
    tx: Transaction, scope: Scope, lineage: str, target: PredicateDef, same: Mapping[str, str]
) -> int:
    """How many propositions of a predicate have an end that another does not take.

    `same` says which types count as which, since they were promoted.
    """
    rows = tx.execute(
        """
        select s.kind::text, s.type_lineage, o.kind::text, o.type_lineage, p.object_lit
          from proposition p
          join lateral (select kind, type_lineage from element e
                 where e.space_id = p.space_id and e.id = p.subject_id limit 1) s on true
          left join lateral (select kind, type_lineage from element e
                 where e.space_id = p.space_id and e.id = p.object_id limit 1) o on true
         where p.space_id = %s and p.predicate_lineage = %s
        """,
        (scope.space_id, lineage),
    )

    def takes(end: Endpoint, kind: str, lineage: str | None) -> bool:
        return end.takes(kind, lineage) or end.takes(kind, same.get(lineage or ""))

    return sum(
        not takes(target.subject, subject, subject_type)
        or not (
            target.object.takes_literal(literal)
            if kind is None
            else takes(target.object, kind, object_type)
        )
        for subject, subject_type, kind, object_type, literal in rows
    )


def _strangers(tx: Transaction, scope: Scope, lineage: str, target: TypeDef) -> int:
    """How many concepts of a type have attributes that another does not take."""
    rows = tx.execute(
        """
        select v.doc -> 'attributes' from element e
          join lateral (select doc from element_ver v where v.space_id = e.space_id
                 and v.id = e.id and v.seq_to = %s and v.state <> 'purged' limit 1) v on true
         where e.space_id = %s and e.kind = 'C' and e.type_lineage = %s
        """,
        (NOW, scope.space_id, lineage),
    )
    return sum(not _fits(attributes or {}, target) for (attributes,) in rows)


def _fits(attributes: Mapping[str, Any], target: TypeDef) -> bool:
    try:
        check_values(target.ref, attributes, target.fields, open=target.open, complete=True)
    except KipError:
        return False
    return True
