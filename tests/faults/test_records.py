"""Rows P1 and H1: records that cannot be processed, and records of any size. Good records never notice."""

from __future__ import annotations

import json
import random
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace import Headers, StreamsBuilder, Topology, serdes
from headrace.batch.local import LocalEngine
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import NewRecord
from headrace.errors import RecordTooLargeError
from tests.faults.scene import START_MS, Scene
from tests.faults.verdict import Model, check, read

MEGABYTE = 1 << 20
GOING_ON = {
    "deserialization.exception.handler": "log_and_continue",
    "processing.exception.handler": "log_and_continue",
    "production.exception.handler": "continue",
    "errors.dead.letter.queue.topic.name": "dead",
}


def sums() -> Topology:
    """Adds up numbers per key; one of them cannot be divided by, and one grows too large."""
    builder = StreamsBuilder()
    orders = builder.stream("orders", key_serde=serdes.integer(), value_serde=serdes.json())
    orders.map_values(lambda order: {**order, "share": 100 // order["parts"]}).map_values(
        lambda order: "x" * 3 * MEGABYTE if order["id"] % 100 == 4 else str(order["id"])
    ).to("shares", key_serde=serdes.integer(), value_serde=serdes.string())
    parts = orders.map_values(lambda order: order["parts"])
    numbers = parts.group_by_key(key_serde=serdes.integer(), value_serde=serdes.json())
    numbers.reduce(lambda total, parts: total + parts, store="totals")
    return builder.build()


def orders(count: int) -> tuple[list[NewRecord], dict[str, list[int]]]:
    """One in a hundred of each: no number as key, no JSON as value, no key, a zero, too large to produce."""
    kinds: dict[str, list[int]] = {}
    records = []
    for number in range(count):
        kind = {0: "bad key", 1: "bad value", 2: "no key", 3: "raises", 4: "too large"}.get(number % 100, "good")
        kinds.setdefault(kind, []).append(number)
        key: bytes | None = (number % 7).to_bytes(4, "big")
        value = json.dumps({"id": number, "parts": 0 if kind == "raises" else 1 + number % 5}).encode()
        if kind == "bad key":
            key = b"too long"
        elif kind == "bad value":
            value = b"{no json"
        elif kind == "no key":
            key = None
        records.append(NewRecord("orders", key, value, START_MS + number))
    return records, kinds


def test_poison_is_counted_exactly_and_good_records_are_unaffected(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    records, kinds = orders(1000)
    with closing(scene.broker()) as broker:
        broker.create_topic("orders", 2)
        broker.append(records)
        broker.create_topic("dead")
        with LocalEngine(sums(), scene.settings(**GOING_ON), broker) as engine:
            engine.run_until_idle()
            dropped = dict(engine.dropped_records)
        letters = list(read(broker, "dead"))
        shared = [(record.key, str(number).encode()) for number, record in enumerate(records) if is_shared(number)]
        assert sorted(read(broker, "shares"), key=str) == sorted(shared, key=str)
    unreadable = len(kinds["bad key"]) + len(kinds["bad value"])
    assert dropped == {
        "the record could not be deserialized": unreadable,
        "processing failed": len(kinds["raises"]),
        "the record could not be produced": len(kinds["too large"]),
        "null key or value": len(kinds["no key"]),
    }
    # What has no key is dropped by the aggregation alone, without a letter: it is no error.
    assert len(letters) == sum(dropped.values()) - len(kinds["no key"])
    totals: dict[bytes, int] = {}
    for number, record in enumerate(records):
        if number % 100 not in (0, 1, 2) and record.key is not None and record.value is not None:
            totals[record.key] = totals.get(record.key, 0) + json.loads(record.value)["parts"]
    content = {key: str(total).encode() for key, total in totals.items()}
    # Each order is in the totals, or had no key, or could not be read; and it was shared, or is a dead letter.
    lost = unreadable + dropped["null key or value"]
    model = Model({"orders": len(records)}, stores={"totals": content}, processed=len(records) - lost, dropped=lost)
    check(scene.broker_dir, "tally", model, state_dir=scene.state_dir)
    assert len(records) == len(shared) + len(letters)


def is_shared(number: int) -> bool:
    return number % 100 not in (0, 1, 3, 4)


@pytest.mark.parametrize("size", [MEGABYTE, 10 * MEGABYTE, 100 * MEGABYTE])
def test_a_value_above_the_limit_is_refused_and_leaves_nothing_behind(tmp_path: Path, size: int) -> None:
    with closing(EmbeddedBroker(tmp_path, fsync=False)) as broker:
        broker.create_topic("large")
        message = r"a record of [\d,]+ bytes is too large for topic large\n  hint: max.message.bytes .* raise it"
        with pytest.raises(RecordTooLargeError, match=message):
            broker.append([NewRecord("large", b"k", bytes(100)), NewRecord("large", b"k", bytes(size + 100))])
        assert broker.end_offsets([("large", 0)]) == {("large", 0): 0}
        assert list(broker._disk.files()) == []


@pytest.mark.parametrize(
    "record",
    [
        NewRecord("large", b"k" * MEGABYTE, b"v"),
        NewRecord("large", b"k", bytes(10 * MEGABYTE)),
        NewRecord("large", b"k", b"v", headers=Headers([(f"h{n}", b"v" * 50) for n in range(10_000)])),
    ],
    ids=["key", "value", "headers"],
)
def test_a_large_record_goes_through_where_the_topic_allows_it(tmp_path: Path, record: NewRecord) -> None:
    scene = Scene(tmp_path)
    builder = StreamsBuilder()
    builder.stream("large", key_serde=serdes.bytes(), value_serde=serdes.bytes()).to("echo")
    with closing(scene.broker()) as broker:
        for topic in ("large", "echo"):
            broker.create_topic(topic, config={"max.message.bytes": 12 * MEGABYTE})
        broker.append([record, record])
        settings = scene.settings(**{"default.key.serde": serdes.bytes(), "default.value.serde": serdes.bytes()})
        with LocalEngine(builder.build(), settings, broker) as engine:
            engine.run_until_idle()
        (found,) = [each for records in broker.read("echo", 0, 1) for each in records]
        assert (found[4], found[5], found[6]) == (record.key, record.value, record.headers)


def test_a_batch_larger_than_the_memory_it_may_take_streams_through(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    builder = StreamsBuilder()
    builder.stream("large", key_serde=serdes.bytes(), value_serde=serdes.bytes()).filter(
        lambda key, value: key == b"k0"
    ).to("echo")
    with closing(scene.broker()) as broker:
        broker.create_topic("large")
        value = random.Random(1).randbytes(20_000)
        for start in range(0, 4000, 500):
            broker.append(
                NewRecord("large", f"k{n % 100}".encode(), value, START_MS + n) for n in range(start, start + 500)
            )
        settings = scene.settings(**{"default.key.serde": serdes.bytes(), "default.value.serde": serdes.bytes()})
        with LocalEngine(builder.build(), settings, broker) as engine:
            peak = _peak_of(engine)
        assert len(list(read(broker, "echo"))) == 40
    assert peak < 30 * MEGABYTE, f"80 MB of input took {peak:,} bytes"


def _peak_of(engine: Any) -> int:
    tracemalloc.start()
    try:
        assert engine.run_until_idle() == 1
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
