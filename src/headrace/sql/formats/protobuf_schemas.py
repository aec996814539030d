"""Protobuf schemas: of columns, as ksqlDB registers them; and what columns a message has."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from headrace.sql.formats import connect
from headrace.sql.formats.connect import ConnectField, ConnectSchema, Kind, UnsupportedSchemaError
from headrace.sql.formats.format_info import NULLABLE, UNWRAP_PRIMITIVES, ColumnsFormat
from headrace.sql.formats.protobuf_files import LoadedFile
from headrace.sql.formats.protobuf_text import ProtoField, ProtoFile, ProtoMessage

DECIMAL, DATE, TIME, TIMESTAMP = (
    "confluent.type.Decimal",
    "google.type.Date",
    "google.type.TimeOfDay",
    "google.protobuf.Timestamp",
)
_LOGICAL = {connect.DECIMAL: DECIMAL, connect.DATE: DATE, connect.TIME: TIME, connect.TIMESTAMP: TIMESTAMP}
_IMPORTS = {
    DECIMAL: "confluent/type/decimal.proto",
    DATE: "google/type/date.proto",
    TIME: "google/type/timeofday.proto",
    TIMESTAMP: "google/protobuf/timestamp.proto",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WRAPPERS_FILE = "google/protobuf/wrappers.proto"
_SCALARS = {
    Kind.BOOLEAN: "bool",
    Kind.INT32: "int32",
    Kind.INT64: "int64",
    Kind.FLOAT64: "double",
    Kind.STRING: "string",
    Kind.BYTES: "bytes",
}
WRAPPERS = {
    f"google.protobuf.{name}Value": kind
    for name, kind in {
        "Double": Kind.FLOAT64,
        "Float": Kind.FLOAT32,
        "Int64": Kind.INT64,
        "UInt64": Kind.INT64,
        "Int32": Kind.INT32,
        "UInt32": Kind.INT64,
        "Bool": Kind.BOOLEAN,
        "String": Kind.STRING,
        "Bytes": Kind.BYTES,
    }.items()
}
"""Messages around one value, which may therefore be absent."""
_WRAPPER_OF = {
    kind: f"google.protobuf.{name}Value"
    for kind, name in (
        (Kind.BOOLEAN, "Bool"),
        (Kind.INT32, "Int32"),
        (Kind.INT64, "Int64"),
        (Kind.FLOAT64, "Double"),
        (Kind.STRING, "String"),
        (Kind.BYTES, "Bytes"),
    )
}
_KINDS = {
    FieldDescriptor.TYPE_BOOL: Kind.BOOLEAN,
    FieldDescriptor.TYPE_INT32: Kind.INT32,
    FieldDescriptor.TYPE_SINT32: Kind.INT32,
    FieldDescriptor.TYPE_SFIXED32: Kind.INT32,
    FieldDescriptor.TYPE_UINT32: Kind.INT64,
    FieldDescriptor.TYPE_FIXED32: Kind.INT64,
    FieldDescriptor.TYPE_INT64: Kind.INT64,
    FieldDescriptor.TYPE_UINT64: Kind.INT64,
    FieldDescriptor.TYPE_SINT64: Kind.INT64,
    FieldDescriptor.TYPE_FIXED64: Kind.INT64,
    FieldDescriptor.TYPE_SFIXED64: Kind.INT64,
    FieldDescriptor.TYPE_FLOAT: Kind.FLOAT32,
    FieldDescriptor.TYPE_DOUBLE: Kind.FLOAT64,
    FieldDescriptor.TYPE_STRING: Kind.STRING,
    FieldDescriptor.TYPE_BYTES: Kind.BYTES,
    FieldDescriptor.TYPE_ENUM: Kind.STRING,
}


@dataclass(frozen=True, slots=True)
class Nulls:
    """How nulls are written, and whether messages around one value are read as that value."""

    by_label: bool = False
    by_wrapper: bool = False
    unwraps: bool = False


def nulls_of(format_: ColumnsFormat) -> Nulls:
    """What the properties of the format say about nulls."""
    said = format_.properties.get(NULLABLE)
    unwraps = format_.properties.get(UNWRAP_PRIMITIVES) == "true"
    return Nulls(said == "optional", said == "wrapper", unwraps or said == "wrapper")


def file_of_schema(schema: ConnectSchema, full_name: str | None, nulls: Nulls) -> tuple[ProtoFile, str]:
    """The file with the one message for columns, and its full name. Messages inside are numbered."""
    if schema.kind is not Kind.STRUCT:
        return _file_of_wrapper(schema)
    _check_names([*(full_name or "").split("."), *_names(schema)])
    counter = itertools.count(1)
    package, _, name = (full_name or f"ConnectDefault{next(counter)}").rpartition(".")
    message = _Builder(nulls, counter).message(name, schema)
    imports = tuple(dict.fromkeys(_imports(message)))
    return ProtoFile((message,), package=package, imports=imports), f"{package}.{name}" if package else name


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        if name and not _NAME.fullmatch(name):
            message = f"Protobuf has no names such as `{name}`: letters, digits and _, and no digit first"
            raise UnsupportedSchemaError(message)


def _names(schema: ConnectSchema) -> Iterator[str]:
    """Of all fields, also of those inside."""
    for field in schema.fields:
        yield field.name
        yield from _names(field.schema)
    if schema.value is not None:
        yield from _names(schema.value)


def _file_of_wrapper(schema: ConnectSchema) -> tuple[ProtoFile, str]:
    wrapper = _WRAPPER_OF.get(schema.kind)
    if wrapper is None:
        message = f"a value of kind {schema.kind.value} is no Protobuf message"
        raise UnsupportedSchemaError(message)
    name = wrapper.rpartition(".")[2]
    message_ = ProtoMessage(name, (ProtoField("value", 1, _SCALARS[schema.kind]),))
    return ProtoFile((message_,), package="google.protobuf"), wrapper


class _Builder:
    def __init__(self, nulls: Nulls, counter: Iterator[int]) -> None:
        self._nulls = nulls
        self._counter = counter

    def message(self, name: str, schema: ConnectSchema) -> ProtoMessage:
        fields, messages = [], []
        for number, field in enumerate(schema.fields, 1):
            found, inner = self._field(field.name, number, field.schema)
            fields.append(found)
            messages += inner
        return ProtoMessage(name, tuple(fields), tuple(messages))

    def _field(
        self, name: str, number: int, schema: ConnectSchema, *, is_entry: bool = False
    ) -> tuple[ProtoField, list[ProtoMessage]]:
        """A field, and the message for it where it needs one of its own."""
        is_list = schema.kind in {Kind.ARRAY, Kind.MAP}
        label = "repeated" if is_list else "optional" if self._nulls.by_label and not is_entry else ""
        each = schema.item if schema.kind is Kind.ARRAY else schema
        if each.kind is Kind.ARRAY:
            raise UnsupportedSchemaError("Protobuf has no arrays of arrays")
        type_ = self._type(each, name)
        inner = self._message_for(each, type_)
        params = {}
        if each.name == connect.DECIMAL:
            params = {"precision": str(each.precision), "scale": str(each.scale)}
        return ProtoField(name, number, type_, label, params=params), inner

    def _type(self, schema: ConnectSchema, field: str) -> str:
        if schema.name in _LOGICAL:
            return _LOGICAL[schema.name]
        if schema.kind is Kind.MAP:
            return f"ConnectDefault{next(self._counter)}Entry"
        if schema.kind is Kind.STRUCT:
            name = f"ConnectDefault{next(self._counter)}"
            return f"{name}Message" if name == field else name
        return (_WRAPPER_OF if self._nulls.by_wrapper else _SCALARS)[schema.kind]

    def _message_for(self, schema: ConnectSchema, type_: str) -> list[ProtoMessage]:
        if schema.kind is Kind.STRUCT:
            return [self.message(type_, schema)]
        if schema.kind is not Kind.MAP:
            return []
        assert schema.key is not None
        key, inside_key = self._field("key", 1, schema.key, is_entry=True)
        value, inside_value = self._field("value", 2, schema.item, is_entry=True)
        return [ProtoMessage(type_, (key, value), (*inside_key, *inside_value))]


def _imports(message: ProtoMessage) -> Iterator[str]:
    for field in message.fields:
        if field.type in _IMPORTS:
            if field.params:
                yield "confluent/meta.proto"
            yield _IMPORTS[field.type]
        elif field.type in WRAPPERS:
            yield _WRAPPERS_FILE
    for inner in message.messages:
        yield from _imports(inner)


def connect_schema(descriptor: Any, loaded: LoadedFile, nulls: Nulls, around: tuple[str, ...] = ()) -> ConnectSchema:
    """What Connect makes of a message. A oneof is a struct of its own, before all other fields."""
    if nulls.unwraps and descriptor.full_name in WRAPPERS:
        return ConnectSchema(WRAPPERS[descriptor.full_name])
    if descriptor.full_name in around:
        message = f"the message {descriptor.full_name} contains itself"
        raise UnsupportedSchemaError(message)
    inside = (*around, descriptor.full_name)
    oneofs = [
        ConnectField(
            oneof_name(oneof),
            ConnectSchema(Kind.STRUCT, fields=tuple(_field(field, loaded, nulls, inside) for field in oneof.fields)),
        )
        for oneof in real_oneofs(descriptor)
    ]
    fields = [_field(field, loaded, nulls, inside) for field in descriptor.fields if not in_real_oneof(field)]
    return ConnectSchema(Kind.STRUCT, descriptor.full_name, is_optional=False, fields=(*oneofs, *fields))


def oneof_name(oneof: Any) -> str:
    """The name of the column that a oneof becomes."""
    return f"{oneof.name}_{oneof.index}"


def real_oneofs(descriptor: Any) -> list[Any]:
    """Those that were written as such: an optional field counts as a oneof, too."""
    return [oneof for oneof in descriptor.oneofs if any(map(in_real_oneof, oneof.fields))]


def in_real_oneof(field: Any) -> bool:
    """Whether the field is one of a choice."""
    oneof = field.containing_oneof
    return oneof is not None and not (len(oneof.fields) == 1 and oneof.name == f"_{field.name}")


def _field(field: Any, loaded: LoadedFile, nulls: Nulls, around: tuple[str, ...]) -> ConnectField:
    schema = _field_schema(field, loaded, nulls, around)
    if field.is_repeated and schema.kind is not Kind.MAP:
        schema = ConnectSchema(Kind.ARRAY, value=schema)
    return ConnectField(field.name, schema)


def _field_schema(field: Any, loaded: LoadedFile, nulls: Nulls, around: tuple[str, ...]) -> ConnectSchema:
    if field.type != FieldDescriptor.TYPE_MESSAGE:
        if field.type not in _KINDS:
            message = f"the field {field.full_name} is a group"
            raise UnsupportedSchemaError(message)
        return ConnectSchema(_KINDS[field.type])
    message_type = field.message_type
    match message_type.full_name:
        case "confluent.type.Decimal":
            params = loaded.params(field.containing_type.full_name, field.name)
            precision = int(params.get("precision", connect.DEFAULT_PRECISION))
            return ConnectSchema(Kind.BYTES, connect.DECIMAL, precision=precision, scale=int(params.get("scale", 0)))
        case "google.type.Date":
            return ConnectSchema(Kind.INT32, connect.DATE)
        case "google.type.TimeOfDay":
            return ConnectSchema(Kind.INT32, connect.TIME)
        case "google.protobuf.Timestamp":
            return ConnectSchema(Kind.INT64, connect.TIMESTAMP)
    if is_map(field):
        key, value = message_type.fields
        return ConnectSchema(
            Kind.MAP,
            key=_field(key, loaded, nulls, around).schema,
            value=_field(value, loaded, nulls, around).schema,
        )
    return connect_schema(message_type, loaded, nulls, around)


def is_map(field: Any) -> bool:
    """Whether a list of messages stands for a map."""
    if not field.is_repeated or field.message_type is None or not field.message_type.name.endswith("Entry"):
        return False
    names = [each.name for each in field.message_type.fields]
    return names == ["key", "value"] and not any(each.is_repeated for each in field.message_type.fields)
