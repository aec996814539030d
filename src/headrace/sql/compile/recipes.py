"""What generated code refers to by name, in a form that can be sent to another process and made there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.sql.compile import runtime
from headrace.sql.compile.equality import equality
from headrace.sql.functions.patterns import Argument
from headrace.sql.functions.plain import plain_function
from headrace.sql.tree.types import Decimal, SqlType
from headrace.sql.types.casts import cast_of


class Recipe(Protocol):
    """Makes what a name stands for."""

    def make(self) -> Any:
        """The value of the name."""


@dataclass(frozen=True)
class Value:
    """A value that is sent as it is."""

    value: Any

    def make(self) -> Any:
        return self.value


@dataclass(frozen=True)
class CastRecipe:
    """A cast."""

    from_: SqlType
    to: SqlType

    def make(self) -> Any:
        return cast_of(self.from_, self.to)


@dataclass(frozen=True)
class TypedFunction:
    """A function that is made for the types of its arguments."""

    body: Callable[..., Any]
    types: tuple[SqlType | None, ...]

    def make(self) -> Any:
        return self.body(self.types)


@dataclass(frozen=True)
class PlainFunction:
    """A function that sees structs as dicts."""

    body: Callable[..., Any]
    arguments: tuple[Argument, ...]
    result: SqlType

    def make(self) -> Any:
        return plain_function(self.body, self.arguments, self.result)


@dataclass(frozen=True)
class LikePattern:
    """The test of a LIKE whose pattern is known."""

    pattern: str
    escape: str | None

    def make(self) -> Any:
        return runtime.like(self.pattern, self.escape)


@dataclass(frozen=True)
class DecimalOperation:
    """An operation on decimals."""

    operator: str
    type: Decimal

    def make(self) -> Any:
        return runtime.decimal_operation(self.operator, self.type)


@dataclass(frozen=True)
class EqualityTest:
    """The test of two values of these types."""

    left: SqlType
    right: SqlType

    def make(self) -> Any:
        return equality(self.left, self.right)
