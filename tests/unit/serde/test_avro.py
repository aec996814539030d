"""Avro, with and without a schema registry."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import cloudpickle
import pytest

from headrace import serde
from headrace.config import StreamsConfig
from headrace.errors import ConfigError, SerializationError
from headrace.serde.avro_values import AvroSerde
from headrace.serde.registry import (
    InMemorySchemaRegistry,
    Schema,
    SchemaReference,
    record_subject,
    topic_record_subject,
)
from tests.unit.serde.registry_server import registry_server

VIEW = {
    "type": "record",
    "name": "View",
    "namespace": "web",
    "fields": [{"name": "page", "type": "string"}, {"name": "ms", "type": "long", "default": 0}],
}


def test_without_a_registry_the_bytes_are_avro_alone() -> None:
    codec = serde.avro(VIEW)

    assert codec.serialize("t", {"page": "a", "ms": 3}) == b"\x02a\x06"
    assert codec.deserialize("t", b"\x02a\x06") == {"page": "a", "ms": 3}
    assert codec.serialize("t", None) is None
    assert codec.deserialize("t", None) is None


def test_a_field_with_a_default_may_be_missing() -> None:
    assert serde.avro(json.dumps(VIEW)).serialize("t", {"page": "a"}) == b"\x02a\x00"


def test_logical_types_come_as_python_has_them() -> None:
    codec = serde.avro({"type": "long", "logicalType": "timestamp-millis"})
    when = datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone.utc)

    assert codec.deserialize("t", codec.serialize("t", when)) == when


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"page": 7}, "View.page is <7>"),
        ({"page": "a", "other": 1}, "more fields than the schema"),
        ({}, "View.page"),
        ("a", "found str"),
        ({"page": "a", "ms": 2**63}, "View.ms"),
    ],
)
def test_a_value_that_does_not_fit_is_an_error_that_names_the_field(value: Any, reason: str) -> None:
    with pytest.raises(SerializationError, match=r"avro\(\) expected a value of its schema") as raised:
        serde.avro(VIEW).serialize("t", value)

    assert reason in raised.value.message


@pytest.mark.parametrize("data", [b"", b"\x02", b"\x02a\x06\x00", b"\x00\x00\x00\x00\x01\x02a\x06"])
def test_bytes_of_another_schema_are_an_error(data: bytes) -> None:
    with pytest.raises(SerializationError, match=r"avro\(\)") as raised:
        serde.avro(VIEW).deserialize("t", data)

    assert "registry" in str(raised.value.hint)


def test_with_a_registry_the_schemas_id_comes_first() -> None:
    registry = InMemorySchemaRegistry()
    registry.register("something", Schema('"long"'))
    codec = serde.avro(VIEW, registry)

    assert codec.serialize("views", {"page": "a", "ms": 3}) == b"\x00\x00\x00\x00\x02\x02a\x06"
    assert codec.deserialize("views", b"\x00\x00\x00\x00\x02\x02a\x06") == {"page": "a", "ms": 3}
    assert registry.subjects == ("something", "views-value")


def test_a_record_is_read_with_the_schema_it_was_written_with() -> None:
    registry = InMemorySchemaRegistry()
    older = {**VIEW, "fields": [{"name": "page", "type": "string"}, {"name": "gone", "type": "int"}]}
    data = serde.avro(older, registry).serialize("t", {"page": "a", "gone": 1})

    assert serde.avro(VIEW, registry).deserialize("t", data) == {"page": "a", "ms": 0}
    assert serde.avro(None, registry).deserialize("t", data) == {"page": "a", "gone": 1}


def test_without_a_schema_nothing_can_be_written() -> None:
    with pytest.raises(SerializationError, match="can only read"):
        serde.avro(None, InMemorySchemaRegistry()).serialize("t", {})
    with pytest.raises(ConfigError, match="needs a schema or a registry"):
        serde.avro(None)


def test_keys_and_values_have_subjects_of_their_own() -> None:
    registry = InMemorySchemaRegistry()
    codec = serde.avro('"string"', registry)
    assert isinstance(codec, AvroSerde)

    codec.with_defaults(StreamsConfig(), is_key=True).serialize("t", "k")
    codec.with_defaults(StreamsConfig(), is_key=False).serialize("t", "v")
    serde.avro('"string"', registry, is_key=True).serialize("u", "k")
    serde.avro(VIEW, registry, subject=record_subject).serialize("t", {"page": "a"})
    serde.avro(VIEW, registry, subject=topic_record_subject).serialize("t", {"page": "a"})

    assert registry.subjects == ("t-key", "t-value", "u-key", "web.View", "t-web.View")


def test_schemas_that_must_exist_already_are_not_registered() -> None:
    registry = InMemorySchemaRegistry()
    codec = serde.avro('"long"', registry, auto_register=False)

    with pytest.raises(SerializationError, match="not registered under subject t-value"):
        codec.serialize("t", 1)
    registry.register("t-value", Schema('"long"'))
    assert codec.serialize("t", 1) == b"\x00\x00\x00\x00\x01\x02"


def test_a_schema_may_refer_to_another() -> None:
    registry = InMemorySchemaRegistry()
    registry.register("user", Schema('{"type":"record","name":"User","fields":[{"name":"id","type":"long"}]}'))
    text = '{"type":"record","name":"Visit","fields":[{"name":"user","type":"User"}]}'
    schema_id = registry.register("t-value", Schema(text, references=(SchemaReference("User", "user", 1),)))

    codec = serde.avro(None, registry)

    assert codec.deserialize("t", b"\x00" + schema_id.to_bytes(4, "big") + b"\x0a") == {"user": {"id": 5}}


@pytest.mark.parametrize("data", [b"", b"\x00\x00", b"\x01\x00\x00\x00\x01\x02"])
def test_data_without_the_prefix_is_an_error(data: bytes) -> None:
    with pytest.raises(SerializationError, match="begins with a zero byte"):
        serde.avro('"long"', InMemorySchemaRegistry()).deserialize("t", data)


def test_a_record_of_another_kind_is_an_error() -> None:
    registry = InMemorySchemaRegistry()
    registry.register("t-value", Schema("{}", "JSON"))
    with pytest.raises(SerializationError, match="found one with JSON"):
        serde.avro('"long"', registry).deserialize("t", b"\x00\x00\x00\x00\x01\x02")


@pytest.mark.parametrize("schema", ["{", {"type": "recrod"}, {"type": "record", "fields": []}])
def test_what_is_no_schema_is_refused_at_once(schema: Any) -> None:
    with pytest.raises(ConfigError, match="this is no Avro schema"):
        serde.avro(schema)


def test_a_registry_may_be_given_by_its_address_and_is_asked_once() -> None:
    with registry_server() as server:
        codec = serde.avro(VIEW, server.url)
        data = [codec.serialize("t", {"page": page}) for page in "abc"]
        reader = serde.avro(VIEW, server.url)

        assert [reader.deserialize("t", each) for each in data] == [{"page": page, "ms": 0} for page in "abc"]
        assert [path for _, path, _ in server.requests] == ["/subjects/t-value/versions", "/schemas/ids/1"]


def test_the_serde_travels() -> None:
    codec = cloudpickle.loads(cloudpickle.dumps(serde.avro(VIEW, InMemorySchemaRegistry())))

    assert codec.deserialize("t", codec.serialize("t", {"page": "a", "ms": 1})) == {"page": "a", "ms": 1}
