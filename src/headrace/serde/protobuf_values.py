"""The serde of Protobuf messages. Loaded by ``serdes.protobuf()``; needs the extra ``headrace[protobuf]``."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.message import DecodeError, EncodeError, Message

from headrace.errors import ConfigError, SerializationError
from headrace.serde.contract import shorten, wrong_type
from headrace.serde.framing import frame, read_message_indexes, unframe, write_message_indexes
from headrace.serde.registered import RegisteredSerde
from headrace.serde.registry import (
    RegistryGiven,
    Schema,
    SchemaReference,
    SchemaRegistry,
    registry_of,
)

_EVERYONE_HAS = ("google/protobuf/", "google/type/", "confluent/")
"""Files every registry knows; they are not registered as references."""


@dataclass(frozen=True, slots=True)
class ProtobufSerde(RegisteredSerde):
    """Messages of one generated class.

    The bytes of equal messages are equal, also where they hold maps, so that messages can be keys. With a registry
    the file of the class is registered, and before it the files it imports, each under its own name.
    """

    type: type[Message]

    def serialize(self, topic: str, value: Message | None) -> bytes | None:
        if value is None:
            return None
        name = self.type.DESCRIPTOR.full_name
        if not isinstance(value, self.type):
            raise wrong_type("protobuf()", f"{name} message", value, hint=f"Make one: {self.type.__name__}(...).")
        try:
            payload: bytes = value.SerializeToString(deterministic=True)
        except EncodeError as error:
            message = f"protobuf() cannot write a {name}: {error}"
            raise SerializationError(message) from error
        if self.registry is None:
            return payload
        registry, descriptor = self.registry, self.type.DESCRIPTOR
        schema_id = self._id_of(
            registry, topic, lambda: (name, _schema_of(registry, descriptor.file, self.auto_register))
        )
        return frame(schema_id, write_message_indexes(message_indexes(descriptor)) + payload)

    def deserialize(self, topic: str, data: bytes | None) -> Message | None:
        if data is None:
            return None
        payload = data if self.registry is None else read_message_indexes(unframe(data)[1])[1]
        try:
            return self.type.FromString(payload)
        except DecodeError as error:
            message = f"protobuf() cannot read a {self.type.DESCRIPTOR.full_name} from the bytes: {error}"
            hint = "Was the topic written with another message type, or with a schema registry? Then give the registry."
            raise SerializationError(message, detail=f"bytes {shorten(bytes(data))}", hint=hint) from error


def protobuf_serde(type: Any, registry: RegistryGiven = None, **options: Any) -> ProtobufSerde:
    """The serde of a generated message class; ``options`` are the further fields of ProtobufSerde."""
    if not (isinstance(type, _CLASS) and issubclass(type, Message)):
        message = f"protobuf() needs a generated message class, found {type!r}"
        raise ConfigError(message, hint="Import it from the module that protoc made: serdes.protobuf(views_pb2.View).")
    return ProtobufSerde(type, registry=registry_of(registry), **options)


_CLASS = type


def message_indexes(descriptor: Descriptor) -> tuple[int, ...]:
    """The way from the file to a message type: its position there, then inside the types around it."""
    outer = descriptor.containing_type
    if outer is None:
        return (list(descriptor.file.message_types_by_name).index(descriptor.name),)
    return (*message_indexes(outer), list(outer.nested_types_by_name).index(descriptor.name))


def _schema_of(registry: SchemaRegistry, file: FileDescriptor, auto_register: bool) -> Schema:
    references = tuple(
        _reference(registry, imported, auto_register)
        for imported in file.dependencies
        if not imported.name.startswith(_EVERYONE_HAS)
    )
    return Schema(base64.b64encode(file.serialized_pb).decode(), "PROTOBUF", references)


def _reference(registry: SchemaRegistry, file: FileDescriptor, auto_register: bool) -> SchemaReference:
    schema = _schema_of(registry, file, auto_register)
    if auto_register:
        registry.register(file.name, schema)
    return SchemaReference(file.name, file.name, registry.lookup(file.name, schema).version)
