"""Where mistakes are: statements count their places in the text that they stood in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headrace.sql.errors import SqlError
from headrace.sql.tree.statements import Parsed


def text_with_places(text: str) -> str | None:
    """The text that places in its statements are counted in; None where variables move them."""
    return text if "${" not in text else None


@contextmanager
def mistakes_located(parsed: Parsed, text: str | None) -> Iterator[None]:
    """Let an SqlError of the block show the line of its place; without ``text`` that of the statement alone."""
    try:
        yield
    except SqlError as error:
        error.locate(text if text is not None else " " * parsed.start + parsed.text)
        raise
