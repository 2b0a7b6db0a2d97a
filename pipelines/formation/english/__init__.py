"""The rules for English: `read` tells what one message of a conversation says."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from pipelines.formation.discourse import Discourse
from pipelines.formation.english import (
    answers,
    belongings,
    commitments,
    constraints,
    corrections,
    health,
    identity,
    occupation,
    preferences,
    relations,
    residence,
)
from pipelines.formation.english.clauses import clauses_of
from pipelines.formation.english.names import persons_in
from pipelines.formation.english.sentences import Sentence, read_frame
from pipelines.formation.findings import ClaimRetracted, ClaimStated, Finding
from pipelines.formation.proposal import Conversation

#: hours after which a game of roles counts as over
_PLAY_LASTS = 6.0
_FACTS = (
    relations.read,
    residence.read,
    occupation.read,
    identity.read,
    health.read,
    belongings.read,
    preferences.read,
)


def read(conversation: Conversation, index: int, memory: Discourse) -> list[Finding]:
    """The findings of `conversation.messages[index]` in the order of its text.

    Assistants state nothing about anybody; of them only a dated promise of their own is read.
    """
    message = conversation.messages[index]
    frame = read_frame(message.text)
    if _in_play(conversation, index, memory, ends=frame.play_ends):
        return []
    if frame.play:
        memory.scratch["play"] = index
    if memory.is_material(index):
        return []
    if frame.material_follows:
        memory.expect_material(index)
    found: list[Finding] = []
    for sentence in frame.sentences:
        for name, gender in persons_in(sentence.text) if message.role == "user" else []:
            memory.mention(name, index, gender)
        assistant = message.role == "assistant"
        fresh = [f for f in found if isinstance(f, ClaimStated)]
        found.extend(_read_sentence(sentence, index, memory, fresh, assistant=assistant))
    return found


def _in_play(conversation: Conversation, index: int, memory: Discourse, *, ends: bool) -> bool:
    started = memory.scratch.get("play")
    if started is None:
        return False
    gap = conversation.messages[index].at - conversation.messages[started].at
    if ends or gap.total_seconds() > _PLAY_LASTS * 3600:
        del memory.scratch["play"]
        return False
    return True


def _read_sentence(
    s: Sentence, index: int, memory: Discourse, fresh: list[ClaimStated], *, assistant: bool
) -> list[Finding]:
    found: list[Finding] = []
    if assistant:
        if s.stated:
            for clause in clauses_of(s, index, memory):
                found.extend(commitments.read(clause, s, memory))
        return found
    s = answers.completed(s, index, memory)
    reminded = commitments.reminders(s, index, memory)
    standing = constraints.read(s, index, memory)
    if not s.stated:
        return reminded + standing
    claims: list[Finding] = []
    promises: list[Finding] = []
    for clause in clauses_of(s, index, memory):
        for rule in _FACTS:
            claims.extend(rule(clause, memory))
        if not standing and not reminded:
            promises.extend(commitments.read(clause, s, memory))
    claims = _as_corrections(s, claims, index, memory)
    claims.extend(corrections.afterthought(s, index, claims))
    put_right = corrections.read(
        s, index, memory, whole_claims=bool(claims or promises), fresh=fresh
    )
    if any(isinstance(f, ClaimRetracted) for f in put_right):
        gone = [f.about for f in put_right if isinstance(f, ClaimRetracted)]
        claims = [f for f in claims if not (_supports(f) and f.object in gone)]
        return reminded + standing + put_right + claims + promises
    if corrections.in_jest(s):
        claims = [f for f in claims if not _supports(f)]
    return reminded + standing + claims + put_right + promises


def _supports(f: Finding) -> TypeGuard[ClaimStated]:
    return isinstance(f, ClaimStated) and f.stance == "support"


def _as_corrections(
    s: Sentence, claims: list[Finding], index: int, memory: Discourse
) -> list[Finding]:
    """Facts in a sentence that begins by owning up to a mistake correct the earlier ones.

    A predicate with many values ("I like …") corrects only what the sentence denies ("not tea") or
    the one such claim of the speaker's last message; "now" speaks of a change, not of a mistake.
    """
    if not claims or not corrections.CUE.match(s.text) or corrections.CHANGED.search(s.text):
        return claims
    denied = corrections.DENIED.search(s.text)
    result: list[Finding] = []
    for f in claims:
        if not isinstance(f, ClaimStated) or f.change is not None or f.stance != "support":
            result.append(f)
            continue
        replaces = denied["wrong"] if denied else None
        if replaces is None and f.predicate not in corrections.SINGLE:
            last = [
                h.claim.object
                for h in memory.own_claims(memory.speaker(index), index)
                if h.claim.predicate == f.predicate and h.claim.subject == f.subject
            ]
            if len(last) != 1 or not corrections.STRONG.search(s.text):
                result.append(f)
                continue
            replaces = last[0]
        result.append(replace(f, change="correction", replaces=replaces))
    return result
