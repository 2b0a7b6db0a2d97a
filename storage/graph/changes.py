"""What a writer may ask of memory: declarative operations, applied whole or not at all.

An operation names elements by id (`C-7`) or by a handle (`?alice`) that another operation of the
same `ChangeSet` defines; operations have no order, so a handle may be used before it is defined.
`storage.graph.commit.commit` resolves, validates and writes them. The KIP language compiles to
this, and every program path writes through it (contract kip-engine section 5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from storage.graph.validity import UNSTATED, ValidTime
from storage.graph.wording import Wording

#: `?handle` of the same change set, or the id of an element.
Ref = str

Mode = Literal["observed", "stated", "inferred", "predicted", "hypothetical", "imported"]
Stance = Literal["support", "reject", "uncertain"]
CitationRole = Literal["support", "challenge", "context"]
ReferencePolicy = Literal["deny_if_referenced", "tombstone_reference", "authorized_cascade"]
TargetState = Literal[
    "retracted",
    "superseded",
    "corrected",
    "running",
    "completed",
    "failed",
    "cancelled",
    "active",
    "archived",
    "tombstoned",
]


@dataclass(frozen=True, slots=True)
class Value:
    """A literal object: string, number, boolean or null (where the predicate allows it)."""

    value: str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """An object that no concept of this space is: `{canonical_id: …}`, stored as that object.

    It may stand wherever the predicate takes an element; what it is of is not known here.
    """

    canonical_id: str


@dataclass(frozen=True, slots=True)
class Link:
    """A structural reference from the element that carries it.

    `field` is a core field's plain name, or a profile field by local name or exact ref. For a
    field that takes one target only, a link replaces the present one.
    """

    field: str
    target: Ref
    role: str | None = None
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """Evidence that an assertion rests on."""

    evidence: Ref
    role: CitationRole = "support"


@dataclass(frozen=True, slots=True)
class Guard:
    """`EXPECT VERSION version [OF plane]`; a bare 0 says that the element must not exist yet.

    `plane` is None for the element's own version, else "attributes", "structural", "retention"
    or the exact ref of a facet.
    """

    version: int
    plane: str | None = None


@dataclass(frozen=True, slots=True)
class DefineSymbol:
    """A new type or predicate of `kip://local/draft`, usable in the same change set.

    `definition` has `description` (required) and, for a predicate, `subject`, `object`,
    `functional`, `functional_by`, `boolean_completeness`, `temporal_conflict`; for a type,
    `attributes {open, fields}`. With `if_absent`, a symbol of that kind and name that exists
    already is left alone; else it is a `SchemaSymbolConflict`.
    """

    symbol_kind: Literal["concept_type", "predicate"]
    name: str
    definition: Mapping[str, Any]
    if_absent: bool = False


@dataclass(frozen=True, slots=True)
class CreateConcept:
    """A new concept. Taken `key`: `IdentityConflict`. See `commit` for `client_key`."""

    handle: str
    type: str
    name: str | None = None
    key: str | None = None
    client_key: str | None = None
    aliases: tuple[str, ...] = ()
    canonical_id: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    facets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class UpsertConcept:
    """The concept of that id, or of that type and key, created when it does not exist.

    An id never creates, and creating needs `type`. `name`, `aliases`, `attributes`, `facets`,
    `links` are set either way; `initial_name` and `initial_attributes` only when the concept is
    created. `canonical_id` is set once. Of a member that is set and unset, the setting counts.
    """

    handle: str
    type: str | None = None
    key: str | None = None
    id: str | None = None
    name: str | None = None
    initial_name: str | None = None
    initial_attributes: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    unset_attributes: tuple[str, ...] = ()
    facets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    unset_name: bool = False
    unset_facets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unlinks: tuple[Link, ...] = ()
    aliases: tuple[str, ...] | None = None
    canonical_id: str | None = None
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class UpdateConcept:
    """Shallow changes to a concept; what is already so counts as no change.

    `unset_facets` names the members to take out of a facet; none named: the whole facet. Of a
    member that is set and unset, the setting counts.
    """

    target: Ref
    name: str | None = None
    unset_name: bool = False
    aliases: tuple[str, ...] | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    unset_attributes: tuple[str, ...] = ()
    facets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unset_facets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    unlinks: tuple[Link, ...] = ()
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class UpdateRecord:
    """Changes to the mutable facets of a proposition, assertion, evidence or activity.

    Everything else of a record is written once: claims are revised, evidence is corrected.
    """

    target: Ref
    facets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unset_facets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class SetRetention:
    """How long an element is kept. `values` holds any of `retention_class`, `expires_at` (text) and
    `legal_hold`; None takes a member away, and members that are not named stay as they are."""

    target: Ref
    values: Mapping[str, Any]
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class InvalidateRecording:
    """Mark a claim as never made: what was recorded is not what its source says.

    Payload and lifecycle stay, and reads of the time before still have it as it was. `repair` is
    the activity that tells why. No statement of the language comes to this.
    """

    target: Ref
    repair: Ref
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class MergeConcept:
    """`source` is the same as `into`: it stays addressable and reads match through it."""

    source: Ref
    into: Ref
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class Purge:
    """Erase an element from the present and from history; its id remains as a stub.

    With references to it: `deny_if_referenced` refuses (`PurgeDenied`), `tombstone_reference`
    leaves them pointing at the stub, `authorized_cascade` erases what refers to it, too. A legal
    hold refuses before anything else (`LegalHoldConflict`), also one that a cascade meets.
    """

    target: Ref
    policy: ReferencePolicy = "deny_if_referenced"
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class PurgePayload:
    """Erase the bytes of an evidence; record, digest and citations survive."""

    target: Ref
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class EnsureProposition:
    """The proposition (subject, predicate, object), found or created."""

    handle: str
    subject: Ref
    predicate: str
    object: Ref | Value | Elsewhere
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateAssertion:
    """Somebody's claim about a proposition.

    `asserted_at` is when the claim was made (None: the time of the commit). `interval_of` copies
    the interval of an assertion that this one corrects: its `valid_time`, and a missing start as
    "by the time that one was made" (section 5). With `once`, an assertion of the same actor about
    the same proposition, with the same stance, mode and contexts, that cites the same evidence is
    taken for this one, whatever its state; then nothing is written.
    """

    handle: str
    proposition: Ref
    asserted_by: Ref
    mode: Mode
    stance: Stance = "support"
    confidence: float | None = None
    asserted_at: datetime | None = None
    valid: ValidTime = UNSTATED
    interval_of: Ref | None = None
    contexts: tuple[Ref, ...] = ()
    citations: tuple[Citation, ...] = ()
    client_key: str | None = None
    facets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    once: bool = False


@dataclass(frozen=True, slots=True)
class CreateEvidence:
    """A record of what was said, seen or measured; `payload` is kept as it is.

    With `content_ref`, the bytes are kept elsewhere under that name, and `payload` is None.

    With `once`, evidence of the same `content_digest` is taken for this one. A digest under
    suppression is refused with `SourceSuppressed`.
    """

    handle: str
    evidence_class: str
    payload: Any
    content_digest: str | None = None
    media_type: str | None = None
    observed_at: datetime | None = None
    content_ref: str | None = None
    client_key: str | None = None
    facets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    once: bool = False


@dataclass(frozen=True, slots=True)
class CreateActivity:
    """A process that used `inputs` and made `outputs`; frozen once its status is terminal.

    With `only_with_effect`, it is recorded only when the commit creates or changes one of the
    outputs; a handle of an unrecorded activity stands for nothing.
    """

    handle: str
    activity_class: str
    status: Literal["pending", "running", "completed", "failed", "cancelled"] = "pending"
    started_at: datetime | None = None
    ended_at: datetime | None = None
    inputs: tuple[Ref, ...] = ()
    outputs: tuple[Ref, ...] = ()
    associated_actors: tuple[Ref, ...] = ()
    parameters_digest: str | None = None
    client_key: str | None = None
    facets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    only_with_effect: bool = False
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Transition:
    """Move an element to another state; already there is no change.

    Assertions: retracted, superseded (`by` the replacing assertion). Evidence: corrected (`by`).
    Activities: running, completed, failed, cancelled (these take the times and links). Any
    element: archived, active again after it was archived, tombstoned.
    """

    target: Ref
    to: TargetState
    by: Ref | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    links: tuple[Link, ...] = ()
    guards: tuple[Guard, ...] = ()


Change = (
    DefineSymbol
    | CreateConcept
    | UpsertConcept
    | UpdateConcept
    | EnsureProposition
    | CreateAssertion
    | CreateEvidence
    | CreateActivity
    | Transition
    | UpdateRecord
    | SetRetention
    | InvalidateRecording
    | MergeConcept
    | Purge
    | PurgePayload
)


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """Everything that is to become true together.

    `wording` says, by handle or id, how elements are to be found, where the writer knows better
    words than those of the element itself.
    """

    changes: tuple[Change, ...] = ()
    wording: Mapping[Ref, Wording] = field(default_factory=dict)
