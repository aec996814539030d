"""A whole text: its statements, each with the text it came from."""

from __future__ import annotations

from functools import partial

from headrace.sql.text.cursor import Cursor
from headrace.sql.text.expressions import expression
from headrace.sql.text.queries import item
from headrace.sql.text.statements import column, statement
from headrace.sql.text.tokens import END
from headrace.sql.tree.expressions import Expression
from headrace.sql.tree.queries import SelectItem
from headrace.sql.tree.statements import ColumnDefinition, Parsed


def parse(text: str, *, commands: bool = False) -> list[Parsed]:
    """The statements of ``text``. All of it is read before any of it is used, so an error anywhere is an error here.

    With ``commands`` those of a shell, RUN SCRIPT and SPOOL, are statements, too.

    >>> [parsed.statement.name for parsed in parse("CREATE TYPE a AS INT; DROP TYPE a;")]
    ['A', 'A']
    """
    cursor = Cursor(text)
    found = []
    try:
        while cursor.kind != END:
            start, cursor.subject = cursor.at, None
            tree = statement(cursor, commands=commands)
            cursor.expect(";")
            found.append(Parsed(tree, text[start : cursor.end], start, text, cursor.subject))
    except RecursionError:
        # How deep Python's stack reaches depends on who calls.
        raise cursor.error("nested too deep", code="parse.too-deep") from None
    return found


def parse_expression(text: str) -> Expression:
    """One expression by itself.

    >>> from headrace.sql.text.format import shown
    >>> shown(parse_expression("a + 2 * b"))
    '(A + (2 * B))'
    """
    cursor = Cursor(text)
    found = expression(cursor)
    cursor.expect(END)
    return found


def parse_item(text: str) -> SelectItem:
    """One item of a SELECT by itself: an expression, with its alias if it has one."""
    cursor = Cursor(text)
    found = item(cursor)
    cursor.expect(END)
    return found


def parse_columns(text: str) -> tuple[ColumnDefinition, ...]:
    """The columns of a schema as it is written, with commas between them; there may be none."""
    cursor = Cursor(text)
    found = () if cursor.kind == END else cursor.listed(partial(column, cursor))
    cursor.expect(END)
    return found
