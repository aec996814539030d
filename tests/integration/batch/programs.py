"""Programs that the engine's tests run, and what they need around them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headrace import JoinWindows, StreamsBuilder, Topology, serdes
from headrace.broker import open_broker
from headrace.broker.port import Broker, NewRecord


def word_count() -> Topology:
    """Count words; two levels."""
    builder = StreamsBuilder()
    words = builder.stream("lines").flat_map_values(str.split).group_by(lambda key, word: word)
    words.count("word-counts").to_stream().to("counts", value_serde=serdes.long())
    return builder.build()


def foreign_key() -> Topology:
    """Orders with the names of their customers; the left side is visited twice in a batch."""
    builder = StreamsBuilder()
    orders, customers = builder.table("orders", store="orders"), builder.table("customers", store="customers")
    orders.join(
        customers, lambda order, name: f"{order} by {name}", foreign_key=lambda order: order.split(":")[0]
    ).to_stream().to("named")
    return builder.build()


def enriched() -> Topology:
    """A global table and a join of two streams."""
    builder = StreamsBuilder()
    regions = builder.global_table("regions")
    left = builder.stream("left").join(regions, lambda key, value: value, lambda value, region: f"{value}@{region}")
    left.outer_join(builder.stream("right"), lambda a, b: f"{a}+{b}", JoinWindows(10, grace=0)).to("joined")
    return builder.build()


def open_at(directory: Path) -> Broker:
    """The broker of a test; nobody pulls the plug here."""
    return open_broker(f"embedded:{directory / 'broker'}", fsync="never")


def settings(directory: Path, **more: Any) -> dict[str, Any]:
    """Settings of the application ``app``."""
    return {"application.id": "app", "state.dir": str(directory / "state"), **more}


def append(broker: Broker, topic: str, pairs: Iterable[tuple[str | None, str | None]], timestamp: int = 0) -> None:
    """Append texts, a millisecond apart."""
    broker.append(
        NewRecord(
            topic, None if key is None else key.encode(), None if value is None else value.encode(), timestamp + n
        )
        for n, (key, value) in enumerate(pairs)
    )


def read(broker: Broker, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """Keys and values of all records, partition by partition."""
    return [
        (key, value)
        for partition in range(broker.topics()[topic])
        for records in broker.read(topic, partition, 0)
        for _, _, _, _, key, value, _ in records
    ]


def final_counts(broker: Broker) -> dict[str, int]:
    """The last count of each word."""
    return {key.decode(): int.from_bytes(value, "big") for key, value in read(broker, "counts") if key and value}
