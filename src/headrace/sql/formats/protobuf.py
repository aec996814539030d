"""PROTOBUF and PROTOBUF_NOSR: rows as messages, with or without a registry. Needs the extra ``headrace[protobuf]``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from google.protobuf.message import DecodeError

from headrace.serde.framing import read_message_indexes, write_message_indexes
from headrace.serde.registry import Schema, SchemaRegistry
from headrace.sql.formats import connect
from headrace.sql.formats.format_info import SCHEMA_NAME, ColumnsFormat, Feature
from headrace.sql.formats.protobuf_files import LoadedFile, file_of, load_file, load_schema
from headrace.sql.formats.protobuf_schemas import Nulls, connect_schema, file_of_schema, nulls_of
from headrace.sql.formats.protobuf_text import ProtoFile, proto_text
from headrace.sql.formats.protobuf_values import message_filler, message_reader, message_value
from headrace.sql.formats.registered import RegisteredCodec
from headrace.sql.schema import Column
from headrace.sql.tree import types as sql
from headrace.sql.tree.types import SqlType


def own_file(columns: Sequence[Column], format_: ColumnsFormat) -> tuple[ProtoFile, str]:
    """The file that ksqlDB would register for the columns, and the full name of its message."""
    schema = connect.of_columns(columns, Feature.UNWRAP not in format_.features)
    return file_of_schema(schema, format_.properties.get(SCHEMA_NAME), nulls_of(format_))


def own_schema(columns: Sequence[Column], format_: ColumnsFormat) -> Schema:
    """The schema that ksqlDB would register for the columns."""
    return Schema(proto_text(own_file(columns, format_)[0]), "PROTOBUF")


class MessageRows:
    """Rows of a type in messages of one kind."""

    def __init__(self, loaded: LoadedFile, name: str, type_: SqlType, is_wrapped: bool, nulls: Nulls) -> None:
        self._loaded = loaded
        self._nulls = nulls if is_wrapped else Nulls(nulls.by_label, nulls.by_wrapper, True)
        self._type = type_
        self._is_wrapped = is_wrapped
        self.descriptor, self.way, self._message = loaded.message(name)

    @cached_property
    def _schema(self) -> connect.ConnectSchema:
        return connect_schema(self.descriptor, self._loaded, self._nulls)

    @cached_property
    def _fill(self) -> Callable[[Any, Any], None]:
        if isinstance(self._type, sql.Struct):
            return message_filler(self.descriptor, self._schema, self._type)
        return message_value(self.descriptor, self._schema, self._type)

    @cached_property
    def _read(self) -> tuple[Callable[[Any], Any], Callable[[Any], list[Any]]]:
        rows = self._rows
        return message_reader(self.descriptor, self._nulls.unwraps), rows

    @property
    def _rows(self) -> Callable[[Any], list[Any]]:
        if isinstance(self._type, sql.Decimal):
            # A number by itself has no message that tells its scale: it is its digits, in wrapped bytes.
            scale = self._type.scale
            return lambda data: [None if data is None else connect.decimal_from_bytes(data, scale)]
        return connect.reading_rows(self._schema, self._type, self._is_wrapped)

    def write(self, row: Sequence[Any]) -> bytes | None:
        value: Any = row
        if not self._is_wrapped:
            (value,) = row
            if value is None:
                return None
        message = self._message()
        self._fill(message, value)
        data: bytes = message.SerializeToString(deterministic=True)
        return data

    def read(self, data: bytes) -> list[Any]:
        read, rows = self._read
        try:
            message = self._message.FromString(data)
        except DecodeError as error:
            reason = f"the bytes are no message {self.descriptor.full_name}: {error}"
            raise ValueError(reason) from None
        return rows(read(message))


class PlainProtobufCodec:
    """Messages alone; their schema is that of the columns."""

    def __init__(
        self, columns: Sequence[Column], format_: ColumnsFormat, registry: SchemaRegistry | None, is_key: bool
    ) -> None:
        is_wrapped = Feature.UNWRAP not in format_.features
        file, name = own_file(columns, format_)
        type_ = connect.row_type(columns, is_wrapped)
        self._rows = MessageRows(load_file(file), name, type_, is_wrapped, nulls_of(format_))

    def write(self, topic: str, row: Sequence[Any]) -> bytes | None:
        return self._rows.write(row)

    def read(self, topic: str, data: bytes) -> list[Any]:
        return self._rows.read(data)


class ProtobufCodec(RegisteredCodec):
    """Messages behind the way to them in their schema."""

    kind = "PROTOBUF"
    own_schema = staticmethod(own_schema)

    @cached_property
    def _writer(self) -> tuple[bytes, MessageRows]:
        loaded = load_schema(self._schema, self._registry)
        rows = self._rows(loaded, self._format.properties.get(SCHEMA_NAME) or loaded.file.names[0])
        return write_message_indexes(rows.way), rows

    def _payload(self, row: Sequence[Any]) -> bytes | None:
        indexes, rows = self._writer
        data = rows.write(row)
        return None if data is None else indexes + data

    def _reader(self, schema: Schema) -> Callable[[bytes], list[Any]]:
        loaded = load_schema(schema, self._registry)
        found: dict[tuple[int, ...], MessageRows] = {}

        def read(payload: bytes) -> list[Any]:
            way, message = read_message_indexes(payload)
            if way not in found:
                found[way] = self._rows(loaded, loaded.at(way))
            return found[way].read(message)

        return read

    def _rows(self, loaded: LoadedFile, name: str) -> MessageRows:
        return MessageRows(loaded, name, self._type, self._is_wrapped, nulls_of(self._format))


def codec(
    columns: Sequence[Column], format_: ColumnsFormat, registry: SchemaRegistry | None, is_key: bool
) -> ProtobufCodec | PlainProtobufCodec:
    """With a registry, or without."""
    make = PlainProtobufCodec if format_.format.name == "PROTOBUF_NOSR" else ProtobufCodec
    return make(columns, format_, registry, is_key)


def connect_schema_of(schema: Schema, registry: SchemaRegistry | None, format_: ColumnsFormat) -> connect.ConnectSchema:
    """What Connect makes of a message of a registered schema: the named one, or the first."""
    loaded = load_schema(schema, registry)
    descriptor, _, _ = loaded.message(format_.properties.get(SCHEMA_NAME) or loaded.file.names[0])
    return connect_schema(descriptor, loaded, nulls_of(format_))


def names_of(schema: Schema) -> list[str]:
    """The full names of the messages of the file."""
    return file_of(schema.text).names
