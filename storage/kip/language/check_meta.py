"""Static checks of the commands that look at memory itself."""

from __future__ import annotations

from storage.kip.errors import ConstraintViolation, DanglingReference, InvalidSyntax, fault
from storage.kip.language import ast_meta as meta
from storage.kip.language import check_values as values
from storage.kip.language.ast_terms import Literal, Variable
from storage.kip.language.check_patterns import block


def command(statement: meta.Meta) -> None:
    """Check a command. Raises a `KipError` with an offset."""
    match statement:
        case meta.Describe():
            values.text(statement.value, f"DESCRIBE {statement.target}")
            values.text(statement.to, f"DESCRIBE {statement.target}")
            values.count(statement.as_of, "AS OF SEQ")
            values.time(statement.at_time, "AT TIME")
            values.closed(statement.options, "WITH")
        case meta.List():
            values.text(statement.value, f"LIST {statement.target}")
            values.text(statement.status, "STATUS")
            _depth(statement)
            _page(statement)
        case meta.Search():
            values.text(statement.query, "SEARCH")
            values.text(statement.type, "WITH TYPE")
            values.text(statement.predicate, "WITH PREDICATE")
            values.share(statement.threshold, "THRESHOLD")
            values.count(statement.as_of, "AS OF SEQ")
            _page(statement)
        case meta.Verify() | meta.Preview():
            values.text(statement.value, statement.target)
            values.text(getattr(statement, "into", None), "INTO")
        case meta.Validate():
            values.text(statement.value, statement.target)
            values.closed(statement.options, "WITH")
        case meta.History():
            values.text(statement.value, "HISTORY ELEMENT")
            values.count(statement.from_seq, "FROM SEQ")
            values.count(statement.to_seq, "TO SEQ")
            _page(statement)
        case meta.Changes():
            values.cursor(statement.since)
            values.count(statement.after_seq, "AFTER SEQ")
            values.count(statement.limit, "LIMIT")
        case meta.ExportCapsule():
            _export(statement)


def _export(statement: meta.ExportCapsule) -> None:
    if not statement.where.clauses:
        raise fault(
            InvalidSyntax,
            "A capsule of everything is none: WHERE is empty.",
            statement.where.at,
            hint="Select at least one pattern.",
        )
    bound = block(statement.where)
    root = statement.root
    if isinstance(root, Variable) and root.name not in bound:
        raise fault(DanglingReference, f"Nothing binds ?{root.name}.", root.at)
    values.closed(statement.options, "WITH")
    values.count(statement.as_of, "AS OF SEQ")


def _depth(statement: meta.List) -> None:
    values.count(statement.depth, "DEPTH")
    if statement.depth == Literal(0):
        raise fault(
            ConstraintViolation,
            "At depth 0 there is nothing but the element itself.",
            statement.depth.at,
            hint="Say DEPTH 1 or more.",
        )


def _page(statement: meta.List | meta.Search | meta.History) -> None:
    values.count(statement.limit, "LIMIT")
    values.cursor(statement.cursor)
