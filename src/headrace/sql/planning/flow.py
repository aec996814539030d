"""Rows on their way through a query: the step they come from, their columns, and what `*` and keys mean for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.serde.registry import SchemaRegistry
from headrace.sql.analysis.projection import Contents
from headrace.sql.errors import SqlError
from headrace.sql.formats.choosing import DEFAULT_KEY_FORMAT, format_named
from headrace.sql.formats.format_info import ColumnsFormat
from headrace.sql.functions.registry import Registry
from headrace.sql.planning.formats import KeyFormat
from headrace.sql.planning.schemas import step_schema
from headrace.sql.planning.steps import Step
from headrace.sql.schema import PSEUDO_COLUMNS, WINDOW_BOUNDS, Schema
from headrace.sql.tree.expressions import Expression


@dataclass(frozen=True, slots=True)
class Environment:
    """What planning needs besides the statement: functions, settings, how many partitions a topic has, schemas."""

    functions: Registry
    settings: Mapping[str, str] = field(default_factory=dict)
    partitions: Callable[[str], int | None] = lambda topic: None
    registry: SchemaRegistry | None = None

    @property
    def default_key_format(self) -> ColumnsFormat:
        """The format of keys that have none of their own."""
        return ColumnsFormat(format_named(self.settings.get(DEFAULT_KEY_FORMAT, "KAFKA")))


@dataclass(frozen=True, slots=True)
class StarColumn:
    """A column that `*` stands for, and the source of which it is one."""

    source: str | None
    name: str


@dataclass(frozen=True, slots=True)
class NeededKey:
    """What a projection must contain to contain the key: of each group of expressions one. ``names`` says all."""

    what: str
    groups: tuple[tuple[Expression, ...], ...]
    names: str
    hint: str | None = None

    def check(self, contents: Contents, sink: str, at: int) -> None:
        """An error that names what is missing in the projection, which begins ``at`` there."""
        if not all(any(map(contents.has, group)) for group in self.groups):
            message = f"the key of {sink} is missing: the projection must contain the {self.what} {self.names}"
            raise SqlError("select.key-missing", message, hint=self.hint, offset=at)


@dataclass(frozen=True, slots=True)
class Flow:
    """Rows between steps. The value format is that of the left-most source; stores and internal topics use it."""

    step: Any
    """A step of a stream or of a table, as ``is_table`` says."""
    schema: Schema
    key_format: KeyFormat
    value_format: ColumnsFormat
    is_table: bool
    star: tuple[StarColumn, ...]
    needed_key: NeededKey

    def into(self, step: Step, environment: Environment, **changes: Any) -> Flow:
        """The rows that come out of a step on top of this one."""
        schema = step_schema(step, [self.schema], environment.functions)
        return replace(self, step=step, schema=schema, **changes)


def star_columns(columns: Schema, source: str | None) -> tuple[StarColumn, ...]:
    """What `*` means: keys first, then bounds of windows, then all that every source does not have."""
    keys = [column.name for column in columns.key]
    names = [column.name for column in columns.value]
    ordered = [name for name in keys if name in names]
    ordered += [name for name in names if name in WINDOW_BOUNDS]
    ordered += [name for name in names if name not in WINDOW_BOUNDS and name not in PSEUDO_COLUMNS and name not in keys]
    return tuple(StarColumn(source, name) for name in ordered)
