"""Compaction: the last record of each key stays, at its offset."""

from __future__ import annotations

import pytest

from headrace.broker import compaction, log
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import Decision
from headrace.broker.topic_config import TopicConfig
from headrace.records import Headers
from tests.unit.broker.scene import BIG, FakeClock, entries, files, put, records


def table(broker: EmbeddedBroker, **config: object) -> None:
    settings = {name.replace("_", "."): value for name, value in config.items()}
    broker.create_topic("t", config={"cleanup.policy": "compact", **settings})


def test_keeps_the_last_record_of_each_key(broker: EmbeddedBroker) -> None:
    table(broker)
    put(broker, "t", (b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    put(broker, "t", (b"c", b"1"), (b"a", b"3"))
    assert broker.compact("t") == 1
    assert entries(broker, "t") == [(1, b"b", b"1"), (3, b"c", b"1"), (4, b"a", b"3")]
    assert broker.end_offsets([("t", 0)]) == {("t", 0): 5}
    put(broker, "t", (b"b", b"2"))
    assert broker.compact("t", force=True) == 1
    assert entries(broker, "t") == [(3, b"c", b"1"), (4, b"a", b"3"), (5, b"b", b"2")]


def test_keeps_timestamps_and_headers(broker: EmbeddedBroker) -> None:
    table(broker)
    lease = broker.acquire_lease("app")
    with broker.stage("app", lease.epoch, 0, "0") as stage:
        stage.append("t", 0, 5, b"a", b"1")
        stage.append("t", 0, 6, b"a", b"2", Headers([("h", b"1")]))
        broker.decide(Decision("app", lease.epoch, 0, [stage.finish()]))
    broker.compact("t")
    assert records(broker, "t") == [("t", 0, 1, 6, b"a", b"2", (("h", b"1"),))]


@pytest.mark.parametrize("start", range(7))
def test_reads_across_the_gaps(broker: EmbeddedBroker, start: int) -> None:
    table(broker)
    put(broker, "t", *[(b"a", b"%d" % number) for number in range(3)], (b"b", b"3"), (b"a", b"4"))
    broker.compact("t")
    put(broker, "t", (b"c", b"5"))
    found = [record[2] for chunk in broker.read("t", 0, start) for record in chunk]
    assert found == [offset for offset in (3, 4, 5) if offset >= start]


def test_everything_of_a_partition_may_go(broker: EmbeddedBroker, clock: FakeClock) -> None:
    table(broker, delete_retention_ms=10)
    put(broker, "t", (b"a", b"1"), (b"a", None))
    broker.compact("t")
    assert entries(broker, "t") == [(1, b"a", None)]
    clock.now += 10
    broker.compact("t", force=True)
    assert entries(broker, "t") == []
    assert broker.end_offsets([("t", 0)]) == {("t", 0): 2}
    put(broker, "t", (b"a", b"2"))
    assert entries(broker, "t") == [(2, b"a", b"2")]


def test_a_tombstone_stays_for_delete_retention_after_the_first_pass(broker: EmbeddedBroker, clock: FakeClock) -> None:
    table(broker, delete_retention_ms=100)
    put(broker, "t", (b"a", b"1"), (b"a", None), (b"b", b"1"))
    clock.now += 1_000
    broker.compact("t")
    clock.now += 60
    put(broker, "t", (b"b", None))
    broker.compact("t", force=True)
    assert entries(broker, "t") == [(1, b"a", None), (3, b"b", None)]
    clock.now += 60
    broker.compact("t", force=True)
    assert entries(broker, "t") == [(3, b"b", None)]
    clock.now += 60
    broker.compact("t", force=True)
    assert entries(broker, "t") == []


def test_merging_keeps_the_horizon_of_a_tombstone(broker: EmbeddedBroker, clock: FakeClock) -> None:
    table(broker, delete_retention_ms=100)
    put(broker, "t", (b"a", None))
    broker.compact("t", force=True)
    put(broker, "t", (b"b", b"1"))
    assert broker.merge("t", at=2) == 1
    clock.now += 100
    broker.compact("t", force=True)
    assert entries(broker, "t") == [(1, b"b", b"1")]


def test_leaves_young_records_alone(broker: EmbeddedBroker, clock: FakeClock) -> None:
    table(broker, min_compaction_lag_ms=100)
    put(broker, "t", (b"a", b"1"), (b"a", b"2"))
    clock.now += 60
    put(broker, "t", (b"a", b"3"))
    clock.now += 60
    broker.compact("t")
    assert entries(broker, "t") == [(1, b"a", b"2"), (2, b"a", b"3")]
    clock.now += 100
    broker.compact("t", force=True)
    assert entries(broker, "t") == [(2, b"a", b"3")]


def test_waits_until_enough_is_dirty(broker: EmbeddedBroker) -> None:
    table(broker)
    put(broker, "t", *[(b"%d" % number, BIG) for number in range(20)])
    assert broker.compact("t") == 1
    put(broker, "t", *[(b"%d" % number, BIG) for number in range(5)])
    assert broker.compact("t") == 0
    put(broker, "t", *[(b"%d" % number, BIG) for number in range(20)])
    assert broker.compact("t") == 1
    assert len(entries(broker, "t")) == 20


def test_waits_no_longer_than_max_compaction_lag(broker: EmbeddedBroker, clock: FakeClock) -> None:
    table(broker, max_compaction_lag_ms=100)
    put(broker, "t", *[(b"%d" % number, BIG) for number in range(20)])
    broker.compact("t")
    put(broker, "t", (b"1", b"v"))
    assert broker.compact("t") == 0
    clock.now += 101
    assert broker.compact("t") == 1


def test_a_pass_notes_a_bounded_number_of_keys(broker: EmbeddedBroker, clock: FakeClock) -> None:
    table(broker)
    for number in range(6):
        put(broker, "t", *[(b"%d" % key, b"%d" % number) for key in range(5)])
    config = TopicConfig.of({"cleanup.policy": "compact"})
    passes = 0
    while True:
        with broker._catalog.read() as connection:
            partition = log.find_partition(connection, "t", 0)
        parts = (broker._catalog, broker._disk, broker._reader, partition, config, clock.now)
        if not compaction.compact(*parts, max_keys=9, force=partition.cleaned_offset < 30):
            break
        passes += 1
    assert passes > 1
    assert entries(broker, "t") == [(25 + key, b"%d" % key, b"5") for key in range(5)]


def test_replaces_the_files(broker: EmbeddedBroker) -> None:
    table(broker)
    for _ in range(3):
        put(broker, "t", *[(b"%d" % number, BIG) for number in range(20)])
    before = files(broker)
    broker.compact("t")
    assert len(before) == 3
    assert len(files(broker)) == 1
    assert set(before).isdisjoint(files(broker))


def test_large_partitions_become_several_segments(broker: EmbeddedBroker) -> None:
    table(broker, segment_bytes=300_000)
    for _ in range(2):
        put(broker, "t", *[(b"%d" % number, BIG) for number in range(1000)])
    broker.compact("t")
    assert len(files(broker)) > 1
    assert [offset for offset, _, _ in entries(broker, "t")] == list(range(1000, 2000))
    assert [record[2] for chunk in broker.read("t", 0, 1500, 1502) for record in chunk] == [1500, 1501]


def test_upkeep_compacts_only_topics_that_ask_for_it(broker: EmbeddedBroker) -> None:
    table(broker)
    broker.create_topic("plain")
    for topic in ("t", "plain"):
        put(broker, topic, (b"a", b"1"), (b"a", b"2"))
    broker.maintain()
    assert entries(broker, "t") == [(1, b"a", b"2")]
    assert entries(broker, "plain") == [(0, b"a", b"1"), (1, b"a", b"2")]


def test_a_reader_goes_on_where_compaction_took_its_files(broker: EmbeddedBroker) -> None:
    table(broker)
    for number in range(10):
        put(broker, "t", *[(b"%d" % key, BIG) for key in range(20)], (b"last", b"%d" % number))
    reader = broker.read("t", 0, 0, max_records=10)
    seen = list(next(reader))
    broker.compact("t")
    seen += [record for chunk in reader for record in chunk]
    offsets = [record[2] for record in seen]
    assert offsets == sorted(set(offsets))
    assert {record[4] for record in seen} == {b"last", *[b"%d" % key for key in range(20)]}
    assert [record[2:6:3] for record in seen[-21:]] == [
        (189 + number, value) for number, value in enumerate([*[BIG] * 20, b"9"])
    ]
