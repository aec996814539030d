"""Records of one partition column by column: the form in which a whole batch goes through an operator at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

from headrace.records import NO_HEADERS, Headers, RawRecord

_by_index = itemgetter(1)


class Tally(NamedTuple):
    """The records of one key among others."""

    records: int
    latest_ms: int
    """The latest of their timestamps."""
    last: int
    """Where the last of them is, and what it has."""
    last_ms: int
    last_value: bytes


class Columns(Protocol):
    """Records in offset order."""

    @property
    def topic(self) -> str: ...

    @property
    def partition(self) -> int: ...

    @property
    def offsets(self) -> Sequence[int]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice) -> Columns: ...

    def rows(self) -> Iterator[RawRecord]: ...

    def row(self, index: int) -> RawRecord: ...

    @property
    def is_plain(self) -> bool:
        """Whether each has a key, a value and a time, and none has headers."""

    @property
    def each_value(self) -> Collection[bytes | None]:
        """The values that occur; some may be listed more than once."""

    def tallies(self) -> Mapping[bytes, Tally]:
        """The keys of plain records with their counts, in the order of each key's last record."""

    @property
    def content_bytes(self) -> int:
        """The size of all keys and values of plain records."""

    @property
    def latest_ms(self) -> int:
        """The latest of all timestamps."""


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """Columns as lists. Without headers, which is the rule, there is no column of headers."""

    topic: str
    partition: int
    offsets: Sequence[int]
    timestamps: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    headers: list[Headers] | None = None

    @classmethod
    def of(cls, rows: Iterable[RawRecord]) -> RecordColumns | None:
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
        headers = None if self.headers is None else self.headers[part]
        columns = self.offsets[part], self.timestamps[part], self.keys[part], self.values[part]
        return RecordColumns(self.topic, self.partition, *columns, headers)

    def rows(self) -> Iterator[RawRecord]:
        headers = repeat(NO_HEADERS, len(self)) if self.headers is None else self.headers
        columns = self.offsets, self.timestamps, self.keys, self.values, headers
        return zip(repeat(self.topic, len(self)), repeat(self.partition, len(self)), *columns, strict=True)

    def row(self, index: int) -> RawRecord:
        headers = NO_HEADERS if self.headers is None else self.headers[index]
        record = self.offsets[index], self.timestamps[index], self.keys[index], self.values[index]
        return (self.topic, self.partition, *record, headers)

    @property
    def is_plain(self) -> bool:
        return (
            self.headers is None
            and None not in self.keys
            and None not in self.values
            and min(self.timestamps, default=0) >= 0
        )

    @property
    def each_value(self) -> Collection[bytes | None]:
        return self.values

    def tallies(self) -> Mapping[bytes, Tally]:
        """The keys of plain records with their counts, in the order of each key's last record.

        >>> columns = RecordColumns("t", 0, range(3), [5, 2, 3], [b"a", b"b", b"a"], [b"1", b"2", b"3"])
        >>> columns.tallies()[b"a"]
        Tally(records=2, latest_ms=5, last=2, last_ms=3, last_value=b'3')
        """
        last: Any = dict(zip(self.keys, range(len(self)), strict=True))
        counts, latest = Counter(self.keys), self._latest_times(last)
        timestamps, values = self.timestamps, self.values
        return {
            key: Tally(counts[key], latest[key], at, timestamps[at], values[at])
            for key, at in sorted(last.items(), key=_by_index)
        }

    @property
    def content_bytes(self) -> int:
        return sum(map(len, self.keys)) + sum(map(len, self.values))  # type: ignore[arg-type]

    @property
    def latest_ms(self) -> int:
        return max(self.timestamps)

    def _latest_times(self, last: Mapping[bytes, int]) -> Mapping[bytes, int]:
        timestamps = self.timestamps
        if timestamps == sorted(timestamps):
            return {key: timestamps[at] for key, at in last.items()}
        latest = dict.fromkeys(last, -1)
        keys: Any = self.keys
        for key, timestamp in zip(keys, timestamps, strict=True):
            if timestamp > latest[key]:
                latest[key] = timestamp
        return latest
