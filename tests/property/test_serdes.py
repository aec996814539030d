"""Whatever a serde writes it reads back, and bytes it cannot read are a SerializationError, never another."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace import serde
from headrace.errors import SerializationError
from headrace.partitioning import default_partition, murmur2, murmur3_128
from headrace.records import Change
from headrace.serde import bytes_keys
from headrace.serde.change import ChangeSerde
from headrace.serde.framing import frame, read_message_indexes, unframe, write_message_indexes
from headrace.serde.registry import InMemorySchemaRegistry
from headrace.serde.varint import read_varint, write_varint
from headrace.windows import MAX_TIMESTAMP, SessionWindow, TimeWindow, Windowed
from tests.unit.serde.test_protobuf import User, View

longs = st.integers(-(2**63), 2**63 - 1)
times = st.integers(0, MAX_TIMESTAMP)
texts = st.text(st.characters(exclude_categories=["Cs"]))
json_numbers = longs | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.booleans() | texts | json_numbers,
    lambda inner: st.lists(st.none() | inner) | st.dictionaries(texts, st.none() | inner),
    max_leaves=10,
)

PLAIN: list[tuple[serde.Serde[Any], st.SearchStrategy[Any]]] = [
    (serde.string(), texts),
    (serde.long(), longs),
    (serde.integer(), st.integers(-(2**31), 2**31 - 1)),
    (serde.short(), st.integers(-(2**15), 2**15 - 1)),
    (serde.double(), st.floats(allow_nan=False)),
    (serde.float(), st.floats(allow_nan=False, width=32)),
    (serde.boolean(), st.booleans()),
    (serde.bytes(), st.binary()),
    (serde.uuid(), st.uuids()),
    (serde.void(), st.none()),
    (serde.json(), json_values),
    (serde.avro('"long"'), longs),
]


def lists_of(codec: serde.Serde[Any], values: st.SearchStrategy[Any]) -> tuple[Any, st.SearchStrategy[Any]]:
    return serde.list(codec), st.lists(st.none() | values, max_size=20)


@st.composite
def serdes_and_values(draw: st.DrawFn) -> tuple[serde.Serde[Any], Any]:
    codec, values = draw(st.sampled_from(PLAIN))
    for _ in range(draw(st.integers(0, 2))):
        codec, values = lists_of(codec, values)
    return codec, draw(st.none() | values)


@given(serdes_and_values())
def test_what_is_written_is_read_back(pair: tuple[serde.Serde[Any], Any]) -> None:
    codec, value = pair
    data = codec.serialize("t", value)

    assert (data is None) == (value is None)
    assert codec.deserialize("t", data) == value


@given(st.floats())
def test_a_double_comes_back_bit_by_bit(value: float) -> None:
    back = serde.double().deserialize("t", serde.double().serialize("t", value))

    assert back is not None
    assert (math.isnan(back) and math.isnan(value)) or math.copysign(1, back) == math.copysign(1, value)
    assert math.isnan(back) or back == value


@given(longs, longs)
def test_non_negative_longs_sort_as_their_bytes(left: int, right: int) -> None:
    # Stores sort by bytes: within the numbers of one sign that is the order of the numbers.
    if (left < 0) == (right < 0):
        written = [serde.long().serialize("t", number) or b"" for number in (left, right)]
        assert (written[0] < written[1]) == (left < right)


@given(texts, times, st.integers(1, MAX_TIMESTAMP))
def test_time_windowed_keys_come_back(key: str, start: int, size: int) -> None:
    end = min(start + size, MAX_TIMESTAMP)
    if start < end:
        windowed = Windowed(key, TimeWindow(start, end))
        codec = serde.windowed(serde.string(), size)
        assert codec.deserialize("t", codec.serialize("t", windowed)) == windowed
        stored = bytes_keys.window_store_key(key.encode(), start, 3)
        assert codec.for_changelog().deserialize("t", stored) == windowed


@given(texts, times, times)
def test_session_windowed_keys_come_back(key: str, one: int, other: int) -> None:
    windowed = Windowed(key, SessionWindow(min(one, other), max(one, other)))
    codec = serde.session_windowed(serde.string())

    assert codec.deserialize("t", codec.serialize("t", windowed)) == windowed


@given(st.binary(), longs, longs, st.integers(-(2**31), 2**31 - 1))
def test_store_keys_come_apart_as_they_were_joined(key: bytes, one: int, other: int, seq: int) -> None:
    assert bytes_keys.parse_window_store_key(bytes_keys.window_store_key(key, one, seq)) == (key, one, seq)
    assert bytes_keys.parse_session_key(bytes_keys.session_key(key, one, other)) == (key, one, other)
    assert bytes_keys.parse_window_topic_key(bytes_keys.window_topic_key(key, one)) == (key, one)


@given(st.none() | texts, st.none() | texts)
def test_changes_come_back(new: str | None, old: str | None) -> None:
    codec = ChangeSerde(serde.string())
    if new is not None or old is not None:
        assert codec.deserialize("t", codec.serialize("t", Change(new, old))) == Change(new, old)


@given(st.integers(-(2**31), 2**31 - 1), st.binary(max_size=3))
def test_varints_come_back(number: int, rest: bytes) -> None:
    data = write_varint(number)

    assert len(data) <= 5
    assert read_varint(data + rest) == (number, len(data))


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 1000), min_size=1).map(tuple), st.binary())
def test_frames_come_apart(schema_id: int, indexes: tuple[int, ...], payload: bytes) -> None:
    framed_id, body = unframe(frame(schema_id, write_message_indexes(indexes) + payload))

    assert framed_id == schema_id
    assert read_message_indexes(body) == (indexes, payload)


AVRO_SCHEMA = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "text", "type": "string"},
        {"name": "numbers", "type": {"type": "array", "items": "long"}},
        {"name": "maybe", "type": ["null", "double"], "default": None},
    ],
}


@given(
    st.fixed_dictionaries(
        {"text": texts, "numbers": st.lists(longs), "maybe": st.none() | st.floats(allow_nan=False)},
    ),
    st.booleans(),
)
def test_avro_records_come_back(value: dict[str, Any], framed: bool) -> None:
    codec = serde.avro(AVRO_SCHEMA, InMemorySchemaRegistry() if framed else None)

    assert codec.deserialize("t", codec.serialize("t", value)) == value


@given(texts, longs, st.booleans())
def test_protobuf_messages_come_back(page: str, user: int, framed: bool) -> None:
    codec = serde.protobuf(View, InMemorySchemaRegistry() if framed else None)
    message = View(page=page, user=User(id=user))

    assert codec.deserialize("t", codec.serialize("t", message)) == message


READERS = [
    *(codec for codec, _ in PLAIN),
    serde.list(serde.long()),
    serde.list(serde.string()),
    serde.list(serde.list(serde.uuid())),
    serde.windowed(serde.string(), 5),
    serde.windowed(serde.long(), 5).for_changelog(),
    serde.session_windowed(serde.string()),
    ChangeSerde(serde.json()),
    serde.avro(AVRO_SCHEMA),
    serde.avro(None, InMemorySchemaRegistry()),
    serde.protobuf(View),
    serde.protobuf(View, InMemorySchemaRegistry()),
]


@given(st.sampled_from(READERS), st.binary(max_size=40))
def test_any_bytes_are_read_or_refused_with_a_serialization_error(codec: serde.Serde[Any], data: bytes) -> None:
    try:
        codec.deserialize("t", data)
    except SerializationError as error:
        assert error.message


@given(st.binary(), st.integers(1, 1000))
def test_hashes_stay_in_their_range(data: bytes, partitions: int) -> None:
    assert -(2**31) <= murmur2(data) < 2**31
    assert 0 <= default_partition(data, partitions) < partitions
    assert len(murmur3_128(data)) == 16
