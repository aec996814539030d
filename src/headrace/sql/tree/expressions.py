"""Expressions. ``at`` is the offset in the text where one begins."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

from headrace.sql.errors import NOWHERE
from headrace.sql.tree.types import SqlType


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What all expressions have."""

    at: int = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NullLiteral(Node):
    """NULL."""


@dataclass(frozen=True, slots=True)
class BooleanLiteral(Node):
    """TRUE or FALSE."""

    value: bool


@dataclass(frozen=True, slots=True)
class IntegerLiteral(Node):
    """A whole number of 32 bits."""

    value: int


@dataclass(frozen=True, slots=True)
class LongLiteral(Node):
    """A whole number that needs 64 bits."""

    value: int


@dataclass(frozen=True, slots=True)
class DecimalLiteral(Node):
    """A number with a point."""

    value: Decimal


@dataclass(frozen=True, slots=True)
class DoubleLiteral(Node):
    """A number with an exponent."""

    value: float


@dataclass(frozen=True, slots=True)
class StringLiteral(Node):
    """A text in single quotes."""

    value: str


Literal: TypeAlias = (
    NullLiteral | BooleanLiteral | IntegerLiteral | LongLiteral | DecimalLiteral | DoubleLiteral | StringLiteral
)


@dataclass(frozen=True, slots=True)
class TimeUnit(Node):
    """A unit such as DAYS as an argument of a function."""

    name: str


@dataclass(frozen=True, slots=True)
class Column(Node):
    """A column, of ``source`` if that is said."""

    name: str
    source: str | None = None


@dataclass(frozen=True, slots=True)
class LambdaVariable(Node):
    """A parameter of the lambda around it."""

    name: str


@dataclass(frozen=True, slots=True)
class Lambda(Node):
    """``(x, y) => body``."""

    parameters: tuple[str, ...]
    body: Expression


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Two operands: arithmetic, comparison, IS DISTINCT FROM, AND, OR."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Signed(Node):
    """A sign in front of what is no number literal."""

    sign: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Not(Node):
    """NOT."""

    value: Expression


@dataclass(frozen=True, slots=True)
class IsNull(Node):
    """IS NULL, or IS NOT NULL."""

    value: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Between(Node):
    """BETWEEN; NOT BETWEEN is a NOT around it."""

    value: Expression
    low: Expression
    high: Expression


@dataclass(frozen=True, slots=True)
class In(Node):
    """IN a list."""

    value: Expression
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Like(Node):
    """LIKE a pattern."""

    value: Expression
    pattern: Expression
    escape: str | None = None


@dataclass(frozen=True, slots=True)
class When:
    """One branch of a CASE."""

    condition: Expression
    result: Expression


@dataclass(frozen=True, slots=True)
class Case(Node):
    """CASE WHEN; with an ``operand`` it is CASE x WHEN."""

    whens: tuple[When, ...]
    default: Expression | None = None
    operand: Expression | None = None


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """CAST(value AS type)."""

    value: Expression
    type: SqlType


@dataclass(frozen=True, slots=True)
class Typed(Node):
    """A literal with its type in front: DECIMAL '1.2'."""

    type: str
    text: str


@dataclass(frozen=True, slots=True)
class ArrayOf(Node):
    """ARRAY[...]."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MapOf(Node):
    """MAP(key := value, ...)."""

    entries: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class StructOf(Node):
    """STRUCT(name := value, ...)."""

    fields: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function call; COUNT(*) has no arguments and ``star``."""

    name: str
    arguments: tuple[Expression, ...]
    star: bool = False


@dataclass(frozen=True, slots=True)
class Subscript(Node):
    """An element of an array or a map: base[index]."""

    base: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Dereference(Node):
    """A field of a struct: base -> name."""

    base: Expression
    name: str
    name_at: int = field(default=NOWHERE, compare=False, repr=False)


Expression: TypeAlias = (
    Literal
    | TimeUnit
    | Column
    | LambdaVariable
    | Lambda
    | Binary
    | Signed
    | Not
    | IsNull
    | Between
    | In
    | Like
    | Case
    | Cast
    | Typed
    | ArrayOf
    | MapOf
    | StructOf
    | Call
    | Subscript
    | Dereference
)
