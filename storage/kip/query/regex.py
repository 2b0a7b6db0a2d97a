"""Regular expressions: PostgreSQL's, without what a finite automaton cannot do.

Back-references, look-around, embedded options and directors are refused, so that matching takes
time in proportion to the text; what is left is compiled before anything is matched.
"""

from __future__ import annotations

import re

import psycopg

from storage.database import Transaction
from storage.kip.errors import InvalidSyntax, fault
from storage.kip.query.limits import MAX_REGEX

#: An escape, or a group that says what it is; brackets are looked into as well.
_SPECIAL = re.compile(r"\\.|\(\?(?!:)|\\\Z", re.S)
#: Letters that may follow a backslash.
_ESCAPES = frozenset("dDwWsSyYmMAZbBntrfve")


def check(tx: Transaction, pattern: str, at: int) -> None:
    """Refuse what is no regular expression here. Raises `InvalidSyntax`."""
    if len(pattern) > MAX_REGEX:
        raise fault(InvalidSyntax, f"A pattern has at most {MAX_REGEX} letters.", at)
    if pattern.startswith("***") or "\x00" in pattern:
        raise fault(InvalidSyntax, "A pattern begins with neither *** nor a NUL.", at)
    for part in _SPECIAL.findall(pattern):
        if part.startswith("(") or (part[1:].isalnum() and part[1] not in _ESCAPES):
            raise fault(
                InvalidSyntax,
                f"{part!r} is not offered in patterns.",
                at,
                hint="There are no back-references, no look-around and no embedded options.",
            )
    try:
        with tx.transaction():
            tx.execute("select '' ~ %s", (pattern,))
    except psycopg.errors.DataError:
        raise fault(InvalidSyntax, "That is no regular expression.", at) from None
