"""Checks of functions: that there is one of that name, and that it gets what it takes."""

from __future__ import annotations

from storage.kip.errors import InvalidSyntax, fault
from storage.kip.language.ast_expressions import AGGREGATES, Call
from storage.kip.language.ast_terms import Node
from storage.kip.language.walking import every

#: Functions of conditions, and how many arguments they take.
CONDITIONS = {
    "IN": 2,
    "CONTAINS": 2,
    "STARTS_WITH": 2,
    "ENDS_WITH": 2,
    "REGEX": 2,
    "IS_NULL": 1,
    "IS_NOT_NULL": 1,
    "IS_LITERAL": 1,
    "IS_ELEMENT": 1,
    "IS_KIND": 2,
    "LITERAL_TYPE": 1,
}
#: Functions of update values.
UPDATES = {"ADD": 2, "MUL": 2, "COALESCE": 2, "CLAMP": 3}


def calls(root: Node, known: dict[str, int]) -> None:
    """Check every call under a node. Raises `InvalidSyntax`."""
    for call in every(root, Call):
        arity = known.get(call.name)
        if arity is None:
            if call.name in AGGREGATES:
                message = f"{call.name} is an aggregate: FIND and ORDER BY take it, nothing else."
            else:
                message = f"There is no function {call.name} here."
            raise fault(InvalidSyntax, message, call.at, hint=f"There are {', '.join(known)}.")
        if len(call.arguments) != arity:
            plural = "argument" if arity == 1 else "arguments"
            raise fault(
                InvalidSyntax,
                f"{call.name} takes {arity} {plural}, found {len(call.arguments)}.",
                call.at,
                hint=f"Give it {arity}.",
            )
