"""What a commit will write: elements as they will be, and references to make and to end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from storage.graph.changes import CreateActivity, CreateAssertion, CreateEvidence, DefineSymbol
from storage.graph.schema import FieldDef, Schema
from storage.graph.state import Stored, StoredAssertion, StoredProposition


@dataclass(slots=True)
class Planned:
    """An element as it will be. `version` and `before` are those of the present (0, None: new).

    `touched` has the paths that change: `fields.name`, `attributes.x`, `facets.<ref>.x`,
    `structural.x`, `retention.x`, `_system.state`. `erased` says what a purge takes of it.
    """

    id: str
    kind: str
    schema_ref: str | None = None
    type_lineage: str | None = None
    key: str | None = None
    client_key: str | None = None
    client_digest: str | None = None
    before: Stored | None = None
    state: str = "active"
    status: str | None = None
    name: str | None = None
    planes: dict[str, Any] = field(default_factory=dict)
    doc: dict[str, Any] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    assigned: dict[str, str] = field(default_factory=dict)
    proposition: StoredProposition | None = None
    assertion: CreateAssertion | None = None
    said: StoredAssertion | None = None
    evidence: CreateEvidence | None = None
    activity: CreateActivity | None = None
    activity_class: str | None = None
    guarded: bool = False
    erased: Literal["element", "payload"] | None = None

    @property
    def new(self) -> bool:
        """Whether this commit creates it."""
        return self.before is None

    @property
    def changed(self) -> bool:
        """Whether this commit creates it or writes a new version of it."""
        return self.before is None or bool(self.touched)

    @property
    def version(self) -> int:
        """Its version after the commit."""
        present = 0 if self.before is None else self.before.version
        return present + 1 if self.changed else present


@dataclass(frozen=True, slots=True)
class Edge:
    """A structural reference to be written or ended."""

    source: str
    field: FieldDef
    target: str
    role: str | None
    position: int | None


@dataclass(slots=True)
class WriteSet:
    """What a commit writes. `ids` maps every handle to its element.

    `schema` is the environment after it, `merges` has the source and the target of each merge.
    """

    schema: Schema
    ids: dict[str, str] = field(default_factory=dict)
    elements: list[Planned] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    ended: list[Edge] = field(default_factory=list)
    drafts: list[DefineSymbol] = field(default_factory=list)
    merges: list[tuple[str, str]] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether nothing would change."""
        return not (self.elements or self.edges or self.ended or self.drafts)
