"""Rows as DELIMITED, KAFKA and NONE."""

from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Any

import pytest

from headrace.errors import SerializationError
from headrace.sql.formats.rows import key_serde, row_serde
from tests.unit.sql.formats.columns import columns, format_of

ALL_TYPES = (
    "i INTEGER, b BOOLEAN, l BIGINT, d DOUBLE, s STRING, y BYTES, da DATE, ti TIME, ts TIMESTAMP, de DECIMAL(10,8)"
)
ROW = [1, True, 2**40, 1e10, "a", b"\x00\xff", -1, 1000, -5, Decimal("0.00000001")]
LINE = "1,true,1099511627776,1.0E10,a,AP8=,-1,1000,-5,0.00000001"


def read(declared: str, line: str, **properties: Any) -> Any:
    return row_serde(columns(declared), format_of("DELIMITED", **properties)).deserialize("t", line.encode())


def written(declared: str, row: list[Any], **properties: Any) -> str:
    data = row_serde(columns(declared), format_of("DELIMITED", **properties)).serialize("t", row)
    assert data is not None
    return data.decode()


def test_every_type_is_written_and_read() -> None:
    assert written(ALL_TYPES, ROW) == LINE
    assert read(ALL_TYPES, LINE) == ROW


def test_nulls_are_empty_fields() -> None:
    assert written("a INTEGER, b STRING, c DOUBLE", [None, None, None]) == ",,"
    assert read("a INTEGER, b STRING, c DOUBLE", ",,") == [None, None, None]


@pytest.mark.parametrize(
    ("row", "line"),
    [
        (["-5", "-5"], '"-5",-5'),
        (["", ""], '"",'),
        ([None, ""], ","),
        (["#", "#"], '"#","#"'),
        (["a b", " b"], 'a b," b"'),
        (["a ", "b\t"], '"a ","b\t"'),
        (['a"b', "a,b"], '"a""b","a,b"'),
        (["a\r", "a\nb"], '"a\r","a\nb"'),
        (["é", "é"], '"é",é'),
        (["a;b", "(b"], "a;b,(b"),
    ],
)
def test_what_is_quoted(row: list[Any], line: str) -> None:
    assert written("a STRING, b STRING", row) == line
    assert read("a STRING, b STRING", line) == [value or None for value in row]


def test_a_negative_number_is_quoted_where_it_is_first() -> None:
    assert written("a INTEGER, b INTEGER", [-1, -1]) == '"-1",-1'
    assert read("a INTEGER, b INTEGER", '"-1",-1') == [-1, -1]


def test_another_delimiter() -> None:
    assert written("a STRING, b INTEGER", ["x,y", 1], delimiter="$") == "x,y$1"
    assert read("a STRING, b INTEGER", "x,y$1", delimiter="$") == ["x,y", 1]
    assert written("a STRING, b INTEGER", ["x\ty", 1], delimiter="TAB") == '"x\ty"\t1'
    assert read("a STRING, b INTEGER", '"x\ty"\t1', delimiter="TAB") == ["x\ty", 1]
    assert read("a STRING, b INTEGER", "x 1", delimiter="space") == ["x", 1]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('"a" ,b', ["a", "b"]),
        ("\n\r\na,b\nc,d", ["a", "b"]),
        ('a"b,c', ['a"b', "c"]),
        (' "a",b', [' "a"', "b"]),
        ('"a\nb",c\r\n', ["a\nb", "c"]),
    ],
)
def test_lines_of_others_are_read(line: str, expected: list[str]) -> None:
    assert read("a STRING, b STRING", line) == expected


@pytest.mark.parametrize(
    ("declared", "line", "reason"),
    [
        ("a INTEGER, b INTEGER", "1", "expected 2 fields, found 1"),
        ("a INTEGER", "1,2", "expected 1 fields, found 2"),
        ("a INTEGER", "", "expected fields, found nothing"),
        ("a INTEGER", "x", "the field of `A`: 'x' is not a whole number"),
        ("a INTEGER", "2147483648", "the field of `A`: 2147483648 does not fit into 32 bits"),
        ("a DECIMAL(3,1)", "1.25", "the field of `A`: 1.25 does not fit into DECIMAL(3, 1) without rounding"),
        ("a BYTES", "~", "the field of `A`: this is no Base64"),
        ("a TIME", "86400001", "the field of `A`: a TIME is from 0 to 86400000 milliseconds, and this is 86400001"),
        ("a STRING", '"a', "a quoted field does not end"),
        ("a STRING", '"a"b', "expected the delimiter after a quoted field, found 'b'"),
    ],
)
def test_what_cannot_be_read(declared: str, line: str, reason: str) -> None:
    with pytest.raises(SerializationError) as caught:
        read(declared, line)
    assert f"cannot be read as DELIMITED: {reason}" in caught.value.message


def test_only_true_is_true() -> None:
    assert read("a BOOLEAN, b BOOLEAN", "TRUE,yes") == [True, False]


def test_base64_needs_no_padding() -> None:
    assert read("a BYTES", "YQ") == [b"a"]


@pytest.mark.parametrize(
    ("type_", "value", "data"),
    [
        ("INTEGER", -2, b"\xff\xff\xff\xfe"),
        ("BIGINT", 5, b"\0\0\0\0\0\0\0\5"),
        ("DOUBLE", 1.0, b"\x3f\xf0\0\0\0\0\0\0"),
        ("STRING", "é", b"\xc3\xa9"),
        ("BYTES", b"\0a", b"\0a"),
    ],
)
def test_kafka_writes_one_column_as_its_own_serialisers(type_: str, value: Any, data: bytes) -> None:
    serde = key_serde(columns(f"k {type_}"), format_of("KAFKA"))
    assert serde.serialize("t", (value,)) == data
    assert serde.deserialize("t", data) == (value,)
    assert serde.serialize("t", (None,)) is None
    assert serde.deserialize("t", None) is None


def test_kafka_refuses_numbers_of_another_size() -> None:
    with pytest.raises(SerializationError, match=r"cannot be read as KAFKA: integer\(\) expected 4 bytes, found 3"):
        row_serde(columns("k INTEGER"), format_of("KAFKA")).deserialize("t", b"abc")


@pytest.mark.parametrize("name", ["NONE", "KAFKA"])
def test_no_columns_are_never_written_or_read(name: str) -> None:
    serde = pickle.loads(pickle.dumps(key_serde((), format_of(name))))
    assert serde.serialize("t", ()) is None
    assert serde.deserialize("t", b"anything") is None
