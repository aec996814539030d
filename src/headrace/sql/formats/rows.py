"""Rows and keys to bytes and back, in the format of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.errors import HeadraceError, SerializationError
from headrace.serde.contract import Serde, shorten, shorten_text
from headrace.serde.registry import SchemaRegistry
from headrace.sql.errors import SqlError
from headrace.sql.formats.contract import Codec, Nothing
from headrace.sql.formats.delimited import delimited_codec
from headrace.sql.formats.format_info import DELIMITER, ColumnsFormat, Feature
from headrace.sql.formats.json_documents import json_reader
from headrace.sql.formats.json_writing import json_writer
from headrace.sql.formats.kafka import kafka_codec
from headrace.sql.formats.languages import language
from headrace.sql.processing_log import PartLog
from headrace.sql.schema import Column


def row_serde(
    columns: Sequence[Column],
    format_: ColumnsFormat,
    *,
    registry: SchemaRegistry | None = None,
    log: PartLog | None = None,
) -> Serde[list[Any]]:
    """Of values: a row is a list with the value of each column. What cannot be read or written is told to ``log``."""
    return RowSerde(tuple(columns), format_, registry, log)


def key_serde(
    columns: Sequence[Column],
    format_: ColumnsFormat,
    *,
    registry: SchemaRegistry | None = None,
    log: PartLog | None = None,
) -> Serde[tuple[Any, ...]]:
    """Of keys: a key is a tuple with the value of each key column; a record without a key has None."""
    return KeySerde(tuple(columns), format_, registry, log)


class RowSerde:
    """Rows of certain columns. Bytes that make no sense raise SerializationError with the column and the reason."""

    __slots__ = ("_read", "_write", "columns", "format", "log", "registry")
    is_key = False

    def __init__(
        self,
        columns: tuple[Column, ...],
        format_: ColumnsFormat,
        registry: SchemaRegistry | None,
        log: PartLog | None = None,
    ) -> None:
        self.columns = columns
        self.format = format_
        self.registry = registry
        self.log = log
        codec = _made(columns, format_, registry, self.is_key)
        self._read, self._write = codec.read, codec.write

    def __repr__(self) -> str:
        names = ", ".join(map(str, self.columns))
        return f"{type(self).__name__}({self.format.format.name}: {names})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.columns, self.format, self.registry, self.log)

    def serialize(self, topic: str, value: Sequence[Any] | None) -> bytes | None:
        """The bytes of a row."""
        if value is None:
            return None
        try:
            return self._write(topic, value)
        except Exception as error:
            raise self._failed("written", topic, error, f"row {shorten(value)}") from error

    def deserialize(self, topic: str, data: bytes | None) -> list[Any] | None:
        """The row of the bytes."""
        if data is None:
            return None
        try:
            return self._read(topic, data)
        except Exception as error:
            raise self._failed("read", topic, error, f"bytes {shorten(bytes(data))}") from error

    def _failed(self, what: str, topic: str, error: Exception, detail: str) -> SerializationError:
        part = "key" if self.is_key else "value"
        message = f"the {part} of a record of topic {topic} cannot be {what} as {self.format.format.name}"
        if self.log is not None:
            name = f"{self.log.name}.{'deserializer' if what == 'read' else 'serializer'}"
            PartLog(name, self.log.write).failed(message, error)
        failure = SerializationError(f"{message}: {_reason(error)}", detail=detail, hint=getattr(error, "hint", None))
        failure.is_told = self.log is not None
        return failure


class KeySerde(RowSerde):
    """The same for keys, which are tuples."""

    __slots__ = ()
    is_key = True

    def deserialize(self, topic: str, data: bytes | None) -> Any:
        """The key of the bytes."""
        if data is None:
            return None
        try:
            row = self._read(topic, data)
        except Exception as error:
            raise self._failed("read", topic, error, f"bytes {shorten(bytes(data))}") from error
        return None if row is None else tuple(row)


def _reason(error: Exception) -> str:
    if isinstance(error, SerializationError):
        return error.message
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


def _made(columns: Sequence[Column], format_: ColumnsFormat, registry: SchemaRegistry | None, is_key: bool) -> Codec:
    try:
        return _codec(columns, format_, registry, is_key)
    except HeadraceError:
        raise
    except Exception as error:
        reason = "they are nested too deep" if isinstance(error, RecursionError) else str(error)
        message = f"the format {format_.format.name} cannot carry these columns: {reason}"
        raise SqlError("format.type", message, detail=shorten_text(", ".join(each.name for each in columns))) from error


def _codec(columns: Sequence[Column], format_: ColumnsFormat, registry: SchemaRegistry | None, is_key: bool) -> Codec:
    match format_.format.name:
        case "NONE":
            return Nothing()
        case "KAFKA":
            return kafka_codec(columns)
        case "DELIMITED":
            return delimited_codec(columns, format_.properties.get(DELIMITER))
        case "JSON":
            return JsonCodec(columns, Feature.UNWRAP not in format_.features)
        case name:
            return language(name).codec(columns, format_, registry, is_key)


class JsonCodec:
    """JSON without a registry."""

    def __init__(self, columns: Sequence[Column], is_wrapped: bool) -> None:
        self.read = json_reader(columns, is_wrapped)
        self.write = json_writer(columns, is_wrapped)
