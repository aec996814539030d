"""Names for columns that were given none."""

from __future__ import annotations

import re
from collections.abc import Iterable

from headrace.sql.schema import Column
from headrace.sql.tree.expressions import Dereference, Expression

_NUMBERED = re.compile(r"(.*?)(?:_(\d+))?", re.DOTALL)
_GENERATED = "KSQL_COL"
_SYNTHETIC_KEY = "ROWKEY"
AGGREGATE_VARIABLE = "KSQL_AGG_VARIABLE_"
"""Before the number of an aggregate: the columns of their results."""
INTERNAL_COLUMN = "KSQL_INTERNAL_COL_"
"""Before the number of an expression that is an argument of an aggregate."""
TABLE_FUNCTION_COLUMN = "KSQL_SYNTH_"
"""Before the number of a table function: the columns of their results."""


class GeneratedNames:
    """Names that none of certain columns has: ``KSQL_COL_0`` and so on, and names of fields."""

    def __init__(self, columns: Iterable[Column]) -> None:
        self._numbers: dict[str, _Numbers] = {}
        for column in columns:
            prefix, number = _numbered(column.name)
            self._of(prefix).used.add(number)

    def of_expression(self, expression: Expression) -> str:
        """A field is named after itself, everything else is numbered."""
        if isinstance(expression, Dereference):
            return self._of(_numbered(expression.name)[0]).next()
        return self._of(_GENERATED).next()

    def of_synthetic_key(self) -> str:
        """ROWKEY, with a number if a column has this name already."""
        return self._of(_SYNTHETIC_KEY).next()

    def _of(self, prefix: str) -> _Numbers:
        return self._numbers.setdefault(prefix, _Numbers(prefix))


def joined_name(alias: str, name: str) -> str:
    """The name of a source's column among those of other sources."""
    return f"{alias}_{name}"


def may_be_synthetic_key(name: str) -> bool:
    """Whether a join may have made it up."""
    return name.startswith(_SYNTHETIC_KEY)


class _Numbers:
    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.used: set[int] = set()
        self._next = 0

    def next(self) -> str:
        while self._next in self.used:
            self._next += 1
        number = self._next
        self._next += 1
        return self.prefix if number == 0 and self.prefix != _GENERATED else f"{self.prefix}_{number}"


def _numbered(name: str) -> tuple[str, int]:
    found = _NUMBERED.fullmatch(name)
    return (found[1], int(found[2] or 0)) if found else (name, 0)
