"""Walking over tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from headrace.sql.errors import SqlError, error_at
from headrace.sql.keywords import NON_RESERVED
from headrace.sql.text.meant import as_text, expected_word, likely_word, no_expression
from headrace.sql.text.tokens import END, NAME, QUOTED, STRING, VARIABLE, Token, tokens_of

_MAX_DEPTH = 100
"""Expressions and types nested deeper are refused: what walks a tree is recursive, and Python's stack ends."""
_IS_NAME = NON_RESERVED | {NAME, QUOTED}

T = TypeVar("T")


class Cursor:
    """The next token, and what may be done with it."""

    token: Token
    """The next token."""
    kind: str
    """Of the next token."""
    at: int
    """Where the next token begins."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = tokens_of(text)
        self._index = 0
        self._go_on(0)
        self._depth = 0
        self.subject: int | None = None
        """Where the name of what the statement is about stands, once it was read."""
        self.lambda_parameters: list[str] = []
        """Of the lambdas around the next token: there these names are no columns."""

    def _go_on(self, count: int) -> None:
        """Past so many tokens. What is next is asked for far more often than it changes."""
        self._index += count
        self.token = token = self._tokens[self._index]
        self.kind, self.at = token.kind, token.start

    @property
    def end(self) -> int:
        """Where the last token that was taken ends."""
        return self._tokens[self._index - 1].end if self._index else 0

    @property
    def _before(self) -> Token | None:
        return self._tokens[self._index - 1] if self._index else None

    def ahead(self, count: int) -> str:
        """The kind of the token ``count`` after the next one."""
        index = self._index + count
        return self._tokens[index].kind if index < len(self._tokens) else END

    def take(self) -> Token:
        """The next token, and go on."""
        token = self.token
        if token.kind != END:
            self._go_on(1)
        return token

    def accept(self, first: str, *more: str) -> bool:
        """Take these tokens if they are next, all or none of them."""
        # Mostly they are not: that is found out with as little as possible.
        if self.kind != first:
            return False
        if more and any(self.ahead(number) != kind for number, kind in enumerate(more, 1)):
            return False
        self._go_on(1 + len(more))
        return True

    def expect(self, *kinds: str) -> None:
        """Take these tokens one after the other."""
        for kind in kinds:
            if self.kind != kind:
                msg = f"expected {_shown(kind)}"
                raise self.error(msg, expected=(kind,))
            if kind != END:
                self._go_on(1)

    @property
    def is_name(self) -> bool:
        """Whether a name is next."""
        return self.kind in _IS_NAME

    def name(self, what: str = "a name") -> str:
        """A name: in upper case unless it is quoted."""
        token = self.token
        if token.kind not in _IS_NAME:
            msg = f"expected {what}"
            raise self.error(msg, hint=self.hint_for_name())
        self._go_on(1)
        if token.kind == QUOTED:
            quote = token.text[0]
            return token.text[1:-1].replace(quote * 2, quote)
        return token.text.upper()

    def string(self, what: str = "a text in single quotes") -> str:
        """A literal text."""
        if self.kind != STRING:
            msg = f"expected {what}"
            raise self.error(msg, hint=as_text(self.token))
        return self.take().text[1:-1].replace("''", "'")

    def listed(self, item: Callable[[], T]) -> tuple[T, ...]:
        """One or more items with commas between them."""
        items = [item()]
        while self.accept(","):
            items.append(item())
        return tuple(items)

    def in_parentheses(self, item: Callable[[], T]) -> tuple[T, ...]:
        """One or more items with commas between them, in parentheses."""
        self.expect("(")
        items = self.listed(item)
        self.expect(")")
        return items

    def go_deeper(self) -> None:
        """One level of nesting begins; ``come_up`` ends it."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            msg = f"nested more than {_MAX_DEPTH} deep"
            raise self.error(msg, code="parse.too-deep")

    @property
    def is_outermost(self) -> bool:
        """Whether nothing is nested around the next token."""
        return self._depth == 0

    def come_up(self) -> None:
        """A level of nesting ends."""
        self._depth -= 1

    def error(
        self, message: str, *, code: str = "parse.syntax", hint: str | None = None, expected: Iterable[str] = ()
    ) -> SqlError:
        """An error about the next token; ``expected`` are the words that could stand there."""
        token = self.token
        hint = expected_word(token, expected) or hint or likely_word(token, self._before)
        if token.kind == VARIABLE:
            hint = f"The variable {token.text} is not defined: DEFINE {token.text[2:-1]} = '...';"
        found = "the text ends" if token.kind == END else f"found {_short(token.text)}"
        return error_at(self.text, token.start, token.end, code, f"{message}, {found}", hint=hint)

    def error_from(self, start: int, message: str, *, code: str = "parse.syntax", hint: str | None = None) -> SqlError:
        """An error about what was taken since ``start``."""
        return error_at(self.text, start, self.end, code, message, hint=hint)

    def hint_for_expression(self) -> str | None:
        """What to do where a word stands that begins no expression."""
        return no_expression(self.token, self._before) or self.hint_for_name()

    def hint_for_name(self) -> str | None:
        """What to do where a reserved word stands instead of a name."""
        token = self.token
        if token.kind == token.text.upper() and token.text.isidentifier():
            return f"{token.kind} is a reserved word. As a name it is written in back-ticks: `{token.kind}`."
        return None


def _shown(kind: str) -> str:
    return f"'{kind}'" if not kind.isalpha() else kind


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
