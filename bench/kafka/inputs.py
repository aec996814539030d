"""What is put into the input topics, and what every program has to make of it."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias
from zlib import crc32

from bench.kafka.programs import GAP, WINDOW

PARTITIONS = 4
RECORDS = 1_000_000
TABLE_ROWS = 100_000
_WORDS, _WORDS_PER_LINE = 5_000, 5

Line: TypeAlias = "tuple[bytes | None, bytes, int]"
"""Key, value and timestamp."""
Latest: TypeAlias = dict[bytes, int]
"""The last number of each key; keys that were removed are not in it."""


@dataclass(frozen=True)
class Total:
    """How many records there are, and a checksum of all of them that does not depend on their order."""

    records: int
    checksum: int


@dataclass(frozen=True)
class Input:
    """Records that are the same for whoever asks again, a millisecond apart; the last one is of now."""

    name: str
    make: Callable[[int], Iterator[tuple[bytes | None, bytes]]]
    count: int
    start_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000 - RECORDS)

    def records(self) -> Iterator[Line]:
        """All records."""
        return ((key, value, self.start_ms + number) for number, (key, value) in enumerate(self.make(self.count)))


def lines(count: int) -> Iterator[tuple[bytes | None, bytes]]:
    """Lines of five words."""
    chance = random.Random(1)
    words = [f"word{number}" for number in range(_WORDS)]
    return ((None, " ".join(chance.choices(words, k=_WORDS_PER_LINE)).encode()) for _ in range(count))


def keyed(keys: int, count: int) -> Iterator[tuple[bytes | None, bytes]]:
    """Small numbers over many keys."""
    chance = random.Random(2)
    return ((b"key-%d" % (chance.random() * keys), b"%d" % (number % 1000)) for number in range(count))


def table_rows(count: int) -> Iterator[tuple[bytes | None, bytes]]:
    """One row for each key."""
    return ((b"key-%d" % number, b"row %d" % number) for number in range(count))


@dataclass(frozen=True)
class Row:
    """One row of the table that is printed."""

    name: str
    program: str
    input: Input
    aim: float
    """How many times as fast as Kafka Streams, under exactly_once_v2."""
    expected: Callable[[], Latest | Total]
    table: Input | None = None
    processed_each: int = 1
    """How many records Kafka Streams processes for one of the input: those of repartition topics count, too."""

    @property
    def processed(self) -> int:
        """How many records Kafka Streams processes."""
        return self.input.count * self.processed_each + (0 if self.table is None else self.table.count)

    @property
    def inputs(self) -> list[Input]:
        """What the program reads."""
        return [self.input] if self.table is None else [self.table, self.input]


def rows(scale: float) -> dict[str, Row]:
    """All rows by the names that ``--only`` takes."""
    count = _size(RECORDS, scale)
    text = Input("lines", lines, count)
    some = Input("keyed-10k", partial(keyed, 10_000), count)
    keys = _size(500_000, scale)
    many = Input("keyed-500k", partial(keyed, keys), count)
    table_size = _size(TABLE_ROWS, scale)
    table = Input("table", table_rows, table_size, some.start_ms - TABLE_ROWS)
    # One key in eleven has no row.
    orders = Input("orders", partial(keyed, table_size * 11 // 10), count)
    found = [
        Row("word count", "word-count", text, 3, partial(words_in, text), processed_each=1 + _WORDS_PER_LINE),
        Row("count, 10,000 keys", "count", some, 3, partial(counts_in, some)),
        Row(f"count, {keys:,} keys", "count", many, 1, partial(counts_in, many)),
        Row("windowed count", "windowed", some, 1, partial(windows_in, some)),
        Row("session count", "session", some, 1, partial(sessions_in, some)),
        Row("aggregate", "aggregate", some, 1, partial(sums_in, some)),
        Row("stream-table join", "join", orders, 1, partial(joined_in, orders, table_size), table),
        Row("filter, map", "filter-map", some, 1, partial(mapped_in, some)),
    ]
    names = ("words", "count-10k", "count-500k", "windowed", "session", "aggregate", "join", "filter")
    return dict(zip(names, found, strict=True))


def _size(count: int, scale: float) -> int:
    return max(1000, int(count * scale))


def words_in(text: Input) -> Latest:
    """How often each word is there."""
    return dict(Counter(word for _, value, _ in text.records() for word in value.split(b" ")))


def counts_in(input: Input) -> Latest:
    """How many records each key has."""
    return dict(Counter(key for key, _, _ in input.records() if key is not None))


def sums_in(input: Input) -> Latest:
    """The sum of the values of each key."""
    sums: Latest = {}
    for key, value, _ in input.records():
        assert key is not None
        sums[key] = sums.get(key, 0) + int(value)
    return sums


def windows_in(input: Input) -> Latest:
    """How many records each key has in each minute."""
    size = int(WINDOW.total_seconds() * 1000)
    return dict(Counter(b"%b@%d" % (key or b"", at - at % size) for key, _, at in input.records()))


def sessions_in(input: Input) -> Latest:
    """How many records each session of each key has. They come in the order of time."""
    gap = int(GAP.total_seconds() * 1000)
    under_way: dict[bytes, list[int]] = {}
    ended: Latest = {}
    for key, _, at in input.records():
        assert key is not None
        session = under_way.get(key)
        if session is not None and at - session[1] <= gap:
            session[1] = at
            session[2] += 1
            continue
        if session is not None:
            ended[b"%b@%d-%d" % (key, session[0], session[1])] = session[2]
        under_way[key] = [at, at, 1]
    return ended | {b"%b@%d-%d" % (key, start, end): count for key, (start, end, count) in under_way.items()}


def joined_in(orders: Input, table_size: int) -> Total:
    """What a join writes."""

    def results() -> Iterator[tuple[bytes, bytes]]:
        for key, value, _ in orders.records():
            assert key is not None
            number = int(key[4:])
            if number < table_size:
                yield key, b"%b|row %d" % (value, number)

    return total(results())


def mapped_in(input: Input) -> Total:
    """What the filter lets through, mapped."""
    even = ((key, b"value " + value) for key, value, _ in input.records() if key is not None and int(value) % 2 == 0)
    return total(even)


def total(results: Iterator[tuple[bytes, bytes]]) -> Total:
    """Of keys and values."""
    records = checksum = 0
    for key, value in results:
        records += 1
        checksum += crc32(value, crc32(key))
    return Total(records, checksum)
