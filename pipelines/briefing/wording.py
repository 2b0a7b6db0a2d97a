"""What the host itself says in a briefing, in the language of the question."""

from __future__ import annotations

from typing import Any

from pipelines.recall.questions import Language
from storage.clock import to_text
from storage.scoped_memory import Record

#: Characters of an item, and of a precondition that names one.
MOST, _NAMED = 4096, 200


def rule(record: Record, language: Language) -> str:
    """A standing instruction."""
    head = "长期要求：" if language == "zh" else "Standing instruction: "
    return clipped(head + record.text("summary"))


def promise(record: Record, language: Language) -> str:
    """A commitment that is still to be kept."""
    due = record.moment("due_at")
    blocked = record.attributes.get("status") == "blocked"
    if language == "zh":
        text = f"待办：{record.text('summary')}"
        text += f"，截止{to_text(due)[:10]}" if due else ""
        return clipped(text + ("（受阻）" if blocked else ""))
    text = f"To do: {record.text('summary')}"
    text += f", due {to_text(due)[:10]}" if due else ""
    return clipped(text + (" (blocked)" if blocked else ""))


def experience(record: Record) -> str:
    """An experience, a lesson or an event, with how it ended."""
    text = record.text("goal", "summary")
    outcome = record.attributes.get("outcome_summary")
    status = record.attributes.get("outcome_status")
    if isinstance(outcome, str) and outcome:
        text += f" → {outcome}"
    if isinstance(status, str) and status:
        text += f" ({status})"
    return clipped(text)


def procedure(record: Record) -> str:
    """A way to do something, unproven."""
    name = record.name
    summary = record.text("summary")
    return clipped(summary if name is None or name == summary else f"{name}: {summary}")


def short_summary(items: int, language: Language) -> str:
    """The least that is said of a briefing."""
    if language == "zh":
        return "记忆所知见条目。" if items else "记忆中没有找到与此有关的内容。"
    return "What memory holds is in the items." if items else "Nothing about this was found."


def attention_summary(items: int, language: Language) -> str:
    """The least that is said of what came up."""
    if language == "zh":
        return f"有{items}项需要注意。" if items else "没有新的注意事项。"
    return f"{items} to attend to." if items else "Nothing new to attend to."


def expanded(ref: str) -> str:
    """What an expansion says of itself."""
    return f"What {ref} was made of, in the versions of then."


def failure(progress: dict[str, Any], language: Language) -> str:
    """That an input which was waited for has not become memory."""
    why = str((progress.get("error") or {}).get("code", "unknown"))
    if language == "zh":
        return f"输入 {progress['receipt_ref']} 未能处理（{why}），其内容不在记忆中。"
    return f"The input of {progress['receipt_ref']} could not be processed ({why}): it is missing."


def precondition(status: str, text: str) -> str:
    """A premise that is not settled."""
    return f"{status}: {text[:_NAMED]}"


def clipped(text: str, most: int = MOST) -> str:
    """At most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"
