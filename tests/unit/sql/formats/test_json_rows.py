"""Rows as JSON."""

from __future__ import annotations

import pickle
import resource
from decimal import Decimal
from typing import Any

import pytest

from headrace import serdes
from headrace.errors import SerializationError
from headrace.sql.formats.rows import key_serde, row_serde
from tests.unit.sql.formats.columns import columns, format_of


def read(declared: str, text: str | bytes, **options: Any) -> Any:
    data = text.encode() if isinstance(text, str) else text
    return row_serde(columns(declared), format_of("JSON", **options)).deserialize("t", data)


def written(declared: str, row: list[Any], **options: Any) -> str | None:
    data = row_serde(columns(declared), format_of("JSON", **options)).serialize("t", row)
    return None if data is None else data.decode()


def failure(declared: str, text: str | bytes) -> str:
    with pytest.raises(SerializationError) as caught:
        read(declared, text)
    return caught.value.message.removeprefix("the value of a record of topic t cannot be read as JSON: ")


ALL_TYPES = (
    "b BOOLEAN, i INTEGER, l BIGINT, d DOUBLE, s STRING, y BYTES, da DATE, ti TIME, ts TIMESTAMP, de DECIMAL(6,2),"
    " a ARRAY<INTEGER>, m MAP<STRING, DOUBLE>, st STRUCT<f STRING, g ARRAY<DECIMAL(3,1)>>"
)
ROW = [
    True,
    1,
    2**40,
    1.5,
    "ü",
    b"\x00\xff",
    18000,
    1000,
    1_600_000_000_000,
    Decimal("12.30"),
    [1, None],
    {"k": 1e10},
    ("x", [Decimal("1.0")]),
]
TEXT = (
    '{"B":true,"I":1,"L":1099511627776,"D":1.5,"S":"ü","Y":"AP8=","DA":18000,"TI":1000,"TS":1600000000000,"DE":12.30,'
    '"A":[1,null],"M":{"k":1.0E10},"ST":{"F":"x","G":[1.0]}}'
)


def test_every_type_is_written_and_read() -> None:
    assert written(ALL_TYPES, ROW) == TEXT
    assert read(ALL_TYPES, TEXT) == ROW


def test_nulls_are_written_and_read_everywhere() -> None:
    text = written(ALL_TYPES, [None] * len(ROW))
    assert text is not None
    assert text.count("null") == len(ROW)
    assert read(ALL_TYPES, text) == [None] * len(ROW)
    assert read(ALL_TYPES, "{}") == [None] * len(ROW)


def test_no_bytes_are_no_row() -> None:
    serde = row_serde(columns("i INTEGER"), format_of("JSON"))
    assert serde.deserialize("t", None) is None
    assert serde.serialize("t", None) is None


def test_a_field_is_found_by_its_name_first_and_then_in_upper_case() -> None:
    assert read("ID INTEGER, `name` STRING", '{"id":1,"Name":"a","name":"b"}') == [1, "b"]
    assert read("ID INTEGER, `name` STRING", '{"ID":1,"id":2,"NAME":"a"}') == [1, None]
    assert read("ID INTEGER", '{"id":2,"ID":null}') == [None]
    assert read("s STRUCT<id INTEGER>", '{"s":{"Id":7}}') == [(7,)]


def test_of_several_spellings_the_last_one_counts() -> None:
    assert read("ID INTEGER", '{"id":1,"Id":2}') == [2]


def test_documents_of_many_shapes_are_read() -> None:
    serde = row_serde(columns("ID INTEGER"), format_of("JSON"))
    for extra in range(600):
        assert serde.deserialize("t", b'{"x%d":0,"id":%d}' % (extra, extra)) == [extra]


@pytest.mark.parametrize(
    ("type_", "text", "expected"),
    [
        ("INTEGER", '"12"', 12),
        ("INTEGER", "1.9", 1),
        ("INTEGER", "-1.9", -1),
        ("INTEGER", "2147483648", -2147483648),
        ("INTEGER", "1e64", 0),
        ("BIGINT", "18446744073709551615", -1),
        ("BIGINT", "18446744073709551617", 1),
        ("BIGINT", '"-5"', -5),
        ("BIGINT", "1.9999999999999999999", 1),
        ("DOUBLE", "1", 1.0),
        ("DOUBLE", "1e400", float("inf")),
        ("DOUBLE", '" 1.5d"', 1.5),
        ("DOUBLE", '"-Infinity"', float("-inf")),
        ("STRING", "1.10", "1.10"),
        ("STRING", "1e3", "1E+3"),
        ("STRING", "-0.0", "0.0"),
        ("STRING", "12345678901234567890123", "12345678901234567890123"),
        ("STRING", "true", "true"),
        ("STRING", '{"b" : [1.50, null, "x"], "a":{}}', '{"b":[1.50,null,"x"],"a":{}}'),
        ("STRING", '{"c":"\\u001f\\\\u001f\\n"}', '{"c":"\\u001F\\\\u001f\\n"}'),
        ("STRING", '[1, "a", null, [true, 2.50]]', "[1, a, null, [true, 2.50]]"),
        ("STRING", '"\\ud83d"', "\ud83d"),
        ("DECIMAL(4,2)", "1", Decimal("1.00")),
        ("DECIMAL(4,2)", "1.5", Decimal("1.50")),
        ("DECIMAL(4,2)", '"1.500"', Decimal("1.50")),
        ("DECIMAL(30,10)", "12345678901234567890.0123456789", Decimal("12345678901234567890.0123456789")),
        ("DATE", '"3"', 3),
        ("TIME", "86400000", 86400000),
        ("TIMESTAMP", "-1", -1),
        ("ARRAY<DOUBLE>", "[1, 2.5, null]", [1.0, 2.5, None]),
        ("MAP<STRING, STRING>", '{"a":1.0,"b":null}', {"a": "1.0", "b": None}),
    ],
)
def test_what_is_accepted_for_a_type(type_: str, text: str, expected: Any) -> None:
    assert read(f"v {type_}", f'{{"V":{text}}}') == [expected]
    assert read(f"v {type_}", text, unwrapped=True) == [expected]


@pytest.mark.parametrize(
    ("type_", "text", "reason"),
    [
        ("BOOLEAN", '"true"', "expected BOOLEAN, found a text"),
        ("BOOLEAN", "1", "expected BOOLEAN, found a number"),
        ("INTEGER", "true", "expected INTEGER, found a boolean"),
        ("INTEGER", '"x"', "'x' is not a whole number"),
        ("INTEGER", '"1_0"', "'1_0' is not a whole number"),
        ("INTEGER", '"2147483648"', "2147483648 does not fit into 32 bits"),
        ("BIGINT", "{}", "expected BIGINT, found an object"),
        ("DOUBLE", '"1_0"', "'1_0' is not a number"),
        ("DOUBLE", "[]", "expected DOUBLE, found an array"),
        ("BYTES", '"é"', "expected BYTES as Base64"),
        ("BYTES", "1", "expected BYTES as Base64, found a number"),
        ("DECIMAL(4,2)", "1.005", "1.005 does not fit into DECIMAL(4, 2) without rounding"),
        ("DECIMAL(4,2)", "100", "100 is too large for DECIMAL(4, 2)"),
        ("DECIMAL(4,2)", '" 1"', "' 1' is not a number"),
        ("DECIMAL(4,2)", "true", "expected DECIMAL(4, 2), found a boolean"),
        ("TIME", "-1", "a TIME is from 0 to 86400000 milliseconds, and this is -1"),
        ("ARRAY<INTEGER>", "{}", "expected ARRAY, found an object"),
        ("MAP<STRING, INTEGER>", "[]", "expected MAP, found an array"),
        ("STRUCT<f INTEGER>", "1", "expected an object, found a number"),
    ],
)
def test_what_is_refused_for_a_type_names_the_column(type_: str, text: str, reason: str) -> None:
    message = failure(f"a INTEGER, v {type_}", f'{{"A":1,"V":{text}}}')
    assert message.startswith(reason)
    assert message.endswith(", at $.V")


def test_the_way_to_a_wrong_part_is_shown() -> None:
    declared = "s STRUCT<f ARRAY<MAP<STRING, INTEGER>>>"
    assert failure(declared, '{"s":{"f":[{},{"k":"x"}]}}') == "'x' is not a whole number, at $.S.F[1].k"


@pytest.mark.parametrize("text", ["", "{", "nonsense", '{"V":NaN}', b'{"V":"\xff"}', "[" * 5000, "null", "7"])
def test_what_is_no_json_object_is_refused(text: str | bytes) -> None:
    assert failure("v STRING", text)


def test_what_follows_the_document_is_not_looked_at() -> None:
    assert read("v INTEGER", '{"V":1} rest') == [1]


def test_doubles_are_written_as_java_does() -> None:
    row = [1e7, 9999999.0, 0.001, 0.0009, -1e7, -0.0, 5e-324, float("nan"), float("inf"), float("-inf"), None]
    expected = '[1.0E7,9999999.0,0.001,9.0E-4,-1.0E7,-0.0,4.9E-324,"NaN","Infinity","-Infinity",null]'
    assert written("v ARRAY<DOUBLE>", [row], unwrapped=True) == expected


def test_a_decimal_keeps_its_own_scale_and_has_an_exponent_where_java_has_one() -> None:
    assert written("v DECIMAL(10,8)", [Decimal("0.00000001")], unwrapped=True) == "1E-8"
    assert written("v DECIMAL(4,2)", [Decimal("1")], unwrapped=True) == "1"


def test_a_null_key_of_a_map_is_written_as_text() -> None:
    assert written("v MAP<STRING, INTEGER>", [{None: 1, "a": 2}]) == '{"V":{"null":1,"a":2}}'


def test_control_characters_are_escaped_as_jackson_does() -> None:
    assert written("v STRING", ["\x1f\\u001f\n"], unwrapped=True) == '"\\u001F\\\\u001f\\n"'


def test_bytes_and_structs_inside_collections() -> None:
    declared = "a ARRAY<BYTES>, m MAP<STRING, STRUCT<d DECIMAL(2,1)>>, n ARRAY<ARRAY<DOUBLE>>"
    row = [[b"a", None], {"k": (Decimal("1.5"),), "n": None}, [[1.0], None]]
    text = '{"A":["YQ==",null],"M":{"k":{"D":1.5},"n":null},"N":[[1.0],null]}'
    assert written(declared, row) == text
    assert read(declared, text) == row


def test_a_null_that_is_not_wrapped_is_no_record() -> None:
    assert written("v INTEGER", [None], unwrapped=True) is None
    assert read("v INTEGER", "null", unwrapped=True) == [None]


def test_no_columns_are_an_empty_object() -> None:
    serde = row_serde((), format_of("JSON"))
    assert serde.serialize("t", []) == b"{}"
    assert serde.deserialize("t", b'{"a":1}') == []


def test_keys_are_tuples() -> None:
    single = key_serde(columns("k INTEGER"), format_of("JSON", unwrapped=True))
    assert single.serialize("t", (5,)) == b"5"
    assert single.deserialize("t", b"5") == (5,)
    several = key_serde(columns("k INTEGER, l STRING"), format_of("JSON"))
    assert several.serialize("t", (5, None)) == b'{"K":5,"L":null}'
    assert several.deserialize("t", b'{"K":5}') == (5, None)
    assert several.deserialize("t", None) is None
    with pytest.raises(SerializationError, match="the key of a record of topic t cannot be read as JSON"):
        several.deserialize("t", b"5")


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(SerializationError, match="the value of a record of topic t cannot be written as JSON"):
        written("a INTEGER, b INTEGER", [1])


def test_a_serde_travels_to_other_processes() -> None:
    serde = pickle.loads(pickle.dumps(row_serde(columns(ALL_TYPES), format_of("JSON"))))
    assert serde.deserialize("t", TEXT.encode()) == ROW
    assert "JSON" in repr(serde)


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ("\N{GRINNING FACE}", rb'{"V":"\uD83D\uDE00"}'),
        ("a\ud83d", rb'{"V":"a\uD83D"}'),
        ("\xdf\x01\\", b'{"V":"\xc3\x9f\\u0001\\\\"}'),
    ],
)
def test_characters_that_java_has_in_two_parts_are_written_as_escapes_and_read_back(value: str, data: bytes) -> None:
    serde = row_serde(columns("v STRING"), format_of("JSON"))
    assert serde.serialize("t", [value]) == data
    assert serde.deserialize("t", data) == [value]


@pytest.mark.parametrize(
    ("serde", "value"),
    [
        (row_serde(columns("i INTEGER, s STRING"), format_of("JSON")), [1, "a"]),
        (serdes.json(), {"i": 1, "s": "a"}),
    ],
)
def test_documents_that_are_kept_take_the_memory_of_their_bytes(serde: Any, value: Any) -> None:
    begun = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    kept = [serde.serialize("t", value) for _ in range(40_000)]
    pages = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - begun
    assert len(kept) == 40_000
    assert pages * resource.getpagesize() < 40_000 * 256
