"""Short ways to say a conversation and to read what the built-in encoder formed of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pipelines.formation.builtin import BuiltinEncoder
from pipelines.formation.outcome import active_items
from pipelines.formation.proposal import Background, Conversation, Proposal, Utterance

#: a Monday
START = datetime(2026, 11, 30, 16, 0, tzinfo=UTC)


def conversation(*lines: str | timedelta) -> Conversation:
    """One message a line: "Ann: hello", "@Aide: hello" (an assistant); a timedelta lets time pass.

    A line without one of the names Ann, Bob, Aide is Ann's.
    """
    at = START
    messages = []
    for line in lines:
        if isinstance(line, timedelta):
            at += line
            continue
        name, separator, text = line.partition(": ")
        if not separator or name.lstrip("@") not in ("Ann", "Bob", "Aide"):
            name, text = "Ann", line
        role = "assistant" if name.startswith("@") else "user"
        messages.append(Utterance(role, name.lstrip("@"), text, at))  # type: ignore[arg-type]
        at += timedelta(minutes=1)
    return Conversation(tuple(messages))


def proposed(*lines: str | timedelta, background: Background | None = None) -> Proposal:
    """What the encoder proposes for a conversation."""
    return BuiltinEncoder().encode(conversation(*lines), background or Background())


def formed(*lines: str | timedelta) -> set[str]:
    """What stands at the end, one text an item.

    "Ann lives_in Oslo", "not Ann likes tea" (reject), "… since 2026-11" (valid_from),
    "… says Bob" (another asserter than the subject's default Ann), "Ann: send it @2026-12-04"
    (a commitment, with ", fulfilled" and the like), "rule: …".
    """
    items = active_items(proposed(*lines))
    found = set()
    for c in items["claims"]:
        text = f"{c['subject']} {c['predicate']} {c['object']}"
        if c["stance"] == "reject":
            text = f"not {text}"
        if c["valid_from"]:
            text += f" since {c['valid_from']}"
        if c["asserted_by"] != "Ann":
            text += f" says {c['asserted_by']}"
        found.add(text)
    for c in items["commitments"]:
        due = f" @{c['due'][:10]}" if c["due"] else ""
        status = "" if c["status"] == "pending" else f", {c['status']}"
        found.add(f"{c['by']}: {c['summary']}{due}{status}")
    found.update(f"rule: {c}" for c in items["constraints"])
    return found
