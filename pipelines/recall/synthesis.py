"""The answer of a recall, written by a model from numbered sources, each sentence citing them.

The model sees only what recall has already found and may show; it adds nothing of its own. The host
drops a sentence without a valid citation, one that has no word in common with what it cites, and
one that names what nothing that it was shown names (names in another script may be translated).
Nothing left means no synthesis: the caller then answers by extraction (design section 5.2).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import regex
from pydantic import BaseModel, Field

from pipelines.formation.lexicon import word_set
from pipelines.formation.likeness import terms
from pipelines.formation.prompts import SYNTHESIS
from pipelines.formation.proposal import Usage
from pipelines.ports.models import Charge, Checkpoint, LanguageModel, Question
from pipelines.ports.segments import with_segment
from storage.clock import to_text

#: sentences of one answer, characters of one, and characters of one source that the model is shown
MAX_SENTENCES, MAX_SENTENCE, MAX_SOURCE = 20, 600, 4_000
#: characters of all sources together
MAX_SOURCES = 48_000

_HAN = regex.compile(r"\p{Han}")
_LATIN = regex.compile(r"\p{Latin}")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of evidence under its number; `ref` is what a citation of it resolves to."""

    n: int
    text: str
    speaker: str
    at: datetime
    ref: str


@dataclass(frozen=True, slots=True)
class BelievedClaim:
    """A claim in words, with the status that BELIEF gave it for this recall."""

    n: int
    text: str
    status: str
    at: datetime
    ref: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of the answer and the numbers of the sources that it cites, ascending."""

    text: str
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Synthesis:
    """The sentences that survived, how many did not, and what the model cost."""

    sentences: tuple[Sentence, ...]
    usage: Usage
    model: str
    dropped: int = 0


class WrittenSentence(BaseModel):
    """One sentence of the answer."""

    text: str
    sources: list[int]


class Written(BaseModel):
    """The answer, sentence by sentence; empty when the sources do not hold one."""

    sentences: list[WrittenSentence] = Field(default_factory=list)


def synthesise(
    model: LanguageModel,
    query: str,
    evidence: Sequence[Passage],
    claims: Sequence[BelievedClaim] = (),
    *,
    checkpoint: Checkpoint | None = None,
    charge: Charge | None = None,
) -> Synthesis | None:
    """Writes an answer to `query`; None when there is nothing to write from or nothing survives.

    Numbers are unique over claims and evidence; sources beyond `MAX_SOURCES` characters are not
    shown, so put the best first. `charge` is told the usage also when None is answered. Raises what
    `LanguageModel.ask` raises.
    """
    shown: dict[int, str] = {}
    sources: list[dict[str, object]] = []
    used = 0
    numbered: list[BelievedClaim | Passage] = [*claims, *evidence]
    for source in numbered:
        if source.n in shown:
            raise ValueError(f"two sources are numbered {source.n}")
        text = source.text[:MAX_SOURCE]
        if used + len(text) > MAX_SOURCES:
            break
        used += len(text)
        at = to_text(source.at)
        if isinstance(source, BelievedClaim):
            shown[source.n] = text
            kind = {"kind": "claim", "status": source.status}
        else:
            shown[source.n] = f"{source.speaker} {text}"
            kind = {"kind": "message", "speaker": source.speaker}
        sources.append({"number": source.n, **kind, "at": at, "text": text})
    if not sources:
        return None
    prompt = json.dumps({"question": query, "sources": sources}, ensure_ascii=False, indent=1)
    completion = model.ask(
        Question(
            instructions=with_segment(SYNTHESIS, "recall"),
            prompt=prompt,
            answer=Written,
            max_requests=3,
        ),
        checkpoint=checkpoint,
        charge=charge,
    )
    written = completion.answer.sentences
    known = _words(" ".join([query, *(passage.speaker for passage in evidence), *shown.values()]))
    kept = [s for s in map(lambda w: _supported(w, shown, known), written[:MAX_SENTENCES]) if s]
    if not kept:
        return None
    return Synthesis(
        sentences=tuple(kept),
        usage=completion.usage,
        model=completion.model,
        dropped=len(written) - len(kept),
    )


def _supported(
    written: WrittenSentence, shown: dict[int, str], known: frozenset[str]
) -> Sentence | None:
    """The sentence with its valid citations; None when none of them supports it."""
    text = " ".join(written.text.split())
    if not text or len(text) > MAX_SENTENCE or not text.isprintable():
        return None
    cited = sorted({n for n in written.sources if n in shown})
    if not any(_HAN.search(shown[n]) for n in cited) and _invents(text, known):
        return None
    cited = [n for n in cited if _related(text, shown[n])]
    return Sentence(text, tuple(cited)) if cited else None


#: letters by which a name is the same in another form: Portugal, Portuguese
_STEM = 4
_NAME = regex.compile(r"(?<=[^.!?:\s]\s)\p{Lu}\p{Ll}{2,}")
_ENGLISH = regex.compile(r"(?i)\b(?:the|is|was|are|has|had|lives?|works?|does|did|will)\b")
_CALENDAR = word_set(
    "January February March April May June July August September October November December "
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
)


def _invents(sentence: str, known: frozenset[str]) -> bool:
    """Whether an English sentence names what neither question nor sources name."""
    if _ENGLISH.search(sentence) is None:
        return False
    names = (name.casefold()[:_STEM] for name in _NAME.findall(sentence) if name not in _CALENDAR)
    return any(name not in known for name in names)


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold()[:_STEM] for word in regex.findall(r"\p{L}+", text))


def _related(sentence: str, source: str) -> bool:
    """Whether the two share a content word; not decidable, hence true, between two scripts."""
    if bool(_HAN.search(sentence)) != bool(_HAN.search(source)) and not (
        _LATIN.search(sentence) and _LATIN.search(source)
    ):
        return True
    wanted = terms(sentence)
    pieces = [source[i : i + 360] for i in range(0, len(source), 330)]
    return not wanted or any(wanted & terms(piece) for piece in pieces)
