"""What holds for any text, and for any tree."""

from __future__ import annotations

import string
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.kip.errors import REGISTRY, KipError
from storage.kip.language import ast_expressions as e
from storage.kip.language import ast_kml as kml
from storage.kip.language import ast_patterns as p
from storage.kip.language import ast_terms as t
from storage.kip.language.ast_kql import Find, SortKey
from storage.kip.language.command import Command, parse, read
from storage.kip.language.lexer import lex
from storage.kip.language.printer import printed
from storage.kip.language.source import Source
from tests.unit.kip.commands import VALID

# any text


def answered(text: str) -> None:
    """Reading gives a command or an error of KIP with a place within the text."""
    told = answer(text)
    if isinstance(told, Command):
        assert parse(printed(told.statement)) == told.statement
    else:
        assert told.code in REGISTRY
        assert told.message
        assert told.data["hint"]
        assert 1 <= told.data["line"] <= text.count("\n") + text.count("\r") + 1
        assert 1 <= told.data["column"] <= len(text) + 1


def answer(text: str) -> Command | KipError:
    try:
        return read(text)
    except KipError as error:
        return error


@given(st.text(st.characters(codec=None, exclude_categories=())))
@settings(max_examples=300, deadline=None)
def test_any_text_is_answered(text: str) -> None:
    answered(text)


@given(st.text(st.sampled_from('FINDWHERE?x:p{}()[]",.|<>=!&-0123eE+/\\\n \ud800\x00é')))
@settings(max_examples=300, deadline=None)
def test_any_text_of_marks_is_answered(text: str) -> None:
    answered(text)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A valid command with some of its tokens or characters dropped, doubled, swapped, changed."""
    text = draw(st.sampled_from(VALID))
    parts = (
        list(text)
        if draw(st.booleans())
        else [text[token.at : token.end] + " " for token in lex(Source(text))]
    )
    words = [part for other in VALID for part in other.split()]
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(parts) - 1))
        match draw(st.integers(0, 4)):
            case 0:
                parts[at] = ""
            case 1:
                parts[at] *= 2
            case 2:
                other = draw(st.integers(0, len(parts) - 1))
                parts[at], parts[other] = parts[other], parts[at]
            case 3:
                parts[at] = draw(st.sampled_from(words)) + " "
            case _:
                parts[at] = draw(st.text(max_size=3))
    return "".join(parts)


@given(damaged())
@settings(max_examples=600, deadline=None)
def test_damaged_commands_are_answered(text: str) -> None:
    answered(text)


@given(st.sampled_from(VALID), st.integers(0, 400))
@settings(deadline=None)
def test_beginnings_of_commands_are_answered(text: str, length: int) -> None:
    answered(text[:length])


@given(st.sampled_from(VALID), st.sampled_from([" ", "\n", "\t\r\n", " // x\n"]))
@settings(deadline=None)
def test_spacing_changes_nothing(text: str, space: str) -> None:
    tokens = [text[token.at : token.end] for token in lex(Source(text))]
    assert parse(space.join(tokens)) == parse(text)


# any tree

names = st.text(st.sampled_from(string.ascii_letters + "_"), min_size=1, max_size=4)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6)
field_names = names | texts
variables = names.map(t.Variable)
parameters = names.map(t.Parameter)
literals = st.one_of(
    texts,
    st.booleans(),
    st.none(),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(-1e6, 1e6).filter(lambda number: not number.is_integer()),
).map(t.Literal)
scalars: st.SearchStrategy[Any] = parameters | literals
symbols: st.SearchStrategy[Any] = parameters | texts.map(t.Literal)
targets: st.SearchStrategy[Any] = variables | symbols
paths = st.builds(t.Path, variables, st.lists(field_names, min_size=1, max_size=3).map(tuple))


def members(value: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[t.Member, ...]]:
    return st.dictionaries(field_names, value, max_size=3).map(
        lambda found: tuple(t.Member(name, one) for name, one in found.items())
    )


def several(item: st.SearchStrategy[Any], least: int = 0) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(item, min_size=least, max_size=3).map(tuple)


expressions: st.SearchStrategy[Any] = st.deferred(
    lambda: st.one_of(
        values,
        st.builds(e.Unary, st.sampled_from("!-"), expressions),
        st.builds(
            e.Binary,
            st.sampled_from(["||", "&&", "==", "!=", "<", ">", "<=", ">="]),
            expressions,
            expressions,
        ),
    )
)
values: st.SearchStrategy[Any] = st.deferred(
    lambda: st.one_of(
        variables,
        parameters,
        literals,
        paths,
        st.builds(t.ArrayValue, several(values)),
        st.builds(t.ObjectValue, members(values)),
        st.builds(e.Call, names.map(str.upper), several(expressions)),
    )
)
predicates: st.SearchStrategy[Any] = variables | symbols
hops = st.builds(t.Hops, st.integers(0, 9), st.none() | st.integers(0, 9))
path_predicates = st.one_of(
    predicates,
    st.builds(t.PathStep, predicates, hops).map(lambda step: t.PathPredicate((step,))),
    st.lists(st.builds(t.PathStep, predicates, st.none() | hops), min_size=2, max_size=3).map(
        lambda steps: t.PathPredicate(tuple(steps))
    ),
)


class Patterns:
    """Strategies for patterns, with path predicates or without."""

    def __init__(self, links: st.SearchStrategy[Any]) -> None:
        self.terms: st.SearchStrategy[Any] = st.deferred(
            lambda: variables | parameters | literals | self.objects | self.propositions
        )
        self.propositions: st.SearchStrategy[Any] = st.deferred(
            lambda: (
                st.builds(t.TripleById, scalars)
                | st.builds(t.Triple, self.terms, links, self.terms)
            )
        )
        self.objects: st.SearchStrategy[Any] = st.deferred(
            lambda: st.builds(t.ObjectMatch, members(self.matched))
        )
        self.matched: st.SearchStrategy[Any] = st.deferred(
            lambda: self.terms | st.builds(t.ArrayMatch, several(self.matched))
        )
        kinds = st.sampled_from(["ASSERTION", "EVIDENCE", "ACTIVITY"])
        maybe = st.none() | variables
        self.raw: st.SearchStrategy[Any] = st.deferred(
            lambda: st.one_of(
                st.builds(p.ConceptPattern, variables, self.objects),
                st.builds(p.PropositionPattern, maybe, self.propositions),
                st.builds(p.RecordPattern, kinds, variables, self.objects),
                st.builds(p.StructuralPattern, maybe, self.terms, symbols, self.terms),
                st.builds(p.Filter, expressions),
                st.builds(p.NotBlock, self.blocks),
                st.builds(p.OptionalBlock, self.blocks),
                st.builds(p.UnionBlock, self.blocks),
            )
        )
        self.clauses = self.raw
        self.blocks: st.SearchStrategy[Any] = st.deferred(
            lambda: st.builds(p.Block, several(self.clauses))
        )


raw = Patterns(predicates)
full = Patterns(path_predicates)
modes = st.sampled_from(["keyword", "semantic", "hybrid"]).map(t.Literal) | parameters
full.clauses = st.one_of(
    full.raw,
    st.builds(p.BeliefPattern, variables, variables | raw.propositions),
    st.builds(p.BeliefSlotPattern, variables, raw.terms, predicates),
    st.builds(
        p.SearchPattern,
        variables,
        st.sampled_from(["CONCEPT", "PROPOSITION", "ASSERTION", "EVIDENCE", "ACTIVITY"]),
        scalars,
        scalars,
        type=st.none() | scalars,
        predicate=st.none() | scalars,
        mode=st.none() | modes,
        threshold=st.none() | scalars,
    ),
)
projections = st.one_of(
    variables,
    paths,
    st.builds(
        e.Aggregate,
        st.sampled_from(["COUNT", "SUM", "AVG", "MIN", "MAX"]),
        variables | paths,
        st.booleans(),
    ),
)
queries = st.builds(
    Find,
    several(projections, 1),
    full.blocks,
    as_of=st.none() | scalars,
    for_time=st.none() | scalars,
    epistemic=st.none() | st.builds(t.ObjectValue, members(values)),
    order_by=several(st.builds(SortKey, projections, st.booleans())),
    limit=st.none() | scalars,
    cursor=st.none() | scalars,
)
guards = several(
    st.one_of(
        st.builds(
            kml.Guard,
            scalars,
            st.sampled_from([None, "ATTRIBUTES", "STRUCTURAL", "RETENTION"]),
        ),
        st.builds(kml.Guard, scalars, st.just("FACET"), symbols),
    )
)
tails = st.builds(kml.Tail, st.none() | raw.blocks, st.none() | scalars, guards)
entries = several(
    st.builds(
        kml.StructuralEntry,
        symbols,
        values,
        st.none() | st.builds(t.ObjectValue, members(values)),
    )
)
removals = several(st.builds(kml.StructuralEntry, symbols, values))
actions = several(
    st.one_of(
        st.builds(kml.SetFields, members(values)),
        st.builds(kml.SetAttributes, members(values)),
        st.builds(kml.SetFacet, symbols, members(values)),
        st.builds(kml.SetStructural, entries),
        st.builds(kml.UnsetAttributes, several(field_names)),
        st.builds(kml.UnsetFacet, symbols, several(field_names)),
        st.builds(kml.UnsetStructural, removals),
    ),
    1,
)
mutations = st.one_of(
    st.builds(kml.EnsureProposition, st.none() | variables, raw.propositions, guards),
    st.builds(
        kml.Assert,
        st.none() | variables,
        raw.propositions,
        members(values),
        st.none() | targets,
    ),
    st.builds(kml.Update, targets, actions, tails),
    st.builds(kml.Transition, targets, scalars, st.none() | targets, st.just(()), tails),
    st.builds(kml.SetRetention, targets, members(values), tails),
    st.builds(kml.Purge, targets, tails, st.none() | scalars),
    st.builds(kml.PurgePayload, targets, tails),
)


def comes_back(tree: Any) -> None:
    text = printed(tree)
    assert parse(text) == tree
    assert printed(parse(text)) == text


@given(queries)
@settings(max_examples=200, deadline=None)
def test_any_query_comes_back_from_its_text(query: Find) -> None:
    comes_back(query)


@given(mutations | several(mutations).map(kml.Mutate))
@settings(max_examples=200, deadline=None)
def test_any_mutation_comes_back_from_its_text(mutation: kml.Mutation) -> None:
    comes_back(mutation)
