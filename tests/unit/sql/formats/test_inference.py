"""Columns from a registry, and schemas registered there."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from headrace.errors import SerializationError
from headrace.serde.registry import HttpSchemaRegistry, InMemorySchemaRegistry, Schema
from headrace.sql import SqlError, parse
from headrace.sql.catalog.catalog import Catalog
from headrace.sql.catalog.creating import declared_source
from headrace.sql.catalog.sources import Source
from headrace.sql.formats.inference import with_registered_columns, with_schema_names
from headrace.sql.formats.inserting import inserting_formats
from headrace.sql.formats.registering import register_schemas
from headrace.sql.formats.rows import row_serde
from headrace.sql.tree.statements import CreateAs, CreateSource

PROTO = 'syntax = "proto3"; message Order {int32 c1 = 1; repeated string c2 = 2;}'
PLAIN = Schema('"string"')
PROTO3, INT32 = 'syntax = "proto3";', '{"connect.type":"int32","type":"integer"}'
TWO = 'syntax = "proto3"; message A {uint32 a = 1;} message B {string b = 1;}'


def avro(*fields: tuple[str, Any], name: str = "r") -> Schema:
    return Schema(json.dumps({"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields]}))


def registry_with(**schemas: Schema) -> InMemorySchemaRegistry:
    registry = InMemorySchemaRegistry()
    for subject, schema in schemas.items():
        registry.register(subject.replace("_", "-"), schema)
    return registry


def source(text: str, registry: InMemorySchemaRegistry | None) -> Source:
    (parsed,) = parse(text)
    assert isinstance(parsed.statement, CreateSource)
    completed = with_registered_columns(parsed.statement, registry, {})
    return declared_source(completed, Catalog(), {})


def columns(text: str, **schemas: Schema) -> str:
    return str(source(text, registry_with(**schemas)).schema)


def failure(text: str, **schemas: Schema) -> SqlError:
    with pytest.raises(SqlError) as caught:
        columns(text, **schemas)
    return caught.value


def test_names_of_the_latest_schema_are_in_upper_case() -> None:
    schema = avro(("c1", "float"), ("c2", {"type": "record", "name": "i", "fields": [{"name": "f", "type": "int"}]}))
    found = columns("CREATE STREAM S WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO');", t_value=schema)
    assert found == "`C1` DOUBLE, `C2` STRUCT<`F` INTEGER>"


def test_a_schema_that_is_named_by_its_id_keeps_its_names() -> None:
    registry = registry_with(t_value=avro(("c1", "int"), name="shop.Order"))
    found = source("CREATE STREAM S WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=1);", registry)
    assert str(found.schema) == "`c1` INTEGER"
    assert found.value_format.properties == {"schemaId": "1", "fullSchemaName": "shop.Order"}


def test_keys_and_values_may_come_from_different_places() -> None:
    schema = avro(("c1", "int"))
    text = "CREATE TABLE S (ID INT PRIMARY KEY) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO');"
    assert columns(text, t_value=schema) == "`ID` INTEGER KEY, `C1` INTEGER"
    text = "CREATE STREAM S (C1 INT, H BYTES HEADER('h')) WITH (KAFKA_TOPIC='t', FORMAT='AVRO');"
    assert columns(text, t_key=Schema('"long"')) == "`H` BYTES HEADER('h'), `ROWKEY` BIGINT KEY, `C1` INTEGER"
    text = "CREATE TABLE S WITH (KAFKA_TOPIC='t', FORMAT='AVRO');"
    assert columns(text, t_key=schema, t_value=schema) == "`ROWKEY` STRUCT<`C1` INTEGER> KEY, `C1` INTEGER"


def test_types_that_only_connect_names_are_known() -> None:
    data = "org.apache.kafka.connect.data"
    parameters = {"scale": "2", "connect.decimal.precision": "5"}
    schema = avro(
        ("d", {"type": "int", "connect.name": f"{data}.Date"}),
        ("e", {"type": "bytes", "connect.name": f"{data}.Decimal", "connect.parameters": parameters}),
        ("l", {"type": "long", "logicalType": "timestamp-micros"}),
        ("i", {"type": "int", "connect.type": "int8"}),
    )
    found = columns("CREATE STREAM S WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO');", t_value=schema)
    assert found == "`D` DATE, `E` DECIMAL(5, 2), `L` BIGINT, `I` INTEGER"


def test_a_value_that_is_not_wrapped() -> None:
    text = "CREATE STREAM S WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO'{});"
    assert columns(text.format(", WRAP_SINGLE_VALUE=false"), t_value=Schema("int")) == "`ROWVAL` INTEGER"
    error = failure(text.format(""), t_value=Schema("int"))
    assert (error.code, error.hint) == ("format.wrapping", "Write WRAP_SINGLE_VALUE=false.")


def test_columns_of_protobuf() -> None:
    text = "CREATE STREAM S WITH (KAFKA_TOPIC='t', FORMAT='PROTOBUF', VALUE_SCHEMA_ID=2);"
    key = Schema('syntax = "proto3"; message K {int64 k = 1;}', "PROTOBUF")
    registry = registry_with(t_key=key, t_value=Schema(PROTO, "PROTOBUF"))
    found = source(text, registry)
    assert str(found.schema) == "`K` BIGINT KEY, `c1` INTEGER, `c2` ARRAY<STRING>"
    assert found.value_format.properties["fullSchemaName"] == "Order"
    assert "fullSchemaName" not in found.key_format.properties


def test_one_of_several_messages_is_named() -> None:
    text = "CREATE STREAM S WITH (KAFKA_TOPIC='t', VALUE_FORMAT='PROTOBUF'{});"
    schema = Schema(TWO, "PROTOBUF")
    assert columns(text.format(", VALUE_SCHEMA_FULL_NAME='B'"), t_value=schema) == "`B` STRING"
    error = failure(text.format(""), t_value=schema)
    assert error.message == "the schema of the value has several messages: A, B"
    assert error.hint == "Name one of them: VALUE_SCHEMA_FULL_NAME='A'."
    assert "no message C" in failure(text.format(", VALUE_SCHEMA_FULL_NAME='C'"), t_value=schema).message


def test_columns_of_a_json_schema_come_in_the_order_of_a_hash_map_unless_it_says_one() -> None:
    text = "CREATE STREAM S WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON_SR');"
    properties: dict[str, Any] = {"ID": {"type": "number"}, "NAME": {"type": "string"}, "VALUE": {"type": "integer"}}
    schema = Schema(json.dumps({"type": "object", "properties": properties}), "JSON")
    assert columns(text, t_value=schema) == "`ID` DOUBLE, `VALUE` BIGINT, `NAME` STRING"
    for index, node in enumerate(properties.values()):
        node["connect.index"] = index
    schema = Schema(json.dumps({"type": "object", "properties": properties}), "JSON")
    assert columns(text, t_value=schema) == "`ID` DOUBLE, `NAME` STRING, `VALUE` BIGINT"


def test_what_sql_does_not_know_is_left_out() -> None:
    text = "CREATE STREAM S WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO');"
    entry = {
        "type": "record",
        "name": "e",
        "connect.internal.type": "MapEntry",
        "fields": [{"name": "key", "type": "double"}, {"name": "value", "type": "int"}],
    }
    unknown = ("m", {"type": "array", "items": entry})
    assert columns(text, t_value=avro(("c", "int"), unknown)) == "`C` INTEGER"
    assert failure(text, t_value=avro(unknown)).message == "the schema has no fields of types that SQL knows"


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("VALUE_FORMAT='AVRO'", "format.schema", "the registry has no schema for the value of topic t"),
        ("VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=9", "format.schema", "the registry has no schema with id 9"),
        (
            "VALUE_FORMAT='JSON_SR', VALUE_SCHEMA_ID=1",
            "format.schema",
            "is of kind AVRO, and the format JSON_SR needs JSON",
        ),
        ("VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=2", "format.schema", "has no columns that SQL knows"),
        ("FORMAT='PROTOBUF', KEY_SCHEMA_ID=3", "format.schema", "the schema of the key has several fields"),
    ],
)
def test_what_cannot_be_had_from_the_registry(text: str, code: str, message: str) -> None:
    schemas = {"x": avro(("c", "int")), "y": Schema("nonsense"), "z": Schema(PROTO, "PROTOBUF")}
    error = failure(f"CREATE STREAM S WITH (KAFKA_TOPIC='t', {text});", **schemas)
    assert error.code == code
    assert message in error.message


def test_columns_and_an_id_are_one_too_many() -> None:
    text = "CREATE STREAM S (A INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=1);"
    assert failure(text).code == "format.schema-id"


def test_without_a_registry_columns_must_be_declared() -> None:
    with pytest.raises(SqlError, match="the format AVRO needs a schema registry"):
        source("CREATE STREAM S WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO');", None)
    text = "CREATE STREAM S (A INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO');"
    assert str(source(text, None).schema) == "`A` INTEGER"


def sink_statement(properties: str) -> CreateAs:
    (parsed,) = parse(f"CREATE STREAM O WITH ({properties}) AS SELECT * FROM S;")
    assert isinstance(parsed.statement, CreateAs)
    return parsed.statement


def test_the_columns_of_a_sink_must_be_those_of_the_given_schema() -> None:
    registry = registry_with(o_value=avro(("c1", "int"), ("c2", "double"), name="shop.O"))
    text = "CREATE STREAM O ({}) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='AVRO');"
    statement = sink_statement("VALUE_SCHEMA_ID=1")

    def named(declared: str) -> CreateAs:
        sink = source(text.format(declared), registry)
        with_id = replace(sink.value_format, properties={"schemaId": "1"})
        return with_schema_names(statement, replace(sink, value_format=with_id), registry)

    assert ("VALUE_SCHEMA_FULL_NAME", "shop.O") in [
        (n, getattr(v, "value", None)) for n, v in named("`c1` INT").properties
    ]
    with pytest.raises(SqlError) as caught:
        named("`c2` DOUBLE")
    assert caught.value.code == "format.schema-id"
    assert "`c2` DOUBLE" in caught.value.message
    with pytest.raises(SqlError, match="the value columns `c1` STRING are not those of the registered schema"):
        named("`c1` STRING")


def test_schemas_of_new_sources_are_registered() -> None:
    registry = InMemorySchemaRegistry()
    found = source("CREATE STREAM S (K INT KEY, A INT) WITH (KAFKA_TOPIC='t', FORMAT='AVRO');", registry)
    register_schemas(found, registry, is_sink=False)
    assert registry.subjects == ("t-key", "t-value")
    other = source("CREATE STREAM S (K INT KEY, B INT) WITH (KAFKA_TOPIC='t', FORMAT='AVRO');", registry)
    register_schemas(other, registry, is_sink=False)
    assert registry.latest("t-value") == (2, registry.schema_by_id(2))
    register_schemas(other, registry, is_sink=True)
    assert registry.latest("t-value") == (3, registry.schema_by_id(3))


def test_formats_without_schemas_register_none() -> None:
    registry = InMemorySchemaRegistry()
    found = source("CREATE STREAM S (K INT KEY, A INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');", registry)
    register_schemas(found, registry, is_sink=True)
    assert registry.subjects == ()


def test_a_given_schema_is_registered_for_the_topic_under_its_id() -> None:
    registry = registry_with(other=avro(("c1", "int")))
    found = source("CREATE STREAM S WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=1);", registry)
    register_schemas(found, registry, is_sink=False)
    assert registry.latest("t-value") == registry.latest("other")


@pytest.mark.parametrize(
    ("format_", "same", "other"),
    [
        ("AVRO", Schema('{"type": "int", "doc": "a key"}'), Schema('"long"')),
        ("JSON_SR", Schema(INT32, "JSON"), Schema('{"type":"integer"}', "JSON")),
        ("PROTOBUF", Schema(f"{PROTO3} message Key {{int32 k = 7;}}", "PROTOBUF"), Schema(PROTO, "PROTOBUF")),
    ],
)
def test_rows_are_inserted_with_the_schema_of_the_keys(format_: str, same: Schema, other: Schema) -> None:
    text = f"CREATE STREAM S (K INT KEY, A INT) WITH (KAFKA_TOPIC='t', KEY_FORMAT='{format_}', VALUE_FORMAT='JSON');"
    found = source(text, None)
    key, value = inserting_formats(found, registry_with(o=PLAIN, t_key=same))
    assert key.properties["schemaId"] == "2"
    assert value == found.value_format
    with pytest.raises(SqlError, match="the keys of topic t have a schema that rows of S would replace"):
        inserting_formats(found, registry_with(t_key=other))
    with pytest.raises(SqlError, match="the registry has no schema for the keys of topic t"):
        inserting_formats(found, InMemorySchemaRegistry())


def test_messages_are_inserted_as_the_registered_file_has_them() -> None:
    found = source("CREATE STREAM S (A INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='PROTOBUF');", None)
    registry = registry_with(o=PLAIN, t_value=Schema(f"{PROTO3} message M {{int32 A = 7;}}", "PROTOBUF"))
    _, value = inserting_formats(found, registry)
    assert row_serde(found.schema.value, value, registry=registry).serialize("t", [1]) == b"\0\0\0\0\2\0\x38\1"
    assert inserting_formats(found, InMemorySchemaRegistry())[1] == found.value_format


def test_what_has_no_schema_in_the_language_is_refused() -> None:
    registry = InMemorySchemaRegistry()
    text = "CREATE STREAM S (A ARRAY<ARRAY<INT>>) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='PROTOBUF');"
    with pytest.raises(SqlError, match="Protobuf has no arrays of arrays") as caught:
        register_schemas(source(text, registry), registry, is_sink=False)
    assert caught.value.code == "format.type"


def test_a_registry_that_does_not_answer_is_an_error_of_sql() -> None:
    registry = HttpSchemaRegistry("http://127.0.0.1:9", timeout=0.2)
    with pytest.raises(SerializationError):
        registry.latest("t-value")
    (parsed,) = parse("CREATE STREAM S WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO');")
    assert isinstance(parsed.statement, CreateSource)
    with pytest.raises(SqlError, match="cannot be reached"):
        with_registered_columns(parsed.statement, registry, {})


@pytest.mark.parametrize(
    ("declared", "properties", "message"),
    [
        ("S (A INT)", "VALUE_FORMAT='AVRO', VALUE_SCHEMA_FULL_NAME='a.1b'", "a.1b cannot name an Avro schema"),
        ("`my-s` (K INT KEY, A INT)", "KEY_FORMAT='AVRO', VALUE_FORMAT='JSON'", "My-sKey cannot name an Avro schema"),
        ("S (A ARRAY<STRUCT<`1x` INT>>)", "VALUE_FORMAT='PROTOBUF'", "Protobuf has no names such as `1x`"),
        ("S (A INT)", "VALUE_FORMAT='PROTOBUF', VALUE_SCHEMA_FULL_NAME='a-b'", "Protobuf has no names such as `a-b`"),
    ],
)
def test_names_that_a_schema_cannot_have(declared: str, properties: str, message: str) -> None:
    registry = InMemorySchemaRegistry()
    found = source(f"CREATE STREAM {declared} WITH (KAFKA_TOPIC='t', {properties});", registry)
    with pytest.raises(SqlError) as caught:
        register_schemas(found, registry, is_sink=False)
    assert caught.value.code in {"format.name", "format.type"}
    assert message in caught.value.message
