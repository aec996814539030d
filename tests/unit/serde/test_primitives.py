"""Single values: Kafka's bytes, and errors that say what was wrong."""

from __future__ import annotations

import math
from typing import Any
from uuid import UUID

import pytest

from headrace import serde
from headrace.errors import SerializationError, WrongTypeError

UUID_TEXT = "123e4567-e89b-12d3-a456-426614174000"


@pytest.mark.parametrize(
    ("codec", "value", "data"),
    [
        (serde.string(), "é", "c3a9"),
        (serde.string(), "", ""),
        (serde.long(), 1, "0000000000000001"),
        (serde.long(), -(2**63), "8000000000000000"),
        (serde.integer(), -1, "ffffffff"),
        (serde.short(), 258, "0102"),
        (serde.double(), -2.25, "c002000000000000"),
        (serde.double(), 1e300, "7e37e43c8800759c"),
        (serde.float(), 1.5, "3fc00000"),
        (serde.boolean(), True, "01"),
        (serde.boolean(), False, "00"),
        (serde.bytes(), b"\x00\xff", "00ff"),
        (serde.uuid(), UUID(UUID_TEXT), UUID_TEXT.encode().hex()),
        (serde.json(), {"a": [1, None, "ü"]}, '{"a":[1,null,"ü"]}'.encode().hex()),
    ],
)
def test_writes_and_reads_kafkas_bytes(codec: serde.Serde[Any], value: Any, data: str) -> None:
    assert codec.serialize("t", value) == bytes.fromhex(data)
    assert codec.deserialize("t", bytes.fromhex(data)) == value


@pytest.mark.parametrize(
    "make",
    [
        serde.string,
        serde.long,
        serde.integer,
        serde.short,
        serde.double,
        serde.float,
        serde.boolean,
        serde.bytes,
        serde.uuid,
        serde.void,
        serde.json,
    ],
)
def test_none_stays_none(make: Any) -> None:
    assert make().serialize("t", None) is None
    assert make().deserialize("t", None) is None


@pytest.mark.parametrize(
    ("codec", "value", "message"),
    [
        (serde.long(), "7", "long() expected int, found str"),
        (serde.integer(), True, "integer() expected int, found bool"),
        (serde.short(), 1.0, "short() expected int, found float"),
        (serde.string(), 7, "string() expected str, found int"),
        (serde.double(), "1.5", "double() expected float, found str"),
        (serde.float(), True, "float() expected float, found bool"),
        (serde.boolean(), 1, "boolean() expected bool, found int"),
        (serde.bytes(), "text", "bytes() expected bytes, found str"),
        (serde.uuid(), UUID_TEXT, "uuid() expected uuid.UUID, found str"),
        (serde.void(), 0, "void() expected None, found int"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_both_types_named(
    codec: serde.Serde[Any], value: Any, message: str
) -> None:
    with pytest.raises(WrongTypeError) as raised:
        codec.serialize("t", value)

    assert raised.value.message == message
    assert repr(value) in str(raised.value.detail)
    assert raised.value.hint


def test_the_hint_names_the_serde_that_fits() -> None:
    with pytest.raises(WrongTypeError, match=r"serdes\.long\(\)"):
        serde.string().serialize("t", 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("codec", "value"),
    [(serde.long(), 2**63), (serde.integer(), -(2**31) - 1), (serde.short(), 32768)],
)
def test_a_whole_number_out_of_range_is_an_error_that_names_the_range(codec: serde.Serde[int], value: int) -> None:
    with pytest.raises(SerializationError, match="expected an int from -") as raised:
        codec.serialize("t", value)

    assert str(value) in raised.value.message
    assert not isinstance(raised.value, WrongTypeError)


def test_floats_too_large_are_errors() -> None:
    with pytest.raises(SerializationError, match="too large"):
        serde.float().serialize("t", 1e39)
    with pytest.raises(SerializationError, match="too large"):
        serde.double().serialize("t", 10**400)


def test_whole_numbers_count_as_floats() -> None:
    assert serde.double().serialize("t", 2) == serde.double().serialize("t", 2.0)


@pytest.mark.parametrize(
    ("codec", "size"),
    [(serde.long(), 8), (serde.integer(), 4), (serde.short(), 2), (serde.double(), 8), (serde.float(), 4)],
)
def test_bytes_of_another_length_are_no_number(codec: serde.Serde[Any], size: int) -> None:
    with pytest.raises(SerializationError, match=f"expected {size} bytes, found {size + 1}"):
        codec.deserialize("t", bytes(size + 1))


def test_every_nan_is_written_alike() -> None:
    other_nan = serde.double().deserialize("t", bytes.fromhex("fff8000000000001"))

    assert other_nan is not None
    assert math.isnan(other_nan)
    assert serde.double().serialize("t", other_nan) == bytes.fromhex("7ff8000000000000")


def test_negative_zero_keeps_its_sign() -> None:
    assert serde.double().serialize("t", -0.0) == bytes.fromhex("8000000000000000")


def test_text_that_is_no_utf8_is_read_with_replacement_characters() -> None:
    assert serde.string().deserialize("t", b"a\xffb") == "a�b"


@pytest.mark.parametrize("data", [b"", b"\x02", b"\x00\x00"])
def test_a_boolean_is_exactly_one_byte_of_zero_or_one(data: bytes) -> None:
    with pytest.raises(SerializationError, match=r"boolean\(\) expected"):
        serde.boolean().deserialize("t", data)


def test_a_uuid_may_lack_leading_zeros_as_in_java() -> None:
    assert serde.uuid().deserialize("t", b"1-2-3-4-5") == UUID("00000001-0002-0003-0004-000000000005")


@pytest.mark.parametrize("text", ["", "1-2-3-4", "123e4567e89b12d3a456426614174000", f"{{{UUID_TEXT}}}", "x-2-3-4-5"])
def test_what_java_does_not_read_as_uuid_is_an_error(text: str) -> None:
    with pytest.raises(SerializationError, match=r"uuid\(\) expected a UUID as text"):
        serde.uuid().deserialize("t", text.encode())


def test_void_reads_no_bytes_at_all() -> None:
    with pytest.raises(SerializationError, match=r"void\(\) expected no bytes"):
        serde.void().deserialize("t", b"")


def test_bytes_that_can_change_are_copied() -> None:
    buffer = bytearray(b"ab")
    written = serde.bytes().serialize("t", buffer)  # type: ignore[arg-type]
    buffer[0] = 0

    assert written == b"ab"


def test_json_says_what_it_cannot_write_and_read() -> None:
    with pytest.raises(SerializationError, match=r"json\(\) cannot write a dict"):
        serde.json().serialize("t", {1: 2})
    with pytest.raises(SerializationError, match=r"json\(\) cannot read the bytes"):
        serde.json().deserialize("t", b"{")


def test_a_long_value_is_cut_in_the_error() -> None:
    with pytest.raises(WrongTypeError) as raised:
        serde.long().serialize("t", "x" * 10_000)  # type: ignore[arg-type]

    assert len(str(raised.value)) < 500
