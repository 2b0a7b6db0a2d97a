"""Commands that look at memory itself: its vocabulary, its history, its capsules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

from storage.kip.language.ast_patterns import Block, ElementKind
from storage.kip.language.ast_terms import Node, ObjectValue, Scalar, Target


@dataclass(frozen=True, slots=True)
class Describe(Node):
    """`DESCRIBE target …`; which fields are given follows from the target.

    `value` is what is described; `to` the second package of COMPATIBILITY; `by_key` says that
    `value` is the idempotency key of a TRANSACTION.
    """

    target: str
    value: Scalar | None = None
    to: Scalar | None = None
    by_key: bool = False
    mode: Scalar | None = None
    as_of: Scalar | None = None
    at_time: Scalar | None = None
    options: ObjectValue | None = None


@dataclass(frozen=True, slots=True)
class List(Node):
    """`LIST target …`; `value` and `depth` for DEPENDENTS, `status` for SCHEMA PACKAGES."""

    target: str
    value: Scalar | None = None
    depth: Scalar | None = None
    status: Scalar | None = None
    limit: Scalar | None = None
    cursor: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Search(Node):
    """`SEARCH kind query …`."""

    kind: ElementKind
    query: Scalar
    type: Scalar | None = None
    predicate: Scalar | None = None
    mode: Scalar | None = None
    threshold: Scalar | None = None
    as_of: Scalar | None = None
    limit: Scalar | None = None
    cursor: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Verify(Node):
    """`VERIFY CAPSULE|SCHEMA PACKAGE|RECEIPT value`."""

    target: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class Validate(Node):
    """`VALIDATE KQL|KML|CAPSULE|SCHEMA PACKAGE|IMPORT PLAN value [WITH {…}]`."""

    target: str
    value: Scalar
    options: ObjectValue | None = None


@dataclass(frozen=True, slots=True)
class Preview(Node):
    """`PREVIEW KML value` or `PREVIEW IMPORT CAPSULE value INTO space`."""

    target: OneOf["KML", "IMPORT CAPSULE"]
    value: Scalar
    into: Scalar | None = None


@dataclass(frozen=True, slots=True)
class History(Node):
    """`HISTORY ELEMENT value …` or `HISTORY SPACE …`."""

    target: OneOf["ELEMENT", "SPACE"]
    value: Scalar | None = None
    from_seq: Scalar | None = None
    to_seq: Scalar | None = None
    limit: Scalar | None = None
    cursor: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Changes(Node):
    """`CHANGES SINCE cursor` or `CHANGES AFTER SEQ n`: one of the two is given."""

    since: Scalar | None = None
    after_seq: Scalar | None = None
    limit: Scalar | None = None


@dataclass(frozen=True, slots=True)
class ExportCapsule(Node):
    """`EXPORT CAPSULE root WHERE {…} [WITH {…}] [AS OF SEQ n]`."""

    root: Target
    where: Block
    options: ObjectValue | None = None
    as_of: Scalar | None = None


Meta = Describe | List | Search | Verify | Validate | Preview | History | Changes | ExportCapsule
