"""What one user has set and defined; it is gone when the user is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.sql.engine.places import mistakes_located
from headrace.sql.errors import SqlError
from headrace.sql.settings import STREAMS, check_set_by_statement, in_force
from headrace.sql.text.parser import parse
from headrace.sql.text.splitting import statements_of
from headrace.sql.text.variables import substituted
from headrace.sql.tree import statements as st


@dataclass(slots=True)
class Session:
    """Settings of SET, and variables of DEFINE by their names in upper case."""

    settings: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    read_script: Callable[[str], str] | None = None
    """The text of a file that RUN SCRIPT names; without it the commands of a shell are no statements, as in ksqlDB."""
    spool: Callable[[str | None], str] | None = None
    """What SPOOL does, and says; without it nothing is shown that could be kept."""

    def copy(self) -> Session:
        """A session that says the same, to try something in."""
        spool = None if self.spool is None else _spooled_nowhere
        return Session(dict(self.settings), dict(self.variables), self.read_script, spool)

    def parsed(self, text: str, *, script: str | None = None) -> list[st.Parsed]:
        """The statements of a text, with the values of variables, and those of scripts in the place of RUN SCRIPT.

        All count as statements of ``script``, which remembers what it executed.
        """
        return [replace(parsed, script=script) for parsed in self._statements(text, self.copy(), ())]

    def _statements(self, text: str, tried: Session, files: tuple[str, ...]) -> Iterator[st.Parsed]:
        """``tried`` has the variables that are defined on the way; ``files`` are those that hold the text."""
        with mistakes_in(files):
            for found in _read(text, tried):
                parsed = replace(found, file=files[-1]) if files else found
                if isinstance(parsed.statement, st.RunScript):
                    with mistakes_located(parsed):
                        within = self._script(parsed.statement.file, files)
                    yield from self._statements(within, tried, (*files, parsed.statement.file))
                    continue
                if isinstance(parsed.statement, st.Define | st.Undefine):
                    with mistakes_located(parsed):
                        tried.keep(parsed.statement)
                yield parsed

    def _script(self, file: str, files: tuple[str, ...]) -> str:
        assert self.read_script is not None, "without it RUN SCRIPT is no statement"
        if file in files:
            raise SqlError("script.cycle", f"the script {file} runs itself", detail=" > ".join((*files, file)))
        return self.read_script(file)

    def keep(self, statement: st.Statement) -> str | None:
        """Do what the statement does to the session, and say it; None where it does nothing to it."""
        match statement:
            case st.SetProperty(name, value, for_system=False):
                check_set_by_statement(name, value)
                self.settings = in_force(self.settings, {name: value})
                return f"{name} is {value}"
            case st.UnsetProperty(name):
                said = [each for each in self.settings if each.removeprefix(STREAMS) == name.removeprefix(STREAMS)]
                if not said:
                    message = f"{name} is not set here"
                    raise SqlError("session.setting", message, hint="SHOW PROPERTIES; lists what is set.")
                del self.settings[said[0]]
                return f"{name} is what it was"
            case st.Define(name, value):
                self.variables[name.upper()] = value
                return f"{name} stands for {value}"
            case st.Undefine(name):
                if name.upper() not in self.variables:
                    raise SqlError("name.variable", f"there is no variable {name}")
                del self.variables[name.upper()]
                return f"{name} stands for nothing"
            case st.Spool(file):
                if self.spool is None:
                    hint = "Nothing is shown here. In headrace sql it works."
                    raise SqlError("spool.screen", "SPOOL keeps in a file what a shell shows", hint=hint)
                return self.spool(file)
            case _:
                return None


def _spooled_nowhere(file: str | None) -> str:
    return ""


def _read(text: str, session: Session) -> Iterator[st.Parsed]:
    """The statements of one text; each sees the variables that the session has when it is asked for."""
    commands = session.read_script is not None
    if "${" not in text:
        yield from parse(text, commands=commands)
        return
    for _, statement in statements_of(text):
        yield from parse(substituted(statement, session.variables), commands=commands)


@contextmanager
def mistakes_in(files: tuple[str, ...]) -> Iterator[None]:
    """Let an SqlError of the block name the file that holds it."""
    try:
        yield
    except SqlError as error:
        if files and error.at is None:
            error.at = files[-1]
        raise
