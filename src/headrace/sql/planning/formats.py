"""Formats inside a query and of what it writes: inherited from its sources, changed where a key demands it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from headrace.sql.catalog.sources import Source, WindowedKeys
from headrace.sql.formats import format_info as formats
from headrace.sql.formats.carrying import check_columns, check_key_types
from headrace.sql.formats.format_info import SCHEMA_ID, SCHEMA_NAME, ColumnsFormat, Feature, Format
from headrace.sql.planning.steps import Formats
from headrace.sql.schema import Schema
from headrace.sql.tree.types import BIGINT, BYTES, DOUBLE, INTEGER, STRING, Primitive, SqlType

_BY_KAFKA = (INTEGER, BIGINT, DOUBLE, STRING, BYTES)
_NOT_INHERITED = (formats.AVRO, formats.JSON_SR)
_AS_ITS_SOURCE = (
    "Inside of it a query has the formats of what it reads. Copy that first, and read the copy: "
    "CREATE ... WITH (FORMAT='JSON') AS SELECT * FROM ...;"
)


@dataclass(frozen=True, slots=True)
class KeyFormat:
    """How the keys of a flow of rows are written; ``windows`` if they have windows."""

    format: ColumnsFormat
    windows: WindowedKeys | None = None

    def same_as(self, other: KeyFormat) -> bool:
        """Whether keys have the same bytes. When results are sent plays no part in that."""
        return self.format == other.format and _shape(self.windows) == _shape(other.windows)


def _shape(windows: WindowedKeys | None) -> tuple[object, ...]:
    return () if windows is None else (windows.kind, windows.size_ms)


def source_key_format(source: Source) -> KeyFormat:
    """How the keys of a source are written."""
    return KeyFormat(source.key_format, source.windows)


def internal_formats(key: KeyFormat, value: ColumnsFormat) -> Formats:
    """How stores and repartition topics are written: as the query's records, under schemas of their own."""
    return Formats(_without_id(key.format), replace(_without_id(value), features=frozenset()))


def _without_id(format_: ColumnsFormat) -> ColumnsFormat:
    kept = {name: value for name, value in format_.properties.items() if name != SCHEMA_ID}
    return replace(format_, properties=kept)


def key_format_for(key: KeyFormat, types: Sequence[SqlType]) -> KeyFormat:
    """The format for a new key: JSON where the old one cannot carry it."""
    format_ = key.format.format
    takes_several = format_ not in (formats.KAFKA, formats.NONE)
    if (len(types) > 1 and not takes_several) or not all(_takes_key(format_, type_) for type_ in types):
        key = KeyFormat(ColumnsFormat(formats.JSON), key.windows)
    return wrapped_for(key, len(types))


def wrapped_for(key: KeyFormat, count: int) -> KeyFormat:
    """A key of one column is bare, where a format could do both; for several columns that is no question."""
    format_ = key.format
    if count == 1 and not format_.features and format_.format.features == frozenset(Feature):
        return replace(key, format=replace(format_, features=frozenset({Feature.UNWRAP})))
    if count != 1 and format_.features:
        return replace(key, format=replace(format_, features=frozenset()))
    return key


def _takes_key(format_: Format, type_: SqlType) -> bool:
    if format_ is formats.KAFKA:
        return type_ in _BY_KAFKA
    if format_ is formats.DELIMITED:
        return isinstance(type_, Primitive)
    return format_ is not formats.NONE


def inherited_properties(format_: Format, source: ColumnsFormat) -> dict[str, str]:
    """What a result says about its format because its source does."""
    if format_ is not source.format or format_ in _NOT_INHERITED:
        return {}
    names = {SCHEMA_NAME} if format_ is formats.PROTOBUF else format_.properties
    return {name: value for name, value in source.properties.items() if name in names}


def check_formats(columns: Schema, given: Formats, names: Mapping[str, str] = MappingProxyType({})) -> None:
    """Refuse columns that a query cannot keep or send on in the formats of what it reads.

    ``names`` says what the columns are that the query has no name for.
    """
    check_key_types(columns.key)
    check_columns(columns.key, given.key.format, _AS_ITS_SOURCE, names)
    check_columns(columns.value, given.value.format, _AS_ITS_SOURCE, names)
