"""Protobuf files as the library knows them, with the files that they import."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    message_factory,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)

from headrace.serde.registry import Schema, SchemaRegistry
from headrace.sql.formats.protobuf_text import ProtoEnum, ProtoField, ProtoFile, ProtoMessage, parse_proto

_LIBRARY = {
    module.DESCRIPTOR.name: module.DESCRIPTOR.serialized_pb
    for module in (
        any_pb2,
        descriptor_pb2,
        duration_pb2,
        empty_pb2,
        field_mask_pb2,
        struct_pb2,
        timestamp_pb2,
        wrappers_pb2,
    )
}


def _known(package: str, message: str, **fields: str) -> ProtoFile:
    numbered = (ProtoField(name, at + 1, type_) for at, (name, type_) in enumerate(fields.items()))
    return ProtoFile((ProtoMessage(message, tuple(numbered)),), package=package)


_KNOWN = {
    "google/type/date.proto": _known("google.type", "Date", year="int32", month="int32", day="int32"),
    "google/type/timeofday.proto": _known(
        "google.type", "TimeOfDay", hours="int32", minutes="int32", seconds="int32", nanos="int32"
    ),
    "confluent/type/decimal.proto": _known(
        "confluent.type", "Decimal", value="bytes", precision="uint32", scale="int32"
    ),
    "confluent/meta.proto": ProtoFile((), package="confluent"),
}
"""Files that every registry knows and the library does not."""
_TYPES = {
    name: getattr(descriptor_pb2.FieldDescriptorProto, f"TYPE_{name.upper()}")
    for name in [
        "double",
        "float",
        "int32",
        "int64",
        "uint32",
        "uint64",
        "sint32",
        "sint64",
        "fixed32",
        "fixed64",
        "sfixed32",
        "sfixed64",
        "bool",
        "string",
        "bytes",
    ]
}
_LABELS = {
    name: getattr(descriptor_pb2.FieldDescriptorProto, f"LABEL_{name.upper()}")
    for name in ("optional", "repeated", "required")
}


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A file whose messages can be made and read."""

    file: ProtoFile
    pool: Any

    def message(self, full_name: str) -> tuple[Any, tuple[int, ...], Any]:
        """The descriptor of a message, the way to it, and its class."""
        way = _way(self.file.messages, full_name.removeprefix(f"{self.file.package}.").split("."))
        if way is None:
            message = f"the schema has no message {full_name}"
            raise ValueError(message)
        descriptor = self.pool.FindMessageTypeByName(full_name)
        return descriptor, way, message_factory.GetMessageClass(descriptor)

    def at(self, way: tuple[int, ...]) -> str:
        """The full name of the message at the end of a way."""
        messages, names = self.file.messages, [self.file.package] if self.file.package else []
        for index in way:
            if index >= len(messages):
                message = f"the schema has no message at {list(way)}"
                raise ValueError(message)
            names.append(messages[index].name)
            messages = messages[index].messages
        return ".".join(names)

    def params(self, message: str, field: str) -> dict[str, str]:
        """What is noted beside a field of a message of this file."""
        for name, each in _all_messages(self.file.messages, self.file.package):
            if name == message:
                return next((found.params for found in each.fields if found.name == field), {})
        return {}


def load_schema(schema: Schema, registry: SchemaRegistry | None) -> LoadedFile:
    """The file of a registered schema, and those it refers to."""
    return load_file(file_of(schema.text), registry, _referred_by(schema, registry))


def file_of(text: str) -> ProtoFile:
    """The file of a text, or of a descriptor in Base64."""
    try:
        return parse_proto(text)
    except ValueError:
        try:
            data = base64.b64decode(text, validate=True)
        except binascii.Error:
            data = b""
        if not data:
            raise
        return _file_of_descriptor(descriptor_pb2.FileDescriptorProto.FromString(data))


def load_file(
    file: ProtoFile,
    registry: SchemaRegistry | None = None,
    referred: Callable[[str], Schema | None] = lambda name: None,
) -> LoadedFile:
    """The file, in a pool of its own."""
    pool = descriptor_pool.DescriptorPool()
    _add_imports(pool, file, registry, referred, set())
    pool.Add(_descriptor(file, "schema.proto"))
    return LoadedFile(file, pool)


def _add_imports(
    pool: Any,
    file: ProtoFile,
    registry: SchemaRegistry | None,
    referred: Callable[[str], Schema | None],
    added: set[str],
) -> None:
    for name in file.imports:
        if name in added:
            continue
        added.add(name)
        if name in _LIBRARY:
            pool.AddSerializedFile(_LIBRARY[name])
            continue
        imported = _KNOWN.get(name)
        inner = referred
        if imported is None:
            schema = referred(name)
            if schema is None:
                message = f"the schema imports {name}, which is not known"
                raise ValueError(message)
            imported, inner = file_of(schema.text), _referred_by(schema, registry)
        _add_imports(pool, imported, registry, inner, added)
        pool.Add(_descriptor(imported, name))


def _referred_by(schema: Schema, registry: SchemaRegistry | None) -> Callable[[str], Schema | None]:
    references = {each.name: each for each in schema.references}

    def referred(name: str) -> Schema | None:
        each = references.get(name)
        return None if each is None or registry is None else registry.schema_by_version(each.subject, each.version)

    return referred


def _descriptor(file: ProtoFile, name: str) -> Any:
    found = descriptor_pb2.FileDescriptorProto(
        name=name, package=file.package, dependency=file.imports, syntax=file.syntax
    )
    found.message_type.extend(_message(message, file.syntax) for message in file.messages)
    found.enum_type.extend(map(_enum, file.enums))
    return found


def _message(message: ProtoMessage, syntax: str) -> Any:
    found = descriptor_pb2.DescriptorProto(name=message.name)
    found.nested_type.extend(_message(inner, syntax) for inner in message.messages)
    found.enum_type.extend(map(_enum, message.enums))
    oneofs = list(dict.fromkeys(each.oneof for each in message.fields if each.oneof))
    for each in message.fields:
        descriptor = _field(each, found)
        if each.oneof:
            descriptor.oneof_index = oneofs.index(each.oneof)
        elif each.label == "optional" and syntax == "proto3":
            # An optional field of proto3 is the only one of a oneof that has its name.
            descriptor.proto3_optional = True
            descriptor.oneof_index = len(oneofs)
            oneofs.append(f"_{each.name}")
        found.field.append(descriptor)
    found.oneof_decl.extend(descriptor_pb2.OneofDescriptorProto(name=name) for name in oneofs)
    return found


def _field(each: ProtoField, message: Any) -> Any:
    type_ = each.type
    label = each.label or "optional"
    if each.key_type is not None:
        type_, label = _map_entry_name(each.name), "repeated"
        entry = ProtoMessage(type_, (ProtoField("key", 1, each.key_type), ProtoField("value", 2, each.type)))
        nested = _message(entry, "proto2")
        nested.options.map_entry = True
        message.nested_type.append(nested)
    # Names in JSON play no part here, and those that the library would choose could be equal.
    descriptor = descriptor_pb2.FieldDescriptorProto(
        name=each.name, number=each.number, label=_LABELS[label], json_name=each.name
    )
    if type_ in _TYPES:
        descriptor.type = _TYPES[type_]
    else:
        descriptor.type_name = type_
    return descriptor


def _map_entry_name(field: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in field.split("_")) + "Entry"


def _enum(enum: ProtoEnum) -> Any:
    found = descriptor_pb2.EnumDescriptorProto(name=enum.name)
    found.value.extend(descriptor_pb2.EnumValueDescriptorProto(name=name, number=n) for name, n in enum.values)
    if len({number for _, number in enum.values}) < len(enum.values):
        found.options.allow_alias = True
    return found


def _file_of_descriptor(found: Any) -> ProtoFile:
    messages = tuple(_message_of_descriptor(message) for message in found.message_type)
    enums = tuple(_enum_of_descriptor(enum) for enum in found.enum_type)
    return ProtoFile(messages, enums, found.package, tuple(found.dependency), found.syntax or "proto2")


def _message_of_descriptor(found: Any) -> ProtoMessage:
    entries = {nested.name: nested for nested in found.nested_type if nested.options.map_entry}
    fields = tuple(_field_of_descriptor(each, found, entries) for each in found.field)
    messages = tuple(_message_of_descriptor(each) for each in found.nested_type if each.name not in entries)
    return ProtoMessage(found.name, fields, messages, tuple(map(_enum_of_descriptor, found.enum_type)))


def _field_of_descriptor(each: Any, message: Any, entries: dict[str, Any]) -> ProtoField:
    types = {number: name for name, number in _TYPES.items()}
    labels = {number: name for name, number in _LABELS.items()}
    entry = entries.get(each.type_name.rpartition(".")[2])
    if entry is not None:
        key, value = entry.field
        return ProtoField(
            each.name, each.number, types.get(value.type, value.type_name), key_type=types.get(key.type, "string")
        )
    label = labels[each.label]
    is_plain = label == "optional" and not each.proto3_optional
    in_oneof = each.HasField("oneof_index") and not each.proto3_optional
    oneof = message.oneof_decl[each.oneof_index].name if in_oneof else None
    return ProtoField(each.name, each.number, types.get(each.type, each.type_name), "" if is_plain else label, oneof)


def _enum_of_descriptor(found: Any) -> ProtoEnum:
    return ProtoEnum(found.name, tuple((value.name, value.number) for value in found.value))


def _joined(package: str, name: str) -> str:
    return f"{package}.{name}" if package else name


def _way(messages: tuple[ProtoMessage, ...], names: list[str]) -> tuple[int, ...] | None:
    for index, message in enumerate(messages):
        if message.name == names[0]:
            if len(names) == 1:
                return (index,)
            inner = _way(message.messages, names[1:])
            return None if inner is None else (index, *inner)
    return None


def _all_messages(messages: tuple[ProtoMessage, ...], around: str) -> Iterator[tuple[str, ProtoMessage]]:
    for message in messages:
        name = _joined(around, message.name)
        yield name, message
        yield from _all_messages(message.messages, name)
