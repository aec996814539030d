"""SQL types, and their text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from headrace.sql.errors import NOWHERE
from headrace.sql.tree.names import quoted


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type without parameters."""

    name: str

    def __str__(self) -> str:
        return self.name


BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP = PRIMITIVES = tuple(
    map(Primitive, ("BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP"))
)
BY_NAME = {type_.name: type_ for type_ in PRIMITIVES} | {"INT": INTEGER, "VARCHAR": STRING}
"""The names under which primitives are written."""


@dataclass(frozen=True, slots=True)
class Decimal:
    """``precision`` digits, ``scale`` of them after the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class Array:
    """Values of one type, in order."""

    item: SqlType

    def __str__(self) -> str:
        return f"ARRAY<{self.item}>"


@dataclass(frozen=True, slots=True)
class Map:
    """Values by keys."""

    key: SqlType
    value: SqlType

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class Field:
    """A part of a struct."""

    name: str
    type: SqlType

    def __str__(self) -> str:
        return f"{quoted(self.name)} {self.type}"


@dataclass(frozen=True, slots=True)
class Struct:
    """Named fields, in order; there may be none."""

    fields: tuple[Field, ...]

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(map(str, self.fields)) or ' '}>"


@dataclass(frozen=True, slots=True)
class Registered:
    """A type that CREATE TYPE gave a name; the catalog knows what it stands for."""

    name: str
    at: int = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return quoted(self.name)


SqlType: TypeAlias = Primitive | Decimal | Array | Map | Struct | Registered
