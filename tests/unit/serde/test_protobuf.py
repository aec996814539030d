"""Protobuf, with and without a schema registry. The message classes are made at run time, without protoc."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from headrace import serde
from headrace.config import StreamsConfig
from headrace.errors import ConfigError, SerializationError, WrongTypeError
from headrace.serde.framing import read_message_indexes, write_message_indexes
from headrace.serde.protobuf_values import ProtobufSerde, message_indexes
from headrace.serde.registry import InMemorySchemaRegistry, record_subject
from tests.unit.serde.registry_server import registry_server

FIELD = descriptor_pb2.FieldDescriptorProto


def make_classes() -> dict[str, Any]:
    """Messages of two files: ``views.proto`` (View, and Page with Page.Part inside) imports ``users.proto``."""
    users = descriptor_pb2.FileDescriptorProto(name="users.proto", package="web", syntax="proto3")
    user = users.message_type.add(name="User")
    user.field.add(name="id", number=1, type=FIELD.TYPE_INT64, label=FIELD.LABEL_OPTIONAL)

    views = descriptor_pb2.FileDescriptorProto(
        name="views.proto", package="web", syntax="proto3", dependency=["users.proto"]
    )
    view = views.message_type.add(name="View")
    view.field.add(name="page", number=1, type=FIELD.TYPE_STRING, label=FIELD.LABEL_OPTIONAL)
    view.field.add(name="user", number=2, type=FIELD.TYPE_MESSAGE, type_name=".web.User", label=FIELD.LABEL_OPTIONAL)
    page = views.message_type.add(name="Page")
    page.nested_type.add(name="Other")
    part = page.nested_type.add(name="Part")
    part.field.add(name="text", number=1, type=FIELD.TYPE_STRING, label=FIELD.LABEL_OPTIONAL)

    pool = descriptor_pool.DescriptorPool()
    pool.Add(users)
    pool.Add(views)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"web.{name}"))
        for name in ("User", "View", "Page", "Page.Part")
    }


CLASSES = make_classes()
User, View, Part = CLASSES["User"], CLASSES["View"], CLASSES["Page.Part"]


def test_without_a_registry_the_bytes_are_the_message_alone() -> None:
    codec = serde.protobuf(View)

    assert codec.serialize("t", View(page="a")) == b"\x0a\x01a"
    assert codec.deserialize("t", b"\x0a\x01a") == View(page="a")
    assert codec.serialize("t", None) is None
    assert codec.deserialize("t", None) is None


def test_an_empty_message_is_no_null() -> None:
    assert serde.protobuf(View).serialize("t", View()) == b""
    assert serde.protobuf(View).deserialize("t", b"") == View()


def test_a_message_of_another_type_is_refused() -> None:
    with pytest.raises(WrongTypeError, match=r"protobuf\(\) expected web\.View message, found User"):
        serde.protobuf(View).serialize("t", User(id=1))


def test_broken_bytes_are_an_error() -> None:
    with pytest.raises(SerializationError, match=r"cannot read a web\.View"):
        serde.protobuf(View).deserialize("t", b"\x0a\x05a")


def test_only_message_classes_have_a_serde() -> None:
    for wrong in (dict, View(), "View"):
        with pytest.raises(ConfigError, match="needs a generated message class"):
            serde.protobuf(wrong)  # type: ignore[arg-type]


def test_with_a_registry_id_and_message_indexes_come_first() -> None:
    registry = InMemorySchemaRegistry()
    codec = serde.protobuf(User, registry)

    assert codec.serialize("t", User(id=1)) == b"\x00\x00\x00\x00\x01\x00\x08\x01"
    assert codec.deserialize("t", b"\x00\x00\x00\x00\x01\x00\x08\x01") == User(id=1)
    # The long form of the same indexes, which older writers use.
    assert codec.deserialize("t", b"\x00\x00\x00\x00\x01\x02\x00\x08\x01") == User(id=1)


def test_a_nested_type_is_found_by_its_indexes() -> None:
    registry = InMemorySchemaRegistry()
    data = serde.protobuf(Part, registry).serialize("t", Part(text="x"))

    assert message_indexes(Part.DESCRIPTOR) == (1, 1)
    assert data is not None
    assert data[5:8] == b"\x04\x02\x02"
    assert serde.protobuf(Part, registry).deserialize("t", data) == Part(text="x")


@pytest.mark.parametrize("indexes", [(0,), (1,), (1, 0), (2, 3, 64)])
def test_message_indexes_come_back(indexes: tuple[int, ...]) -> None:
    assert read_message_indexes(write_message_indexes(indexes) + b"rest") == (indexes, b"rest")


@pytest.mark.parametrize("data", [b"", b"\x04\x02", b"\xff\xff\xff\xff\xff\xff"])
def test_broken_message_indexes_are_an_error(data: bytes) -> None:
    with pytest.raises(SerializationError, match="message indexes"):
        read_message_indexes(data)


def test_imported_files_are_registered_under_their_names() -> None:
    registry = InMemorySchemaRegistry()
    serde.protobuf(View, registry).serialize("t", View(page="a"))

    assert registry.subjects == ("users.proto", "t-value")
    schema = registry.schema_by_version("t-value", 1)
    assert schema.kind == "PROTOBUF"
    assert [(reference.name, reference.version) for reference in schema.references] == [("users.proto", 1)]
    assert base64.b64decode(schema.text) == View.DESCRIPTOR.file.serialized_pb


def test_keys_and_values_have_subjects_of_their_own() -> None:
    registry = InMemorySchemaRegistry()
    codec = serde.protobuf(User, registry)
    assert isinstance(codec, ProtobufSerde)

    codec.with_defaults(StreamsConfig(), is_key=True).serialize("t", User(id=1))
    serde.protobuf(User, registry, subject=record_subject).serialize("t", User(id=1))

    assert registry.subjects == ("t-key", "web.User")


def test_schemas_that_must_exist_already_are_not_registered() -> None:
    registry = InMemorySchemaRegistry()
    with pytest.raises(SerializationError, match="not registered"):
        serde.protobuf(User, registry, auto_register=False).serialize("t", User(id=1))

    serde.protobuf(User, registry).serialize("t", User(id=1))
    assert serde.protobuf(User, registry, auto_register=False).serialize("t", User(id=1)) is not None


def test_works_over_http_and_asks_once() -> None:
    with registry_server() as server:
        codec = serde.protobuf(View, server.url)
        messages = [View(page=page, user=User(id=7)) for page in "abc"]

        assert [codec.deserialize("t", codec.serialize("t", message)) for message in messages] == messages
        assert [path for _, path, _ in server.requests] == [
            "/subjects/users.proto/versions",
            "/subjects/users.proto",
            "/subjects/t-value/versions",
        ]
