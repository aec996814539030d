"""Records with text as keys on their way to the partitions of a topic.

Each key is encoded and placed once; after that it is a number. Records are sorted by partition when there are many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from headrace.batch import payloads
from headrace.batch.payloads import Payload
from headrace.metrics.topic_count import TopicCount
from headrace.partitioning import default_partition
from headrace.records import NO_HEADERS

_MAX_KEYS = 1 << 16
_MAX_RECORDS = 1 << 18
_MAX_BYTES = 8 << 20
"""How much is held before it is sorted."""
_FEW_RECORDS = 256
"""Fewer are not worth sorting."""
_FIRST_RECORDS = 64
"""How many records the first chunk has, while their size is not known."""

_Values: TypeAlias = Sequence["bytes | None"]


class KeyCodes(dict[str, int]):
    """A number for each key. A key that is not text, or cannot be written as UTF-8, is an error.

    >>> codes = KeyCodes(partitions=2)
    >>> codes["a"], codes["b"], codes["a"], codes.raw
    (0, 1, 0, [b'a', b'b'])
    """

    def __init__(self, partitions: int) -> None:
        super().__init__()
        self._partitions = partitions
        self.raw: list[bytes] = []
        """The bytes of each key."""
        self.places: list[int] = []
        """The partition of each key."""

    def __missing__(self, key: str) -> int:
        raw = key.encode()
        code = self[key] = len(self.raw)
        self.raw.append(raw)
        self.places.append(default_partition(raw, self._partitions))
        return code

    def forget(self) -> None:
        """Begin anew."""
        self.clear()
        self.raw.clear()
        self.places.clear()


class CodedRecords:
    """Takes records for a topic; see ``headrace.task.column_writer.TextRecords``."""

    def __init__(self, partitions: int, payload_of: Callable[[int], Payload], count: TopicCount) -> None:
        """``count`` is told of the records when they are sealed."""
        self.code_of = KeyCodes(partitions)
        self.codes: list[int] = []
        self.timestamps: list[int] = []
        self.limit = _FIRST_RECORDS
        # May be shorter than the other columns: where a value is missing, it equals the key.
        self._values: list[bytes | None] = []
        self._payload_of = payload_of
        self._count = count

    def add_value(self, value: bytes | None) -> None:
        """Take the value of the record whose key is added next. Not needed where the value equals the key."""
        if len(self._values) < len(self.codes):
            self._fill_values()
        self._values.append(value)

    def seal(self) -> None:
        """Hand over to the payloads what was taken so far."""
        count = len(self.timestamps)
        if not count:
            return
        if self._values:
            self._fill_values()
        if count < _FEW_RECORDS:
            size = self._add_each(self.timestamps, self.codes, self._values or None)
        else:
            size = self._add_sorted()
        size += sum(len(value or b"") for value in self._values) if self._values else size
        self._count.records += count
        self._count.content_bytes += size
        self.limit = max(1, min(_MAX_RECORDS, _MAX_BYTES * count // (size or 1)))
        for column in (self.codes, self.timestamps, self._values):
            column.clear()
        if len(self.code_of) > _MAX_KEYS:
            self.code_of.forget()

    def _add_sorted(self) -> int:
        """Hand everything over, partition by partition; the size of the keys."""
        codes, timestamps = pa.array(self.codes, pa.int32()), pa.array(self.timestamps, pa.int64())
        places = pa.array(self.code_of.places, pa.int32()).take(codes)
        order = pc.sort_indices(places)
        codes, timestamps = codes.take(order), timestamps.take(order)
        values = list(map(self._values.__getitem__, order.to_pylist())) if self._values else None
        start = 0
        for place, count in sorted(tuple(each.values()) for each in pc.value_counts(places).to_pylist()):
            part = slice(start, start + count)
            self._add_repeated(self._payload_of(place), timestamps[part], codes[part], values and values[part])
            start += count
        size: int = pc.sum(pa.array(map(len, self.code_of.raw), pa.int64()).take(codes)).as_py()
        return size

    def _add_repeated(self, payload: Payload, timestamps: pa.Array, codes: pa.Array, values: _Values | None) -> None:
        """The records of one partition: with keys as numbers where most of them come more than once."""
        coded, count = codes.dictionary_encode(), len(codes)
        if len(coded.dictionary) * 2 > count:
            self._add_each(timestamps.to_pylist(), codes.to_pylist(), values)
            return
        distinct = list(map(self.code_of.raw.__getitem__, coded.dictionary.to_pylist()))
        chunk = payloads.coded_chunk(timestamps, coded.indices, distinct, values)
        if len(chunk) <= payloads.CHUNK_BYTES:
            payload.add_chunk(chunk)
            return
        for part in (slice(count // 2), slice(count // 2, None)):
            self._add_repeated(payload, timestamps[part], codes[part], values and values[part])

    def _add_each(self, timestamps: list[int], codes: list[int], values: _Values | None) -> int:
        """Hand records over one by one; the size of their keys."""
        raw, places, payload_of = self.code_of.raw, self.code_of.places, self._payload_of
        keys = list(map(raw.__getitem__, codes))
        for timestamp, code, key, value in zip(timestamps, codes, keys, values or keys, strict=True):
            payload_of(places[code]).add(timestamp, key, value, NO_HEADERS)
        return sum(map(len, keys))

    def _fill_values(self) -> None:
        self._values += map(self.code_of.raw.__getitem__, self.codes[len(self._values) :])
