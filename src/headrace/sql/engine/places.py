"""Where mistakes are: statements count their places in the text that they stood in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from headrace.sql.errors import SqlError
from headrace.sql.text.meant import single_quoted
from headrace.sql.tree.statements import InsertValues, Parsed

_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_ARROW = re.compile(r"([A-Za-z_][A-Za-z0-9_@]*)\s*->")
_BARE = re.compile(r"([A-Za-z_][A-Za-z0-9_@]*)(?!\s*[.(])")


@contextmanager
def mistakes_located(parsed: Parsed) -> Iterator[None]:
    """Let an SqlError of the block show the line of its place, and the file."""
    try:
        yield
    except SqlError as error:
        statement = parsed.statement
        text = parsed.within or " " * parsed.start + parsed.text
        error.locate(text, slice(parsed.start, parsed.start + len(parsed.text)), parsed.subject)
        error.at = error.at or parsed.file
        if error.code == "name.column" and error.offset is not None:
            error.hint = _meant_as_lambda(text, error.offset) or error.hint
            is_value = isinstance(statement, InsertValues) and error.offset not in statement.columns_at
            as_text = _meant_as_text(text, error.offset, is_value=is_value)
            # One mistake may pass through here twice: a script is located in the statement that runs it.
            if as_text is not None and as_text not in (error.hint or ""):
                error.hint = as_text if error.hint is None else f"{error.hint} {as_text}"
        raise


def _meant_as_lambda(text: str, offset: int) -> str | None:
    """An unknown column with an arrow behind it, as the argument of a function, may be a parameter."""
    found = _ARROW.match(text, offset)
    is_argument = text[:offset].rstrip()[-1:] in {"(", ","}
    return f"The arrow of a lambda is =>: {found[1]} => ..." if found is not None and is_argument else None


def _meant_as_text(text: str, offset: int, *, is_value: bool) -> str | None:
    """What an unknown column may be instead: a text in double quotes, or one without any where a value stands."""
    found = _QUOTED.match(text, offset)
    if found is not None:
        return single_quoted(found[1].replace('""', '"'))
    found = _BARE.match(text, offset)
    is_value = is_value or text[:offset].rstrip()[-1:] in {"=", "<", ">"}
    return single_quoted(found[1]) if found is not None and is_value else None
