"""What is known by name. A catalog is a value: a statement that is only tried changes a copy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from headrace.near_names import did_you_mean
from headrace.sql.catalog.sources import Source
from headrace.sql.errors import SqlError
from headrace.sql.schema import Column
from headrace.sql.tree.names import quoted
from headrace.sql.tree.types import Array, Field, Map, Registered, SqlType, Struct
from headrace.sql.types.type_names import hint_for_type


@dataclass(frozen=True, slots=True)
class Catalog:
    """Sources and types by their names."""

    sources: Mapping[str, Source] = field(default_factory=dict)
    types: Mapping[str, SqlType] = field(default_factory=dict)

    def source(self, name: str, offset: int | None = None) -> Source:
        """The stream or table of that name; an error that names the nearest one where there is none."""
        found = self.sources.get(name)
        if found is None:
            hint = (
                did_you_mean(name, self.sources, shown=quoted) or "SHOW STREAMS; and SHOW TABLES; list those there are."
            )
            message = f"there is no stream or table {name}"
            raise SqlError("name.source", message, hint=hint, offset=offset)
        return found

    def with_source(self, source: Source) -> Catalog:
        """The catalog with one more source, or another one under its name."""
        return replace(self, sources={**self.sources, source.name: source})

    def with_columns(self, name: str, columns: Iterable[Column]) -> Catalog:
        """The catalog with more columns of a source, as far as there is such a source and it lacks them."""
        source = self.sources.get(name)
        if source is None:
            return self
        return self.with_source(source.with_columns(each for each in columns if source.schema.find(each.name) is None))

    def without_source(self, name: str) -> Catalog:
        """The catalog without that source."""
        return replace(self, sources={key: value for key, value in self.sources.items() if key != name})

    def with_type(self, name: str, type_: SqlType) -> Catalog:
        """The catalog with one more name for a type."""
        return replace(self, types={**self.types, name: type_})

    def without_type(self, name: str) -> Catalog:
        """The catalog without that name."""
        return replace(self, types={key: value for key, value in self.types.items() if key != name})

    def resolved(self, type_: SqlType) -> SqlType:
        """The type with what registered names stand for."""
        match type_:
            case Registered(name, at):
                return self._registered(name, at)
            case Array(item):
                return Array(self.resolved(item))
            case Map(key, value):
                return Map(self.resolved(key), self.resolved(value))
            case Struct(fields):
                return Struct(tuple(Field(each.name, self.resolved(each.type)) for each in fields))
            case _:
                return type_

    def _registered(self, name: str, offset: int) -> SqlType:
        found = self.types.get(name)
        if found is None:
            message = f"there is no type {name}"
            raise SqlError("name.type", message, hint=hint_for_type(name, self.types), offset=offset)
        return found
