"""Where mistakes are: statements count their places in the text that they stood in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headrace.sql.errors import SqlError
from headrace.sql.tree.statements import Parsed


@contextmanager
def mistakes_located(parsed: Parsed) -> Iterator[None]:
    """Let an SqlError of the block show the line of its place, and the file."""
    try:
        yield
    except SqlError as error:
        error.locate(parsed.within or " " * parsed.start + parsed.text)
        error.at = error.at or parsed.file
        raise
