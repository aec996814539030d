"""Lines of Python: functions with blocks, names for values, and what names stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.sql.compile.recipes import Recipe, Value

_ATOM = re.compile(r"[a-z]+[0-9]+|None|True|False|-?[0-9]+")
_LONG = 150
"""An expression that is longer gets a name: Python's parser does not take any depth of parentheses."""


class Module:
    """Generated functions, and the names that they share."""

    def __init__(self) -> None:
        self.functions: list[str] = []
        self._recipes: dict[Any, str] = {}
        self.names: dict[str, Recipe] = {}

    def name_of(self, recipe: Recipe) -> str:
        """The name under which what the recipe makes is known."""
        # Values that are equal may still differ: 1.0 and 1.00, 1 and True.
        if isinstance(recipe, Value) and not callable(recipe.value):
            return self._new_name(recipe)
        if recipe not in self._recipes:
            self._recipes[recipe] = self._new_name(recipe)
        return self._recipes[recipe]

    def _new_name(self, recipe: Recipe) -> str:
        name = f"k{len(self.names)}"
        self.names[name] = recipe
        return name

    def function(self, value: Any) -> str:
        """The name of a function of ours."""
        return self.name_of(Value(value))


class Writer:
    """Writes the body of one function of ``row`` and ``log``."""

    def __init__(self, module: Module, variables: dict[str, str] | None = None) -> None:
        self.module = module
        self.variables = dict(variables or {})
        """Names of lambdas' parameters, and what they are called here."""
        self.depth = 0
        self._lines: list[str] = []
        self._columns: set[int] = set()
        self._count = 0

    def line(self, text: str) -> None:
        """One more line."""
        self._lines.append(f"{' ' * self.depth}{text}")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Lines below ``head``, indented."""
        self.line(head)
        self.depth += 1
        yield
        self.depth -= 1

    @contextmanager
    def apart(self, deeper: int = 1) -> Iterator[list[str]]:
        """Lines that are kept apart, to be added by ``add`` or not at all."""
        lines, self._lines = self._lines, []
        kept = self._lines
        self.depth += deeper
        yield kept
        self.depth -= deeper
        self._lines = lines

    def add(self, lines: list[str]) -> None:
        """Lines that were kept apart."""
        self._lines.extend(lines)

    def new(self, prefix: str = "t") -> str:
        """A new name."""
        self._count += 1
        return f"{prefix}{self._count}"

    def named(self, expression: str) -> str:
        """A name for the value of an expression; a name, or a number, is one already."""
        if _ATOM.fullmatch(expression):
            return expression
        name = self.new()
        self.line(f"{name} = {expression}")
        return name

    def short(self, expression: str) -> str:
        """The expression, or a name for it if it is long."""
        return self.named(expression) if len(expression) > _LONG else expression

    def column(self, index: int) -> str:
        """The name of a column's value."""
        self._columns.add(index)
        return f"c{index}"

    def text(self, name: str, parameters: str) -> str:
        """The whole function."""
        columns = [f" c{index} = row[{index}]" for index in sorted(self._columns)]
        body = [f" {line}" for line in self._lines]
        return "\n".join([f"def {name}({parameters}):", *columns, *body, ""])
