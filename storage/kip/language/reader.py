"""A cursor over the tokens of a command, and the words in which it refuses them."""

from __future__ import annotations

from typing import NoReturn

from storage.kip.errors import InvalidSyntax, fault
from storage.kip.language.lexer import lex
from storage.kip.language.source import Source
from storage.kip.language.tokens import Kind, Token, told


class Reader:
    """The tokens of a text; `token` is the one that is looked at.

    The `take_…` methods go past it and raise `InvalidSyntax` when it is another one; the
    `skip_…` methods go past it when it is the one asked for, and say whether it was.
    """

    __slots__ = ("_index", "_tokens", "token")

    def __init__(self, source: Source) -> None:
        self._tokens = lex(source)
        self._index = 0
        self.token = self._tokens[0]

    def advance(self) -> Token:
        """Go on; returns the token that was looked at. The end is never passed."""
        token = self.token
        if token.kind != Kind.END:
            self._index += 1
            self.token = self._tokens[self._index]
        return token

    def following(self) -> Token:
        """The token after the one that is looked at."""
        return self._tokens[min(self._index + 1, len(self._tokens) - 1)]

    def is_mark(self, mark: str) -> bool:
        """Whether this is that punctuation."""
        token = self.token
        return token.kind == Kind.PUNCTUATION and token.text == mark

    def is_word(self, word: str) -> bool:
        """Whether this is that keyword, given in capitals."""
        token = self.token
        return token.kind == Kind.WORD and token.value == word

    def skip_mark(self, mark: str) -> bool:
        """Go past that punctuation, if this is it."""
        if self.is_mark(mark):
            self.advance()
            return True
        return False

    def skip_words(self, *words: str) -> bool:
        """Go past these keywords, if the first is here; then the others must follow."""
        if not self.is_word(words[0]):
            return False
        self.advance()
        for word in words[1:]:
            self.take_word(word)
        return True

    def take_mark(self, mark: str, what: str = "", *, hint: str | None = None) -> Token:
        """Go past that punctuation; `what` says for what it stands."""
        if not self.is_mark(mark):
            self.refuse(f"{mark!r}{what and ' ' + what}", hint=hint)
        return self.advance()

    def take_word(self, word: str, *, hint: str | None = None) -> Token:
        """Go past that keyword."""
        if not self.is_word(word):
            self.refuse(word, hint=hint)
        return self.advance()

    def take_colon(self, what: str) -> None:
        """Go past the colon after a member's name.

        A colon that touches a word reads as a parameter (`{open:true}`); here it is a colon and a
        word.
        """
        token = self.token
        if token.kind == Kind.PARAMETER:
            self._tokens[self._index] = self.token = Token(
                Kind.WORD, token.text, token.text.upper(), token.at + 1, token.end
            )
            return
        self.take_mark(":", f"after {what}")

    def refuse(self, expected: str, *, hint: str | None = None) -> NoReturn:
        """Raises `InvalidSyntax`: something else was expected here."""
        raise fault(
            InvalidSyntax,
            f"Expected {expected}, found {told(self.token)}.",
            self.token.at,
            hint=hint,
        )
