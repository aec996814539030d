"""Columns and schemas: what a row is made of, in the order in which it was declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from headrace.sql.tree.types import BIGINT, BYTES, INTEGER, STRING, Array, Field, Map, SqlType, Struct


class Part(Enum):
    """Which part of a record a column is in."""

    KEY = " KEY"
    VALUE = ""
    HEADERS = " HEADERS"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a stream or table; ``header`` is the one header that it shows."""

    name: str
    type: SqlType
    part: Part = Part.VALUE
    header: str | None = None

    def __str__(self) -> str:
        part = self.part.value if self.header is None else f" HEADER('{self.header}')"
        return f"{in_back_ticks(self.name)} {type_text(self.type)}{part}"


@dataclass(frozen=True)
class Schema:
    """Columns in order; names are unique in the key, in the value, and between value and headers."""

    columns: tuple[Column, ...]

    @cached_property
    def key(self) -> tuple[Column, ...]:
        """The columns of the key."""
        return self._of(Part.KEY)

    @cached_property
    def value(self) -> tuple[Column, ...]:
        """The columns of the value."""
        return self._of(Part.VALUE)

    @cached_property
    def headers(self) -> tuple[Column, ...]:
        """The columns that show headers."""
        return self._of(Part.HEADERS)

    @cached_property
    def value_types(self) -> Mapping[str, SqlType]:
        """The types of the columns of the value by their names."""
        return {column.name: column.type for column in self.value}

    def __reduce__(self) -> tuple[Any, ...]:
        return Schema, (self.columns,)

    def find(self, name: str) -> Column | None:
        """The column of that name."""
        return self._by_name.get(name)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __str__(self) -> str:
        """As ksqlDB writes a schema, every name in back-ticks."""
        return ", ".join(map(str, self.columns))

    @cached_property
    def _by_name(self) -> Mapping[str, Column]:
        return {column.name: column for column in reversed(self.columns)}

    def _of(self, part: Part) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.part is part)


ROWTIME, ROWPARTITION, ROWOFFSET = "ROWTIME", "ROWPARTITION", "ROWOFFSET"
WINDOWSTART, WINDOWEND = "WINDOWSTART", "WINDOWEND"
PSEUDO_COLUMNS = {ROWTIME: BIGINT, ROWPARTITION: INTEGER, ROWOFFSET: BIGINT}
"""Columns that every source has without declaring them."""
WINDOW_BOUNDS = {WINDOWSTART: BIGINT, WINDOWEND: BIGINT}
"""Columns that windowed sources have, too."""
RESERVED_COLUMNS = frozenset((*PSEUDO_COLUMNS, *WINDOW_BOUNDS))
ALL_HEADERS = Array(Struct((Field("KEY", STRING), Field("VALUE", BYTES))))
"""The type of a HEADERS column."""


def in_back_ticks(name: str) -> str:
    """The name quoted, whether it needs it or not."""
    return "`" + name.replace("`", "``") + "`"


def type_text(type_: SqlType) -> str:
    """The text of a type inside a schema: names of fields are quoted, whether they need it or not."""
    match type_:
        case Array(item):
            return f"ARRAY<{type_text(item)}>"
        case Map(key, value):
            return f"MAP<{type_text(key)}, {type_text(value)}>"
        case Struct(fields):
            listed = ", ".join(f"{in_back_ticks(field.name)} {type_text(field.type)}" for field in fields)
            return f"STRUCT<{listed or ' '}>"
        case _:
            return str(type_)
