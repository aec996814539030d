"""Lists in Kafka's two layouts. The bytes are those of Java's ListSerde (conformance family ``serdes``)."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest

from headrace import serde
from headrace.config import StreamsConfig
from headrace.errors import ConfigError, SerializationError, WrongTypeError
from headrace.serde.lists import ListSerde


@pytest.mark.parametrize(
    ("inner", "value", "data"),
    [
        (serde.long(), [1, 2], "AAAAAAAAAAACAAAAAAAAAAEAAAAAAAAAAg=="),
        (serde.long(), [None, 3], "AAAAAAEAAAAAAAAAAgAAAAAAAAAD"),
        (serde.long(), [], "AAAAAAAAAAAA"),
        (serde.long(), [None, None], "AAAAAAIAAAAAAAAAAQAAAAI="),
        (serde.string(), ["a", "b"], "AQAAAAIAAAABYQAAAAFi"),
        (serde.string(), [], "AQAAAAA="),
        (serde.string(), ["", None, "é"], "AQAAAAMAAAAA/////wAAAALDqQ=="),
    ],
)
def test_writes_and_reads_javas_bytes(inner: Any, value: list[Any], data: str) -> None:
    assert serde.list(inner).serialize("t", value) == b64decode(data)
    assert serde.list(inner).deserialize("t", b64decode(data)) == value


def test_lists_nest() -> None:
    codec: serde.Serde[Any] = serde.list(serde.list(serde.short()))

    assert codec.deserialize("t", codec.serialize("t", [[1], None, []])) == [[1], None, []]


def test_a_tuple_is_written_like_a_list() -> None:
    codec: serde.Serde[Any] = serde.list(serde.long())

    assert codec.serialize("t", (1,)) == codec.serialize("t", [1])


def test_a_text_is_no_list_of_letters() -> None:
    with pytest.raises(WrongTypeError, match=r"list\(\) expected list, found str"):
        serde.list(serde.string()).serialize("t", "ab")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x02",
        b"\x01",
        b"\x01\x00\x00\x00\x01",
        b"\x01\x00\x00\x00\x01\x00\x00\x00\x05a",
        b"\x01\x00\x00\x00\x01\xff\xff\xff\xfe",
        b"\x00\x00\x00\x00\x00\x00\x00\x00\x01",
        b"\x00\xff\xff\xff\xff",
        b"\x00\x7f\xff\xff\xff",
    ],
)
def test_broken_bytes_are_an_error_and_nothing_else(data: bytes) -> None:
    with pytest.raises(SerializationError, match=r"list\(\) cannot read"):
        serde.list(serde.long()).deserialize("t", data)


def test_an_open_inner_serde_is_filled_from_the_configuration() -> None:
    config = StreamsConfig({"default.list.value.serde.inner": "integer"})
    codec = ListSerde(None).with_defaults(config, is_key=False)

    assert codec == ListSerde(serde.integer())
    with pytest.raises(ConfigError, match=r"default\.list\.key\.serde\.inner"):
        ListSerde(None).with_defaults(config, is_key=True)


def test_an_open_inner_serde_cannot_be_used() -> None:
    with pytest.raises(SerializationError, match=r"list\(\) has no inner serde"):
        serde.list().serialize("t", [1])
