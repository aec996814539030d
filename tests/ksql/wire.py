"""What cases say of keys and values as bytes, and bytes as what cases say. None of it is the project's own reading."""

from __future__ import annotations

import base64
import io
import json
import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import fastavro

from headrace.serde.registry import SchemaRegistry
from headrace.sql.catalog.sources import Source, WindowedKeys
from headrace.sql.formats.format_info import ColumnsFormat, Feature
from headrace.sql.schema import Column
from headrace.sql.tree.types import BIGINT, BYTES, DOUBLE, INTEGER, SqlType
from headrace.sql.types.java_text import double_text
from tests.ksql.avro_wire import as_avro, plain_times, without_entries
from tests.ksql.json_schema_wire import named_as_in, with_all_fields
from tests.ksql.json_text import json_text
from tests.ksql.protobuf_wire import ProtobufWire
from tests.ksql.typed import as_type, maps_in

_FRAME = struct.Struct(">bi")
_LONG = struct.Struct(">q")
_NUMBERS: dict[SqlType, struct.Struct] = {INTEGER: struct.Struct(">i"), BIGINT: _LONG, DOUBLE: struct.Struct(">d")}


@dataclass(frozen=True)
class Window:
    """The window of a key, as cases write it."""

    start: int
    end: int | None
    kind: str


@dataclass(frozen=True)
class Side:
    """The key or the value of a source's records."""

    columns: tuple[Column, ...]
    format: ColumnsFormat
    subject: str
    registry: SchemaRegistry
    exact: bool = True
    """Whether numbers of JSON keep their scale."""

    def write(self, said: Any) -> bytes | None:
        """The bytes of what a case says."""
        if said is None:
            return None
        match self.format.format.name:
            case "JSON":
                return json_text(said).encode()
            case "JSON_SR":
                return self._framed(json_text(named_as_in(self._typed(said), self._json_schema())).encode())
            case "DELIMITED":
                return str(said).encode()
            case "KAFKA":
                return self._write_kafka(said)
            case "AVRO":
                return self._write_avro(said)
            case "PROTOBUF" | "PROTOBUF_NOSR":
                return ProtobufWire(self.columns, self.format, self.subject, self.registry).write(self._typed(said))
            case "NONE":
                return None
            case other:
                raise NotImplementedError(other)

    def read(self, data: bytes | None) -> Any:
        """What a case would say of the bytes."""
        if data is None:
            return None
        match self.format.format.name:
            case "JSON":
                return self._json(data)
            case "JSON_SR":
                schema = self.registry.schema_by_id(_FRAME.unpack_from(data)[1])
                found = with_all_fields(self._json(data[_FRAME.size :]), json.loads(schema.text))
                return self._with_maps(without_entries(found))
            case "DELIMITED":
                return data.decode()
            case "KAFKA":
                return self._read_kafka(data)
            case "AVRO":
                return _shown_bytes(self._with_maps(self._read_avro(data)))
            case "PROTOBUF" | "PROTOBUF_NOSR":
                wire = ProtobufWire(self.columns, self.format, self.subject, self.registry)
                return _shown_bytes(self._with_maps(wire.read(data)))
            case "NONE":
                return None
            case other:
                raise NotImplementedError(other)

    def _typed(self, said: Any) -> Any:
        """What a case says as values of the columns, bare or as an object."""
        types = {column.name.upper(): column.type for column in self.columns}
        if Feature.UNWRAP in self.format.features or not isinstance(said, dict):
            return as_type(said, self.columns[0].type)
        return {
            name: as_type(value, types[name.upper()]) if name.upper() in types else value
            for name, value in said.items()
        }

    def _with_maps(self, found: Any) -> Any:
        """The value, in which a list of no entries is a map where the column is one."""
        if not isinstance(found, dict):
            return maps_in(found, self.columns[0].type)
        types = {column.name.upper(): column.type for column in self.columns}
        return {
            name: maps_in(value, types[name.upper()]) if name.upper() in types else value
            for name, value in found.items()
        }

    def _json_schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = json.loads(latest(self.registry, self.subject)[1])
        return schema

    def _json(self, data: bytes) -> Any:
        return json.loads(data, parse_float=Decimal if self.exact else float)

    # KAFKA

    def _write_kafka(self, said: Any) -> bytes:
        number = _NUMBERS.get(self.columns[0].type) if self.columns else None
        return str(said).encode() if number is None else number.pack(said)

    def _read_kafka(self, data: bytes) -> Any:
        type_ = self.columns[0].type if self.columns else BYTES
        number = _NUMBERS.get(type_)
        if number is None:
            return data.decode()
        (found,) = number.unpack(data)
        return Decimal(double_text(found)) if type_ == DOUBLE else found

    # AVRO

    def _framed(self, data: bytes) -> bytes:
        return _FRAME.pack(0, latest(self.registry, self.subject)[0]) + data

    def _write_avro(self, said: Any) -> bytes:
        id_, text = latest(self.registry, self.subject)
        schema = fastavro.parse_schema(plain_times(json.loads(text)))
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, as_avro(said, json.loads(text), {}))
        return _FRAME.pack(0, id_) + out.getvalue()

    def _read_avro(self, data: bytes) -> Any:
        _, id_ = _FRAME.unpack_from(data)
        schema = fastavro.parse_schema(plain_times(json.loads(self.registry.schema_by_id(id_).text)))
        return without_entries(fastavro.schemaless_reader(io.BytesIO(data[_FRAME.size :]), schema, None))


def latest(registry: SchemaRegistry, subject: str) -> tuple[int, str]:
    """The id and the text of the newest schema of a subject."""
    found = registry.latest(subject)
    if found is None:
        message = f"no schema is registered under {subject}"
        raise LookupError(message)
    return found[0], found[1].text


def _shown_bytes(found: Any) -> Any:
    """Bytes directly inside a value are compared as Base64, and none at all as null."""
    if not isinstance(found, dict):
        return found
    return {
        name: (base64.b64encode(value).decode() or None) if isinstance(value, bytes) else value
        for name, value in found.items()
    }


@dataclass(frozen=True)
class Wire:
    """Records of a source."""

    key: Side
    value: Side
    windows: WindowedKeys | None

    @classmethod
    def of(cls, source: Source, registry: SchemaRegistry, *, exact: bool) -> Wire:
        """Of the records in the source's topic."""
        key = Side(source.schema.key, source.key_format, f"{source.topic}-key", registry, exact)
        value = Side(source.schema.value, source.value_format, f"{source.topic}-value", registry, exact)
        return cls(key, value, source.windows)

    def write_key(self, said: Any, window: dict[str, Any] | None) -> bytes | None:
        """A key, in its window if it has one."""
        data = self.key.write(said)
        if window is None or data is None:
            return data
        start = _LONG.pack(window["start"])
        return data + (_LONG.pack(window["end"]) + start if window["type"].upper() == "SESSION" else start)

    def read_key(self, data: bytes | None) -> tuple[Any, Window | None]:
        """A key, and its window if it has one."""
        if data is None or self.windows is None:
            return self.key.read(data), None
        (start,) = _LONG.unpack(data[-8:])
        if self.windows.size_ms is None:
            (end,) = _LONG.unpack(data[-16:-8])
            return self.key.read(data[:-16]), Window(start, end, "SESSION")
        return self.key.read(data[:-8]), Window(start, start + self.windows.size_ms, "TIME")
