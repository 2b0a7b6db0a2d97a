"""Reads one Chinese message: sentence by sentence, clause by clause, topic by topic."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from itertools import pairwise

from pipelines.formation.chinese import (
    answers,
    belongings,
    commitments,
    constraints,
    contrasts,
    corrections,
    kinship,
    preferences,
    residence,
    traits,
    work,
)
from pipelines.formation.chinese import moods as mood
from pipelines.formation.chinese.clauses import Sentence, sentences
from pipelines.formation.chinese.folding import folded
from pipelines.formation.chinese.lines import has_own_profile, own_lines
from pipelines.formation.chinese.periods import find
from pipelines.formation.chinese.persons import People, Subject
from pipelines.formation.chinese.phrase import Phrase
from pipelines.formation.chinese.statement import Statement, without_adverbs, without_connectives
from pipelines.formation.dates_chinese import DatePhrase, Tense
from pipelines.formation.discourse import Discourse
from pipelines.formation.findings import ClaimStated, ConstraintGiven, Finding
from pipelines.formation.likeness import names_part_of
from pipelines.formation.masking import awaits_material
from pipelines.formation.proposal import Conversation

_PAST = re.compile(
    r"了|过(?![去来敏年节会户程度关])|刚|已|曾|昨|前天|上周|上个?月|去年|前年|当时|以来"
    r"|(?<!一)起|出生|生于|一直|开始"
)
_COMING = re.compile(
    r"(?<!不)(?<![学机约])会|要(?!么)|将(?=[去来在把要会])|打算|准备|计划|(?<!觉)(?<!获)"
    r"(?<!取)(?<!记)得(?=[去交还把])|必须|提醒|改到|推迟到|提前到|约[了在好]|预约|订了"
    r"|取消|别让我忘|别忘|[改推延挪][迟期后约]?(?:到|成|至|在|为)|顺延|提前到"
    r"|不[^,]{1,12}了"
)
_HAN = re.compile(r"[㐀-鿿]")
_ASKS_YOU = re.compile(r"你")
_LEADING_TIME = re.compile(r"^(?:我|本人|他|她)")
#: 坐高铁我喜欢靠窗的座位: what the preference is about stands first
_TOPIC = re.compile(
    r"^(?!我|你|他|她|大家|别人|有人)[^我你他她,]{2,10}?(?:的话|的时候|时|上)?(?=我(?:一般"
    r"|平时|还是|最|更|很|都|也|比较|一直|只|不|从来|就|总)*(?:喜欢|偏爱|偏好|讨厌"
    r"|爱[吃喝坐看听]|倾向|宁愿|宁可))"
)
#: messages before this one that are searched for the opening of a role play
_REMEMBERED = 6


def read(conversation: Conversation, index: int, discourse: Discourse) -> list[Finding]:
    """The findings of `conversation.messages[index]`, in the order of the text.

    Masked text is expected (`masking.readable`). Only users' messages state anything; what an
    assistant says or asks is no claim. Never raises for odd text.
    """
    message = conversation.messages[index]
    if message.role != "user" or not message.text.strip() or discourse.is_material(index):
        return []
    if awaits_material(message.text):
        discourse.expect_material(index)
    return _Reading(conversation, index, discourse).findings()


class _Reading:
    """The state while one message is read."""

    def __init__(self, conversation: Conversation, index: int, discourse: Discourse) -> None:
        self.index = index
        self.discourse = discourse
        self.speaker = discourse.speaker(index)
        self.at = discourse.at(index)
        said = answers.completed(conversation.messages[index].text, conversation, index)
        self.words = own_lines(said, self.speaker)
        self.text = folded(self.words)
        self.people = People(discourse, index)
        self.diary = commitments.Diary(discourse, index)
        self.found: list[Finding] = []
        self.given: list[str] = []
        self.slipped = False
        self.closed = mood.message_closed(self.text) or self._in_play(conversation)
        self.barred = mood.overrides(self.text)
        self.ironic = mood.sarcastic(self.text)
        self.profiled = has_own_profile(conversation.messages[index].text)
        self.subject: str | None = self.speaker if self._may_imply(conversation) else None
        self.pet: ClaimStated | None = None
        self.kin: str | None = None
        self.chose = False
        #: whether the sentence said that somebody left their work
        self.left = False
        #: dates of a clause that holds nothing else; they belong to the next
        self.carried: tuple[DatePhrase, ...] = ()

    def _in_play(self, conversation: Conversation) -> bool:
        earlier = [
            folded(m.text[:400])
            for m in conversation.messages[max(0, self.index - _REMEMBERED) : self.index]
            if _HAN.search(m.text[:400])
        ]
        return mood.plays_a_role([*earlier, self.text[:400]]) if earlier else False

    def _may_imply(self, conversation: Conversation) -> bool:
        """Whether a sentence without a subject can only be about its speaker."""
        for m in reversed(conversation.messages[: self.index]):
            if m.role in ("user", "assistant") and m.speaker != self.speaker:
                return bool(_ASKS_YOU.search(folded(m.text[:400])))
        return True

    def findings(self) -> list[Finding]:
        first = True
        for sentence in sentences(self.words):
            self._sentence(sentence, first)
            first = False
        return self.found

    def _sentence(self, sentence: Sentence, first: bool) -> None:
        text = sentence.whole.text
        if mood.claims_authority(text):
            return
        before = len(self.found)
        self.diary.fresh.clear()
        standing = self._standing(sentence, text, first)
        if self.closed:
            return
        states = mood.moods(sentence)
        bare = [without_connectives(c) for c in sentence.clauses]
        slipped = any(corrections.slips(c.text) for c in bare)
        wrong = next((m["wrong"] for m in (corrections.denied(c.text) for c in bare) if m), None)
        correcting = slipped or self.slipped
        if sentence.listed and self.profiled:
            self.subject = self.speaker
        start_subject, explicit = self.subject, False
        self.pet, self.kin, self.chose, self.carried = None, None, False, ()
        self.left = False
        claimed = False
        contrast = self._contrast(bare, states, correcting)
        for i, (clause, state) in enumerate(zip(bare, states, strict=True)):
            if standing is not None and i >= standing:
                break
            if contrast is not None and i in (contrast, contrast + 1):
                claimed = explicit = True
                continue
            claims, said = self._clause(clause, state, correcting, wrong)
            explicit = explicit or said
            claimed = claimed or claims
        if not claimed and (correcting or wrong) and any(s.states for s in states):
            readable = [c for c, s in zip(bare, states, strict=True) if s.states]
            self.found += corrections.read(
                sentence, readable, self.discourse, self.index, correcting
            )
        elif not claimed:
            readable = [c for c, s in zip(bare, states, strict=True) if not s.asks]
            self.found += corrections.read(sentence, readable, self.discourse, self.index, False)
        if explicit and not claimed:
            self.subject = None
        elif not explicit and not claimed:
            self.subject = start_subject
        self.slipped = slipped and len(self.found) == before

    def _contrast(
        self, clauses: list[Phrase], states: list[mood.Mood], correcting: bool
    ) -> int | None:
        """Reads 我不是对花生过敏，是对虾过敏 as one correction; answers its first clause.

        Without a word of correction it must deny, by 不是, what its speaker said before.
        """
        for i, (no, yes) in enumerate(pairwise(clauses)):
            if not all(m.states and not m.former for m in states[i : i + 2]):
                continue
            if not contrasts.denies(no.text):
                continue
            name, denied = self._spoken_of(no, self.subject)
            other, said = self._spoken_of(yes, name)
            if name is None or other != name:
                continue
            if not (correcting or contrasts.outright(denied.text)):
                continue
            state = partial(self._stated, name, no)
            found = contrasts.read(denied, said, state)
            if found is None:
                continue
            old, new = found
            held = any(
                h.claim.stance == "support" and names_part_of(old.object, h.claim.object)
                for h in self.discourse.earlier(self.speaker, name, old.predicate)
            )
            if not (held or correcting):
                continue
            if held:
                new = replace(new, change="correction", replaces=old.object)
            else:
                self.found.append(replace(old, stance="reject"))
            self.found.append(new)
            self.subject = name
            return i
        return None

    def _spoken_of(self, clause: Phrase, before: str | None) -> tuple[str | None, Phrase]:
        """Of whom a clause speaks (of `before` where it does not say), and what it says of them."""
        lead, _ = without_adverbs(clause)
        bare = lead if _LEADING_TIME.match(lead.text) else clause
        subject = self.people.subject(bare)
        name = {"self": self.speaker, "none": before}.get(subject.kind, subject.name)
        rest, _ = without_adverbs(bare.part(subject.end).bare())
        return (None if subject.ties else name), rest

    def _stated(self, name: str, clause: Phrase, core: Phrase) -> list[ClaimStated]:
        """The claims of a clause without its subject, were it stated of `name`."""
        s = Statement(
            subject=name,
            speaker=self.speaker,
            core=core,
            full=core,
            clause=clause,
            dates=(),
            message=self.index,
            implied=False,
            now=False,
            at=self.at,
        )
        for topic in (residence.read, traits.read, preferences.read, work.read):
            claims = topic(s)
            if claims:
                return [] if self.ironic and topic is preferences.read else claims
        return []

    def _standing(self, sentence: Sentence, text: str, first: bool) -> int | None:
        """Notes a standing instruction; answers the clause with which it begins."""
        if self.barred:
            return None
        asked = "?" in sentence.end or text.endswith(("吗", "么"))
        if not asked:
            self.found += constraints.withdrawn(text, self.discourse, self.index, self.given)
        given = constraints.read(sentence, asked)
        if given is None or (self.closed and not (first and constraints.opens(text))):
            return None
        begin, words = given
        if any(mood.hearsay(c.text) for c in sentence.clauses[:begin]):
            return None
        self.given.append(words)
        self.found.append(ConstraintGiven(words, self.index))
        return begin

    def _clause(
        self, clause: Phrase, state: mood.Mood, correcting: bool, wrong: str | None
    ) -> tuple[bool, bool]:
        """Reads one clause; answers whether it claimed something and whether it said a subject."""
        own = self._dates(clause)
        dates = (*self.carried, *own)
        self.carried = ()
        bare = without_connectives(clause.without([(d.start, d.end) for d in own]).bare())
        if not bare.text:
            self.carried = own
            return False, False
        lead, now = without_adverbs(bare)
        if now and _LEADING_TIME.match(lead.text):
            bare = lead
        elif _LEADING_TIME.match(lead.text):
            bare, now = lead, False
        else:
            now = False
        topic = _TOPIC.match(bare.text)
        if topic and not mood.hearsay(bare.text):
            bare = bare.part(topic.end())
        subject = self.people.subject(bare)
        if subject.kind in ("named", "self") and subject.end == len(bare.text) and not subject.ties:
            return False, False
        if subject.kind == "self":
            self.subject = self.speaker
        elif subject.kind in ("named", "other"):
            self.subject = subject.name
        rest = bare.part(subject.end).bare()
        core, later = without_adverbs(rest)
        statement = self._statement(clause, bare, subject, core, dates, now or later)
        if correcting or (wrong is not None and state.states):
            statement.change, statement.replaces = "correction", wrong
        claims: list[ClaimStated] = []
        if state.states and not state.former:
            claims = self._ties(subject, statement) + self._facts(statement, subject, rest, clause)
            self.found += claims
            self.left = self.left or work.leaves(core.text, claims)
        if not claims:
            self._plans(clause, rest, subject, dates, state)
        return bool(claims), subject.kind != "none"

    def _dates(self, clause: Phrase) -> tuple[DatePhrase, ...]:
        tense: Tense = "future"
        if _PAST.search(clause.text) and not _COMING.search(clause.text):
            tense = "past"
        return tuple(find(clause.text, self.at, tense))

    def _statement(
        self,
        clause: Phrase,
        bare: Phrase,
        subject: Subject,
        core: Phrase,
        dates: tuple[DatePhrase, ...],
        now: bool,
    ) -> Statement:
        head = bare.text[: subject.end]
        full = clause
        if head and clause.text.startswith(head):
            full = clause.part(len(head)).bare()
        return Statement(
            subject=self.subject or "",
            speaker=self.speaker,
            core=core,
            full=full,
            clause=clause,
            dates=dates,
            message=self.index,
            implied=subject.kind == "none",
            now=now,
            at=self.at,
            employers=tuple(
                h.claim.object
                for h in self.discourse.earlier(self.speaker, self.subject or "", "works_for")
                if h.claim.stance == "support"
            ),
            left=self.left,
        )

    def _ties(self, subject: Subject, s: Statement) -> list[ClaimStated]:
        return [
            kinship.of_subject(self.speaker, self.index, tie, name, s.change, s.replaces)
            for _, tie, name in subject.ties
        ]

    def _facts(
        self, s: Statement, subject: Subject, rest: Phrase, clause: Phrase
    ) -> list[ClaimStated]:
        called = (
            traits.called_by_others(s, clause)
            or traits.birthday_of_speaker(s)
            or preferences.hobby_of_speaker(s, clause)
            or kinship.with_speaker(s, self.people, clause)
        )
        if called:
            return called
        if self.pet is not None and belongings.names_only(rest.text):
            named = belongings.names_the_pet(s, rest, self.pet)
            if named:
                self.found.remove(self.pet)
                self.pet = None
                self.subject = None
            return named
        if self.kin is not None:
            name = kinship.naming(rest.text)
            word, self.kin = self.kin, None
            if name:
                found = kinship.introduced(
                    s, self.people, word, rest.said(name, "name"), name["name"]
                )
                if found:
                    self.subject = rest.said(name, "name")
                return found
        if self.chose:
            self.chose = False
            refused = preferences.rather_not(s, rest) if s.subject else []
            if refused:
                return [] if self.ironic else refused
        if not s.subject:
            return []
        return self._topics(s)

    def _topics(self, s: Statement) -> list[ClaimStated]:
        for topic in (residence.read, traits.read, preferences.read, work.read, belongings.read):
            claims = topic(s)
            if not claims:
                continue
            if topic is preferences.read:
                self.chose = preferences.is_choice(s.core.text)
                return [] if self.ironic else claims
            if topic is belongings.read and claims[0].predicate == "has_pet":
                self.pet = claims[-1]
            return claims
        claims = kinship.read(s, self.people)
        if claims and s.own and "有" in s.core.text[:1]:
            self.subject = (
                claims[0].object if claims[0].subject == self.speaker else claims[0].subject
            )
        elif not claims and s.own:
            self.kin = kinship.awaits_name(s.core.text)
        return claims

    def _plans(
        self,
        clause: Phrase,
        rest: Phrase,
        subject: Subject,
        dates: tuple[DatePhrase, ...],
        state: mood.Mood,
    ) -> None:
        implied = subject.kind == "none" and self.subject == self.speaker
        plan = commitments.Plan(
            body=rest,
            clause=clause,
            dates=dates,
            own=subject.kind == "self",
            implied=implied,
            addressed=clause.text.startswith("你"),
        )
        spoken_to = subject.kind in ("self", "none") or plan.addressed
        if spoken_to and (state.plans or state.asks):
            reminded = commitments.reminder(plan, self.diary)
            if reminded is not None:
                self.found += reminded
                return
        if state.states:
            changed = commitments.changes(plan, self.diary)
            if changed:
                self.found += changed
                return
        if state.plans and not state.former:
            self.found += commitments.read(plan, self.diary)
