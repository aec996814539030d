"""Whatever rows a format of SQL writes it reads back, and bytes that it cannot read are a SerializationError."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import SerializationError
from headrace.serde.framing import frame
from headrace.serde.registry import InMemorySchemaRegistry
from headrace.sql.formats.format_info import FORMATS, ColumnsFormat, Feature
from headrace.sql.formats.inference import registered_columns
from headrace.sql.formats.registering import own_schema
from headrace.sql.formats.rows import key_serde, row_serde
from headrace.sql.schema import Column
from headrace.sql.tree import types as sql
from headrace.sql.tree.types import SqlType

ints = st.integers(-(2**31), 2**31 - 1)
longs = st.integers(-(2**63), 2**63 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = st.from_regex(r"[A-Z][A-Z0-9_]{0,6}", fullmatch=True)
VALUES: dict[SqlType, st.SearchStrategy[Any]] = {
    sql.BOOLEAN: st.booleans(),
    sql.INTEGER: ints,
    sql.BIGINT: longs,
    # JSON has no negative zero for Java, and NaN is not equal to itself.
    sql.DOUBLE: st.floats(allow_nan=False).map(lambda number: number + 0.0),
    sql.STRING: texts,
    sql.BYTES: st.binary(max_size=8),
    sql.DATE: st.integers(-700_000, 2_900_000),
    sql.TIME: st.integers(0, 86_399_999),
    sql.TIMESTAMP: st.integers(-62_135_596_800_000, 253_402_300_799_999),
}
KAFKA_TYPES: list[SqlType] = [sql.INTEGER, sql.BIGINT, sql.DOUBLE, sql.STRING, sql.BYTES]
decimal_types = st.integers(1, 30).flatmap(lambda p: st.integers(0, p).map(lambda s: sql.Decimal(p, s)))
primitives: st.SearchStrategy[SqlType] = st.sampled_from(list(VALUES)) | decimal_types
any_types: st.SearchStrategy[SqlType] = st.recursive(
    primitives,
    lambda inner: (
        inner.map(sql.Array)
        | inner.map(lambda value: sql.Map(sql.STRING, value))
        | st.lists(st.tuples(names, inner), max_size=3, unique_by=lambda each: each[0]).map(
            lambda fields: sql.Struct(tuple(sql.Field(*each) for each in fields))
        )
    ),
    max_leaves=5,
)


def values(type_: SqlType, *, nulls: bool = True) -> st.SearchStrategy[Any]:
    """Values of a type, with nulls in them."""
    found = _not_null(type_, nulls)
    return st.none() | found if nulls else found


def _not_null(type_: SqlType, nulls: bool) -> st.SearchStrategy[Any]:
    match type_:
        case sql.Decimal(precision, scale):
            limit = 10**precision - 1
            return st.integers(-limit, limit).map(lambda whole: Decimal(f"{whole}E-{scale}"))
        case sql.Array(item):
            return st.lists(values(item, nulls=nulls), max_size=3)
        case sql.Map(_, value):
            return st.dictionaries(texts, values(value, nulls=nulls), max_size=3)
        case sql.Struct(fields):
            return st.tuples(*(values(field.type, nulls=nulls) for field in fields))
        case _:
            return VALUES[type_]


def rows(types: st.SearchStrategy[SqlType], *, nulls: bool = True, most: int = 4) -> st.SearchStrategy[Any]:
    """Columns, and a row of them."""
    columns = st.lists(st.tuples(names, types), min_size=1, max_size=most, unique_by=lambda each: each[0])
    return columns.flatmap(
        lambda found: st.tuples(
            st.just(tuple(Column(*each) for each in found)),
            st.tuples(*(values(type_, nulls=nulls) for _, type_ in found)).map(list),
        )
    )


def format_of(name: str, *, unwrapped: bool = False, **properties: str) -> ColumnsFormat:
    return ColumnsFormat(FORMATS[name], properties, frozenset({Feature.UNWRAP}) if unwrapped else frozenset())


def read_back(columns: tuple[Column, ...], row: list[Any], format_: ColumnsFormat) -> Any:
    serde = row_serde(columns, format_, registry=InMemorySchemaRegistry())
    return serde.deserialize("t", serde.serialize("t", row))


@pytest.mark.parametrize("name", ["JSON", "JSON_SR", "AVRO"])
@settings(max_examples=40)
@given(st.data())
def test_rows_of_any_schema_read_back(name: str, data: st.DataObject) -> None:
    columns, row = data.draw(rows(any_types))
    assert read_back(columns, row, format_of(name)) == row


@pytest.mark.parametrize("name", ["JSON", "JSON_SR", "AVRO"])
@settings(max_examples=40)
@given(st.data())
def test_single_values_read_back_bare(name: str, data: st.DataObject) -> None:
    columns, row = data.draw(rows(any_types, most=1))
    expected = None if row == [None] else row
    assert read_back(columns, row, format_of(name, unwrapped=True)) == expected


@settings(max_examples=40)
@given(rows(primitives))
def test_delimited_rows_read_back_except_that_an_empty_text_is_null(drawn: Any) -> None:
    columns, row = drawn
    expected = [None if value in ("", b"") else value for value in row]
    if row != [None]:
        assert read_back(columns, row, format_of("DELIMITED")) == expected


@settings(max_examples=40)
@given(rows(st.sampled_from(KAFKA_TYPES), most=1))
def test_kafka_keys_read_back(drawn: Any) -> None:
    columns, row = drawn
    serde = key_serde(columns, format_of("KAFKA"))
    expected = None if row == [None] else tuple(row)
    assert serde.deserialize("t", serde.serialize("t", tuple(row))) == expected


def protobuf_types(depth: int = 2) -> st.SearchStrategy[SqlType]:
    """Without arrays of arrays or maps, and without such in maps, which Protobuf does not have."""
    parts = primitives
    if depth:
        fields = st.lists(st.tuples(names, protobuf_types(depth - 1)), max_size=3, unique_by=lambda each: each[0])
        parts = parts | fields.map(lambda found: sql.Struct(tuple(sql.Field(*each) for each in found)))
    return parts | parts.map(sql.Array) | parts.map(lambda value: sql.Map(sql.STRING, value))


@pytest.mark.parametrize("name", ["PROTOBUF", "PROTOBUF_NOSR"])
@pytest.mark.parametrize("nullable", [None, "optional", "wrapper"])
@settings(max_examples=40)
@given(st.data())
def test_protobuf_rows_without_nulls_read_back(name: str, nullable: str | None, data: st.DataObject) -> None:
    columns, row = data.draw(rows(protobuf_types(), nulls=False))
    properties: dict[str, Any] = {"unwrapPrimitives": "true"} if name == "PROTOBUF" else {}
    if nullable is not None:
        properties["nullableRepresentation"] = nullable
    assert read_back(columns, row, format_of(name, **properties)) == row


@pytest.mark.parametrize("nullable", ["optional", "wrapper"])
@settings(max_examples=40)
@given(st.data())
def test_protobuf_keeps_nulls_where_it_is_told_how(nullable: str, data: st.DataObject) -> None:
    columns, row = data.draw(rows(primitives))
    format_ = format_of("PROTOBUF", unwrapPrimitives="true", nullableRepresentation=nullable)
    assert read_back(columns, row, format_) == row


@pytest.mark.parametrize("name", ["JSON", "JSON_SR", "AVRO", "PROTOBUF", "PROTOBUF_NOSR", "DELIMITED"])
@settings(max_examples=40)
@given(st.data())
def test_any_bytes_are_a_row_or_an_error(name: str, data: st.DataObject) -> None:
    columns, row = data.draw(rows(primitives, nulls=False))
    serde = row_serde(columns, format_of(name), registry=InMemorySchemaRegistry())
    serde.serialize("t", row)
    given_bytes = data.draw(st.binary(max_size=30))
    for bytes_ in (given_bytes, frame(1, given_bytes), frame(1, b"\0" + given_bytes)):
        try:
            found = serde.deserialize("t", bytes_)
        except SerializationError:
            continue
        assert found is not None
        assert len(found) == len(columns)


@pytest.mark.parametrize("name", ["JSON_SR", "AVRO", "PROTOBUF"])
@settings(max_examples=40)
@given(st.data())
def test_the_schema_of_columns_has_these_columns(name: str, data: st.DataObject) -> None:
    columns, _ = data.draw(rows(protobuf_types() if name == "PROTOBUF" else any_types))
    properties: dict[str, Any] = {"unwrapPrimitives": "true"} if name == "PROTOBUF" else {}
    format_ = format_of(name, **properties)
    schema = own_schema(columns, format_)
    assert registered_columns(schema, format_, None, is_key=False) == columns
