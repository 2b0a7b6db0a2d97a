"""Text to tokens, in one pass; a command nested too deeply ends here, before it is parsed."""

from __future__ import annotations

import re

from storage.kip.errors import InvalidIdentifier, InvalidSyntax, KipError, ResourceExhausted, fault
from storage.kip.language.literals import number_value, string_value
from storage.kip.language.source import MAX_DEPTH, Source
from storage.kip.language.tokens import Kind, Token

# Groups are not possessive: early releases of Python 3.11 go on in the middle of one that failed.
# Each begins with what nothing before it can take, so that giving one back leads nowhere.
_SKIPPED = r"(?:[ \t\r\n]++|//[^\r\n]*+)*"
_TOKEN = re.compile(
    _SKIPPED
    + r"""(?:
      (?P<word> [A-Za-z_][A-Za-z0-9_]*+ )
    | (?P<variable> \?[A-Za-z_][A-Za-z0-9_]*+ )
    | (?P<parameter> :[A-Za-z_][A-Za-z0-9_]*+ )
    | (?P<string> "[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*+)*" )
    | (?P<number> -?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?+[0-9]++)? (?![A-Za-z0-9_.]) )
    | (?P<open> [({\[] )
    | (?P<close> [)}\]] )
    | (?P<mark> ==(?!=) | != | <= | >= | && | \|\| | <(?!>) | [,.:|>!-] )
    | (?P<end> \Z )
    )""",
    re.VERBOSE,
)
_REST = re.compile(_SKIPPED)
_BAD_STRING = re.compile(
    r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*+)*'
)

#: Beginnings that other languages use, and what they are called here.
_OTHER_LANGUAGES = (
    ("===", "Write ==."),
    ("<>", "Write !=."),
    ("=", "Compare with ==; give a member its value with a colon."),
    ("&", "Write && for and."),
    (";", "A request carries one command an operation, without semicolons."),
    ("'", 'Strings take double quotes: "…".'),
    ("`", 'Strings take double quotes: "…".'),
    ("“", 'Strings take straight double quotes: "…".'),
    ("/*", "Comments begin with // and run to the end of the line."),
    ("#", "Comments begin with // and run to the end of the line."),
    ("--", "Comments begin with // and run to the end of the line."),
    ("$", "Variables are written ?name, parameters :name."),
    ("+", "There is no arithmetic; UPDATE has ADD(a, b) and MUL(a, b)."),
    ("*", "There is no arithmetic; UPDATE has ADD(a, b) and MUL(a, b)."),
)


def lex(source: Source) -> list[Token]:
    """The tokens of a text, the last of them `Kind.END`.

    Raises `InvalidSyntax` or `InvalidIdentifier` for what is no token, `ResourceExhausted` for
    more than `MAX_DEPTH` brackets open at once.
    """
    text = source.text
    match_at = _TOKEN.match
    tokens: list[Token] = []
    depth = 0
    at = 0
    while True:
        found = match_at(text, at)
        if found is None:
            skipped = _REST.match(text, at)
            raise _refusal(text, skipped.end() if skipped else at)
        kind = found.lastgroup or ""
        start, at = found.span(kind)
        written = text[start:at]
        match kind:
            case "word":
                tokens.append(Token(Kind.WORD, written, written.upper(), start, at))
            case "mark":
                tokens.append(Token(Kind.PUNCTUATION, written, written, start, at))
            case "open":
                depth += 1
                if depth > MAX_DEPTH:
                    raise fault(
                        ResourceExhausted,
                        f"A command may have {MAX_DEPTH} brackets open at once.",
                        start,
                        hint="Nest less deeply, or pass the value as a parameter.",
                    )
                tokens.append(Token(Kind.PUNCTUATION, written, written, start, at))
            case "close":
                depth = max(depth - 1, 0)
                tokens.append(Token(Kind.PUNCTUATION, written, written, start, at))
            case "string":
                tokens.append(Token(Kind.STRING, written, string_value(written, start), start, at))
            case "variable":
                tokens.append(Token(Kind.VARIABLE, written[1:], written[1:], start, at))
            case "parameter":
                tokens.append(Token(Kind.PARAMETER, written[1:], written[1:], start, at))
            case "number":
                tokens.append(Token(Kind.NUMBER, written, number_value(written, start), start, at))
            case _:
                tokens.append(Token(Kind.END, "", "", start, at))
                return tokens


def _refusal(text: str, at: int) -> KipError:
    """Why nothing that begins at `at` is a token."""
    first = text[at]
    if first == '"':
        return _bad_string(text, at)
    if first == "?":
        return fault(
            InvalidIdentifier,
            "A variable needs a name right after the question mark.",
            at,
            hint="Write ?name: ASCII letters, digits and _, not beginning with a digit.",
        )
    if first in "0123456789":
        return fault(
            InvalidSyntax,
            "The number is not written as in JSON.",
            at,
            hint="Write 12, -3.5 or 1e6: no leading zeros, digits on both sides of the point.",
        )
    for beginning, hint in _OTHER_LANGUAGES:
        if text.startswith(beginning, at):
            return fault(InvalidSyntax, f"{beginning!r} has no meaning here.", at, hint=hint)
    if first.isalpha():
        return fault(
            InvalidIdentifier,
            f"Names take ASCII letters, digits and _, not {first!r}.",
            at,
            hint="Put anything else into a string.",
        )
    return fault(
        InvalidSyntax,
        f"The character {first!r} (U+{ord(first):04X}) has no meaning here.",
        at,
        hint="Outside strings, a command is ASCII.",
    )


def _bad_string(text: str, at: int) -> KipError:
    good = _BAD_STRING.match(text, at)
    stop = good.end() if good else at + 1
    if stop >= len(text):
        return fault(
            InvalidSyntax, "The string does not end.", at, hint='Close it with a double quote (").'
        )
    if text[stop] == "\\":
        return fault(
            InvalidSyntax,
            "The string has an escape that JSON does not know.",
            stop,
            hint=r"JSON knows \" \\ \/ \b \f \n \r \t and \u with four hexadecimal digits.",
        )
    return fault(
        InvalidSyntax,
        f"The string has the control character U+{ord(text[stop]):04X} in it, unescaped.",
        stop,
        hint=r"Write line ends as \n, tabs as \t, others as \u with four hexadecimal digits.",
    )
