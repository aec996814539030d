"""The programs in Headrace, as ``Bench.java`` has them for Kafka Streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta

from headrace import SessionWindows, StreamsBuilder, TimeWindows, Topology, serdes

WINDOW = timedelta(minutes=1)
GAP = timedelta(seconds=5)


def word_count(input: str, output: str) -> Topology:
    """Lines in, counts per word out."""
    builder = StreamsBuilder()
    words = builder.stream(input).flat_map_values(lambda line: line.split(" "))
    words.group_by(lambda _, word: word).count(store="counts").to_stream().to(output, value_serde=serdes.long())
    return builder.build()


def count(input: str, output: str) -> Topology:
    """Counts per key."""
    builder = StreamsBuilder()
    builder.stream(input).group_by_key().count(store="counts").to_stream().to(output, value_serde=serdes.long())
    return builder.build()


def windowed(input: str, output: str) -> Topology:
    """Counts per key and minute."""
    builder = StreamsBuilder()
    counts = builder.stream(input).group_by_key().windowed_by(TimeWindows(WINDOW)).count(store="counts")
    named = counts.to_stream(lambda window, _: f"{window.key}@{window.start}")
    named.to(output, key_serde=serdes.string(), value_serde=serdes.long())
    return builder.build()


def session(input: str, output: str) -> Topology:
    """Counts per key and session."""
    builder = StreamsBuilder()
    counts = builder.stream(input).group_by_key().windowed_by(SessionWindows(GAP)).count(store="counts")
    named = counts.to_stream(lambda session, _: f"{session.key}@{session.start}-{session.end}")
    named.to(output, key_serde=serdes.string(), value_serde=serdes.long())
    return builder.build()


def aggregate(input: str, output: str) -> Topology:
    """Sums per key, by functions of the program's."""
    builder = StreamsBuilder()
    grouped = builder.stream(input).group_by_key()
    sums = grouped.aggregate(
        lambda: 0, lambda key, value, so_far: so_far + int(value), store="sums", value_serde=serdes.long()
    )
    sums.to_stream().to(output, value_serde=serdes.long())
    return builder.build()


def join(input: str, output: str, table: str) -> Topology:
    """Each record with the row of its key."""
    builder = StreamsBuilder()
    rows = builder.table(table, store="table")
    builder.stream(input).join(rows, lambda value, row: f"{value}|{row}").to(output)
    return builder.build()


def filter_map(input: str, output: str) -> Topology:
    """Every second record, with another value."""
    builder = StreamsBuilder()
    even = builder.stream(input).filter(lambda key, value: int(value) % 2 == 0)
    even.map(lambda key, value: (key, f"value {value}")).to(output)
    return builder.build()


def passed(input: str, output: str) -> Topology:
    """Everything as it came."""
    builder = StreamsBuilder()
    builder.stream(input).filter(lambda key, value: True).to(output)
    return builder.build()


PROGRAMS: Mapping[str, Callable[..., Topology]] = {
    "word-count": word_count,
    "count": count,
    "windowed": windowed,
    "session": session,
    "aggregate": aggregate,
    "join": join,
    "filter-map": filter_map,
    "pass": passed,
}
