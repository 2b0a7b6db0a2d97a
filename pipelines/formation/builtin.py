"""The built-in encoder: rules for English and Chinese, deterministic, offline, without a model.

Each message is cleared of what nobody says in it (`masking`), divided between the two languages
(`script`), read by that language's rules, and folded into the `Discourse`. Precision goes before
recall: what the text does not state is not claimed (design section 5.1).
"""

from __future__ import annotations

from dataclasses import replace

from pipelines.formation.chinese import read as read_chinese
from pipelines.formation.discourse import Discourse, Reader
from pipelines.formation.english import read as read_english
from pipelines.formation.masking import EXAMINED, readable
from pipelines.formation.proposal import Background, Conversation, Proposal
from pipelines.formation.purposes import fitted
from pipelines.formation.script import Language, segments
from pipelines.formation.summary import summary_of

_READERS: dict[Language, Reader] = {"en": read_english, "zh": read_chinese}


class BuiltinEncoder:
    """Proposes memory by rules alone. Stateless: one instance serves all threads."""

    id = "builtin-1"

    def encode(self, conversation: Conversation, background: Background) -> Proposal:
        """Reads every message of users and assistants in order; never raises for odd text.

        Messages longer than `masking.EXAMINED` characters are read up to there, with a warning.
        """
        purpose = conversation.purpose
        if purpose is not None and purpose.change == "misrecorded":
            # what the original source says, whatever the report says about it
            conversation = replace(conversation, messages=conversation.messages[:1])
        readings = tuple(
            replace(m, text=readable(m.text)) if m.role in ("user", "assistant") else m
            for m in conversation.messages
        )
        masked = replace(conversation, messages=readings)
        memory = Discourse(masked, background)
        warnings: list[str] = []
        for index, message in enumerate(readings):
            if message.role not in ("user", "assistant"):
                continue
            original = conversation.messages[index].text
            if len(original) > EXAMINED:
                warnings.append(f"message {index}: only its first {EXAMINED} characters were read")
            parts = segments(message.text)
            for language, text in parts:
                part = masked
                if len(parts) > 1:
                    spoken = replace(message, text=text)
                    part = replace(
                        masked, messages=(*readings[:index], spoken, *readings[index + 1 :])
                    )
                for finding in _READERS[language](part, index, memory):
                    memory.apply(finding)
        claims, retractions, commitments, constraints = memory.outcome()
        proposal = Proposal(
            claims=claims,
            retractions=retractions,
            commitments=commitments,
            constraints=constraints,
            summary=summary_of(masked),
            warnings=tuple(warnings),
        )
        return proposal if purpose is None else fitted(proposal, purpose, background)
