"""Values that do not depend on a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.sql.analysis.typing import type_of
from headrace.sql.compile import value
from headrace.sql.errors import SqlError
from headrace.sql.functions.registry import Registry
from headrace.sql.schema import Column
from headrace.sql.text.format import shown
from headrace.sql.tree.expressions import Expression, IntegerLiteral, LongLiteral, StringLiteral
from headrace.sql.tree.types import SqlType
from headrace.sql.types.literals import literal_as


@dataclass(frozen=True, slots=True)
class _Failures:
    """A log whose lines are errors."""

    offset: int

    def failed(self, what: str, error: Exception, row: object) -> None:
        message = f"{what} cannot be computed: {error}"
        raise SqlError("pull.where", message, offset=self.offset) from error


def constant(expression: Expression, type_: SqlType, functions: Registry, key: Column | None = None) -> Any:
    """The value of an expression as a type. Text is not read as a number: that is an error, and so is NULL."""
    found, from_ = _value(expression, functions), type_of(expression, {}, functions)
    if found is None or from_ is None:
        what = "a window bound" if key is None else f"the key column `{key.name}`"
        raise SqlError("pull.where", f"{shown(expression)}: {what} cannot be NULL", offset=expression.at)
    try:
        return literal_as(found, from_, type_, strict=True)
    except ValueError as error:
        what = f"the type {type_}" if key is None else f"the type of the key column `{key.name}`, which is {key.type}"
        message = f"{shown(expression)} can not be converted to {what}"
        raise SqlError("pull.where", message, offset=expression.at) from error


def _value(expression: Expression, functions: Registry) -> Any:
    # Lists of keys may be long: a literal is its own value, without any code for it.
    if isinstance(expression, IntegerLiteral | LongLiteral | StringLiteral):
        return expression.value
    return value(expression, (), functions)([], _Failures(expression.at))
