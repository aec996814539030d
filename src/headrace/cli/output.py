"""What commands print: tables and lines for people, JSON for programs, errors in three parts.

Results go to the standard output, all else to the standard error. Text from records and names may hold anything, so
control characters are shown, never sent to the terminal.
"""

from __future__ import annotations

import json
import logging
import os
import re
import select
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headrace.errors import HeadraceError
from headrace.lifecycle.failures import is_failure_entry

_UNLIMITED = 100_000
_DIRECTIONS = "\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
_CONTROL = re.compile(f"[\x00-\x1f\x7f-\x9f{_DIRECTIONS}]")
_CONTROL_IN_LINES = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_DIRECTIONS}]")
_PASSWORD = re.compile(r"(//[^/@:\s]*):[^/@\s]+@")


def clean(text: str) -> str:
    r"""``text`` on one line, with nothing in it that a terminal would act upon.

    >>> clean("a\x1b[31m\tb")
    'a\\x1b[31m\\tb'
    """
    return _CONTROL.sub(_shown, _encodable(text))


def clean_lines(text: str) -> str:
    r"""Like ``clean``, but lines and tabs stay.

    >>> clean_lines("a\n\tb\x07")
    'a\n\tb\\x07'
    """
    return _CONTROL_IN_LINES.sub(_shown, _encodable(text))


def counted(count: int, noun: str) -> str:
    """How many of what.

    >>> counted(1, "record"), counted(1200, "record")
    ('1 record', '1,200 records')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def redacted(text: str) -> str:
    """``text`` without the passwords of addresses.

    >>> redacted("kafka://al:geheim@host:9092")
    'kafka://al:***@host:9092'
    """
    return _PASSWORD.sub(r"\1:***@", text)


def _shown(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


class CommandConsole(Console):
    """Text as it is: nothing in it is markup, and nothing is highlighted."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def on_broken_pipe(self) -> None:
        """Called while the error is handled: the command decides, not Rich, which would exit with 1."""
        raise


class Output:
    """Where one command writes. ``json`` and ``quiet`` are as the user asked."""

    def __init__(self, *, json: bool = False, quiet: bool = False) -> None:
        self.json = json
        self.quiet = quiet
        self._out, self._err = _console(), _console(stderr=True)

    @property
    def is_terminal(self) -> bool:
        return self._out.is_terminal

    def line(self, text: str, style: str = "") -> None:
        self._out.print(Text(clean(text), style), soft_wrap=True)

    def text(self, text: str) -> None:
        """Lines of the result as they are; on a terminal without control characters."""
        sys.stdout.write(clean_lines(text) if self.is_terminal else _encodable(text))

    def data(self, value: Any) -> None:
        self.text(json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Rows below column names. Columns that begin with ``>`` hold numbers."""
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left", overflow="fold")
        for row in rows:
            table.add_row(*(_cell(value) for value in row))
        self._out.print(table)

    def listing(
        self,
        found: Sequence[Mapping[str, Any]],
        columns: Sequence[str],
        rows: Iterable[Sequence[object]],
        *,
        none: str,
    ) -> None:
        """What there is: with ``--quiet`` the names alone, which come first in each; a note where there is nothing."""
        if self.json:
            self.data(found)
        elif self.quiet:
            for one in found:
                self.line(str(next(iter(one.values()))))
        elif not found:
            self.note(none)
        else:
            self.table(columns, rows)

    def styled(self, *parts: tuple[str, str]) -> None:
        self._out.print(Text.assemble(*((clean(text), style) for text, style in parts)), soft_wrap=True)

    def done(self, said: str, data: Mapping[str, Any]) -> None:
        """What a command did: a sentence, or with ``--json`` the same as data."""
        if self.json:
            self.data(data)
        elif not self.quiet:
            self.line(said)

    def note(self, text: str) -> None:
        """Something worth knowing that is no result."""
        if not self.quiet:
            self._err.print(Text(clean(redacted(text)), "dim"), soft_wrap=True)

    def error(self, error: HeadraceError, code: int) -> None:
        """Message, detail, hint and place of an error, on the standard error."""
        parts = {"detail": error.detail, "hint": error.hint, "at": error.at}
        found = {name: redacted(text) for name, text in parts.items() if text}
        if self.json:
            told = {"error": redacted(error.message), **found, "exit_code": code}
            sys.stderr.write(_encodable(json.dumps(told, ensure_ascii=False)) + "\n")
            return
        message = clean_lines(redacted(error.message))
        self._err.print(Text.assemble(("error: ", "bold red"), message), soft_wrap=True)
        for name, text in found.items():
            self._err.print(Text.assemble((f"  {name}: ", "bold"), clean_lines(text)), soft_wrap=True)


def _console(*, stderr: bool = False) -> Console:
    console = CommandConsole(stderr=stderr)
    if not console.is_terminal:
        console.width = _UNLIMITED
    return console


def flush_what_is_read() -> None:
    """Flush the output. What nobody reads any more points to nowhere then: Python flushes it again at its exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            try:
                os.dup2(nowhere, stream.fileno())
            finally:
                os.close(nowhere)


def is_unread(stream: TextIO) -> bool:
    """Whether what is written to it goes into a pipe whose reader went away; nothing is written to find out."""
    look = select.poll()
    try:
        look.register(stream, 0)
    except (OSError, ValueError):  # closed, or no file
        return False
    return any(event & select.POLLERR for _, event in look.poll(0))


def _cell(value: object) -> Text:
    if value is None:
        return Text("-")
    return Text(f"{value:,}" if isinstance(value, int) else clean(str(value)))


@contextmanager
def warnings_as_notes(note: Callable[[str], None], *, with_failures: bool = True) -> Iterator[None]:
    """Hand every warning and error that is logged inside the block to ``note``, and to nobody else.

    What fails alike on many rows of a query is handed on once, and at the end with the number of times. Who tells the
    failures of applications itself takes the log without them.
    """
    on_rows: Counter[str] = Counter()

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if is_failure_entry(record) and not with_failures:
                return
            if record.name == "headrace.sql.processing":
                on_rows[record.getMessage()] += 1
                if on_rows[record.getMessage()] > 1:
                    return
            # Whoever logs is in the middle of something else. Where nobody reads it, the next result ends the command.
            with suppress(OSError):
                note(f"{record.levelname.lower()}: {record.getMessage()}")

    logger = logging.getLogger("headrace")
    # Spark's client gives Python's root logger a handler when a connection is lost: nothing is to be told twice.
    propagate, logger.propagate = logger.propagate, False
    handlers, logger.handlers = logger.handlers, [Notes(logging.WARNING)]
    try:
        yield
    finally:
        logger.propagate, logger.handlers = propagate, handlers
        with suppress(OSError):
            for failure, times in on_rows.items():
                if times > 1:
                    note(f"warning: {times} times: {failure}")
