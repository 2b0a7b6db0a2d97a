"""A command as text: what is too large to be looked at, and where an offset lies."""

from __future__ import annotations

import re
from dataclasses import dataclass

from storage.kip.errors import InvalidSyntax, ResourceExhausted, fault

#: A command's UTF-8 bytes, its open brackets, and the commands of one request.
MAX_BYTES = 256 * 1024
MAX_DEPTH = 64
MAX_COMMANDS = 256

_LINE_END = re.compile(r"\r\n|\r|\n")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one command.

    Raises `ResourceExhausted` for a text over `MAX_BYTES`, `InvalidSyntax` for one that is no
    Unicode text.
    """

    text: str

    def __post_init__(self) -> None:
        if len(self.text) > MAX_BYTES or len(self.text.encode("utf-8", "replace")) > MAX_BYTES:
            raise fault(
                ResourceExhausted,
                f"A command may have {MAX_BYTES} bytes; this one has more.",
                0,
                hint="Split it, or pass long values as parameters.",
            )
        if broken := _SURROGATE.search(self.text):
            raise fault(
                InvalidSyntax,
                "The text has half a surrogate pair in it.",
                broken.start(),
                hint="Send well-formed Unicode.",
            )

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1; columns count characters."""
        return place_in(self.text, offset)


def place_in(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset in any text, both from 1; columns count characters."""
    line, start = 1, 0
    for end in _LINE_END.finditer(text, 0, offset):
        line, start = line + 1, end.end()
    return line, offset - start + 1
