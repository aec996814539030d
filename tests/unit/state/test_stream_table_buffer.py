from __future__ import annotations

from pathlib import Path

import pytest

from headrace import serde as serdes
from headrace.records import Record, RecordContext
from headrace.state.buffers.stream_table import StreamTableBuffer, stream_table_buffer
from headrace.state.buffers.suppress import Eviction
from headrace.windows import MAX_TIMESTAMP
from tests.unit.state.fake_context import FakeContext


@pytest.fixture
def context(tmp_path: Path) -> FakeContext:
    return FakeContext(tmp_path)


def opened(context: FakeContext, grace_ms: int = 10) -> StreamTableBuffer:
    buffer = stream_table_buffer("J-Buffer", serdes.string(), serdes.string(), grace_ms=grace_ms).build()
    buffer.init(context)
    return buffer


def put(buffer: StreamTableBuffer, key: str, value: str, timestamp: int) -> bool:
    return buffer.put(timestamp, Record(key, value, timestamp), RecordContext(timestamp, 0, 0, "s"))


def evict(buffer: StreamTableBuffer) -> list[tuple[str, str, int]]:
    evicted: list[Eviction] = []
    buffer.evict_while(lambda: True, evicted.append)
    return [(eviction.key, eviction.value, eviction.record_context.timestamp) for eviction in evicted]


def test_records_leave_when_stream_time_has_passed_the_grace_period(context: FakeContext) -> None:
    buffer = opened(context)
    assert put(buffer, "B", "b1", 5)
    assert put(buffer, "A", "a1", 5)
    assert put(buffer, "A", "a2", 5)
    assert evict(buffer) == []

    put(buffer, "C", "c", 15)

    assert evict(buffer) == [("A", "a1", 5), ("A", "a2", 5), ("B", "b1", 5)]
    assert (buffer.num_records, buffer.min_timestamp) == (1, 6)


def test_a_record_older_than_the_grace_period_is_not_taken(context: FakeContext) -> None:
    buffer = opened(context)
    put(buffer, "A", "a", 20)

    assert not put(buffer, "A", "late", 9)
    assert put(buffer, "A", "just in time", 10)


def test_without_grace_records_leave_at_once(context: FakeContext) -> None:
    buffer = opened(context, grace_ms=0)
    put(buffer, "A", "a", 57)

    assert evict(buffer) == [("A", "a", 57)]
    assert (buffer.num_records, buffer.buffer_size, buffer.min_timestamp) == (0, 0, MAX_TIMESTAMP)


def test_puts_and_evictions_are_logged_with_kafkas_bytes(context: FakeContext) -> None:
    buffer = opened(context, grace_ms=0)
    put(buffer, "A", "h", 57)
    evict(buffer)

    key = bytes.fromhex("000000000000000039") + b"A" + bytes.fromhex("00000001")
    origin = bytes.fromhex("0000000000000039000000000000000000000001") + b"s" + bytes(8)
    values = b"\xff" * 8 + bytes.fromhex("00000001") + b"h"
    assert [record[:3] for record in context.changelog] == [(key, origin + values + bytes(8), None), (key, None, None)]


def test_the_changelog_restores_the_buffer(context: FakeContext, tmp_path: Path) -> None:
    buffer = opened(context)
    put(buffer, "A", "a", 1)
    put(buffer, "B", "b", 2)
    put(buffer, "C", "c", 11)
    evict(buffer)
    other = FakeContext(tmp_path / "other")
    restored = opened(other)

    for record in context.changelog:
        restored.restore(record.key, record.value, 0, record.headers)

    assert (restored.num_records, restored.buffer_size) == (buffer.num_records, buffer.buffer_size)
    put(restored, "D", "d", 12)
    assert evict(restored) == [("B", "b", 2)]
