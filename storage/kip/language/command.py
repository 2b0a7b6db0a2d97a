"""A command, from text to a checked tree, and what can be said of it without running it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal as OneOf

from storage.kip.errors import KipError
from storage.kip.language import check_kml, check_kql, check_meta, parse_kml, parse_kql, parse_meta
from storage.kip.language.ast_kml import (
    Assert,
    CreateConcept,
    CreateRecord,
    Define,
    EnsureProposition,
    MergeConcept,
    Mutate,
    Mutation,
    Purge,
    PurgePayload,
    SetRetention,
    Transition,
    Update,
    UpsertConcept,
)
from storage.kip.language.ast_kql import Find
from storage.kip.language.ast_meta import (
    Changes,
    Describe,
    ExportCapsule,
    History,
    List,
    Meta,
    Preview,
    Search,
    Validate,
    Verify,
)
from storage.kip.language.ast_terms import Node
from storage.kip.language.reader import Reader
from storage.kip.language.source import Source, place_in
from storage.kip.language.tokens import Kind
from storage.kip.language.walking import parameters

Language = OneOf["KQL", "KML", "META"]
Statement = Find | Mutation | Meta

_KINDS: dict[type[Node], str] = {
    Find: "FIND",
    Assert: "ASSERT",
    CreateConcept: "CREATE CONCEPT",
    UpsertConcept: "UPSERT CONCEPT",
    EnsureProposition: "ENSURE PROPOSITION",
    Update: "UPDATE",
    Transition: "TRANSITION",
    SetRetention: "SET RETENTION",
    Purge: "PURGE",
    PurgePayload: "PURGE PAYLOAD",
    MergeConcept: "MERGE CONCEPT",
    Define: "DEFINE",
    Mutate: "MUTATE",
    Describe: "DESCRIBE",
    List: "LIST",
    Search: "SEARCH",
    Verify: "VERIFY",
    Validate: "VALIDATE",
    Preview: "PREVIEW",
    History: "HISTORY",
    Changes: "CHANGES",
    ExportCapsule: "EXPORT CAPSULE",
}
#: What statements of older drafts and of other languages begin with, and what takes their place.
_BEGINNINGS = {
    "SELECT": "Reading is FIND(…) WHERE {…}.",
    "RETRACT": 'Write TRANSITION :a TO "retracted".',
    "SUPERSEDE": 'Write TRANSITION :old TO "superseded" BY :new.',
    "CORRECT": 'Write TRANSITION :old TO "corrected" BY :new.',
    "ARCHIVE": 'Write TRANSITION :x TO "archived".',
    "TOMBSTONE": 'Write TRANSITION :x TO "tombstoned".',
    "DELETE": 'Write TRANSITION :x TO "tombstoned", or PURGE :x CONFIRM "PURGE".',
    "INSERT": "Writing is ASSERT, CREATE, UPSERT or ENSURE.",
    "SNAPSHOT": "Write DESCRIBE SNAPSHOT.",
    "INSTALL": "Packages are not installed from within the language; DEFINE adds one symbol.",
}


@dataclass(frozen=True)
class Command:
    """A checked command; `source` is None for one that did not come as text."""

    statement: Statement
    source: Source | None = None

    @property
    def language(self) -> Language:
        """KQL, KML or META."""
        return language_of(self.statement)

    @property
    def kind(self) -> str:
        """The words that the command begins with, such as FIND, CREATE CONCEPT, DESCRIBE."""
        return kind_of(self.statement)

    @property
    def mutating(self) -> bool:
        """Whether it is refused where only reading is allowed."""
        return self.language == "KML"

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The names of the parameters that it needs."""
        return parameters(self.statement)


def language_of(statement: Statement) -> Language:
    """KQL, KML or META."""
    if isinstance(statement, Find):
        return "KQL"
    return "KML" if isinstance(statement, Mutation) else "META"


def kind_of(statement: Statement) -> str:
    """The words that a statement begins with; CREATE names the kind of record."""
    if isinstance(statement, CreateRecord):
        return f"CREATE {statement.kind}"
    return _KINDS[type(statement)]


def read(text: str) -> Command:
    """Parse and check one command.

    Raises a `KipError` for any text that is none: `InvalidSyntax`, `InvalidIdentifier`,
    `ResourceExhausted` (over the budgets of `storage.kip.language.source`), or what a static rule
    deserves. Its data has `hint`, `line` and `column`, both from 1.
    """
    try:
        source = Source(text)
        statement = _parse(source)
        check(statement)
    except KipError as error:
        place(error, text)
        raise
    return Command(statement, source)


def parse(text: str) -> Statement:
    """The tree of a command, unchecked; raises as `read` does, for syntax alone."""
    try:
        return _parse(Source(text))
    except KipError as error:
        place(error, text)
        raise


def check(statement: Statement) -> None:
    """Check a tree by all rules that need no schema, no database and no parameters.

    Raises a `KipError`; `place` turns the offset in its data into a line and a column.
    """
    if isinstance(statement, Find):
        check_kql.find(statement)
    elif isinstance(statement, Mutation):
        check_kml.mutation(statement)
    else:
        check_meta.command(statement)


def place(error: KipError, text: str) -> None:
    """Put `line` and `column` into an error's data, in place of the offset."""
    offset = error.data.pop("offset", None)
    if offset is not None:
        error.data["line"], error.data["column"] = place_in(text, offset)


def _parse(source: Source) -> Statement:
    r = Reader(source)
    statement = _statement(r)
    if r.token.kind != Kind.END:
        r.refuse("the end of the command", hint=_after(r))
    return statement


def _statement(r: Reader) -> Statement:
    word = str(r.token.value) if r.token.kind == Kind.WORD else ""
    if word == "FIND":
        return parse_kql.find(r)
    if word in parse_kml.STATEMENTS:
        return parse_kml.mutation(r)
    if word in parse_meta.STATEMENTS:
        return parse_meta.STATEMENTS[word](r)
    hint = "FIND reads; ASSERT, CREATE, UPSERT, UPDATE, TRANSITION … write; DESCRIBE explains."
    r.refuse("a command", hint=_BEGINNINGS.get(word, hint))


def _after(r: Reader) -> str | None:
    """What may help when a command goes on after its end."""
    if r.token.kind != Kind.WORD:
        return "A request carries one command an operation; brackets may not match."
    match str(r.token.value):
        case "OFFSET":
            return "Pages go on by CURSOR."
        case "EXPECT":
            return "This command takes no guard here."
        case word if word == "FIND" or word in parse_kml.STATEMENTS:
            return "A request carries one command an operation; MUTATE {…} joins mutations."
    return "The clauses of a command come in one order; this one is not known here."
