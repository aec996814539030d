"""Rows as AVRO."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from headrace.errors import SerializationError
from headrace.serde.framing import frame, unframe
from headrace.serde.registry import InMemorySchemaRegistry, Schema, SchemaReference
from headrace.sql import SqlError
from headrace.sql.formats.rows import key_serde, row_serde
from headrace.sql.types.java_maps import hash_order
from tests.unit.sql.formats.columns import columns, format_of
from tests.unit.sql.formats.test_json_rows import ALL_TYPES, ROW


def read_written_by_others(declared: str, schema: Any, value: Any, *, unwrapped: bool = False) -> Any:
    """What is read of a value that another program wrote with its own schema."""
    registry = InMemorySchemaRegistry()
    schema_id = registry.register("t-value", Schema(json.dumps(schema)))
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    serde = row_serde(columns(declared), format_of("AVRO", unwrapped=unwrapped), registry=registry)
    return serde.deserialize("t", frame(schema_id, out.getvalue()))


def written_with(schema: Any, declared: str, row: list[Any]) -> Any:
    """What is written with a registered schema whose id is given."""
    registry = InMemorySchemaRegistry()
    schema_id = registry.register("other", Schema(json.dumps(schema)))
    serde = row_serde(columns(declared), format_of("AVRO", schemaId=str(schema_id)), registry=registry)
    data = serde.serialize("t", row)
    assert data is not None
    found_id, payload = unframe(data)
    assert found_id == schema_id
    assert registry.subjects == ("other",)
    return fastavro.schemaless_reader(io.BytesIO(payload), fastavro.parse_schema(schema), None)


def record(*fields: tuple[str, Any], **options: Any) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": [{"name": n, "type": t, **options} for n, t in fields]}


def test_every_type_is_written_and_read() -> None:
    registry = InMemorySchemaRegistry()
    serde = row_serde(columns(ALL_TYPES), format_of("AVRO"), registry=registry)
    assert serde.deserialize("t", serde.serialize("t", ROW)) == ROW
    nulls = [None] * len(ROW)
    assert serde.deserialize("t", serde.serialize("t", nulls)) == nulls
    assert serde.deserialize("t", None) is None
    assert registry.subjects == ("t-value",)


def test_each_topic_has_its_subject() -> None:
    registry = InMemorySchemaRegistry()
    serde = key_serde(columns("k INTEGER"), format_of("AVRO", unwrapped=True), registry=registry)
    assert serde.serialize("a", (1,)) == b"\0\0\0\0\1\2"
    serde.serialize("b", (1,))
    assert registry.subjects == ("a-key", "b-key")
    assert registry.schema_by_id(1).text == '"int"'
    assert serde.serialize("a", (None,)) is None


def schema_of(declared: str, **options: Any) -> Any:
    registry = InMemorySchemaRegistry()
    serde = row_serde(columns(declared), format_of("AVRO", **options), registry=registry)
    serde.serialize("t", [1 if options.get("unwrapped") else None] * len(columns(declared)))
    return json.loads(registry.schema_by_id(1).text)


def test_the_schema_of_columns() -> None:
    assert schema_of("a INTEGER, b ARRAY<STRING>") == {
        "type": "record",
        "name": "KsqlDataSourceSchema",
        "namespace": "io.confluent.ksql.avro_schemas",
        "fields": [
            {"name": "A", "type": ["null", "int"], "default": None},
            {"name": "B", "type": ["null", {"type": "array", "items": ["null", "string"]}], "default": None},
        ],
        "connect.name": "io.confluent.ksql.avro_schemas.KsqlDataSourceSchema",
    }


def test_types_inside_are_named_after_the_way_to_them() -> None:
    schema = schema_of("s STRUCT<m MAP<STRING, STRUCT<x INTEGER>>>", fullSchemaName="shop.Order")
    (field,) = schema["fields"]
    inner = field["type"][1]
    entry = inner["fields"][0]["type"][1]
    assert (schema["name"], schema["namespace"], inner["name"]) == ("Order", "shop", "Order_S")
    assert "namespace" not in inner
    assert entry["connect.name"] == "shop.Order_S_M"
    assert entry["items"]["name"] == "Order_S_M"
    assert entry["items"]["connect.internal.type"] == "MapEntry"
    assert entry["items"]["fields"][1]["type"][1]["connect.name"] == "shop.Order_S_M_MapValue"


def test_logical_types_carry_connects_names() -> None:
    (field,) = schema_of("d DECIMAL(5,2)")["fields"]
    assert field["type"][1] == {
        "type": "bytes",
        "scale": 2,
        "precision": 5,
        "connect.version": 1,
        "connect.parameters": {"scale": "2", "connect.decimal.precision": "5"},
        "connect.name": "org.apache.kafka.connect.data.Decimal",
        "logicalType": "decimal",
    }
    assert schema_of("d DATE", unwrapped=True) == {
        "type": "int",
        "connect.name": "org.apache.kafka.connect.data.Date",
        "logicalType": "date",
    }


@pytest.mark.parametrize(
    ("type_", "avro", "value", "expected"),
    [
        ("BIGINT", "int", 5, 5),
        ("DOUBLE", "float", 1.5, 1.5),
        ("STRING", "int", 5, "5"),
        ("STRING", "boolean", True, "true"),
        ("STRING", "double", 1e10, "1.0E10"),
        ("STRING", "float", 0.1, "0.1"),
        ("STRING", {"type": "enum", "name": "e", "symbols": ["A"]}, "A", "A"),
        ("BYTES", {"type": "fixed", "name": "f", "size": 2}, b"ab", b"ab"),
        (
            "DECIMAL(4,2)",
            {"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 1},
            Decimal("1.5"),
            Decimal("1.50"),
        ),
        ("DATE", "int", 3, 3),
        ("TIMESTAMP", "long", 3, 3),
        ("MAP<STRING, BIGINT>", {"type": "map", "values": "long"}, {"a": 1}, {"a": 1}),
        ("STRUCT<int INTEGER, string STRING>", ["null", "int", "string"], "x", (None, "x")),
        ("STRUCT<int INTEGER, string STRING>", ["null", "int", "string"], 4, (4, None)),
        ("STRUCT<int INTEGER, string STRING>", ["null", "int", "string"], None, None),
        (
            "STRUCT<f INTEGER, h INTEGER>",
            record(("F", "int"), ("g", "int")) | {"name": "i"},
            {"F": 1, "g": 2},
            (1, None),
        ),
    ],
)
def test_what_others_wrote_is_read(type_: str, avro: Any, value: Any, expected: Any) -> None:
    assert read_written_by_others(f"v {type_}", record(("v", avro)), {"v": value}) == [expected]


def test_a_field_is_found_by_its_name_first_and_then_in_upper_case() -> None:
    schema = record(("name", "string"), ("id", "int"))
    assert read_written_by_others("ID INTEGER, `name` STRING, NAME STRING", schema, {"name": "a", "id": 1}) == [
        1,
        "a",
        None,
    ]


def test_a_null_has_the_default_of_its_field() -> None:
    schema = record(("v", ["string", "null"]), default="x")
    assert read_written_by_others("v STRING", schema, {"v": None}) == ["x"]


def test_maps_iterate_as_javas_of_the_default_size() -> None:
    found = {"foo": 1, "bar": 2, "baz": 3}
    schema = record(("m", {"type": "map", "values": "int"}))
    (read,) = read_written_by_others("m MAP<STRING, INTEGER>", schema, {"m": found})
    assert [key for key, _ in hash_order(read)] == ["bar", "foo", "baz"]


def test_values_that_are_not_wrapped() -> None:
    assert read_written_by_others("v ARRAY<INTEGER>", {"type": "array", "items": "int"}, [1], unwrapped=True) == [[1]]
    assert read_written_by_others("v INTEGER", ["null", "int"], None, unwrapped=True) == [None]


@pytest.mark.parametrize(
    ("type_", "avro", "value", "reason"),
    [
        ("INTEGER", "long", 5, "a value of kind int64 cannot be read as INTEGER, at $.V"),
        ("BOOLEAN", "string", "x", "a value of kind string cannot be read as BOOLEAN, at $.V"),
        ("DECIMAL(4,2)", "bytes", b"", "a value of kind bytes cannot be read as DECIMAL(4, 2), at $.V"),
        (
            "DECIMAL(4,2)",
            {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 3},
            Decimal("1.555"),
            "1.555 does not fit into DECIMAL(4, 2) without rounding",
        ),
    ],
)
def test_what_does_not_fit_is_refused(type_: str, avro: Any, value: Any, reason: str) -> None:
    with pytest.raises(SerializationError) as caught:
        read_written_by_others(f"v {type_}", record(("v", avro)), {"v": value})
    assert reason in caught.value.message


@pytest.mark.parametrize("data", [b"", b"abc", b"\0\0\0\0\x09\2", b"\0\0\0\0\1", b"\0\0\0\0\2\2"])
def test_what_is_no_avro_is_refused(data: bytes) -> None:
    registry = InMemorySchemaRegistry()
    registry.register("t-value", Schema(json.dumps(record(("v", "int")))))
    registry.register("t-value", Schema("{}", "JSON"))
    serde = row_serde(columns("v INTEGER"), format_of("AVRO"), registry=registry)
    with pytest.raises(SerializationError, match="the value of a record of topic t cannot be read as AVRO"):
        serde.deserialize("t", data)


def test_rows_are_written_with_the_schema_whose_id_is_given() -> None:
    schema = record(("a", "int"), ("b", ["null", "string"])) | {
        "fields": [
            {"name": "a", "type": "int"},
            {"name": "b", "type": ["null", "string"]},
            {"name": "c", "type": "string", "default": "none"},
            {"name": "d", "type": {"type": "record", "name": "i", "fields": [{"name": "x", "type": "int"}]}},
        ]
    }
    found = written_with(schema, "`d` STRUCT<`x` INTEGER, `y` INTEGER>, `a` INTEGER", [(1, 2), 5])
    assert found == {"a": 5, "b": None, "c": "none", "d": {"x": 1}}


@pytest.mark.parametrize(
    ("schema", "declared", "row", "reason"),
    [
        (record(("A", "int")), "a INTEGER, b INTEGER", [1, 2], "the schema has no field B"),
        (
            record(("A", "int"), ("B", "int")),
            "a INTEGER",
            [1],
            "the schema requires the field B, and it has no default",
        ),
        (record(("A", "int")), "a INTEGER", [None], "the schema requires a value, found null, at $.A"),
        (record(("A", "int")), "a BIGINT", [1], "the schema has a value of kind int32 where BIGINT is written, at $.A"),
        (record(("A", ["int", "string"])), "a BIGINT", [1], "the schema has a union where BIGINT is written, at $.A"),
    ],
)
def test_rows_that_do_not_fit_the_given_schema(schema: Any, declared: str, row: list[Any], reason: str) -> None:
    with pytest.raises(SerializationError) as caught:
        written_with(schema, declared, row)
    assert reason in caught.value.message


def test_unions_and_maps_are_written_with_a_given_schema() -> None:
    union = ["null", "int", {"type": "map", "values": "long"}]
    declared = "v STRUCT<`int` INTEGER, `map` MAP<STRING, BIGINT>>"
    assert written_with(record(("V", union)), declared, [(None, {"a": 1})]) == {"V": {"a": 1}}
    assert written_with(record(("V", union)), declared, [(7, None)]) == {"V": 7}
    assert written_with(record(("V", union)), declared, [None]) == {"V": None}


def test_schemas_may_refer_to_others() -> None:
    registry = InMemorySchemaRegistry()
    inner = {"type": "record", "name": "shop.Item", "fields": [{"name": "n", "type": "int"}]}
    registry.register("item", Schema(json.dumps(inner)))
    outer = {"type": "record", "name": "Order", "namespace": "shop", "fields": [{"name": "item", "type": "Item"}]}
    schema_id = registry.register("t-value", Schema(json.dumps(outer), "AVRO", (SchemaReference("i", "item", 1),)))
    serde = row_serde(columns("item STRUCT<n INTEGER>"), format_of("AVRO"), registry=registry)
    assert serde.deserialize("t", frame(schema_id, b"\x0e")) == [(7,)]


def test_a_type_that_contains_itself_is_refused() -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "v", "type": ["null", "r"]}]}
    with pytest.raises(SerializationError, match="the Avro type r contains itself"):
        read_written_by_others("v STRUCT<v INTEGER>", schema, {"v": None})


def test_without_a_registry_there_is_no_avro() -> None:
    with pytest.raises(SqlError, match="the format AVRO needs a schema registry"):
        row_serde(columns("v INTEGER"), format_of("AVRO"))
