"""What can be wrong with SQL: a stable code, a place in the text, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from headrace.errors import HeadraceError

NOWHERE = -1
"""The offset of what stands in no text: the planner made it up, such as the columns of a star."""
_SHOWN = 100
"""Characters of a line that an error shows: a statement may be a megabyte in one line."""
_NAME = r"(?:[A-Za-z0-9_@]+|`[^`]*`|\"[^\"]*\")"
_WORD = re.compile(rf"-?(?:[0-9]*\.[0-9]+|{_NAME}(?:\.{_NAME})?)|'[^']*'")
"""What is underlined of a mistake: a number, a name with its source, a text."""


class Place(NamedTuple):
    """A place in a text, counted from 1 as editors do."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


class SqlError(HeadraceError, ValueError):
    """A statement that cannot be parsed, planned or run.

    ``code`` is stable and meant for programs (``parse.syntax``); ``place`` says where.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        place: Place | None = None,
        fragment: str | None = None,
        detail: str | None = None,
        hint: str | None = None,
        offset: int | None = None,
    ) -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.code = code
        self.place = place
        self.fragment = fragment
        """The line of the text, the wrong part underlined."""
        self.offset = _known(offset)
        """Where in the text it is, for whoever has the text: see ``locate``."""

    def locate(self, text: str, statement: slice = slice(None), subject: int | None = None) -> None:
        """Say where in ``text`` it is, if that was not said yet.

        A mistake without a place is that of the ``subject`` of the statement, and without one the whole statement's.
        """
        if self.place is None:
            start, end, _ = statement.indices(len(text))
            is_known = self.offset is not None and start <= self.offset < end
            offset = self.offset if is_known else subject
            if offset is not None:
                start, end = offset, _end_of_word(text, offset)
            self.place, self.fragment = place_of(text, start), underlined(text, start, end)

    def __str__(self) -> str:
        where = f"line {self.place}: " if self.place else ""
        shown = f"\n{self.fragment}" if self.fragment else ""
        return f"{where}{super().__str__()}{shown}"


def _known(offset: int | None) -> int | None:
    return None if offset == NOWHERE else offset


def _end_of_word(text: str, start: int) -> int:
    """Where the word ends that is wrong; of anything else the first character is marked."""
    word = _WORD.match(text, start)
    return start + 1 if word is None else word.end()


@contextmanager
def mistakes_at(offset: int | None) -> Iterator[None]:
    """Let an SqlError of the block that does not know its place have this one."""
    try:
        yield
    except SqlError as error:
        if error.offset is None:
            error.offset = _known(offset)
        raise


def place_of(text: str, offset: int) -> Place:
    """Where ``offset`` is in ``text``."""
    return Place(text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1)


def underlined(text: str, start: int, end: int) -> str:
    """The line around ``start``, with marks below what reaches to ``end``."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    line = text[first : len(text) if last < 0 else last]
    left = max(0, start - first - _SHOWN // 2)
    line = line[left : left + _SHOWN].replace("\t", " ").rstrip("\r")
    column = start - first - left
    return f"    {line}\n    {' ' * column}{'^' * max(1, min(end - start, len(line) - column))}"


def error_at(text: str, start: int, end: int, code: str, message: str, *, hint: str | None = None) -> SqlError:
    """An error about ``text[start:end]``."""
    place, fragment = place_of(text, start), underlined(text, start, end)
    return SqlError(code, message, place=place, fragment=fragment, hint=hint)
