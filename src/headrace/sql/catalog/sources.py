"""A stream or a table: its schema, its topic, and how its records are written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from headrace.sql.formats.format_info import ColumnsFormat
from headrace.sql.schema import Column, Schema
from headrace.sql.tree.queries import Emit, WindowKind
from headrace.sql.tree.statements import SourceKind


@dataclass(frozen=True, slots=True)
class TimestampColumn:
    """The column that gives records their time; ``pattern`` says how its text is read."""

    name: str
    pattern: str | None = None

    def __str__(self) -> str:
        return self.name if self.pattern is None else f"{self.name} as {self.pattern!r}"


@dataclass(frozen=True, slots=True)
class WindowedKeys:
    """The windows in the keys of a source; sessions have no size."""

    kind: WindowKind
    size_ms: int | None = None
    emit: Emit = Emit.CHANGES

    def __str__(self) -> str:
        size = "" if self.size_ms is None else f" of {self.size_ms} ms"
        return f"{self.kind.value}{size}, EMIT {self.emit.value}"


@dataclass(frozen=True, slots=True)
class Source:
    """What a statement made, or registered."""

    kind: SourceKind
    name: str
    schema: Schema
    topic: str
    key_format: ColumnsFormat
    value_format: ColumnsFormat
    timestamp: TimestampColumn | None = None
    windows: WindowedKeys | None = None
    is_read_only: bool = False

    def with_columns(self, added: Iterable[Column]) -> Source:
        """The source with more value columns at the end."""
        return replace(self, schema=Schema((*self.schema.columns, *added)))
