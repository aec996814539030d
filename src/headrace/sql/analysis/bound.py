"""Expressions over the positions of a row, every node with its type: what is left to do is to evaluate them.

Implicit casts and coerced literals are nodes here, and so are guards: a ``Guarded`` value that fails is null.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from headrace.sql.functions.registry import Choice
from headrace.sql.tree.types import BOOLEAN, SqlType, Struct


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that is known; a unit of time is its name."""

    value: Any
    type: SqlType | None


@dataclass(frozen=True, slots=True)
class ColumnAt:
    """A column of the row."""

    index: int
    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class Variable:
    """A parameter of a lambda around it."""

    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class LambdaOf:
    """A function of its parameters."""

    parameters: tuple[str, ...]
    body: Bound
    type: None = None


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``+ - * / %``. On two STRINGs ``+`` joins them."""

    operator: str
    left: Bound
    right: Bound
    type: SqlType


@dataclass(frozen=True, slots=True)
class SignOf:
    """A sign in front of a number."""

    sign: str
    value: Bound
    type: SqlType


@dataclass(frozen=True, slots=True)
class Comparison:
    """``= <> < <= > >=`` or IS DISTINCT FROM."""

    operator: str
    left: Bound
    right: Bound
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Logic:
    """AND or OR."""

    operator: str
    left: Bound
    right: Bound
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Negation:
    """NOT."""

    value: Bound
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class NullTest:
    """IS NULL, or IS NOT NULL."""

    value: Bound
    negated: bool
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Membership:
    """IN a list of values of the same type."""

    value: Bound
    items: tuple[Bound, ...]
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Matching:
    """LIKE."""

    value: Bound
    pattern: Bound
    escape: str | None
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Choosing:
    """CASE: conditions with their results, then the result without any."""

    branches: tuple[tuple[Bound, Bound], ...]
    default: Bound
    type: SqlType


@dataclass(frozen=True, slots=True)
class CastTo:
    """A value as another type; what is null stays null."""

    value: Bound
    type: SqlType


@dataclass(frozen=True, slots=True)
class MakeArray:
    """ARRAY[...]."""

    items: tuple[Bound, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class MakeMap:
    """MAP(...)."""

    entries: tuple[tuple[Bound, Bound], ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class MakeStruct:
    """STRUCT(...)."""

    fields: tuple[Bound, ...]
    type: Struct


@dataclass(frozen=True, slots=True)
class CallOf:
    """A call, its arguments already of the types that the function wants."""

    choice: Choice
    arguments: tuple[Bound, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class ItemAt:
    """An element of an array, counted from 1 or from its end."""

    base: Bound
    index: Bound
    type: SqlType


@dataclass(frozen=True, slots=True)
class ValueAt:
    """The value of a key of a map."""

    base: Bound
    key: Bound
    type: SqlType


@dataclass(frozen=True, slots=True)
class FieldOf:
    """A field of a struct by its position."""

    base: Bound
    index: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class Guarded:
    """A value that is null, and a line in the processing log, if it fails. ``what`` says what it was."""

    value: Bound
    what: str
    type: SqlType | None


Bound: TypeAlias = (
    Constant
    | ColumnAt
    | Variable
    | LambdaOf
    | Arithmetic
    | SignOf
    | Comparison
    | Logic
    | Negation
    | NullTest
    | Membership
    | Matching
    | Choosing
    | CastTo
    | MakeArray
    | MakeMap
    | MakeStruct
    | CallOf
    | ItemAt
    | ValueAt
    | FieldOf
    | Guarded
)
