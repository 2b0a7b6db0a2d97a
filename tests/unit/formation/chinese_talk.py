"""A short notation for Chinese conversations and for what the built-in encoder makes of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pipelines.formation.builtin import BuiltinEncoder
from pipelines.formation.outcome import active_items
from pipelines.formation.proposal import Background, Conversation, Proposal, Utterance

#: a Monday
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def encoded(*turns: str, at: datetime = NOON) -> Proposal:
    """The proposal for turns "何田|我住在成都" (顾南 speaks where no name is), a day apart."""
    messages = []
    for day, turn in enumerate(turns):
        speaker, mark, text = turn.partition("|")
        if not mark:
            speaker, text = "顾南", turn
        role = speaker if speaker in ("assistant", "system", "tool") else "user"
        messages.append(Utterance(role, speaker, text, at + timedelta(days=day)))  # type: ignore[arg-type]
    return BuiltinEncoder().encode(Conversation(tuple(messages)), Background())


def told(*turns: str, at: datetime = NOON) -> list[str]:
    """What stands at the end, a line for each item.

    "顾南 lives_in 成都 @2026-05", "顾南 allergic_to ¬花生" (reject),
    "> 顾南 交报告 2026-12-04 pending", "! 以后用中文回答".
    """
    found = active_items(encoded(*turns, at=at))
    lines = [
        f"{c['subject']} {c['predicate']} {'¬' if c['stance'] == 'reject' else ''}{c['object']}"
        + (f" @{c['valid_from']}" if c["valid_from"] else "")
        for c in found["claims"]
    ]
    lines += [
        f"> {c['by']} {c['summary']} {(c['due'] or 'undated')[:10]} {c['status']}"
        for c in found["commitments"]
    ]
    return lines + [f"! {text}" for text in found["constraints"]]
