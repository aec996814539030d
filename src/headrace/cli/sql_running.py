"""What ``headrace sql`` does: it opens the database, hears statements, and shows answers."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, Literal

import typer

from headrace.cli import exits
from headrace.cli.exits import UsageError
from headrace.cli.output import counted, warnings_as_notes
from headrace.cli.session import Session
from headrace.cli.sql_failures import Failures
from headrace.cli.sql_shell import Shell, Terminal
from headrace.cli.sql_show import AnswerScreen
from headrace.database import Answer, Database
from headrace.database.database import Before
from headrace.database.scripts import without_mark
from headrace.lifecycle.signals import stop_signals
from headrace.sql.errors import SqlError
from headrace.sql.text.splitting import is_ended, statements_of
from headrace.sql.tree.statements import Listed, Parsed, Select, Show, SourceKind, Statement

_LOOK_SECONDS = 0.1


class SqlRun:
    def __init__(
        self, session: Session, settings: dict[str, Any], engine: Literal["spark", "local"], *, until_idle: bool
    ) -> None:
        self._session, self._settings, self._engine = session, settings, engine
        self._until_idle = until_idle
        self._screen = AnswerScreen(session.out)

    def shell(self) -> None:
        """Hear statements until the end of the input; what is not a terminal is read as with ``-e``."""
        if not sys.stdin.isatty():
            self.text(without_mark(sys.stdin.read()))
            return
        if self._until_idle:
            raise UsageError("--until-idle goes with -f or -e")
        with self._opened(runs_queries=True) as database:
            failures = Failures(database, self._session.out)
            Shell(database, self._screen, Terminal(database), self._greeting(database), failures.tell).run()
            failures.tell()

    def text(self, text: str) -> None:
        """Execute statements and end. Queries are left to the process that runs them, unless this one is to."""
        # Who wants queries in this process wants them to be run: nobody else may ever do that.
        self._until_idle = self._until_idle or self._engine == "local"
        with self._opened(runs_queries=self._until_idle) as database, self._mistakes_told():
            failures = Failures(database, self._session.out)
            for _, answer in database.run_text(with_semicolon(text), before=self._before(database, failures)):
                self._show(answer)
            self._finish(database, failures)

    def file(self, text: str, name: str) -> None:
        """Execute a file and run its queries until somebody ends them, or all of them have failed."""
        with self._opened(runs_queries=True) as database, self._mistakes_told():
            failures = Failures(database, self._session.out)
            for _, answer in database.run_script(text, name, before=self._before(database, failures)):
                self._show(answer)
            if self._until_idle:
                self._finish(database, failures)
            else:
                self._wait(database, failures)

    # Inside

    @contextmanager
    def _opened(self, *, runs_queries: bool) -> Iterator[Database]:
        with self._session.broker(create=True) as broker:
            config = broker.config
        with (
            warnings_as_notes(self._session.out.note, with_failures=False),
            closing(self._screen.spool),
            Database(config, engine=self._engine, settings=self._settings, runs_queries=runs_queries) as database,
        ):
            database.session.spool = self._screen.spool
            yield database

    def _before(self, database: Database, failures: Failures) -> Before:
        """Where all is to be processed, questions wait for it."""

        def before(parsed: Parsed) -> None:
            if self._until_idle and (_is_question(parsed.statement)):
                self._process_all(database, failures)

        return before

    def _show(self, answer: Answer) -> None:
        with answer:
            self._screen.show(answer)

    def _finish(self, database: Database, failures: Failures) -> None:
        if self._until_idle:
            self._process_all(database, failures)
            if failures.failed:
                raise typer.Exit(exits.FAILED)
        elif database.persistent_queries and database.runner is None:
            ids = ", ".join(database.persistent_queries)
            self._session.out.note(
                f"No process runs {ids} now: headrace sql does, and headrace sql -f FILE.sql. "
                "With --until-idle or --local this command does, and ends when all is processed."
            )

    def _process_all(self, database: Database, failures: Failures) -> None:
        """A query that fails takes no answer away: it is told, and the command goes on."""
        try:
            database.run_until_idle()
        except Exception as error:
            if all(database.failure_of(id_) is not error for id_ in failures.failed):
                raise
        failures.tell()

    def _wait(self, database: Database, failures: Failures) -> None:
        queries = database.persistent_queries
        if not queries:
            return
        with stop_signals() as wish:
            self._session.out.note(f"{', '.join(queries)}: running until Ctrl-C or SIGTERM.")
            while not wish.is_there and not failures.is_all:
                time.sleep(_LOOK_SECONDS)
                failures.tell()
        failures.tell()
        if failures.failed:
            raise typer.Exit(exits.FAILED)

    def _greeting(self, database: Database) -> str:
        runner = database.runner
        if runner is not None and runner.pid != os.getpid():
            where = f"in process {runner.pid}"
        else:
            where = "on Spark" if self._engine == "spark" else "in this process"
        known = database.engine.catalog.sources.values()
        streams = sum(source.kind is SourceKind.STREAM for source in known)
        there = f"{counted(streams, 'stream')}, {counted(len(known) - streams, 'table')}"
        hint = "Statements end with ;  \\help says more, \\q ends."
        return f"{self._session.address}: {there}; queries run {where}.\n{hint}"

    @contextmanager
    def _mistakes_told(self) -> Iterator[None]:
        try:
            yield
        except SqlError as error:
            with suppress(OSError):  # The exit code says so even where nobody reads why.
                self._screen.mistake(error)
            raise typer.Exit(exits.FAILED) from error


def _is_question(statement: Statement) -> bool:
    match statement:
        case Select() | Show(what=Listed.QUERIES):
            return True
        case _:
            return False


def with_semicolon(text: str) -> str:
    r"""The text with the semicolon that a single statement may go without.

    >>> with_semicolon("SHOW TABLES"), with_semicolon("SHOW TABLES;")
    ('SHOW TABLES\n;', 'SHOW TABLES;')
    """
    return text if not statements_of(text) or is_ended(text) else f"{text}\n;"
