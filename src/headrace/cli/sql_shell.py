"""The shell: lines to statements, statements to answers, until the user has enough."""

from __future__ import annotations

import os
import readline
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from headrace.cli.sql_show import AnswerScreen
from headrace.database import Database
from headrace.errors import HeadraceError
from headrace.private_directories import make_private
from headrace.sql.catalog.catalog import Catalog
from headrace.sql.errors import SqlError
from headrace.sql.functions.registry import Registry
from headrace.sql.keywords import KEYWORDS
from headrace.sql.text.splitting import is_ended

PROMPT, MORE = "sql> ", "...> "
HELP = """Statements are ksqlDB's and end with ; over as many lines as they need:
  CREATE STREAM orders (id INT KEY, item STRING, amount INT)
    WITH (kafka_topic='orders', value_format='JSON', partitions=1);
  INSERT INTO orders VALUES (1, 'tea', 3);
  CREATE TABLE totals AS SELECT item, SUM(amount) AS total FROM orders GROUP BY item;
  SELECT * FROM totals WHERE item = 'tea';       what is there now
  SELECT * FROM orders EMIT CHANGES;             what comes, until Ctrl-C
  SET 'auto.offset.reset' = 'earliest';          read topics from their beginning
  SHOW STREAMS; SHOW TABLES; SHOW QUERIES; DESCRIBE orders; PRINT 'orders' FROM BEGINNING;

Ctrl-C ends a query, or forgets what was typed; Ctrl-D or \\q ends the shell. Tab completes words and names.
\\run FILE, or RUN SCRIPT 'FILE'; executes the statements of a file.
SPOOL 'FILE'; keeps what is shown in a file, until SPOOL OFF;"""
_HISTORY_LENGTH = 1000


class Lines(Protocol):
    """Where lines come from. The end is an EOFError, Ctrl-C a KeyboardInterrupt."""

    def read(self, prompt: str) -> str: ...

    def remember(self, statement: str) -> None:
        """Keep it for another time."""


class Shell:
    """Reads, executes and shows, again and again."""

    def __init__(
        self,
        database: Database,
        screen: AnswerScreen,
        lines: Lines,
        greeting: str,
        before_prompt: Callable[[], None] = lambda: None,
    ) -> None:
        self._database, self._screen, self._lines, self._greeting = database, screen, lines, greeting
        self._before_prompt = before_prompt
        database.session.spool = screen.spool

    def run(self) -> None:
        for line in self._greeting.splitlines():
            self._screen.out.note(line)
        while (text := self._statement()) is not None:
            self._lines.remember(text)
            if text.strip().rstrip(";").lower() in {"\\q", "exit", "quit"}:
                return
            self._obey(text)

    def _statement(self) -> str | None:
        """Lines until a statement is whole; None at the end."""
        text, prompt = "", PROMPT
        while True:
            try:
                self._before_prompt()
                text += self._lines.read(prompt)
            except EOFError:
                return None
            except KeyboardInterrupt:
                self._screen.out.line("")
                text, prompt = "", PROMPT
                continue
            if is_whole(text):
                return text
            text, prompt = (text + "\n", MORE) if text.strip() else ("", PROMPT)

    def _obey(self, text: str) -> None:
        self._screen.spool.typed(f"{PROMPT}{text}\n")
        try:
            if text.lstrip().startswith("\\"):
                self._command(text)
            else:
                self._execute(text)
        except KeyboardInterrupt:
            self._screen.out.line("")
        except SqlError as error:
            self._screen.mistake(error)
        except HeadraceError as error:
            self._screen.out.error(error, 1)

    def _command(self, text: str) -> None:
        name, _, argument = text.strip().partition(" ")
        if name == "\\run" and argument:
            file = argument.strip().strip("'\"").replace("'", "''")
            self._execute(f"RUN SCRIPT '{file}';")
        elif name == "\\help":
            self._screen.out.text(HELP + "\n")
        else:
            self._screen.out.note(f"{name} is no command of the shell: \\help, \\q, \\run FILE.")

    def _execute(self, text: str) -> None:
        for _, answer in self._database.run_text(text):
            with answer:
                self._screen.show(answer)


def is_whole(text: str) -> bool:
    r"""Whether there is nothing left to type: statements, each with its semicolon, or a command of the shell.

    >>> is_whole("SELECT 1;"), is_whole("SELECT ';"), is_whole("\\help"), is_whole("-- only a remark")
    (True, False, True, False)
    """
    bare = text.strip()
    if bare.startswith("\\") or bare.lower() in {"exit", "quit"}:
        return True
    try:
        return is_ended(text)
    except SqlError as error:
        # A string or a comment may be closed on a later line; what is wrong otherwise stays wrong.
        return "is not closed" not in error.message and bare.endswith(";")


class Terminal:
    """Lines from the user at a terminal, with a history that only its owner can read."""

    def __init__(self, database: Database, history: Path | None = None) -> None:
        self._history = history or history_file()
        readline.set_auto_history(False)
        readline.set_history_length(_HISTORY_LENGTH)
        readline.set_completer_delims(" \t\n,()=<>+-*/;")
        readline.set_completer(_completer(database))
        readline.parse_and_bind("tab: complete")
        self._load()

    def read(self, prompt: str) -> str:
        return input(prompt)

    def remember(self, statement: str) -> None:
        """As one line, so that it comes back at one press of a key."""
        readline.add_history(" ".join(statement.split()))
        make_private(self._history.parent)
        os.close(os.open(self._history, os.O_CREAT | os.O_WRONLY, 0o600))
        os.chmod(self._history, 0o600)
        readline.write_history_file(self._history)

    def _load(self) -> None:
        readline.clear_history()
        if self._history.is_file():
            readline.read_history_file(self._history)


def history_file() -> Path:
    """Where the statements of earlier shells are."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "headrace" / "sql-history"


def _completer(database: Database) -> Callable[[str, int], str | None]:
    found: list[str] = []

    def complete(word: str, number: int) -> str | None:
        if number == 0:
            found[:] = completions(word, database.engine.catalog, database.engine.functions)
        return found[number] if number < len(found) else None

    return complete


_COMMANDS = ("\\help", "\\q", "\\run")


def completions(word: str, catalog: Catalog, functions: Registry) -> list[str]:
    """What may be meant, in the case in which it was begun.

    >>> completions("sele", Catalog(), Registry())
    ['select ']
    """
    if word.startswith("\\"):
        return [command for command in _COMMANDS if command.startswith(word)]
    names = {*catalog.sources, *catalog.types}
    columns = {column.name for source in catalog.sources.values() for column in source.schema}
    known = KEYWORDS | names | columns | functions.names.keys()
    found = sorted(each for each in known if each.startswith(word.upper()))
    if len(found) == 1:
        # Nothing else can be meant: what follows may be typed at once.
        found = [f"{found[0]}("] if found[0] in functions.names else [f"{found[0]} "]
    return [each.lower() for each in found] if word and word.islower() else found
