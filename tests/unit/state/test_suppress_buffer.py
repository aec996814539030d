from __future__ import annotations

from base64 import b64decode
from pathlib import Path

import pytest

from headrace import serde as serdes
from headrace.records import Change, Headers, Record, RecordContext
from headrace.state.buffers.hash_order import HashOrderedSet
from headrace.state.buffers.suppress import Eviction, SuppressBuffer, suppress_buffer
from headrace.state.buffers.values import BufferValue
from headrace.windows import MAX_TIMESTAMP
from tests.unit.state.fake_context import FakeContext

ORIGIN = RecordContext(7, 0, 0, "in")


@pytest.fixture
def context(tmp_path: Path) -> FakeContext:
    return FakeContext(tmp_path)


@pytest.fixture
def buffer(context: FakeContext) -> SuppressBuffer:
    buffer = suppress_buffer("B", serdes.string(), serdes.long()).build()
    buffer.init(context)
    return buffer


def put(buffer: SuppressBuffer, time: int, key: str, new: int | None, old: int | None = None) -> None:
    buffer.put(time, Record(key, Change(new, old), 0), ORIGIN)


def evict(buffer: SuppressBuffer, until: int) -> list[Eviction]:
    evicted: list[Eviction] = []
    buffer.evict_while(lambda: buffer.min_timestamp <= until, evicted.append)
    return evicted


def test_records_leave_by_time_then_key(buffer: SuppressBuffer) -> None:
    put(buffer, 20, "b", 1)
    put(buffer, 10, "c", 2)
    put(buffer, 20, "a", 3)

    assert [eviction.key for eviction in evict(buffer, 20)] == ["c", "a", "b"]
    assert (buffer.num_records, buffer.buffer_size, buffer.min_timestamp) == (0, 0, MAX_TIMESTAMP)


def test_a_later_change_replaces_the_earlier_at_its_time(buffer: SuppressBuffer) -> None:
    put(buffer, 10, "k", 1, None)
    put(buffer, 15, "k", 2, 1)

    assert buffer.num_records == 1
    assert evict(buffer, 10) == [Eviction("k", Change(2, 1), ORIGIN)]


def test_the_prior_value_is_the_one_before_the_first_buffered_change(buffer: SuppressBuffer) -> None:
    assert buffer.prior_value_for_buffered("k") is None
    put(buffer, 10, "k", 6, 5)
    put(buffer, 10, "k", 7, 6)
    put(buffer, 10, "new", 1, None)

    prior = buffer.prior_value_for_buffered("k")
    absent = buffer.prior_value_for_buffered("new")

    assert prior is not None
    assert prior.row is not None
    assert prior.row.value == 5
    assert absent is not None
    assert absent.row is None


def test_the_size_counts_key_time_values_and_origin(buffer: SuppressBuffer) -> None:
    put(buffer, 10, "k", 6, 5)

    time_and_key, values, origin = 8 + 1, 8 + 8, 8 + 8 + 4 + len("in")
    # The old value is the prior one, which is counted once.
    assert buffer.buffer_size == time_and_key + values + origin


def test_a_flush_logs_each_changed_key_once_in_version_3(buffer: SuppressBuffer, context: FakeContext) -> None:
    put(buffer, 10, "k", 1, None)
    put(buffer, 10, "k", 2, 1)
    assert context.changelog == []

    buffer.flush()
    buffer.flush()
    evict(buffer, 10)
    buffer.flush()

    logged, tombstone = context.changelog
    assert logged == (b"k", logged.value, None, Headers([("v", b"\x03")]))
    assert tombstone[:3] == (b"k", None, None)
    assert tombstone.headers == []


def test_the_changelog_restores_the_buffer(buffer: SuppressBuffer, context: FakeContext, tmp_path: Path) -> None:
    put(buffer, 10, "k", 2, 1)
    put(buffer, 5, "gone", 2, 1)
    buffer.flush()
    evict(buffer, 5)
    buffer.flush()
    restored = suppress_buffer("B", serdes.string(), serdes.long()).build()
    other = FakeContext(tmp_path)
    restored.init(other)

    for record in context.changelog:
        restored.restore(record.key, record.value, 0, record.headers)

    assert (restored.num_records, restored.buffer_size, restored.min_timestamp) == (1, buffer.buffer_size, 10)
    assert evict(restored, 10) == [Eviction("k", Change(2, 1), ORIGIN)]


def test_without_logging_nothing_is_logged(context: FakeContext) -> None:
    buffer = suppress_buffer("B", serdes.string(), serdes.long()).with_logging_disabled().build()
    buffer.init(context)
    put(buffer, 1, "k", 1)
    buffer.flush()

    assert context.changelog == []


def test_buffer_values_have_kafkas_bytes() -> None:
    # From a changelog that Kafka Streams 4.3.0 wrote.
    logged = b64decode(
        "AAAAAAAAAAsAAAAAAAAAAQAAAAJpbgAAAAAAAAABAAAAAmgxAAAAAXgAAAAIAAAAAAAAAAD////+AAAACAAAAAAAAAABAAAAAAAAABQ="
    )
    zero, one = bytes(8), bytes(7) + b"\x01"

    value = BufferValue.parse(logged)

    assert value == BufferValue(zero, zero, one, RecordContext(11, 1, 0, "in", Headers([("h1", b"x")])))
    assert value.dump() == logged[:-8]


def test_dirty_keys_come_in_the_order_of_javas_hash_set() -> None:
    keys = HashOrderedSet()
    for key in (b"0", b"1", b"A"):
        keys.add(key)

    # Hashes 79, 80 and 96 fall into the buckets 15, 0 and 0 of 16.
    assert keys.in_order() == [b"1", b"A", b"0"]


def test_the_hash_table_stays_large_once_it_has_grown() -> None:
    keys = HashOrderedSet()
    for number in range(13):
        keys.add(bytes([number]))
    keys.clear()
    keys.add(b"0")
    keys.add(b"1")

    # Of 32 buckets: 79 falls into 15, 80 into 16.
    assert keys.in_order() == [b"0", b"1"]
