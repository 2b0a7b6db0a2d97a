"""The words of a command, as the lexer finds them."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Kind(IntEnum):
    """What a token is."""

    WORD = 1
    VARIABLE = 2
    PARAMETER = 3
    STRING = 4
    NUMBER = 5
    PUNCTUATION = 6
    END = 7


class Token(NamedTuple):
    """One token.

    `text` is a word or punctuation as written, the name of a variable or parameter, or the
    source of a literal; `value` is a word in capitals (keywords have no case), the value of a
    literal, and else the text again. `at` and `end` are offsets.
    """

    kind: Kind
    text: str
    value: str | int | float
    at: int
    end: int


def told(token: Token) -> str:
    """A token as an error message names it."""
    match token.kind:
        case Kind.END:
            return "the end of the command"
        case Kind.VARIABLE:
            return f"the variable ?{token.text}"
        case Kind.PARAMETER:
            return f"the parameter :{token.text}"
        case Kind.STRING:
            return f"the string {_short(token.text)}"
        case Kind.NUMBER:
            return f"the number {_short(token.text)}"
    return _short(token.text) if token.kind == Kind.WORD else repr(token.text)


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "…"
