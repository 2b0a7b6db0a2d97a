"""The answer by extraction: which claims, promises and messages answer a question.

Nothing is concluded here. A claim answers when the question names one of its ends and asks for its
predicate; only what memory believes is stated as such, what has ended is told as past, what is
disputed is told with its sides, and what was corrected or taken back is not told at all. Every
sentence names the messages that it rests on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from pipelines.recall import meaning, phrases, questions
from pipelines.recall.evidence import Evidence, passage, share, speaker_and_words
from pipelines.recall.questions import Asked
from pipelines.recall.ties import tie_in
from storage.graph.claims import ClaimView, CommitmentView, ConstraintView
from storage.search.analyser import terms
from storage.search.bm25 import Hit

#: Sentences of one sort in one answer.
_CLAIMS = 6
_COMMITMENTS = 8
_QUOTATIONS = 3
#: The share of the question's words that a promise or a rule must hold to be told unasked.
_ABOUT = 0.45
#: Predicates that take any kind of thing, where a question may ask for one kind.
_OPEN = frozenset({"prefers", "likes", "owns", "interested_in"})
_TASTES = frozenset({"prefers", "likes"})


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of an answer, and what it rests on: evidence and elements, by id."""

    text: str
    sources: tuple[str, ...]
    elements: tuple[str, ...]


def relevant_claims(
    asked: Asked, views: Sequence[ClaimView], texts: Mapping[str, Hit]
) -> list[ClaimView]:
    """The claims that can answer, the most fitting first; one for each proposition and stance.

    `views` come in the order of their search lane; `texts` are the messages that they cite.
    """
    chosen: dict[tuple[str, str], tuple[tuple[bool, ...], int, ClaimView]] = {}
    for rank, view in enumerate(views):
        fit = _fit(asked, view, texts)
        if fit is None or view.status != "active" or not _by_the_tie(asked, view, texts):
            continue
        key = (view.proposition, view.stance)
        # of several who say the same the subject's own word counts, then the latest
        best = chosen.get(key)
        if best is None or (_own(view), view.asserted_at) > (_own(best[2]), best[2].asserted_at):
            chosen[key] = (fit, rank if best is None else best[1], view)
    ordered = sorted(chosen.values(), key=lambda c: (tuple(not f for f in c[0]), c[1]))
    if ordered and not asked.about:
        # who is named outright outdoes who shares a part of the name; so does a fitting kind
        ordered = [c for c in ordered if c[0][:2] == ordered[0][0][:2]]
    return _latest_first([view for _, _, view in ordered])


#: Predicates with, as a rule, one value at a time: of two, the later is the more likely one.
_MOSTLY_ONE = frozenset(
    {
        *("lives_in", "works_for", "works_as", "reports_to", "partner_of", "studies_at"),
        *("timezone", "follows_diet", "member_of", "located_in"),
    }
)


def _latest_first(views: Sequence[ClaimView]) -> list[ClaimView]:
    """What mostly has one value, the latest first; else the order is kept."""
    waiting: dict[tuple[str, ...], list[ClaimView]] = {}
    # reversed, so that of equally late ones the first is taken first
    for view in sorted(reversed(views), key=lambda view: view.asserted_at):
        waiting.setdefault(_respect(view), []).append(view)
    return [waiting[_respect(view)].pop() for view in views]


def _respect(view: ClaimView) -> tuple[str, ...]:
    one = (view.subject_id, view.predicate, str(view.stands))
    return one if view.predicate in _MOSTLY_ONE else (*one, view.id)


def _by_the_tie(asked: Asked, view: ClaimView, texts: Mapping[str, Hit]) -> bool:
    """Whether a claim of a tie is of the owner's, and of the kind that is asked for."""
    tie = asked.tie
    if tie is None or view.predicate != tie.kind.predicate:
        return True
    name = meaning.other_end(asked, tie, view)
    return name is not None and meaning.fits(tie, view, name, texts)


def claim_statements(asked: Asked, claims: Sequence[ClaimView]) -> list[Statement]:
    """Sentences over relevant claims: what stands, what is disputed, what was."""
    language = asked.language
    told: list[Statement] = []
    standing = _of_the_tone(asked, [view for view in claims if view.stands])
    denying = "reject" if asked.denying else "support"
    for view in sorted(standing, key=lambda view: view.stance != denying):
        text = phrases.claim(view, language) + phrases.said(view, language)
        told.append(Statement(text, view.evidence, (view.id,)))
    disputed = [view for view in claims if view.belief.status == "contested"]
    for slot in _slots(disputed):
        clauses = [phrases.claim(v, language) + phrases.said(v, language) for v in slot]
        told.append(
            Statement(
                phrases.contested(clauses, language),
                tuple(dict.fromkeys(e for v in slot for e in v.evidence)),
                tuple(v.id for v in slot),
            )
        )
    if asked.past or not answered(claims):
        for view in claims:
            if not view.stands and view.belief.status != "contested" and _ended(view, claims):
                text = phrases.earlier(view, language) + phrases.said(view, language)
                told.append(Statement(text, view.evidence, (view.id,)))
    return told[:_CLAIMS]


def _of_the_tone(asked: Asked, views: Sequence[ClaimView]) -> list[ClaimView]:
    """Without likes where dislikes are asked for and known, and without dislikes the other way."""
    wanted = "reject" if asked.denying else "support"
    tastes = [view for view in views if view.predicate in _TASTES]
    if asked.whether or not any(view.stance == wanted for view in tastes):
        return list(views)
    return [view for view in views if view not in tastes or view.stance == wanted]


def answered(claims: Sequence[ClaimView]) -> bool:
    """Whether claims say how something is, and not only how it is not."""
    return any(
        view.stance == "support" and (view.stands or view.belief.status == "contested")
        for view in claims
    )


def denials(
    asked: Asked, claims: Sequence[ClaimView], texts: Mapping[str, Hit], rarity: Mapping[str, float]
) -> list[Statement]:
    """The words in which something was denied: how it is instead may stand beside them."""
    if not claims or asked.whether or answered(claims):
        return []
    cited = dict.fromkeys(ref for view in claims if view.stands for ref in view.evidence)
    return [
        _quotation(asked, texts[ref], passage(texts[ref].text, rarity, asked.alike))
        for ref in cited
        if ref in texts
    ][:_QUOTATIONS]


def commitment_statements(
    asked: Asked, commitments: Sequence[CommitmentView], rarity: Mapping[str, float]
) -> list[Statement]:
    """Promises that are asked for by person, or that share the question's words."""
    topic = {term: weight for term, weight in rarity.items() if term in asked.topic}
    chosen = [c for c in commitments if _is_about(c, topic)]
    if asked.commitments:
        named = [c for c in commitments if _concerns(asked, c)]
        chosen = _closest(asked, named) or chosen
        if not topic and not asked.counterparty:
            chosen = list(commitments)
    return [
        Statement(phrases.commitment(c, asked.language), c.evidence, (c.id,))
        for c in chosen[:_COMMITMENTS]
    ]


def constraint_statements(
    asked: Asked, constraints: Sequence[ConstraintView], rarity: Mapping[str, float]
) -> list[Statement]:
    """Standing instructions: all when they are asked for, else those that share the words."""
    topic = {term: weight for term, weight in rarity.items() if term in asked.topic}
    return [
        Statement(phrases.constraint(c, asked.language), c.evidence, (c.id,))
        for c in constraints
        if asked.constraints or share(c.text, topic) >= _ABOUT
    ][:_COMMITMENTS]


#: A question, or the beginning of something imagined.
_STATES_NOTHING = re.compile(
    r"[?？]\W*$|^\W*(?:if|what if|suppose|imagine|i wish|如果|要是|假如|假设|但愿|万一)\b",
    re.IGNORECASE,
)


def quotations(asked: Asked, evidence: Evidence, updates: Sequence[Hit] = ()) -> list[Statement]:
    """The messages that are on topic, in their own words, and later ones that put them right.

    What somebody asked, or only imagined, states nothing, however alike the words; such messages
    stay among the sources. So does what is said of another's own: "Bob's girlfriend" where Peter's
    is asked for.
    """
    passages = [
        (hit, passage(hit.text, evidence.rarity, asked.alike)) for hit in evidence.supported
    ]
    stated = [
        found
        for found in passages
        if not _STATES_NOTHING.search(found[1]) and not _of_another(asked, *found)
    ]
    told = stated[:_QUOTATIONS]
    if told:
        known = {hit.element_id for hit, _ in told}
        later = [hit for hit in updates if hit.element_id not in known]
        told += [(hit, passage(hit.text, evidence.rarity, asked.alike)) for hit in later]
    return [_quotation(asked, hit, words) for hit, words in told]


def _quotation(asked: Asked, hit: Hit, words: str) -> Statement:
    text = phrases.quotation(speaker_and_words(hit.text)[0], hit.at, words, asked.language)
    return Statement(text, (hit.element_id,), (hit.element_id,))


#: Who speaks of their own in the words "I" or "my".
_FIRST_PERSON = re.compile(
    r"\b(?:i|i'm|i've|my|we|our|ich|mein\w*|wir|unser\w*)\b|我", re.IGNORECASE
)


def _of_another(asked: Asked, hit: Hit, words: str) -> bool:
    """Whether a passage is about somebody else than who is asked about, as far as it shows."""
    speaker = speaker_and_words(hit.text)[0] or ""
    if asked.named and not asked.named & set(terms(hit.text)):
        return True
    if asked.hop is not None and not (
        asked.hop.told_in(words) or any(n.casefold() in words.casefold() for n in asked.tied)
    ):
        return True
    tie, told = asked.tie, tie_in(words)
    if tie is not None and told is not None and told.kind.predicate == tie.kind.predicate:
        return not meaning.is_owner(asked, tie, speaker if told.owner is None else told.owner)
    if not asked.counterparty or questions.NAMELESS in asked.counterparty:
        return False
    mine = asked.is_counterparty(speaker) or any(
        set(terms(name)) <= set(terms(words)) for name in asked.counterparty
    )
    return not mine and _FIRST_PERSON.search(words) is not None


def _fit(asked: Asked, view: ClaimView, texts: Mapping[str, Hit]) -> tuple[bool, ...] | None:
    """How a claim fits, the weightier first; None when it does not answer."""
    subject = asked.names(view.subject)
    object = _holds_whole(asked, view.object)
    asks = view.predicate in asked.predicates
    if view.predicate == meaning.ALIAS and not (asks or asked.about):
        return None
    if not (subject or object):
        return None
    if not asks and not (asked.about and subject) and not (subject and object):
        return None
    open = view.predicate in _OPEN - asked.of_any_kind
    if asks and asked.kinds and open and not _of_kind(asked, view, texts):
        return None
    if asked.when and not _dated(view):
        return None
    return (asks, _holds_whole(asked, view.subject) or object, subject and object, view.stands)


def _of_kind(asked: Asked, view: ClaimView, texts: Mapping[str, Hit]) -> bool:
    words = {*terms(view.object_type), *terms(view.object)}
    if words & asked.kinds or view.object_type.casefold() in asked.kinds:
        return True
    return any(
        _in_one_breath(texts[id].text, asked.kinds, view.object)
        for id in view.evidence
        if id in texts
    )


_WORD = re.compile(r"[^\W\d_\u3400-\u9fff]+")
#: where another statement begins
_OTHER_STATEMENT = re.compile(
    r"[.!?;。！？；]|\b(?:i|we|he|she|they|it|my|our|his|her|their)\b|[，,](?:我|他|她|但)",
    re.IGNORECASE,
)


def _in_one_breath(text: str, kinds: Set[str], name: str) -> bool:
    """Whether a message says the kind of `name` in the statement that names it."""
    at = text.casefold().find(name.casefold())
    if at < 0:
        return bool(kinds & set(terms(text)))
    end = at + len(name)
    spans = [match.span() for match in _WORD.finditer(text) if kinds & set(terms(match[0]))]
    for kind in kinds:
        if not kind.isascii() and (found := text.find(kind)) >= 0:
            spans.append((found, found + len(kind)))
    return any(
        not _OTHER_STATEMENT.search(text, min(end, there[1]), max(at, there[0])) for there in spans
    )


def _dated(view: ClaimView) -> bool:
    """Whether a claim says when."""
    return view.predicate == "born_on" or bool(view.valid.start or view.valid.until)


def _holds_whole(asked: Asked, name: str) -> bool:
    words = set(terms(name))
    if not words:
        return False
    named = words <= set(asked.terms)
    return named or any(words == set(terms(own)) for own in asked.counterparty)


def _own(view: ClaimView) -> bool:
    return view.subject_id == view.asserted_by_id


def _ended(view: ClaimView, claims: Sequence[ClaimView]) -> bool:
    """Whether the claim held once: it is over, outdone by a newer, or denied by who made it since.

    What never was so is taken back, and not told at all.
    """
    if view.stance != "support":
        return False
    if view.belief.status in ("insufficient", "uncertain"):
        return True
    return any(
        other.proposition == view.proposition
        and other.stance == "reject"
        and other.asserted_by_id == view.asserted_by_id
        and other.asserted_at > view.asserted_at
        for other in claims
    )


def _slots(views: Sequence[ClaimView]) -> list[list[ClaimView]]:
    slots: dict[tuple[str, str], list[ClaimView]] = {}
    for view in views:
        slots.setdefault((view.subject_id, view.predicate), []).append(view)
    return list(slots.values())


def _concerns(asked: Asked, view: CommitmentView) -> bool:
    return bool(view.by and asked.names(view.by)) or any(asked.names(n) for n in view.owed_to)


def _closest(asked: Asked, views: Sequence[CommitmentView]) -> list[CommitmentView]:
    """Of promises those that concern most of the people whom the question names."""
    people = {name for view in views for name in (view.by, *view.owed_to) if name}

    def concerned(view: CommitmentView) -> int:
        own = {name for name in people if name == view.by or name in view.owed_to}
        words = set(terms(view.summary))
        own |= {name for name in people if words & set(terms(name))}
        spoken = {term for term in asked.topic if term in words}
        return len({name for name in own if asked.names(name)}) + len(spoken)

    most = max((concerned(view) for view in views), default=0)
    return [view for view in views if concerned(view) == most]


def _is_about(view: CommitmentView, topic: Mapping[str, float]) -> bool:
    """Whether the promise itself is asked about; that its people are named is not enough."""
    people = {term for name in (view.by or "", *view.owed_to) for term in terms(name)}
    rest = {term: weight for term, weight in topic.items() if term not in people}
    return share(view.summary, rest) >= _ABOUT
