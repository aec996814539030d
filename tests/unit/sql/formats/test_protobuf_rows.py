"""Rows as PROTOBUF and PROTOBUF_NOSR."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

import pytest
from google.protobuf import descriptor_pb2

from headrace.errors import SerializationError
from headrace.serde.framing import frame
from headrace.serde.registry import InMemorySchemaRegistry, Schema, SchemaReference
from headrace.sql import SqlError
from headrace.sql.formats.protobuf_text import parse_proto, proto_text
from headrace.sql.formats.rows import key_serde, row_serde
from tests.unit.sql.formats.columns import columns, format_of
from tests.unit.sql.formats.test_json_rows import ALL_TYPES, ROW

FULL = [[1, 2] if value == [1, None] else value for value in ROW]
NULLS: list[Any] = [None] * len(ROW)
DEFAULTS = [False, 0, 0, 0.0, "", b"", None, None, None, None, [], {}, None]
NULLS_AND_EMPTY: list[Any] = [*[None] * 10, [], {}, None]


def pair(declared: str, name: str = "PROTOBUF", **options: Any) -> tuple[Any, InMemorySchemaRegistry]:
    registry = InMemorySchemaRegistry()
    if name == "PROTOBUF":
        options.setdefault("unwrapPrimitives", "true")
    return row_serde(columns(declared), format_of(name, **options), registry=registry), registry


def read_written_by_others(declared: str, text: str, data: bytes, *, way: bytes = b"\0", **options: Any) -> Any:
    serde, registry = pair(declared, **options)
    schema_id = registry.register("t-value", Schema(text, "PROTOBUF"))
    return serde.deserialize("t", frame(schema_id, way + data))


@pytest.mark.parametrize(
    ("name", "nullable", "nulls"),
    [
        ("PROTOBUF", None, DEFAULTS),
        ("PROTOBUF_NOSR", None, DEFAULTS),
        ("PROTOBUF", "optional", NULLS_AND_EMPTY),
        ("PROTOBUF", "wrapper", NULLS_AND_EMPTY),
        ("PROTOBUF_NOSR", "optional", NULLS_AND_EMPTY),
        ("PROTOBUF_NOSR", "wrapper", NULLS_AND_EMPTY),
    ],
)
def test_every_type_is_written_and_read(name: str, nullable: str | None, nulls: list[Any]) -> None:
    serde, _ = pair(ALL_TYPES, name, **({} if nullable is None else {"nullableRepresentation": nullable}))
    assert serde.deserialize("t", serde.serialize("t", FULL)) == FULL
    assert serde.deserialize("t", serde.serialize("t", NULLS)) == nulls
    assert serde.deserialize("t", None) is None


def schema_of(declared: str, **options: Any) -> str:
    serde, registry = pair(declared, **options)
    serde.serialize("t", [None] * len(columns(declared)))
    return registry.schema_by_id(1).text


def test_the_schema_of_columns() -> None:
    assert schema_of("i INTEGER, s STRUCT<m MAP<STRING, DOUBLE>>, a ARRAY<STRUCT<x BIGINT>>") == (
        'syntax = "proto3";\n'
        "\n"
        "message ConnectDefault1 {\n"
        "  int32 I = 1;\n"
        "  ConnectDefault2 S = 2;\n"
        "  repeated ConnectDefault4 A = 3;\n"
        "\n"
        "  message ConnectDefault2 {\n"
        "    repeated ConnectDefault3Entry M = 1;\n"
        "  \n"
        "    message ConnectDefault3Entry {\n"
        "      string key = 1;\n"
        "      double value = 2;\n"
        "    }\n"
        "  }\n"
        "  message ConnectDefault4 {\n"
        "    int64 X = 1;\n"
        "  }\n"
        "}\n"
    ).replace("  \n", "\n")


def test_the_schema_with_a_name_and_with_nulls() -> None:
    assert schema_of("i INTEGER", fullSchemaName="shop.Order", nullableRepresentation="wrapper") == (
        'syntax = "proto3";\npackage shop;\n\nimport "google/protobuf/wrappers.proto";\n\n'
        "message Order {\n  google.protobuf.Int32Value I = 1;\n}\n"
    )
    assert "  optional int32 I = 1;\n" in schema_of("i INTEGER", nullableRepresentation="optional")


def test_the_text_of_a_schema_reads_back() -> None:
    file = parse_proto(schema_of(ALL_TYPES))
    assert parse_proto(proto_text(file)) == file


EVERYTHING = """
// a comment
syntax = 'proto3';
package shop.orders;
import public "google/protobuf/timestamp.proto"; /* and
another */
option java_package = "x";
message Order {
  option deprecated = true;
  reserved 5, 8 to 10; reserved "old";
  enum Kind { option allow_alias = true; NEW = 0; OLD = 1 [deprecated = true]; FORMER = 1; }
  Kind kind = 1;
  oneof choice { string text = 2; int64 number = 3; }
  map<string, int32> counts = 4;
  repeated Item items = 6 [packed = false];
  optional uint32 size = 7;
  google.protobuf.Timestamp at = 11;
  uint64 large = 12;
  float ratio = 13;
  message Item { string name = 1; }
}
message Other { int32 other = 1; }
service Orders { rpc Get (Order) returns (Order) { option deadline = 1; } }
enum Colour { RED = 0; }
"""


def test_a_schema_with_everything_is_read() -> None:
    declared = (
        "choice_0 STRUCT<text STRING, number BIGINT>, kind STRING, counts MAP<STRING, INTEGER>,"
        " items ARRAY<STRUCT<name STRING>>, `SIZE` BIGINT, `AT` TIMESTAMP, large BIGINT, ratio DOUBLE"
    )
    data = b"\x08\x01\x1a\x01x"  # kind = 1; field 3 has the wrong wire type for a number, so it is unknown
    row = read_written_by_others(declared, EVERYTHING, data)
    assert row == [None, "OLD", {}, [], None, None, 0, 0.0]
    data = (
        b"\x08\x07\x12\x02hi\x22\x05\n\x01a\x10\x02\x32\x03\n\x01n\x38\x00\x5a\x02\x08\x01"
        b"\x60\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x6d\x00\x00\xc0\x3f"
    )
    row = read_written_by_others(declared, EVERYTHING, data)
    assert row == [("hi", None), "UNKNOWN_ENUM_VALUE_Kind_7", {"a": 2}, [("n",)], 0, 1000, -1, 1.5]


def test_the_way_to_a_message_is_followed() -> None:
    assert read_written_by_others("other INTEGER", EVERYTHING, b"\x08\x05", way=b"\x02\x02") == [5]
    assert read_written_by_others("name STRING", EVERYTHING, b"\n\x01n", way=b"\x04\x00\x00") == ["n"]
    with pytest.raises(SerializationError, match=r"the schema has no message at \[7\]"):
        read_written_by_others("name STRING", EVERYTHING, b"", way=b"\x02\x0e")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('edition = "2023"; message M { int32 v = 1; }', [0]),
        ('syntax = "proto3"; message M { int32 v = 1; }', [0]),
        ('syntax = "proto2"; message M { optional int32 v = 1 [default = 5]; extensions 100 to max; }', [None]),
    ],
)
def test_what_is_absent_is_zero_or_null_as_the_syntax_says(text: str, expected: list[Any]) -> None:
    assert read_written_by_others("v INTEGER", text, b"") == expected


def test_messages_around_one_value_are_read_as_it() -> None:
    text = 'syntax = "proto3"; import "google/protobuf/wrappers.proto"; message M { google.protobuf.Int32Value v = 1; }'
    assert read_written_by_others("v INTEGER", text, b"\n\x02\x08\x05") == [5]
    assert read_written_by_others("v INTEGER", text, b"") == [None]
    assert read_written_by_others("v STRUCT<value INTEGER>", text, b"\n\x02\x08\x05", unwrapPrimitives="false") == [
        (5,)
    ]


def test_schemas_may_import_others() -> None:
    serde, registry = pair("event STRUCT<`AT` BIGINT>")
    registry.register("times", Schema('syntax = "proto3"; message At { int64 at = 1; }', "PROTOBUF"))
    text = 'syntax = "proto3"; import "times.proto"; message Log { At event = 1; }'
    reference = SchemaReference("times.proto", "times", 1)
    schema_id = registry.register("t-value", Schema(text, "PROTOBUF", (reference,)))
    assert serde.deserialize("t", frame(schema_id, b"\0\n\x02\x08\x05")) == [(5,)]
    with pytest.raises(SerializationError, match=r"the schema imports times\.proto, which is not known"):
        read_written_by_others("event STRUCT<`AT` BIGINT>", text, b"")


def test_a_schema_may_be_a_descriptor_in_base64() -> None:
    file = descriptor_pb2.FileDescriptorProto(name="m.proto", syntax="proto3")
    message = file.message_type.add(name="M")
    message.field.add(name="v", number=1, label=1, type=5)
    text = base64.b64encode(file.SerializeToString()).decode()
    assert read_written_by_others("v INTEGER", text, b"\x08\x05") == [5]


@pytest.mark.parametrize(
    ("declared", "text", "data", "reason"),
    [
        ("v INTEGER", "message M { int64 v = 1; }", b"\x08\x05", "a value of kind int64 cannot be read as INTEGER"),
        ("v INTEGER", "message M { M v = 1; }", b"", "the message M contains itself"),
        ("v INTEGER", "message M { int32 v = 1; }", b"\x08", "the bytes are no message M"),
        ("v INTEGER", "message M { int32 v }", b"", "expected = in the schema, found }"),
        ("v INTEGER", "message M {", b"", "the text of the schema ends too early"),
        ("v INTEGER", "nonsense here", b"", "expected a declaration in the schema, found nonsense"),
        ("v INTEGER", "message M { ? }", b"", "is no part of a Protobuf schema"),
    ],
)
def test_what_cannot_be_read(declared: str, text: str, data: bytes, reason: str) -> None:
    with pytest.raises(SerializationError) as caught:
        read_written_by_others(declared, text, data)
    assert reason in caught.value.message


def written_with(text: str, declared: str, row: list[Any], **options: Any) -> Any:
    """What is read of a row that was written with a registered schema whose id is given."""
    registry = InMemorySchemaRegistry()
    schema_id = str(registry.register("other", Schema(text, "PROTOBUF")))
    format_ = format_of("PROTOBUF", schemaId=schema_id, unwrapPrimitives="true", **options)
    serde = row_serde(columns(declared), format_, registry=registry)
    data = serde.serialize("t", row)
    assert registry.subjects == ("other",)
    return serde.deserialize("t", data)


def test_rows_are_written_with_the_schema_whose_id_is_given() -> None:
    declared = (
        "`choice_0` STRUCT<`text` STRING, `number` BIGINT>, `kind` STRING, `counts` MAP<STRING, INTEGER>,"
        " `items` ARRAY<STRUCT<`name` STRING>>, `size` BIGINT, `large` BIGINT"
    )
    row = [(None, 7), "OLD", {"a": 1}, [("n",)], 3, -1]
    assert written_with(EVERYTHING, declared, row, fullSchemaName="shop.orders.Order") == row
    assert written_with(EVERYTHING, "`other` INTEGER", [5], fullSchemaName="shop.orders.Other") == [5]


@pytest.mark.parametrize(
    ("declared", "row", "reason"),
    [
        ("`nothing` INTEGER", [1], "the schema has no field nothing"),
        ("`size` INTEGER", [1], "the schema has a value of kind int64 where INTEGER is written, at $.size"),
        ("`kind` STRING", ["BLUE"], "the schema has no BLUE among NEW, OLD, FORMER, at $.kind"),
        ("`items` INTEGER", [1], "the schema has a value of kind array where INTEGER is written"),
        ("`at` BIGINT", [1], "the schema has a value of kind int64 where BIGINT is written"),
        ("`choice_0` BIGINT", [1], "the schema has a value of kind struct where BIGINT is written"),
    ],
)
def test_rows_that_do_not_fit_the_given_schema(declared: str, row: list[Any], reason: str) -> None:
    with pytest.raises(SerializationError) as caught:
        written_with(EVERYTHING, declared, row)
    assert reason in caught.value.message


def test_there_are_no_nulls_in_arrays_and_none_of_them_in_maps() -> None:
    serde, _ = pair("a ARRAY<INTEGER>")
    with pytest.raises(SerializationError, match="Protobuf has no nulls in arrays"):
        serde.serialize("t", [[1, None]])
    serde, _ = pair("m MAP<STRING, INTEGER>, n MAP<STRING, STRUCT<x INTEGER>>")
    data = serde.serialize("t", [{None: 1, "a": None}, {"b": None}])
    assert serde.deserialize("t", data) == [{"": 1, "a": 0}, {"b": (0,)}]


def test_names_that_differ_by_underscores_only_are_fine() -> None:
    serde, _ = pair("a INTEGER, a_ INTEGER")
    assert serde.deserialize("t", serde.serialize("t", [1, 2])) == [1, 2]


def test_a_decimal_keeps_its_own_scale() -> None:
    serde, _ = pair("d DECIMAL(10,5)")
    assert serde.deserialize("t", serde.serialize("t", [Decimal("-1.5")])) == [Decimal("-1.5")]
    assert str(serde.deserialize("t", serde.serialize("t", [Decimal("-1.5")]))[0]) == "-1.5"


def test_without_a_registry_a_single_column_may_be_bare() -> None:
    serde = key_serde(columns("k INTEGER"), format_of("PROTOBUF_NOSR", unwrapped=True))
    assert serde.serialize("t", (5,)) == b"\x08\x05"
    assert serde.deserialize("t", b"\x08\x05") == (5,)
    assert serde.serialize("t", (None,)) is None


def test_without_a_registry_there_is_no_protobuf() -> None:
    with pytest.raises(SqlError, match="the format PROTOBUF needs a schema registry"):
        row_serde(columns("v INTEGER"), format_of("PROTOBUF"))


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("DECIMAL(6, 2)", Decimal("-12.30")),
        ("DATE", 18_000),
        ("TIME", 3_723_004),
        ("TIMESTAMP", 1_600_000_000_123),
        ("BYTES", b"\xff"),
        ("BOOLEAN", True),
    ],
)
def test_a_value_by_itself_is_read_as_it_was_written(type_: str, value: Any) -> None:
    serde = key_serde(columns(f"k {type_}"), format_of("PROTOBUF_NOSR", unwrapped=True))
    data = serde.serialize("t", (value,))
    assert serde.deserialize("t", data) == (value,)
