"""The registry behind confluent-kafka's client: records that its own serializers read and write, and clear errors."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.struct_pb2 import Struct

from headrace import Database, serdes
from headrace.broker.port import NewRecord
from headrace.errors import ConfigError, SerializationError
from headrace.serde.confluent_registry import ConfluentSchemaRegistry
from headrace.serde.registry import HttpSchemaRegistry, Schema, SchemaReference
from headrace.sql.errors import SqlError
from headrace.sql.formats.registries import registry_from
from tests.unit.serde.registry_server import RegistryServer, registry_server

VIEW = {"type": "record", "name": "View", "fields": [{"name": "page", "type": "string"}, {"name": "ms", "type": "int"}]}
VALUE = SerializationContext("views", MessageField.VALUE)
QUICK = {"max.retries": 0}


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with registry_server() as found:
        yield found


def given(server: RegistryServer, **more: Any) -> dict[str, Any]:
    return {"url": server.url, **QUICK, **more}


def test_what_it_writes_confluents_deserializer_reads(server: RegistryServer) -> None:
    data = serdes.avro(VIEW, given(server)).serialize("views", {"page": "home", "ms": 3})
    read = AvroDeserializer(SchemaRegistryClient({"url": server.url}))
    assert read(data, VALUE) == {"page": "home", "ms": 3}


def test_what_confluents_serializer_writes_it_reads(server: RegistryServer) -> None:
    write = AvroSerializer(SchemaRegistryClient({"url": server.url}), json.dumps(VIEW))
    data = write({"page": "about", "ms": 4}, VALUE)
    assert serdes.avro(None, given(server)).deserialize("views", data) == {"page": "about", "ms": 4}
    assert serdes.avro(VIEW, server.url).deserialize("views", data) == {"page": "about", "ms": 4}


def test_messages_and_json_find_their_schemas(server: RegistryServer) -> None:
    message = Struct()
    message.update({"page": "home"})
    with_messages = serdes.protobuf(Struct, given(server))
    assert with_messages.deserialize("p", with_messages.serialize("p", message)) == message
    with_json = serdes.json_schema({"title": "View", "type": "object"}, given(server))
    data = with_json.serialize("j", {"page": "home"})
    assert data is not None
    assert data[0] == 0
    assert with_json.deserialize("j", data) == {"page": "home"}
    kinds = {subject: found[1].kind for subject in ("p-value", "j-value") if (found := server.schemas.latest(subject))}
    assert kinds == {"p-value": "PROTOBUF", "j-value": "JSON"}


def test_it_answers_as_the_plain_one(server: RegistryServer) -> None:
    plain, theirs = HttpSchemaRegistry(server.url), ConfluentSchemaRegistry(given(server))
    first = plain.register("a", Schema('"string"'))
    reference = Schema('"View"', references=(SchemaReference("View", "a", 1),))
    second = theirs.register("b", reference)
    assert theirs.schema_by_id(first) == plain.schema_by_id(first)
    assert theirs.schema_by_id(second) == reference == plain.schema_by_id(second)
    assert theirs.latest("b") == plain.latest("b") == (second, reference)
    assert theirs.latest("nothing") is None
    assert theirs.lookup("a", Schema('"string"')) == plain.lookup("a", Schema('"string"'))


def test_a_schema_that_is_not_there_is_told(server: RegistryServer) -> None:
    with pytest.raises(SerializationError, match="answered 404 when asked for schema id 99"):
        serdes.avro(None, given(server)).deserialize("views", b"\0\0\0\0\x63\0")


def test_a_registry_that_is_down_is_told_without_its_secrets() -> None:
    settings = {"url": "http://127.0.0.1:9", "basic.auth.user.info": "ann:secret", **QUICK}
    with pytest.raises(SerializationError, match="cannot be reached") as raised:
        serdes.avro(VIEW, settings).serialize("views", {"page": "home", "ms": 3})
    assert "secret" not in f"{raised.value}{raised.value.__cause__}{ConfluentSchemaRegistry(settings)!r}"


def test_settings_that_are_none_are_refused_without_their_values() -> None:
    with pytest.raises(ConfigError, match="no settings of a schema registry's client") as raised:
        ConfluentSchemaRegistry({"password": "secret"})
    assert "secret" not in str(raised.value)


def test_it_travels_by_its_settings(server: RegistryServer) -> None:
    registry = ConfluentSchemaRegistry(given(server))
    registry.register("a", Schema('"string"'))
    assert pickle.loads(pickle.dumps(registry)).latest("a") == (1, Schema('"string"'))


def test_sql_asks_it_where_settings_are_for_it(server: RegistryServer) -> None:
    found = registry_from({"ksql.schema.registry.url": server.url, "ksql.schema.registry.max.retries": 0})
    assert isinstance(found, ConfluentSchemaRegistry)


@pytest.mark.parametrize("format_", ["AVRO", "PROTOBUF", "JSON_SR"])
def test_streams_of_sql_have_their_schemas_in_a_registry(server: RegistryServer, format_: str, tmp_path: Path) -> None:
    settings = {"ksql.schema.registry.url": server.url, "auto.offset.reset": "earliest"}
    with Database(f"embedded:{tmp_path / 'data'}", engine="local", settings=settings) as database:
        database.execute(
            "CREATE STREAM views (id INT KEY, page STRING) WITH "
            f"(kafka_topic='views', value_format='{format_}', partitions=1);"
            "CREATE STREAM pages AS SELECT id, UCASE(page) AS page FROM views; INSERT INTO views VALUES (1, 'home');"
        )
        database.run_until_idle()
        assert database.execute("SELECT * FROM pages;").rows() == [(1, "HOME")]
    found = {subject: server.schemas.latest(subject) for subject in ("views-value", "PAGES-value")}
    kind = {"JSON_SR": "JSON"}.get(format_, format_)
    assert {each[1].kind for each in found.values() if each is not None} == {kind}


def test_sql_says_that_the_registry_is_down_or_lacks_an_id(server: RegistryServer, tmp_path: Path) -> None:
    create = "CREATE STREAM v (id INT KEY, p STRING) WITH (kafka_topic='v', value_format='AVRO', partitions=1);"
    down = {"ksql.schema.registry.url": "http://127.0.0.1:9"}
    with Database(f"embedded:{tmp_path / 'a'}", engine="local", settings=down) as database:
        with pytest.raises(SqlError, match="cannot be reached") as raised:
            database.execute(create)
        assert raised.value.code == "format.schema"
    settings = {"ksql.schema.registry.url": server.url, "auto.offset.reset": "earliest"}
    with Database(f"embedded:{tmp_path / 'b'}", engine="local", settings=settings) as database:
        database.execute(create + "CREATE STREAM w AS SELECT * FROM v;")
        # A record whose schema the registry does not have is left out, and the next one is not.
        database.broker.append([NewRecord("v", b"\0\0\0\1", b"\0\0\0\0\x63\0")])
        database.execute("INSERT INTO v VALUES (2, 'x');")
        database.run_until_idle()
        assert database.execute("SELECT * FROM w;").rows() == [(2, "x")]
