"""The programs of the simulation, each with a model: what plain Python makes of the same input.

An input value is the number of the record, eight bytes, so that every record can be told from all others. Every program
says what its output must be, which records were dropped for which reason, and the law of conservation: how many
input records its output stands for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from headrace import JoinWindows, StreamsBuilder, TimeWindows, Topology, serdes, stores
from headrace.broker.port import NewRecord

NOT_READ = "the record could not be deserialized"
FAILED = "processing failed"

Key = bytes | None
Output = dict[Key, list[bytes | None]]
"""The values of a topic by key, in order."""

Input = Mapping[tuple[str, int], Sequence[NewRecord]]
"""What was produced, by partition, in order."""


@dataclass
class Expected:
    """What must come out."""

    output: Output
    accounted: int = 0
    """How many input records the output stands for, those included that a filter takes out."""
    dropped: Counter[str] = field(default_factory=Counter)
    changelogs: dict[str, dict[bytes, bytes]] = field(default_factory=dict)
    """The entries of each store that the changelog must add up to; those not named here are not compared."""
    may_stay: dict[bytes | None, set[bytes]] = field(default_factory=dict)
    """Of keys that should have no value in the end: values that may be left of them, as in Kafka Streams."""


@dataclass(frozen=True)
class Program:
    """A topology, the topics it reads, what they are fed, and the model."""

    name: str
    topics: tuple[str, ...]
    build: Callable[[bool], Topology]
    """Told whether stores are in memory."""
    model: Callable[[Input], Expected]
    record: Callable[[Random, str, int, int], NewRecord]
    """Random generator, topic, number, time: the next record."""
    is_exact: bool = True
    """Whether the order of output per key is exact; if not, only the last value of each key, or the multiset, is."""
    final_only: bool = False


def number_of(value: bytes | None) -> int:
    return int.from_bytes(value or b"", "big")


def packed(number: int) -> bytes:
    return number.to_bytes(8, "big")


def _key(random: Random, number: int) -> bytes:
    return b"k%d" % random.randrange(number)


def _numbered(random: Random, topic: str, number: int, time: int) -> NewRecord:
    """Mostly fine; some without a key, some that cannot be read."""
    key = None if random.random() < 0.1 else _key(random, 3)
    value = b"bad" if random.random() < 0.1 else packed(number)
    return NewRecord(topic, key, value, time)


def _records(given: Input) -> list[NewRecord]:
    return [record for records in given.values() for record in records]


def _is_bad(record: NewRecord) -> bool:
    return record.value is not None and len(record.value) != 8


def _readable(given: Input, expected: Expected) -> Iterator[NewRecord]:
    """The records that can be read; the others are noted as dropped."""
    for record in _records(given):
        if _is_bad(record):
            expected.dropped[NOT_READ] += 1
        else:
            yield record


def _keyed(given: Input, expected: Expected) -> Iterator[tuple[bytes, NewRecord]]:
    """Those of them that have a key, with it."""
    for record in _readable(given, expected):
        if record.key is None:
            expected.dropped["null key or value"] += 1
        else:
            yield record.key, record


def _count_keys(keys: Iterable[bytes], expected: Expected) -> None:
    """Every count goes out, and the last ones are in the store."""
    counts: Counter[bytes] = Counter()
    for key in keys:
        counts[key] += 1
        expected.output[key].append(packed(counts[key]))
    expected.accounted = counts.total()
    expected.changelogs["counts"] = {key: packed(count) for key, count in counts.items()}


# Stateless


def _cursed(number: int) -> int:
    if number % 7 == 3:
        message = f"{number} is cursed"
        raise ValueError(message)
    return number


def _stateless(_: bool) -> Topology:
    builder = StreamsBuilder()
    numbers = builder.stream("in", value_serde=serdes.long()).map_values(_cursed)
    numbers.filter(lambda _, number: number % 5 != 0).to("out", value_serde=serdes.long())
    return builder.build()


def _stateless_model(given: Input) -> Expected:
    expected = Expected(defaultdict(list))
    for record in _readable(given, expected):
        number = number_of(record.value)
        if number % 7 == 3:
            expected.dropped[FAILED] += 1
        else:
            expected.accounted += 1
            if number % 5 != 0:
                expected.output[record.key].append(record.value)
    return expected


# Count per key


def _count(in_memory: bool) -> Topology:
    builder = StreamsBuilder()
    grouped = builder.stream("in", value_serde=serdes.long()).group_by_key()
    counts = grouped.count(stores.in_memory("counts") if in_memory else "counts")
    counts.to_stream().to("out", value_serde=serdes.long())
    return builder.build()


def _count_model(given: Input) -> Expected:
    expected = Expected(defaultdict(list))
    _count_keys((key for key, _ in _keyed(given, expected)), expected)
    return expected


# Count per key and window

_SIZE_MS, _GRACE_MS = 1_000, 500
RETENTION_MS = _SIZE_MS + _GRACE_MS
"""How long the store keeps windows at least."""


def _windowed(in_memory: bool) -> Topology:
    builder = StreamsBuilder()
    windows = TimeWindows(_SIZE_MS, grace=_GRACE_MS)
    store: Any = stores.in_memory_window("windows", 10_000, _SIZE_MS) if in_memory else "windows"
    counts = builder.stream("in", value_serde=serdes.long()).group_by_key().windowed_by(windows).count(store)
    counts.to_stream().select_key(lambda key, _: f"{key.key}@{key.window.start}").to("out", value_serde=serdes.long())
    return builder.build()


def _windowed_model(given: Input) -> Expected:
    expected = Expected(defaultdict(list))
    for records in given.values():
        stream_time = 0
        for record in records:
            assert record.timestamp is not None
            if _is_bad(record):
                expected.dropped[NOT_READ] += 1
                continue
            if record.key is None:
                expected.dropped["null key"] += 1
                continue
            stream_time = max(stream_time, record.timestamp)
            start = record.timestamp // _SIZE_MS * _SIZE_MS
            if start + _SIZE_MS <= stream_time - _GRACE_MS:
                expected.dropped["expired window"] += 1
                continue
            values = expected.output[b"%s@%d" % (record.key, start)]
            values.append(packed(len(values) + 1))
    expected.accounted = sum(len(values) for values in expected.output.values())
    return expected


# Join of two streams

_JOIN_MS = 2_000


def _join(_: bool) -> Topology:
    builder = StreamsBuilder()
    left = builder.stream("left", value_serde=serdes.long())
    right = builder.stream("right", value_serde=serdes.long())
    windows = JoinWindows(_JOIN_MS, grace=10_000_000)
    joined = left.join(
        right, lambda a, b: f"{a}+{b}", windows, value_serde=serdes.long(), other_value_serde=serdes.long()
    )
    joined.to("out")
    return builder.build()


def _join_model(given: Input) -> Expected:
    expected = Expected(defaultdict(list))
    good: dict[str, list[NewRecord]] = {"left": [], "right": []}
    for _, record in _keyed(given, expected):
        good[record.topic].append(record)
    for left in good["left"]:
        for right in good["right"]:
            if left.key == right.key and abs((left.timestamp or 0) - (right.timestamp or 0)) <= _JOIN_MS:
                pair = f"{number_of(left.value)}+{number_of(right.value)}"
                expected.output[left.key].append(pair.encode())
    expected.accounted = len(good["left"]) + len(good["right"])
    return expected


# Two repartitions


def _regrouped(_: bool) -> Topology:
    builder = StreamsBuilder()
    numbers = builder.stream("in", value_serde=serdes.long()).select_key(lambda _, number: f"a{number % 5}")
    once = numbers.repartition(value_serde=serdes.long(), name="once")
    grouped = once.group_by(lambda key, number: f"b{number % 3}", value_serde=serdes.long())
    grouped.count("counts").to_stream().to("out", value_serde=serdes.long())
    return builder.build()


def _regrouped_model(given: Input) -> Expected:
    expected = Expected(defaultdict(list))
    _count_keys((b"b%d" % (number_of(record.value) % 3) for record in _readable(given, expected)), expected)
    return expected


# Foreign-key join


def _foreign(_: bool) -> Topology:
    builder = StreamsBuilder()
    orders = builder.table("orders", store="orders")
    customers = builder.table("customers", store="customers")
    named = orders.join(
        customers, lambda order, name: f"{order}|{name}", foreign_key=lambda order: order.partition(":")[0]
    )
    named.to_stream().to("out")
    return builder.build()


def _foreign_record(random: Random, topic: str, number: int, time: int) -> NewRecord:
    if random.random() < 0.1:
        return NewRecord(topic, None, b"c0:%d" % number, time)
    if topic == "customers":
        return NewRecord(topic, b"c%d" % random.randrange(2), b"name%d" % number, time)
    gone = random.random() < 0.15
    value = None if gone else b"c%d:%d" % (random.randrange(2), number)
    return NewRecord(topic, b"o%d" % random.randrange(3), value, time)


def _customer(order: bytes) -> bytes:
    return order.partition(b":")[0]


def _foreign_model(given: Input) -> Expected:
    """The join of the last rows.

    One thing is left behind, in Kafka Streams as well. An order that moves to a customer who is not there asks for an
    answer that takes its result back. One that changes and keeps its customer asks for an answer only if there is one:
    without, it had no result. If it comes before the other answer is back, that is of an old order, and not heard.
    """
    expected = Expected({})
    orders: defaultdict[bytes, list[bytes | None]] = defaultdict(list)
    tables: dict[str, dict[bytes, bytes | None]] = {"orders": {}, "customers": {}}
    for record in _records(given):
        if record.key is None:
            expected.dropped["null key"] += 1
        else:
            expected.accounted += 1
            tables[record.topic][record.key] = record.value
            if record.topic == "orders":
                orders[record.key].append(record.value)
    names = {record.value for record in _records(given) if record.topic == "customers" and record.value is not None}
    for key, history in orders.items():
        order, before = history[-1], history[-2] if len(history) > 1 else None
        name = None if order is None else tables["customers"].get(_customer(order))
        if order is not None and name is not None:
            expected.output[key] = [order + b"|" + name]
        elif order is not None and before is not None and _customer(before) == _customer(order):
            earlier = {each for each in history if each is not None and _customer(each) != _customer(order)}
            expected.may_stay[key] = {each + b"|" + name for each in earlier for name in names}
    for store, rows in tables.items():
        expected.changelogs[store] = {key: value for key, value in rows.items() if value is not None}
    return expected


PROGRAMS = (
    Program("stateless", ("in",), _stateless, _stateless_model, _numbered),
    Program("count", ("in",), _count, _count_model, _numbered),
    Program("windowed", ("in",), _windowed, _windowed_model, _numbered),
    Program("join", ("left", "right"), _join, _join_model, _numbered, is_exact=False),
    Program("regrouped", ("in",), _regrouped, _regrouped_model, _numbered),
    Program("foreign", ("orders", "customers"), _foreign, _foreign_model, _foreign_record, final_only=True),
)
