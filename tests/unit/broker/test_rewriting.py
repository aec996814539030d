"""Merging: small neighbours become large segments, and nobody notices."""

from __future__ import annotations

import pytest

from headrace.broker import log, rewriting
from headrace.broker.embedded import EmbeddedBroker
from tests.unit.broker.scene import BIG, FakeClock, entries, files, put


@pytest.fixture(autouse=True)
def _clicks(broker: EmbeddedBroker) -> None:
    broker.create_topic("clicks", config={"retention.ms": -1})


def segments(broker: EmbeddedBroker) -> int:
    return broker.describe_topic("clicks").partitions[0].segments or 0


def test_merges_many_small_files(broker: EmbeddedBroker) -> None:
    for number in range(40):
        put(broker, "clicks", *[(b"%d" % number, BIG)] * 20)
    before = entries(broker, "clicks")
    broker.maintain()
    assert segments(broker) < 8
    assert len(files(broker)) == segments(broker)
    assert entries(broker, "clicks") == before


def test_a_segment_is_rewritten_once_per_power_of_eight(broker: EmbeddedBroker) -> None:
    written = 0
    for number in range(64):
        put(broker, "clicks", *[(b"%d" % number, BIG)] * 20)
        known = set(files(broker))
        broker.maintain()
        written += sum(path.stat().st_size for path in set(files(broker)) - known)
    assert written < 3 * (broker.describe_topic("clicks").size or 0)


def test_segments_grow_no_larger_than_segment_bytes(broker: EmbeddedBroker) -> None:
    broker.alter_topic("clicks", config={"segment.bytes": 500_000})
    for number in range(40):
        put(broker, "clicks", *[(b"%d" % number, BIG)] * 20)
    broker.maintain()
    assert max(path.stat().st_size for path in files(broker)) < 1_700_000
    assert len(entries(broker, "clicks")) == 800


def test_joins_chunks_too(broker: EmbeddedBroker) -> None:
    for number in range(20):
        put(broker, "clicks", (b"k", b"%d" % number))
    size = broker.describe_topic("clicks").size or 0
    assert broker.merge("clicks") == 19
    assert (broker.describe_topic("clicks").size or size) < size / 4


def test_keeps_gaps(broker: EmbeddedBroker) -> None:
    broker.alter_topic("clicks", config={"cleanup.policy": "compact"})
    put(broker, "clicks", (b"a", b"1"), (b"a", b"2"), (b"b", b"1"))
    broker.compact("clicks")
    put(broker, "clicks", (b"c", b"1"))
    before = entries(broker, "clicks")
    assert broker.merge("clicks", at=2) == 1
    assert entries(broker, "clicks") == before == [(1, b"a", b"2"), (2, b"b", b"1"), (3, b"c", b"1")]


def test_the_slower_of_two_drops_its_work(broker: EmbeddedBroker, clock: FakeClock) -> None:
    for _ in range(3):
        put(broker, "clicks", *[(b"k", BIG)] * 20)
    with broker._catalog.read() as connection:
        partition = log.find_partition(connection, "clicks", 0)
        old = log.segments_of(connection, partition)
    parts = (broker._catalog, broker._disk, broker._reader, partition, old, 2**30)
    assert rewriting.merge(*parts)
    assert not rewriting.merge(*parts)
    assert len(files(broker)) == 1
    assert len(entries(broker, "clicks")) == 60


def test_a_swap_that_comes_too_late_changes_nothing(broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        put(broker, "clicks", *[(b"k", BIG)] * 20)
    swap = rewriting.swap

    def delete_first(*arguments: object, **options: object) -> bool:
        broker.delete_records({("clicks", 0): 20})
        broker.apply_retention("clicks")
        return swap(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(rewriting, "swap", delete_first)
    assert broker.merge("clicks", at=2) == 0
    assert len(files(broker)) == 2
    assert [offset for offset, _, _ in entries(broker, "clicks")] == list(range(20, 60))


def test_a_reader_under_whose_feet_is_merged_reads_no_record_twice(broker: EmbeddedBroker) -> None:
    for number in range(6):
        put(broker, "clicks", *[(b"%d" % number, BIG)] * 20)
    reading = broker.read("clicks", 0, 3, max_records=20)
    offsets = [record[2] for record in next(reading)]
    assert broker.merge("clicks", at=2)
    offsets += [record[2] for records in reading for record in records]
    assert offsets == list(range(3, 120))
