"""Reads WHERE blocks: all patterns in FIND, only raw ones in mutations and exports."""

from __future__ import annotations

from enum import Enum
from typing import Any, cast

from storage.kip.language.ast_patterns import (
    BeliefPattern,
    BeliefSlotPattern,
    Block,
    Clause,
    ConceptPattern,
    ElementKind,
    Filter,
    NotBlock,
    OptionalBlock,
    PropositionPattern,
    RecordKind,
    RecordPattern,
    SearchPattern,
    StructuralPattern,
    UnionBlock,
)
from storage.kip.language.ast_terms import Scalar, Term, Triple, Variable
from storage.kip.language.parse_expressions import expression
from storage.kip.language.parse_terms import (
    literal,
    match_object,
    parameter,
    predicate,
    proposition,
    scalar,
    symbol,
    term,
    variable,
)
from storage.kip.language.reader import Reader
from storage.kip.language.tokens import Kind

ELEMENT_KINDS = ("CONCEPT", "PROPOSITION", "ASSERTION", "EVIDENCE", "ACTIVITY")
SEARCH_MODES = ("keyword", "semantic", "hybrid")
_RECORDS = frozenset({"ASSERTION", "EVIDENCE", "ACTIVITY"})
_BLOCKS: dict[str, type[NotBlock | OptionalBlock | UnionBlock]] = {
    "NOT": NotBlock,
    "OPTIONAL": OptionalBlock,
    "UNION": UnionBlock,
}
_CLAUSES = "Items of WHERE stand side by side, without commas."


class Patterns(Enum):
    """Which patterns a block takes."""

    ALL = "FIND"
    RAW = "a mutation or an export"


def where(r: Reader, patterns: Patterns) -> Block:
    """`{ … }`."""
    at = r.take_mark("{", "before the patterns").at
    clauses: list[Clause] = []
    while not r.skip_mark("}"):
        if r.is_mark(","):
            r.refuse("a pattern or '}'", hint=_CLAUSES)
        clauses.append(_clause(r, patterns))
    return Block(tuple(clauses), at=at)


def _clause(r: Reader, patterns: Patterns) -> Clause:
    token = r.token
    paths = patterns is Patterns.ALL
    if token.kind == Kind.VARIABLE:
        return _bound(r, patterns, variable(r, "a variable"))
    if r.is_mark("("):
        return PropositionPattern(None, proposition(r, paths=paths), at=token.at)
    if token.kind == Kind.WORD:
        word = str(token.value)
        if word in _BLOCKS:
            r.advance()
            return _BLOCKS[word](where(r, patterns), at=token.at)
        match word:
            case "FILTER":
                r.advance()
                r.take_mark("(", "after FILTER")
                tested = expression(r)
                r.take_mark(")", "after the condition")
                return Filter(tested, at=token.at)
            case "PROPOSITION":
                r.advance()
                return PropositionPattern(None, proposition(r, paths=paths), at=token.at)
            case "STRUCTURAL":
                return _structural(r, None, paths=paths)
            case "CONCEPT" | "ASSERTION" | "EVIDENCE" | "ACTIVITY" | "BELIEF" | "SEARCH":
                r.refuse(f"a variable before {word}", hint=f"Write ?x {word} ….")
    r.refuse(
        "a pattern or '}'",
        hint="Such as ?x {type: …}, (?s, …, ?o), FILTER(…), NOT {…}, OPTIONAL {…}, UNION {…}.",
    )


def _bound(r: Reader, patterns: Patterns, bound: Variable) -> Clause:
    paths = patterns is Patterns.ALL
    if r.is_mark("{"):
        return ConceptPattern(bound, match_object(r, paths=paths), at=bound.at)
    if r.is_mark("("):
        return PropositionPattern(bound, proposition(r, paths=paths), at=bound.at)
    if r.token.kind == Kind.WORD:
        word = str(r.token.value)
        if word in _RECORDS:
            r.advance()
            match = match_object(r, paths=paths)
            return RecordPattern(cast(RecordKind, word), bound, match, at=bound.at)
        match word:
            case "CONCEPT":
                r.advance()
                return ConceptPattern(bound, match_object(r, paths=paths), at=bound.at)
            case "PROPOSITION":
                r.advance()
                return PropositionPattern(bound, proposition(r, paths=paths), at=bound.at)
            case "STRUCTURAL":
                return _structural(r, bound, paths=paths)
            case "BELIEF" | "SEARCH":
                if patterns is Patterns.RAW:
                    r.refuse(
                        "a raw pattern",
                        hint=f"{word} is for FIND; {patterns.value} selects by stored state.",
                    )
                return _belief(r, bound) if word == "BELIEF" else _search(r, bound)
    r.refuse(
        f"what ?{bound.name} is",
        hint="Such as {…}, (s, predicate, o), ASSERTION {…}, EVIDENCE {…}, ACTIVITY {…}.",
    )


def _structural(r: Reader, edge: Variable | None, *, paths: bool) -> StructuralPattern:
    at = edge.at if edge else r.token.at
    r.advance()
    r.take_mark("(", "after STRUCTURAL")
    source: Term = term(r, "a source", paths=paths)
    r.take_mark(",", "after the source")
    field = symbol(r, "a structural field")
    r.take_mark(",", "after the field")
    target: Term = term(r, "a target", paths=paths)
    r.take_mark(")", "after the target")
    return StructuralPattern(edge, source, field, target, at=at)


def _belief(r: Reader, bound: Variable) -> BeliefPattern | BeliefSlotPattern:
    r.advance()
    if r.skip_words("SLOT"):
        r.take_mark("(", "after SLOT")
        subject = term(r, "a subject", paths=False)
        r.take_mark(",", "after the subject")
        link = predicate(r)
        r.take_mark(")", "after the predicate", hint="A slot is (subject, predicate).")
        return BeliefSlotPattern(bound, subject, link, at=bound.at)
    if r.is_mark("(") and r.following().kind == Kind.VARIABLE:
        at = r.advance().at
        first = variable(r, "a proposition")
        if r.skip_mark(")"):
            return BeliefPattern(bound, first, at=bound.at)
        r.take_mark(",", "or ')'")
        link = predicate(r)
        r.take_mark(",", "after the predicate", hint="A belief is about one exact predicate.")
        object_ = term(r, "an object", paths=False)
        r.take_mark(")", "after the object")
        return BeliefPattern(bound, Triple(first, link, object_, at=at), at=bound.at)
    return BeliefPattern(bound, proposition(r, paths=False), at=bound.at)


def element_kind(r: Reader) -> ElementKind:
    """One of the five kinds of elements."""
    if r.token.kind != Kind.WORD or r.token.value not in ELEMENT_KINDS:
        r.refuse("a kind of element", hint=f"One of {', '.join(ELEMENT_KINDS)}.")
    return cast(ElementKind, r.advance().value)


def search_options(r: Reader) -> dict[str, Any]:
    """`[WITH TYPE v] [WITH PREDICATE v] [MODE m] [THRESHOLD v]`, in that order."""
    found: dict[str, Any] = {"type": None, "predicate": None, "mode": None, "threshold": None}
    if r.is_word("WITH") and r.following().value == "TYPE":
        r.advance()
        r.advance()
        found["type"] = scalar(r, "a type")
    if r.skip_words("WITH", "PREDICATE"):
        found["predicate"] = scalar(r, "a predicate")
    if r.skip_words("MODE"):
        found["mode"] = one_of(r, SEARCH_MODES)
    if r.skip_words("THRESHOLD"):
        found["threshold"] = scalar(r, "a threshold")
    return found


def one_of(r: Reader, choices: tuple[str, ...]) -> Scalar:
    """A parameter, or one of these strings."""
    if r.token.kind == Kind.PARAMETER:
        return parameter(r)
    if r.token.kind == Kind.STRING and r.token.value in choices:
        return literal(r)
    spelled = ", ".join(f'"{choice}"' for choice in choices)
    r.refuse(f"one of {spelled}", hint="Or a :parameter with one of them.")


def _search(r: Reader, bound: Variable) -> SearchPattern:
    r.advance()
    kind = element_kind(r)
    query = scalar(r, "what to search for")
    options = search_options(r)
    r.take_word("LIMIT", hint="LIMIT bounds the hits of a search pattern and ends it.")
    limit = scalar(r, "a limit")
    return SearchPattern(bound, kind, query, limit, **options, at=bound.at)
