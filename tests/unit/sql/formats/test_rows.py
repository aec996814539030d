"""What formats cannot carry, and very many columns."""

from __future__ import annotations

import pytest

from headrace.serde.registry import InMemorySchemaRegistry
from headrace.sql import SqlError
from headrace.sql.formats.rows import row_serde
from headrace.sql.schema import Column
from headrace.sql.tree.types import DOUBLE, INTEGER, STRING, Array, SqlType
from tests.unit.sql.formats.columns import columns, format_of


def nested(depth: int) -> SqlType:
    type_: SqlType = INTEGER
    for _ in range(depth):
        type_ = Array(type_)
    return type_


def test_columns_that_a_format_has_no_schema_for_are_refused_when_a_serde_is_made() -> None:
    with pytest.raises(
        SqlError, match="the format PROTOBUF_NOSR cannot carry these columns: Protobuf has no arrays"
    ) as e:
        row_serde(columns("v ARRAY<ARRAY<INTEGER>>"), format_of("PROTOBUF_NOSR"))
    assert e.value.code == "format.type"
    assert e.value.detail == "V"


def test_types_that_are_nested_too_deep_are_refused_or_written() -> None:
    with pytest.raises(SqlError, match="the format JSON cannot carry these columns: they are nested too deep"):
        row_serde([Column("V", nested(2000))], format_of("JSON"))
    serde = row_serde([Column("V", nested(100))], format_of("JSON"))
    data = b'{"V":' + b"[" * 100 + b"7" + b"]" * 100 + b"}"
    assert serde.serialize("t", serde.deserialize("t", data)) == data


@pytest.mark.parametrize("name", ["JSON", "DELIMITED", "AVRO", "JSON_SR"])
def test_ten_thousand_columns_are_written_and_read(name: str) -> None:
    declared = [Column(f"C{at}", (INTEGER, STRING, DOUBLE)[at % 3]) for at in range(10_000)]
    row = [(at, str(at), float(at))[at % 3] for at in range(10_000)]
    serde = row_serde(declared, format_of(name), registry=InMemorySchemaRegistry())
    assert serde.deserialize("t", serde.serialize("t", row)) == row
