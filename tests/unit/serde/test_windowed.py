"""Windowed keys, in topics and in stores."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace import serde
from headrace.config import StreamsConfig
from headrace.errors import SerializationError, WrongTypeError
from headrace.partitioning import default_partition
from headrace.serde import bytes_keys
from headrace.windows import MAX_TIMESTAMP, SessionWindow, TimeWindow, Windowed

START_10 = "000000000000000a"


def test_a_time_windowed_key_is_the_key_and_the_start() -> None:
    codec = serde.windowed(serde.string(), timedelta(milliseconds=5))
    key = Windowed("k", TimeWindow(10, 15))

    assert codec.serialize("t", key) == b"k" + bytes.fromhex(START_10)
    assert codec.deserialize("t", b"k" + bytes.fromhex(START_10)) == key


def test_the_end_stops_at_the_end_of_time() -> None:
    codec = serde.windowed(serde.string(), MAX_TIMESTAMP)

    assert codec.deserialize("t", b"k" + bytes.fromhex(START_10)) == Windowed("k", TimeWindow(10, MAX_TIMESTAMP))


def test_a_changelog_key_has_a_sequence_number_which_is_skipped() -> None:
    codec = serde.windowed(serde.string(), 5).for_changelog()
    key = Windowed("k", TimeWindow(10, 15))

    assert codec.deserialize("t", bytes_keys.window_store_key(b"k", 10, 7)) == key
    # As in Kafka, the changelog form is for reading only.
    assert codec.serialize("t", key) == serde.windowed(serde.string(), 5).serialize("t", key)


def test_a_session_key_has_the_end_before_the_start() -> None:
    codec = serde.session_windowed(serde.string())
    key = Windowed("k", SessionWindow(3, 10))
    data = b"k" + bytes.fromhex(START_10 + "0000000000000003")

    assert codec.serialize("t", key) == data
    assert codec.deserialize("t", data) == key


def test_store_keys_can_be_taken_apart() -> None:
    window = bytes_keys.window_store_key(b"key", 10, 2)
    session = bytes_keys.session_key(b"key", 3, 10)

    assert window == b"key" + bytes.fromhex(START_10 + "00000002")
    assert bytes_keys.parse_window_store_key(window) == (b"key", 10, 2)
    assert bytes_keys.window_store_start(window) == 10
    assert bytes_keys.parse_session_key(session) == (b"key", 3, 10)
    assert bytes_keys.session_end(session) == 10
    assert bytes_keys.parse_window_topic_key(bytes_keys.window_topic_key(b"", 10)) == (b"", 10)


@pytest.mark.parametrize("codec", [serde.windowed(serde.string(), 5), serde.session_windowed(serde.string())])
def test_none_and_no_bytes_are_no_key(codec: serde.Serde[Windowed[str]]) -> None:
    assert codec.serialize("t", None) is None
    assert codec.deserialize("t", None) is None
    assert codec.deserialize("t", b"") is None


@pytest.mark.parametrize("codec", [serde.windowed(serde.string(), 5), serde.session_windowed(serde.string())])
def test_what_is_no_windowed_key_is_an_error(codec: serde.Serde[Windowed[str]]) -> None:
    with pytest.raises(WrongTypeError, match="expected Windowed, found str"):
        codec.serialize("t", "k")  # type: ignore[arg-type]
    with pytest.raises(SerializationError, match="its key is None"):
        codec.serialize("t", Windowed(None, TimeWindow(0, 5)))  # type: ignore[arg-type]
    with pytest.raises(SerializationError, match="expected at least"):
        codec.deserialize("t", b"short")
    with pytest.raises(SerializationError, match="hold no window"):
        codec.deserialize("t", b"\xff" * 20)


def test_an_open_inner_serde_is_the_default_of_its_side() -> None:
    config = StreamsConfig({"default.key.serde": "long", "default.value.serde": "short"})

    assert serde.windowed(None, 5).with_defaults(config, is_key=True) == serde.windowed(serde.long(), 5)
    assert serde.session_windowed().with_defaults(config, is_key=False) == serde.session_windowed(serde.short())
    with pytest.raises(SerializationError, match=r"windowed\(\) has no inner serde"):
        serde.windowed(None, 5).serialize("t", Windowed("k", TimeWindow(0, 5)))


def test_a_windowed_key_goes_where_its_plain_key_goes() -> None:
    for codec in (serde.windowed(serde.string(), 5), serde.session_windowed(serde.string())):
        partitioner = codec.inner_key_partitioner()
        for key in ("a", "b", "foobar"):
            assert partitioner("t", Windowed(key, TimeWindow(0, 5)), None, 7) == default_partition(key.encode(), 7)
