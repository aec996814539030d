"""Plain producers: which partition a record goes to, and how the repetition of an append is recognised."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Mapping

import msgspec

from headrace.broker.port import Appended, NewRecord, OffsetRange, TopicPartition
from headrace.errors import ArgumentError, IllegalStateError
from headrace.partitioning import default_partition

STICKY_BYTES = 16 * 1024
EXPIRATION_MS = 24 * 60 * 60 * 1000
_Ranges = list[tuple[str, int, int, int]]


class StickyPartitioner:
    """Kafka's default: murmur2 of the key; records without one fill a partition for a while, then the next one."""

    def __init__(self) -> None:
        self._current: dict[str, tuple[int, int]] = {}

    def __call__(self, record: NewRecord, partitions: int) -> int:
        if record.partition is not None:
            return record.partition
        if record.key is not None:
            return default_partition(record.key, partitions)
        partition, size = self._current.get(record.topic) or (random.randrange(partitions), 0)
        if size >= STICKY_BYTES:
            partition, size = partition + 1, 0
        self._current[record.topic] = partition, size + len(record.value or b"") + 16
        return partition % partitions


def check(producer_id: str | None, sequence: int | None) -> None:
    """Refuse one without the other."""
    if (producer_id is None) != (sequence is None):
        raise ArgumentError("a producer id and a sequence go together", hint="Give both, or none of them.")


def earlier_answer(connection: sqlite3.Connection, producer_id: str, sequence: int) -> Appended | None:
    """What the same append was answered before; an error where the sequence has a hole or goes back."""
    row = connection.execute("SELECT sequence, ranges FROM producers WHERE id = ?", (producer_id,)).fetchone()
    last = -1 if row is None else row[0]
    if row is not None and sequence == last:
        found = msgspec.msgpack.decode(row[1], type=_Ranges)
        return Appended({(topic, number): (first, end) for topic, number, first, end in found}, repeated=True)
    if sequence != last + 1 and row is not None:
        message = f"producer {producer_id} sent sequence {sequence} after {last}"
        raise IllegalStateError(message, hint="Append in order; begin again with a new producer id.")
    return None


def remember(
    connection: sqlite3.Connection,
    producer_id: str,
    sequence: int,
    ranges: Mapping[TopicPartition, OffsetRange],
    now_ms: int,
) -> None:
    insert = "INSERT OR REPLACE INTO producers (id, sequence, ranges, used_ms) VALUES (?, ?, ?, ?)"
    packed = msgspec.msgpack.encode([(*partition, *span) for partition, span in ranges.items()])
    connection.execute(insert, (producer_id, sequence, packed, now_ms))


def expire(connection: sqlite3.Connection, now_ms: int) -> None:
    """Forget producers that were silent for a day."""
    connection.execute("DELETE FROM producers WHERE used_ms < ?", (now_ms - EXPIRATION_MS,))
