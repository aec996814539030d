"""What one user has set and defined; it is gone when the user is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.sql.errors import SqlError
from headrace.sql.text.parser import parse
from headrace.sql.text.splitting import statements_of
from headrace.sql.text.variables import substituted
from headrace.sql.tree import statements as st


@dataclass(slots=True)
class Session:
    """Settings of SET, and variables of DEFINE by their names in upper case."""

    settings: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)

    def copy(self) -> Session:
        """A session that says the same, to try something in."""
        return Session(dict(self.settings), dict(self.variables))

    def parsed(self, text: str) -> list[st.Parsed]:
        """The statements of a text, with the values of variables, those that the text itself defines among them."""
        if "${" not in text:
            return parse(text)
        tried = self.copy()
        found = []
        for _, statement in statements_of(text):
            for parsed in parse(substituted(statement, tried.variables)):
                tried.keep(parsed.statement)
                found.append(parsed)
        return found

    def keep(self, statement: st.Statement) -> str | None:
        """Do what the statement does to the session, and say it; None where it does nothing to it."""
        match statement:
            case st.SetProperty(name, value, for_system=False):
                self.settings[name] = value
                return f"{name} is {value}"
            case st.UnsetProperty(name):
                if name not in self.settings:
                    message = f"{name} is not set here"
                    raise SqlError("session.setting", message, hint="SHOW PROPERTIES; lists what is set.")
                del self.settings[name]
                return f"{name} is what it was"
            case st.Define(name, value):
                self.variables[name.upper()] = value
                return f"{name} stands for {value}"
            case st.Undefine(name):
                if name.upper() not in self.variables:
                    raise SqlError("name.variable", f"there is no variable {name}")
                del self.variables[name.upper()]
                return f"{name} stands for nothing"
            case _:
                return None
