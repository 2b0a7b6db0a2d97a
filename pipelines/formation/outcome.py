"""What a proposal leaves standing, in the shape of the acceptance cases' results."""

from __future__ import annotations

from typing import Any

from pipelines.formation.proposal import Proposal


def active_items(proposal: Proposal) -> dict[str, list[Any]]:
    """Claims still active after the last message, commitments and constraints, as plain JSON.

    A claim that a correction replaces, or that is retracted, is left out; a world change leaves
    the earlier claim standing. Times are RFC 3339 in UTC.
    """
    gone = {
        c.revises.index
        for c in proposal.claims
        if c.change == "correction" and c.revises is not None and c.revises.index is not None
    } | {r.claim.index for r in proposal.retractions if r.claim.index is not None}
    claims = [
        {
            "subject": c.subject,
            "predicate": c.predicate,
            "object": c.object,
            "stance": c.stance,
            "asserted_by": c.asserted_by,
            "valid_from": c.valid_from,
            "valid_until": c.valid_until,
            "change": c.change,
        }
        for i, c in enumerate(proposal.claims)
        if i not in gone
    ]
    commitments = [
        {
            "summary": c.summary,
            "by": c.by,
            "due": c.due.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            if c.due
            else None,
            "status": c.status,
        }
        for c in proposal.commitments
    ]
    constraints = [c.text for c in proposal.constraints if c.withdraws is None]
    return {"claims": claims, "commitments": commitments, "constraints": constraints}
