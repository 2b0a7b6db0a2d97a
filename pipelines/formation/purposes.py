"""What an encoder's proposal comes to under the purpose that its source was handed over for.

The caller says which history it is (a correction, a change of the world, a misrecording); the
encoder finds the claims. A built-in proposal is fitted to the purpose here, since its rules know
the text alone. A model is told the purpose and is held to it: see `gates`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipelines.formation.proposal import Background, Claim, ClaimRef, KnownClaim, Proposal, Purpose
from storage.graph.keys import folded

NOT_SUPERSEDED = (
    "Nothing was superseded: say change_kind correction for what was never so, or world_change "
    "for what has changed."
)
_NONE_CORRECTED = (
    "No earlier claim of the speaker was corrected; what was said is a claim of its own."
)
_NONE_TOLD = "The source tells nothing to put in the place of an earlier claim."
_NO_CHANGE_FOUND = "The source tells no change that can be written; it is kept as evidence."


def fitted(proposal: Proposal, purpose: Purpose, background: Background) -> Proposal:
    """The proposal as its purpose has it; anything that would break a gate is taken out."""
    match purpose.change:
        case "correction":
            return corrected(proposal, purpose, background)
        case "world_change":
            return changed(_plain(proposal), purpose)
        case "misrecorded":
            return recorded(_plain(proposal))
        case "unspecified":
            return replace(_plain(proposal), claims=tuple(map(_unlinked, proposal.claims)))
    return proposal


def corrected(proposal: Proposal, purpose: Purpose, background: Background) -> Proposal:
    """Every claim that replaces one of its speaker's own says so.

    With a target, that is the one claim that is replaced; without one, a speaker's only other
    claim in the same slot is.
    """
    claims: list[Claim] = []
    target, used = purpose.target, False
    for claim in proposal.claims:
        if target is not None:
            hit = not used and _replaces(claim, target)
            used = used or hit
            claims.append(_linked(claim, target) if hit else _elsewhere(claim, target))
            continue
        if claim.change is None:
            held = [known for known in background.claims if _replaces(claim, known)]
            if len(held) == 1:
                claim = _linked(claim, held[0])
        used = used or claim.change == "correction"
        claims.append(claim)
    warnings = proposal.warnings
    if not used and not proposal.retractions:
        warnings = (*warnings, _NONE_CORRECTED if claims else _NONE_TOLD)
    return replace(proposal, claims=tuple(claims), warnings=warnings)


def changed(proposal: Proposal, purpose: Purpose) -> Proposal:
    """The one claim that holds from the change on, and nothing else."""
    claims: Sequence[Claim] = proposal.claims
    if purpose.target is not None:
        claims = [claim for claim in claims if _same_slot(claim, purpose.target)]
    told = [claim for claim in claims if claim.change == "world_change"]
    candidates = told or list(claims)
    if len(candidates) != 1:
        return replace(proposal, claims=(), warnings=(*proposal.warnings, _NO_CHANGE_FOUND))
    left = len(proposal.claims) - 1
    more = (f"{left} other claims of the source are left out: observe it for those.",)
    claim = replace(candidates[0], change="world_change")
    warnings = (*proposal.warnings, *(more if left else ()))
    return replace(proposal, claims=(_unreferring(claim),), warnings=warnings)


def recorded(proposal: Proposal) -> Proposal:
    """What the original source (message 0) says, and nothing of the report about it."""
    claims = tuple(_unlinked(claim) for claim in proposal.claims if claim.message == 0)
    return replace(proposal, claims=claims, commitments=(), constraints=())


def _plain(proposal: Proposal) -> Proposal:
    """Without retractions."""
    return replace(proposal, retractions=())


def _unlinked(claim: Claim) -> Claim:
    return replace(claim, change=None, revises=None)


def _unreferring(claim: Claim) -> Claim:
    """A reference by position means nothing once other claims are gone."""
    positional = claim.revises is not None and claim.revises.index is not None
    return replace(claim, revises=None) if positional else claim


def _linked(claim: Claim, known: KnownClaim) -> Claim:
    return replace(claim, change="correction", revises=ClaimRef(known=known.id))


def _elsewhere(claim: Claim, target: KnownClaim) -> Claim:
    """A claim beside the target corrects nothing that memory holds."""
    revises = claim.revises
    if claim.change != "correction" or revises is None or revises.known in (None, target.id):
        return claim if revises is None or revises.known != target.id else _unlinked(claim)
    return _unlinked(claim)


def _same_slot(claim: Claim, known: KnownClaim) -> bool:
    return claim.predicate == known.predicate and folded(claim.subject) == folded(known.subject)


def _replaces(claim: Claim, known: KnownClaim) -> bool:
    """Whether a claim says something else than its own speaker's earlier one in that slot."""
    says_else = folded(claim.object) != folded(known.object) or claim.stance != known.stance
    return (
        _same_slot(claim, known)
        and folded(claim.asserted_by) == folded(known.asserted_by)
        and says_else
    )
