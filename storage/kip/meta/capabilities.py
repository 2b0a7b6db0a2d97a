"""What this engine can do: the one registry behind DESCRIBE CAPABILITIES, `requires` and README.

`supported` says that the engine knows how, `available` that it does so here and now (an embedder
may be switched off). A capability is met when both hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from storage.graph import belief_dependencies, finding
from storage.graph.outcomes import RETENTION
from storage.graph.schema import MAX_DRAFTS
from storage.kip.errors import UnsupportedCapability
from storage.search.embedder import is_local


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Capability:
    """One entry: what it means here, in a sentence, and its bounds (each with its unit)."""

    name: str
    supported: bool
    sentence: str
    limits: Mapping[str, Any] = field(default_factory=dict)
    here: Callable[[], bool] = _always

    @property
    def available(self) -> bool:
        """Whether it can be used on this server at present."""
        return self.supported and self.here()

    def as_json(self) -> dict[str, Any]:
        """The entry of DESCRIBE CAPABILITIES."""
        entry: dict[str, Any] = {
            "supported": self.supported,
            "available": self.available,
            "description": self.sentence,
        }
        return {**entry, "limits": dict(self.limits)} if self.limits else entry


def _yes(name: str, sentence: str, **limits: Any) -> Capability:
    return Capability(name, True, sentence, limits)


def _no(name: str, sentence: str) -> Capability:
    return Capability(name, False, sentence)


_EMBEDDED = "messages are found when their vector is made, moments to minutes after the commit"

_ALL = (
    # reading
    _yes(
        "historical_reads",
        "AS OF SEQ reads any state that the space has had; nothing but erasure rewrites the past.",
    ),
    _yes("belief_slot", "BELIEF SLOT weighs all values of one subject and predicate together."),
    _yes("search_pattern", "SEARCH is a pattern of FIND, too; it binds the best LIMIT hits."),
    _yes(
        "keyword_search",
        "SEARCH by words over all five kinds; what a commit wrote is found at once, and the answer"
        " says whether it is exhaustive.",
        ranked_hits=finding.MAX_RANKED,
        query_words=finding.MAX_TERMS,
        query_characters=finding.MAX_QUERY,
    ),
    _no(
        "semantic_search",
        "SEARCH by meaning over every kind; only Evidence has vectors, see"
        " evidence_semantic_search.",
    ),
    _no(
        "hybrid_search",
        "SEARCH by words and meaning over every kind; see evidence_semantic_search.",
    ),
    Capability(
        "evidence_semantic_search",
        True,
        f"SEARCH EVIDENCE in MODE semantic and hybrid, by a model on this server; {_EMBEDDED}.",
        here=is_local,
    ),
    _no("historical_search", "SEARCH with AS OF SEQ; the index holds the present alone."),
    _yes(
        "search_index_freshness",
        "Every SEARCH names the sequence that its index is of; for words it is the present one.",
    ),
    _yes(
        "weighted_projection_policies",
        "WITH EPISTEMIC chooses among the policies that LIST EPISTEMIC POLICIES names.",
    ),
    _no("weighted_projection", "Belief by numbers; our policies weigh structure, never scores."),
    _no("materialized_projection", "Stored beliefs; a belief is computed when it is asked for."),
    _yes(
        "change_stream",
        "CHANGES and HISTORY tell each transaction whole, without values, in dense sequence.",
        envelopes=500,
    ),
    # writing
    _yes("transition", "TRANSITION moves elements between the states of their lifecycle."),
    _yes("version_planes", "EXPECT VERSION guards attributes, structure, retention or one facet."),
    _yes(
        "serializable_transactions",
        "Writes of a space run one after the other; each sees the one before.",
    ),
    _yes("serializable_isolation", "The same as serializable_transactions, by its older name."),
    _no("atomic_batch", "Several operations as one transaction; MUTATE joins statements instead."),
    _yes(
        "idempotency_retention",
        "The outcome of a request with an idempotency key is kept and given again.",
        hours=int(RETENTION.total_seconds() // 3600),
    ),
    _yes("ingestion_context", "ingest.evidence mints evidence in the transaction that cites it."),
    _yes(
        "payload_purge",
        "PURGE PAYLOAD erases the bytes of an evidence and keeps its record.",
    ),
    _yes(
        "draft_vocabulary",
        "DEFINE adds types and predicates to kip://local/draft.",
        symbols=MAX_DRAFTS,
        defines_per_request=8,
    ),
    _yes(
        "symbol_lineage",
        "Types and predicates match across versions of their package and after promotion.",
    ),
    _yes(
        "computed_strength",
        "effective_strength decays from memory_strength when it is read, by its named policy.",
    ),
    _yes(
        "dependency_validity",
        "Inferred claims are current, in need of review or unverifiable by their DependencyBasis,"
        " which is looked at whenever a belief is asked for.",
        depth=belief_dependencies.MAX_DEPTH,
    ),
    _yes(
        "recording_repair",
        "What was recorded wrongly is invalid from the outset, by revise of the Memory Interface;"
        " the language itself cannot do it.",
    ),
    _yes("exposure_log", "Recalls of the Memory Interface note which elements they retrieved."),
    # governance and exchange
    _no("derive_permission", "A permission of its own for derived material."),
    _no("record_outcome_permission", "A permission of its own for outcome evidence."),
    _no("trust_management", "Changing trust records from within the language."),
    _no("signed_receipts", "Receipts with a signature; ours carry a digest."),
    _no("artifacts", "Payloads by artifact handle; payloads come inline."),
    _no("capsule_export", "EXPORT CAPSULE and DESCRIBE CAPSULE."),
    _no("capsule_import", "VERIFY, VALIDATE and PREVIEW of capsules, and importing one."),
    _no("schema_package_artifacts", "VERIFY and VALIDATE of packages that are not installed."),
    _no("kip1_migration", "Bringing over memories of KIP 1."),
)

#: Every capability by its name.
REGISTRY: Mapping[str, Capability] = MappingProxyType({one.name: one for one in _ALL})


def described() -> dict[str, Any]:
    """The registry as DESCRIBE CAPABILITIES tells it, by name."""
    return {name: REGISTRY[name].as_json() for name in sorted(REGISTRY)}


def missing(requires: Mapping[str, Any] | Iterable[str]) -> list[str]:
    """Those of a request's `requires` that are not met, by name.

    An entry is met when it is false or null (nothing is required), or when the capability is
    available; with an object of bounds, every one of them must be within ours.
    """
    wanted = requires if isinstance(requires, Mapping) else dict.fromkeys(requires, True)
    return sorted(name for name, demand in wanted.items() if not _met(name, demand))


def unsupported(names: Iterable[str]) -> UnsupportedCapability:
    """The refusal that names capabilities which are not met."""
    named = sorted(names)
    told = [f"{name} ({REGISTRY[name].sentence})" if name in REGISTRY else name for name in named]
    return UnsupportedCapability(
        f"This server does not have: {'; '.join(told)}", data={"capabilities": named}
    )


def markdown() -> str:
    """The registry as a Markdown table, with the words of DESCRIBE CAPABILITIES."""
    rows = ["| Capability | Supported | What it means here |", "|---|---|---|"]
    for name in sorted(REGISTRY):
        one = REGISTRY[name]
        bounds = ", ".join(f"{limit} {value:,}" for limit, value in one.limits.items())
        sentence = f"{one.sentence} Bounds: {bounds}." if bounds else one.sentence
        rows.append(f"| `{name}` | {'yes' if one.supported else 'no'} | {sentence} |")
    return "\n".join(rows) + "\n"


def _met(name: str, demand: Any) -> bool:
    if demand is None or demand is False:
        return True
    known = REGISTRY.get(name)
    if known is None or not known.available:
        return False
    if not isinstance(demand, Mapping):
        return True
    return all(
        limit in known.limits and isinstance(wanted, int | float) and wanted <= known.limits[limit]
        for limit, wanted in demand.items()
    )
