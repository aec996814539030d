"""Records of one partition column by column: the form in which a whole batch goes through an operator at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TypeAlias

from headrace.records import NO_HEADERS, Headers

RawRow: TypeAlias = tuple[str, int, int, int, "bytes | None", "bytes | None", Headers]
"""``(topic, partition, offset, timestamp, key, value, headers)``."""


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """Records in offset order. Without headers, which is the rule, there is no column of headers."""

    topic: str
    partition: int
    offsets: Sequence[int]
    timestamps: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    """The list of keys itself where each value is the key once more."""
    headers: list[Headers] | None = None

    @classmethod
    def of(cls, rows: Iterable[RawRow]) -> RecordColumns | None:
        """The rows of one partition as columns; None where there are none.

        >>> RecordColumns.of([("t", 0, 7, 10, b"k", b"v", NO_HEADERS)]).keys
        [b'k']
        """
        topics, partitions, offsets, timestamps, keys, values, headers = tuple(zip(*rows, strict=True)) or ((),) * 7
        if not topics:
            return None
        found = list(headers) if any(headers) else None
        return cls(topics[0], partitions[0], offsets, list(timestamps), list(keys), list(values), found)

    def __len__(self) -> int:
        return len(self.timestamps)

    def __getitem__(self, part: slice) -> RecordColumns:
        """A part of the records."""
        keys = self.keys[part]
        values = keys if self.values is self.keys else self.values[part]
        headers = None if self.headers is None else self.headers[part]
        columns = self.offsets[part], self.timestamps[part], keys, values
        return RecordColumns(self.topic, self.partition, *columns, headers)

    def rows(self) -> Iterator[RawRow]:
        """One by one."""
        headers = repeat(NO_HEADERS, len(self)) if self.headers is None else self.headers
        columns = self.offsets, self.timestamps, self.keys, self.values, headers
        return zip(repeat(self.topic, len(self)), repeat(self.partition, len(self)), *columns, strict=True)

    def row(self, index: int) -> RawRow:
        """One of them."""
        headers = NO_HEADERS if self.headers is None else self.headers[index]
        return (
            self.topic,
            self.partition,
            self.offsets[index],
            self.timestamps[index],
            self.keys[index],
            self.values[index],
            headers,
        )
