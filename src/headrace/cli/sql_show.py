"""Answers on the screen: tables that fit it, rows as they come, JSON for programs, mistakes underlined."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from itertools import chain
from typing import Any

from rich.table import Table
from rich.text import Text

from headrace.cli import exits
from headrace.cli.output import CommandConsole, Output, clean, clean_lines
from headrace.cli.sql_spool import Spool
from headrace.database import Answer
from headrace.database.answers import Row
from headrace.sql.answers import plain_row
from headrace.sql.errors import SqlError
from headrace.sql.schema import Column
from headrace.sql.tree import types as t
from headrace.sql.tree.types import SqlType

_GAP = 2
_NARROWEST, _WIDEST = 8, 40
_NUMBERS = (t.INTEGER, t.BIGINT, t.DOUBLE)
_WIDTHS: dict[SqlType, int] = {
    t.BOOLEAN: 5,
    t.INTEGER: 11,
    t.BIGINT: 13,
    t.DOUBLE: 12,
    t.DATE: 10,
    t.TIME: 8,
    t.TIMESTAMP: 23,
}
"""What most values of a type need; of the others nobody knows before they come."""


class AnswerScreen:
    def __init__(self, out: Output) -> None:
        self.out = out
        self.spool = Spool()

    def show(self, answer: Answer) -> None:
        """All of an answer; one that goes on until it ends."""
        if self.out.json:
            self._show_json(answer)
        elif answer.is_log:
            for row in answer.raw():
                self.out.line(log_line(plain_row(row.values, answer.columns)))
        elif answer.tables:
            for table in answer.tables:
                self._titled(table.title, len(answer.tables))
                self.out.table(table.columns, [[_text(value) for value in row] for row in table.rows])
        elif not answer.columns:
            self.out.done(answer.message, {"message": answer.message})
        elif answer.is_live:
            self._show_live(answer)
        else:
            self._show_table(answer)

    def mistake(self, error: SqlError) -> None:
        """What is wrong with a statement, and where."""
        if self.out.json:
            sys.stderr.write(json.dumps(mistake_data(error), ensure_ascii=False) + "\n")
            return
        console = CommandConsole(stderr=True)
        where = f"line {error.place}: " if error.place else ""
        console.print(Text.assemble(("error: ", "bold red"), f"{where}{clean_lines(error.message)}"), soft_wrap=True)
        for line in (error.fragment or "").splitlines():
            console.print(Text(clean(line), "red" if set(line) <= {" ", "^"} else ""), soft_wrap=True)
        for name, text in (("detail", error.detail), ("hint", error.hint), ("at", error.at), ("code", error.code)):
            if text:
                console.print(Text.assemble((f"  {name}: ", "bold"), clean_lines(text)), soft_wrap=True)

    def _show_json(self, answer: Answer) -> None:
        if answer.tables:
            for table in answer.tables:
                for row in table.rows:
                    self._json_line(dict(zip(table.columns, row, strict=True)))
        elif not answer.columns and not self.out.quiet:
            self._json_line({"message": answer.message})
        for each in () if answer.tables else answer.raw():
            values = dict(zip(answer.names, plain_row(each.values, answer.columns), strict=True))
            self._json_line({**values, "@gone": True} if each.is_gone else values)

    def _json_line(self, data: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(data, ensure_ascii=False, default=str) + "\n")
        sys.stdout.flush()

    def _show_table(self, answer: Answer) -> None:
        rows = [row_texts(row, answer.columns) for row in answer.raw()]
        if self.out.is_terminal and len(answer.columns) * (_NARROWEST + _GAP) > _terminal_width():
            self._show_upright(answer.names, rows)
        else:
            self.out.table([_heading(column) for column in answer.columns], rows)

    def _show_upright(self, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A column a line, where there are too many for one."""
        widest = max(map(len, names))
        for number, row in enumerate(rows, 1):
            self.out.line(f"row {number}", "bold")
            for name, value in zip(names, row, strict=True):
                self.out.line(f"  {name:<{widest}}  {value}")

    def _show_live(self, answer: Answer) -> None:
        if not self.out.is_terminal:
            for texts in chain((answer.names,), (row_texts(row, answer.columns) for row in answer.raw())):
                self.out.text("\t".join(map(clean, texts)) + "\n")
                sys.stdout.flush()
            return
        console = CommandConsole()
        widths = live_widths(answer.columns, console.width)
        console.print(_line(answer.columns, answer.names, widths, "bold"))
        for row in answer.raw():
            console.print(_line(answer.columns, row_texts(row, answer.columns), widths, "dim" if row.is_gone else ""))

    def _titled(self, title: str, count: int) -> None:
        if title and count > 1:
            self.out.line(title, "bold")


def live_widths(columns: Sequence[Column], width: int) -> list[int]:
    """How wide columns are before their values are known: what types need, and the rest for the others.

    >>> live_widths([Column("ID", t.INTEGER), Column("NAME", t.STRING)], 80)
    [11, 40]
    >>> live_widths([Column(f"C{n}", t.STRING) for n in range(4)], 38)
    [8, 8, 8, 8]
    """
    room = width - _GAP * (len(columns) - 1)
    known = [_WIDTHS.get(column.type) for column in columns]
    fixed = [None if need is None else max(need, len(column.name)) for need, column in zip(known, columns, strict=True)]
    flexible = fixed.count(None)
    left = room - sum(need for need in fixed if need is not None)
    if left < flexible * _NARROWEST:
        return [max(1, room // len(columns))] * len(columns)
    share = min(_WIDEST, left // flexible) if flexible else 0
    return [share if need is None else need for need in fixed]


def row_texts(row: Row, columns: Sequence[Column]) -> list[str]:
    """The values of a row as people read them."""
    return [_text(value) for value in plain_row(row.values, columns)]


def log_line(values: Sequence[Any]) -> str:
    """A record as PRINT shows it.

    >>> log_line(["1970-01-01T00:00:00.000", "k", None, 0, 7])
    'rowtime: 1970-01-01T00:00:00.000, key: k, value: null, partition: 0, offset: 7'
    """
    names = ("rowtime", "key", "value", "partition", "offset")
    return ", ".join(f"{name}: {_text(value)}" for name, value in zip(names, values, strict=True))


def mistake_data(error: SqlError) -> dict[str, Any]:
    place = {} if error.place is None else {"line": error.place.line, "column": error.place.column}
    parts = {"detail": error.detail, "hint": error.hint, "at": error.at}
    told = {name: text for name, text in parts.items() if text}
    return {"error": error.message, "code": error.code, **place, **told, "exit_code": exits.FAILED}


def _heading(column: Column) -> str:
    return f">{column.name}" if column.type in _NUMBERS or isinstance(column.type, t.Decimal) else column.name


def _line(columns: Sequence[Column], texts: Sequence[str], widths: Sequence[int], style: str) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, _GAP, 0, 0))
    for column, width in zip(columns, widths, strict=True):
        is_number = _heading(column).startswith(">")
        table.add_column(width=width, justify="right" if is_number else "left", overflow="fold")
    table.add_row(*(Text(clean(text), style) for text in texts))
    return table


def _text(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case list() | dict() | tuple():
            return json.dumps(value, ensure_ascii=False, default=str)
        case _:
            return str(value)


def _terminal_width() -> int:
    return shutil.get_terminal_size().columns
