"""Our instructions together with what the deployment adds to them."""

from __future__ import annotations

from storage.prompt_segments import Agent, read
from storage.settings import settings


def with_segment(instructions: str, agent: Agent) -> str:
    """`instructions`, followed by the deployment's segment for `agent` where it has one."""
    folder = settings().prompts
    segment = read(folder).get(agent) if folder is not None else None
    return instructions if segment is None else f"{instructions}\n{segment}\n"
