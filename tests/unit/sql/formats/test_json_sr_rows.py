"""Rows as JSON_SR."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from headrace.errors import SerializationError
from headrace.serde.framing import frame, unframe
from headrace.serde.registry import InMemorySchemaRegistry, Schema, SchemaReference
from headrace.sql import SqlError
from headrace.sql.formats.rows import key_serde, row_serde
from tests.unit.sql.formats.columns import columns, format_of
from tests.unit.sql.formats.test_json_rows import ALL_TYPES, ROW

NULL = {"type": "null"}


def read_written_by_others(declared: str, schema: Any, text: str, *, unwrapped: bool = False) -> Any:
    registry = InMemorySchemaRegistry()
    schema_id = registry.register("t-value", Schema(json.dumps(schema), "JSON"))
    serde = row_serde(columns(declared), format_of("JSON_SR", unwrapped=unwrapped), registry=registry)
    return serde.deserialize("t", frame(schema_id, text.encode()))


def of_property(schema: Any) -> Any:
    return {"type": "object", "properties": {"v": schema}}


def test_every_type_is_written_and_read() -> None:
    registry = InMemorySchemaRegistry()
    serde = row_serde(columns(ALL_TYPES), format_of("JSON_SR"), registry=registry)
    assert serde.deserialize("t", serde.serialize("t", ROW)) == ROW
    nulls = [None] * len(ROW)
    assert serde.deserialize("t", serde.serialize("t", nulls)) == nulls
    assert registry.subjects == ("t-value",)


def test_maps_are_written_as_entries() -> None:
    registry = InMemorySchemaRegistry()
    serde = row_serde(columns("m MAP<STRING, DOUBLE>"), format_of("JSON_SR"), registry=registry)
    data = serde.serialize("t", [{"a": 1e10, None: None}])
    assert data == b'\0\0\0\0\1{"M":[{"key":"a","value":1.0E10},{"key":null,"value":null}]}'
    assert serde.deserialize("t", data) == [{"a": 1e10, None: None}]


def schema_of(declared: str, **options: Any) -> Any:
    registry = InMemorySchemaRegistry()
    row_serde(columns(declared), format_of("JSON_SR", **options), registry=registry).serialize("t", [1])
    return json.loads(registry.schema_by_id(1).text)


def test_the_schema_of_columns() -> None:
    assert schema_of("i INTEGER") == {
        "type": "object",
        "properties": {"I": {"connect.index": 0, "oneOf": [NULL, {"type": "integer", "connect.type": "int32"}]}},
    }
    assert schema_of("i BIGINT", unwrapped=True) == {"oneOf": [NULL, {"type": "integer", "connect.type": "int64"}]}


@pytest.mark.parametrize(
    ("type_", "schema", "text", "expected"),
    [
        ("BIGINT", {"type": "integer"}, "5", 5),
        ("BIGINT", {"type": "integer"}, '"5"', 0),
        ("BIGINT", {"type": "integer"}, "5.9", 5),
        ("STRING", {"type": "integer", "connect.type": "int8"}, "5", "5"),
        ("INTEGER", {"type": "integer", "connect.type": "int16"}, "65537", 1),
        ("STRING", {"type": "string"}, "5", None),
        ("DOUBLE", {"type": "number"}, "1", 1.0),
        ("DOUBLE", {"type": "number"}, "-0.0", 0.0),
        ("DOUBLE", {"type": "number"}, "1e400", float("inf")),
        ("DOUBLE", {"type": "number"}, '"x"', 0.0),
        ("BIGINT", {"type": "integer"}, "1.9999999999999999999", 1),
        ("BOOLEAN", {"type": "boolean"}, "true", True),
        ("STRING", {"enum": ["a", "b"]}, '"a"', "a"),
        ("STRING", {"type": ["null", "string"]}, '"a"', "a"),
        ("STRING", {"type": "string", "default": "x"}, "null", "x"),
        ("BYTES", {"type": "string", "connect.type": "bytes"}, '"YQ=="', b"a"),
        ("ARRAY<BIGINT>", {"type": "array", "items": {"type": "integer"}}, "[1]", [1]),
        ("ARRAY<BIGINT>", {"type": "array", "items": {"type": "integer"}}, '{"a":1}', [1]),
        (
            "MAP<STRING, BIGINT>",
            {"type": "object", "connect.type": "map", "additionalProperties": {"type": "integer"}},
            '{"a":1,"b":null}',
            {"a": 1, "b": None},
        ),
        (
            "DECIMAL(4,2)",
            {
                "type": "number",
                "title": "org.apache.kafka.connect.data.Decimal",
                "connect.type": "bytes",
                "connect.parameters": {"scale": "2"},
            },
            "1.5",
            Decimal("1.5"),
        ),
        (
            "STRUCT<a BIGINT, b STRING>",
            {"allOf": [of_property({}) and {"properties": {"a": {"type": "integer"}}}, {"$ref": "#/$defs/b"}]},
            '{"a":1,"b":"x"}',
            (1, "x"),
        ),
    ],
)
def test_what_others_wrote_is_read(type_: str, schema: Any, text: str, expected: Any) -> None:
    whole = of_property(schema) | {"$defs": {"b": {"type": "object", "properties": {"b": {"type": "string"}}}}}
    assert read_written_by_others(f"v {type_}", whole, f'{{"v":{text}}}') == [expected]


def test_a_choice_is_a_struct_of_its_schemas() -> None:
    one_of = "io.confluent.connect.json.OneOf.field"
    objects = [{"type": "object", "properties": {name: {"type": "integer"} for name in names}} for names in ("a", "ab")]
    schema = of_property({"oneOf": [{"type": "integer"}, {"type": "string"}, *objects]})
    declared = f"v STRUCT<`{one_of}.0` BIGINT, `{one_of}.1` STRING, `{one_of}.3` STRUCT<b BIGINT>>"
    assert read_written_by_others(declared, schema, '{"v":1}') == [(1, None, None)]
    assert read_written_by_others(declared, schema, '{"v":"x"}') == [(None, "x", None)]
    assert read_written_by_others(declared, schema, '{"v":{"a":1,"b":2}}') == [(None, None, (2,))]
    with pytest.raises(SerializationError, match="no schema of the choice fits"):
        read_written_by_others(declared, schema, '{"v":true}')


def test_schemas_may_refer_to_others() -> None:
    registry = InMemorySchemaRegistry()
    registry.register("item", Schema('{"type":"object","properties":{"n":{"type":"integer"}}}', "JSON"))
    text = json.dumps(of_property({"$ref": "item.json"}))
    schema_id = registry.register("t-value", Schema(text, "JSON", (SchemaReference("item.json", "item", 1),)))
    serde = row_serde(columns("v STRUCT<n BIGINT>"), format_of("JSON_SR"), registry=registry)
    assert serde.deserialize("t", frame(schema_id, b'{"v":{"n":7}}')) == [(7,)]


@pytest.mark.parametrize(
    ("declared", "schema", "text", "reason"),
    [
        ("v INTEGER", of_property({"type": "integer"}), '{"v":1}', "a value of kind int64 cannot be read as INTEGER"),
        ("v BIGINT", of_property({"type": "integer"}), "1", "expected an object"),
        ("v BIGINT", of_property({"type": "integer"}), "{", "Expecting property name"),
        ("v BIGINT", of_property({}), "{}", "a JSON schema of type None"),
        ("v BIGINT", of_property({"$ref": "#/properties/v"}), "{}", "the JSON schema #/properties/v contains itself"),
        ("v BIGINT", of_property({"type": "array"}), "{}", "an array that does not say what it holds"),
        (
            "v MAP<STRING, BIGINT>",
            of_property({"type": "object", "connect.type": "map", "additionalProperties": {"type": "integer"}}),
            '{"v":[]}',
            "expected an object for a map",
        ),
    ],
)
def test_what_cannot_be_read(declared: str, schema: Any, text: str, reason: str) -> None:
    with pytest.raises(SerializationError) as caught:
        read_written_by_others(declared, schema, text)
    assert reason in caught.value.message


def test_values_that_are_not_wrapped() -> None:
    assert read_written_by_others("v BIGINT", {"type": "integer"}, "5", unwrapped=True) == [5]
    serde = key_serde(columns("k STRING"), format_of("JSON_SR", unwrapped=True), registry=InMemorySchemaRegistry())
    assert serde.serialize("t", ("x",)) == b'\0\0\0\0\1"x"'
    assert serde.serialize("t", (None,)) is None


def written_with(schema: Any, declared: str, row: list[Any]) -> Any:
    registry = InMemorySchemaRegistry()
    schema_id = str(registry.register("other", Schema(json.dumps(schema), "JSON")))
    serde = row_serde(columns(declared), format_of("JSON_SR", schemaId=schema_id), registry=registry)
    data = serde.serialize("t", row)
    assert data is not None
    return json.loads(unframe(data)[1])


def test_rows_are_written_with_the_schema_whose_id_is_given() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"oneOf": [NULL, {"type": "string"}]},
            "c": {"type": "string"},
            "m": {"type": "object", "connect.type": "map", "additionalProperties": {"type": "number"}},
        },
    }
    assert written_with(schema, "`m` MAP<STRING, DOUBLE>, `a` BIGINT", [{"x": 1.0}, None]) == {
        "m": {"x": 1.0},
        "b": None,
    }
    with pytest.raises(SerializationError, match="the schema has no field z"):
        written_with(schema, "`z` BIGINT", [1])
    with pytest.raises(SerializationError, match="the schema has a value of kind int64 where INTEGER is written"):
        written_with(schema, "`a` INTEGER", [1])


def test_without_a_registry_there_is_no_json_sr() -> None:
    with pytest.raises(SqlError, match="the format JSON_SR needs a schema registry"):
        row_serde(columns("v INTEGER"), format_of("JSON_SR"))
