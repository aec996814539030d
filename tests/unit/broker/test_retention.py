"""Retention: old segments go, offsets stay."""

from __future__ import annotations

import pytest

from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import Decision, OffsetAndMetadata
from headrace.errors import ArgumentError, OffsetOutOfRangeError
from tests.unit.broker.scene import BIG, FakeClock, entries, files, put, values


def test_removes_what_is_older_than_retention_ms(broker: EmbeddedBroker, clock: FakeClock) -> None:
    broker.create_topic("clicks", config={"retention.ms": 100})
    for time in (10, 20, 30):
        clock.now = time
        put(broker, "clicks", (b"k", b"%d" % time))
    clock.now = 120
    assert broker.apply_retention("clicks") == 1
    assert entries(broker, "clicks") == [(1, b"k", b"20"), (2, b"k", b"30")]
    with pytest.raises(OffsetOutOfRangeError, match=r"does not hold offset 0\n  detail: It holds 1 up to, not incl.*3"):
        broker.read("clicks", 0, 0)


def test_a_young_segment_keeps_the_old_ones_after_it(broker: EmbeddedBroker, clock: FakeClock) -> None:
    broker.create_topic("clicks", config={"retention.ms": 100})
    clock.now = 0
    for time in (10, 500, 20):
        put(broker, "clicks", (b"k", b"%d" % time), timestamp=time)
    clock.now = 200
    assert broker.apply_retention("clicks") == 1
    assert values(broker, "clicks") == [b"500", b"20"]


def test_an_empty_partition_keeps_its_end(broker: EmbeddedBroker, clock: FakeClock) -> None:
    broker.create_topic("clicks", config={"retention.ms": 0})
    put(broker, "clicks", *[(b"k", BIG)] * 20, timestamp=0)
    assert len(files(broker)) == 1
    clock.now += 1
    broker.maintain()
    assert files(broker) == []
    assert broker.start_offsets([("clicks", 0)]) == broker.end_offsets([("clicks", 0)]) == {("clicks", 0): 20}
    put(broker, "clicks", (b"k", b"next"))
    assert entries(broker, "clicks") == [(20, b"k", b"next")]


def test_removes_what_is_more_than_retention_bytes(broker: EmbeddedBroker) -> None:
    broker.create_topic("clicks", config={"retention.bytes": 250_000})
    for number in range(5):
        put(broker, "clicks", *[(b"%d" % number, BIG)] * 20)
    assert broker.apply_retention("clicks") == 2
    assert (broker.describe_topic("clicks").size or 0) >= 250_000
    assert {key for _, key, _ in entries(broker, "clicks")} == {b"2", b"3", b"4"}


@pytest.mark.parametrize("config", [{"retention.ms": -1}, {"cleanup.policy": "compact", "retention.ms": 0}])
def test_keeps_everything_where_told(broker: EmbeddedBroker, config: dict[str, object]) -> None:
    broker.create_topic("clicks", config=config)
    put(broker, "clicks", (b"k", b"v"), timestamp=0)
    assert broker.apply_retention("clicks") == 0


def test_a_topic_that_is_compacted_and_deleted_loses_old_records(broker: EmbeddedBroker, clock: FakeClock) -> None:
    broker.create_topic("clicks", config={"cleanup.policy": "compact,delete", "retention.ms": 100})
    put(broker, "clicks", (b"a", b"1"), timestamp=0)
    clock.now += 101
    put(broker, "clicks", (b"b", b"2"))
    broker.maintain()
    assert entries(broker, "clicks") == [(1, b"b", b"2")]


def test_a_record_of_long_ago_is_young_when_it_arrives(broker: EmbeddedBroker, clock: FakeClock) -> None:
    broker.create_topic("clicks", config={"retention.ms": 100})
    put(broker, "clicks", (b"k", b"v"), timestamp=0)
    broker.maintain()
    assert values(broker, "clicks") == [b"v"]
    clock.now += 101
    broker.maintain()
    assert values(broker, "clicks") == []


def test_merging_and_compaction_keep_the_arrival(broker: EmbeddedBroker, clock: FakeClock) -> None:
    broker.create_topic("clicks", config={"cleanup.policy": "compact,delete", "retention.ms": 100})
    for key in (b"a", b"b", b"c"):
        put(broker, "clicks", (key, b"v"), timestamp=0)
    broker.merge("clicks", at=2)
    broker.compact("clicks", force=True)
    assert broker.describe_topic("clicks").partitions[0].segments == 1
    clock.now += 100
    broker.apply_retention("clicks")
    assert len(values(broker, "clicks")) == 3
    clock.now += 1
    broker.apply_retention("clicks")
    assert values(broker, "clicks") == []


class TestUnread:
    @pytest.fixture(params=[{"retention.ms": 100}, {"retention.bytes": 0}], ids=["by time", "by size"])
    def config(self, request: pytest.FixtureRequest) -> dict[str, object]:
        return dict(request.param)

    def test_stays_until_every_group_has_read_it(
        self, broker: EmbeddedBroker, clock: FakeClock, config: dict[str, object]
    ) -> None:
        broker.create_topic("clicks", config=config)
        for value in (b"0", b"1", b"2"):
            put(broker, "clicks", (b"k", value))
        broker.commit_offsets("slow", {("clicks", 0): OffsetAndMetadata(1)})
        broker.commit_offsets("quick", {("clicks", 0): OffsetAndMetadata(3)})
        clock.now += 1_000
        broker.maintain()
        assert values(broker, "clicks") == [b"1", b"2"]
        broker.commit_offsets("slow", {("clicks", 0): OffsetAndMetadata(3)})
        broker.maintain()
        assert values(broker, "clicks") == []

    def test_goes_where_the_topic_says_so(
        self, broker: EmbeddedBroker, clock: FakeClock, config: dict[str, object]
    ) -> None:
        broker.create_topic("clicks", config={**config, "headrace.retention.unread": "delete"})
        put(broker, "clicks", (b"k", b"v"))
        broker.commit_offsets("slow", {("clicks", 0): OffsetAndMetadata(0)})
        clock.now += 1_000
        broker.maintain()
        assert values(broker, "clicks") == []

    def test_goes_when_the_group_is_deleted(self, broker: EmbeddedBroker, clock: FakeClock) -> None:
        broker.create_topic("clicks", config={"retention.ms": 100})
        put(broker, "clicks", (b"k", b"v"))
        broker.commit_offsets("slow", {("clicks", 0): OffsetAndMetadata(0)})
        clock.now += 1_000
        assert broker.apply_retention("clicks") == 0
        broker.delete_group("slow")
        assert broker.apply_retention("clicks") == 1

    def test_stays_in_a_partition_that_an_application_has_not_begun(
        self, broker: EmbeddedBroker, clock: FakeClock
    ) -> None:
        broker.create_topic("clicks", config={"retention.ms": 100})
        broker.commit_offsets("group", {("clicks", 0): OffsetAndMetadata(0)})
        broker.alter_topic("clicks", partitions=2)
        put(broker, "clicks", (b"k", b"v"), partition=1)
        clock.now += 1_000
        with broker.acquire_lease("app") as lease:
            broker.decide(Decision("app", lease.epoch, 0, offsets={("clicks", 0): OffsetAndMetadata(0)}))
        assert broker.apply_retention("clicks") == 0
        broker.delete_application("app")
        assert broker.apply_retention("clicks") == 1

    def test_deleted_records_go_all_the_same(self, broker: EmbeddedBroker) -> None:
        broker.create_topic("clicks")
        put(broker, "clicks", (b"k", b"v"))
        broker.commit_offsets("slow", {("clicks", 0): OffsetAndMetadata(0)})
        broker.delete_records({("clicks", 0): 1})
        assert broker.apply_retention("clicks") == 1
        assert broker.describe_topic("clicks").partitions[0].expired_records == 0


def test_says_how_many_records_it_removed_and_when(broker: EmbeddedBroker, clock: FakeClock) -> None:
    broker.create_topic("clicks", config={"retention.ms": 100})
    put(broker, "clicks", (b"a", b"1"), (b"b", b"2"), (b"c", b"3"))
    broker.delete_records({("clicks", 0): 1})
    (before,) = broker.describe_topic("clicks").partitions
    assert (before.start_offset, before.expired_records, before.expired_ms) == (1, 0, None)
    clock.now += 101
    broker.maintain()
    (after,) = broker.describe_topic("clicks").partitions
    assert (after.start_offset, after.expired_records, after.expired_ms) == (3, 2, clock.now)


class TestDeleteRecords:
    def test_the_partition_starts_later_and_the_space_is_freed(self, broker: EmbeddedBroker) -> None:
        broker.create_topic("clicks", config={"cleanup.policy": "compact"})
        put(broker, "clicks", *[(b"a", BIG)] * 20)
        put(broker, "clicks", (b"b", b"1"), (b"c", b"2"))
        broker.delete_records({("clicks", 0): 21})
        assert entries(broker, "clicks") == [(21, b"c", b"2")]
        assert broker.apply_retention("clicks") == 1
        assert files(broker) == []
        assert entries(broker, "clicks") == [(21, b"c", b"2")]

    def test_never_goes_back_nor_past_the_end(self, broker: EmbeddedBroker) -> None:
        broker.create_topic("clicks")
        put(broker, "clicks", *[(b"a", b"v")] * 3)
        broker.delete_records({("clicks", 0): 2})
        broker.delete_records({("clicks", 0): 1})
        assert broker.start_offsets([("clicks", 0)]) == {("clicks", 0): 2}
        with pytest.raises(ArgumentError, match="clicks-0 cannot start at offset 4: it ends at 3"):
            broker.delete_records({("clicks", 0): 4})


def test_a_reader_that_retention_overtakes_is_told(broker: EmbeddedBroker, clock: FakeClock) -> None:
    broker.create_topic("clicks", config={"retention.ms": 100})
    for _ in range(200):
        put(broker, "clicks", (b"k", b"v"))
    reader = broker.read("clicks", 0, 0, max_records=10)
    next(reader)
    clock.now += 1_000
    broker.apply_retention("clicks")
    with pytest.raises(OffsetOutOfRangeError, match="Retention removed it while it was read"):
        list(reader)
