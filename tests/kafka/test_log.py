"""The log on a real broker: topics, appending, where partitions end, ranges with gaps, groups, and what is refused."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from headrace.broker import BrokerConfig, open_broker
from headrace.broker.kafka import reading
from headrace.broker.kafka.broker import KafkaBroker
from headrace.broker.port import Broker, Decision, NewRecord, OffsetAndMetadata, Outcome
from headrace.errors import (
    ArgumentError,
    BrokerError,
    BrokerUnreachableError,
    ConfigError,
    OffsetOutOfRangeError,
    TopicExistsError,
    UnknownTopicError,
)
from headrace.records import Headers, RawRecord
from tests.kafka.conftest import BrokerFactory

SECONDS = 60.0


@pytest.fixture
def broker(kafka_address: str) -> Iterator[KafkaBroker]:
    with closing(KafkaBroker(BrokerConfig(kafka_address))) as opened:
        yield opened


@pytest.fixture
def topic(broker: KafkaBroker, kafka_name: str) -> Iterator[str]:
    """A topic with two partitions."""
    name = f"{kafka_name}-topic"
    broker.create_topic(name, 2)
    yield name
    if name in broker.topics():
        broker.delete_topic(name)


def put(broker: Broker, topic: str, *values: str, partition: int = 0) -> None:
    broker.append(NewRecord(topic, b"k", value.encode(), 1, partition=partition) for value in values)


def values(batches: Iterator[list[RawRecord]]) -> list[str]:
    return [record[5].decode() for batch in batches for record in batch if record[5] is not None]


def transaction(address: str, topic: str, *values: str, is_committed: bool | None) -> Producer:
    """Write to partition 0; None leaves the transaction open."""
    producer = Producer({"bootstrap.servers": address, "transactional.id": f"{topic}-writer"})
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value.encode(), b"k", partition=0)
    assert producer.flush(SECONDS) == 0
    if is_committed is not None:
        end = producer.commit_transaction if is_committed else producer.abort_transaction
        end(SECONDS)
    return producer


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# Topics


def test_a_topic_is_made_described_altered_and_deleted(broker: KafkaBroker, kafka_name: str) -> None:
    name = f"{kafka_name}-made"
    broker.create_topic(name, 2, {"cleanup.policy": "compact", "retention.ms": 1000, "preallocate": False})
    made = broker.describe_topic(name)
    assert broker.topics()[name] == 2
    assert made.config["cleanup.policy"] == "compact"
    assert made.config["retention.ms"] == "1000"
    assert [(each.partition, each.start_offset, each.next_offset) for each in made.partitions] == [(0, 0, 0), (1, 0, 0)]

    broker.alter_topic(name, partitions=3, config={"retention.ms": None, "segment.ms": 5000})
    altered = broker.describe_topic(name)
    assert (len(altered.partitions), altered.config["retention.ms"], altered.config["segment.ms"]) == (
        3,
        "604800000",
        "5000",
    )
    assert broker.topic_ids([name, f"{name}-unknown"]) == {name: made.id}

    broker.delete_topic(name)
    assert name not in broker.topics()
    broker.create_topic(name)
    assert broker.topic_ids([name])[name] != made.id
    broker.delete_topic(name)


def test_the_clusters_own_topics_are_not_shown(broker: KafkaBroker, topic: str) -> None:
    broker.commit_offsets(f"{topic}-group", {(topic, 0): OffsetAndMetadata(0)})
    assert not [name for name in broker.topics() if name.startswith("__")]
    broker.delete_group(f"{topic}-group")


def test_what_cannot_be_done_with_a_topic_is_an_error(broker: KafkaBroker, topic: str) -> None:
    with pytest.raises(TopicExistsError, match=f"create the topic {topic}: there is a topic of that name already"):
        broker.create_topic(topic)
    with pytest.raises(ConfigError, match=r"create the topic .*: Unknown topic config name: cleanup\.polic"):
        broker.create_topic(f"{topic}-2", 1, {"cleanup.polic": "compact"})
    with pytest.raises(ConfigError, match=r"headrace\.retention\.unread is of the embedded broker"):
        broker.create_topic(f"{topic}-2", 1, {"headrace.retention.unread": "keep"})
    with pytest.raises(ArgumentError, match="the topic name 'a b' is illegal"):
        broker.create_topic("a b")
    with pytest.raises(ArgumentError, match="cannot have 0 partitions"):
        broker.create_topic(f"{topic}-2", 0)
    with pytest.raises(ArgumentError, match="has 2 partitions, they cannot become 1"):
        broker.alter_topic(topic, partitions=1)


@pytest.mark.parametrize(
    "asked",
    [
        lambda broker: broker.describe_topic("not-there"),
        lambda broker: broker.delete_topic("not-there"),
        lambda broker: broker.alter_topic("not-there", partitions=3),
        lambda broker: broker.start_offsets([("not-there", 0)]),
        lambda broker: broker.end_offsets([("not-there", 0)]),
        lambda broker: broker.offsets_for_time({("not-there", 0): 1}),
        lambda broker: broker.append([NewRecord("not-there", b"k", b"v")]),
        lambda broker: list(broker.read("not-there", 0, 0, 1)),
        lambda broker: list(broker.read("not-there", 0, 0)),
    ],
)
def test_a_topic_that_is_not_there_is_told_and_never_made(broker: KafkaBroker, asked: Callable[..., Any]) -> None:
    with pytest.raises(UnknownTopicError):
        asked(broker)
    assert "not-there" not in broker.topics()


def test_a_partition_that_is_not_there_is_told(broker: KafkaBroker, topic: str) -> None:
    with pytest.raises(UnknownTopicError, match=f"topic {topic} has no partition 2: it has 2"):
        broker.end_offsets([(topic, 0), (topic, 2)])
    with pytest.raises(UnknownTopicError):
        list(broker.read(topic, 2, 0, 1))


# Records


def test_records_come_back_as_they_were_written(broker: KafkaBroker, topic: str) -> None:
    headers = Headers([("trace", b"1"), ("trace", None), ("ü", b"")])
    appended = broker.append(
        [
            NewRecord(topic, b"a", b"1", 5, headers, partition=1),
            NewRecord(topic, None, b"2", 6, partition=1),
            NewRecord(topic, b"b", None, 7, partition=1),
            NewRecord(topic, b"", b"", 8, partition=1),
        ]
    )
    assert appended.ranges == {(topic, 1): (0, 4)}
    (batch,) = broker.read(topic, 1, 0)
    assert batch == [
        (topic, 1, 0, 5, b"a", b"1", headers),
        (topic, 1, 1, 6, None, b"2", Headers()),
        (topic, 1, 2, 7, b"b", None, Headers()),
        (topic, 1, 3, 8, b"", b"", Headers()),
    ]
    assert all(type(record[6]) is Headers for record in batch)


def test_a_partition_that_was_just_added_takes_records(broker: KafkaBroker, topic: str) -> None:
    put(broker, topic, "a")
    broker.alter_topic(topic, partitions=3)
    put(broker, topic, "b", partition=2)
    assert values(broker.read(topic, 2, 0)) == ["b"]
    with pytest.raises(UnknownTopicError, match=f"topic {topic} has no partition 3: it has 3"):
        put(broker, topic, "c", partition=3)


@pytest.mark.parametrize("guarantee", ["exactly_once_v2", "at_least_once"])
def test_a_partition_that_was_just_added_takes_results(kafka_address: str, kafka_name: str, guarantee: str) -> None:
    topic = f"{kafka_name}-results"
    with closing(KafkaBroker(BrokerConfig(kafka_address, {"processing.guarantee": guarantee}))) as broker:
        broker.create_topic(topic, 1)
        epoch = broker.acquire_lease(kafka_name).epoch
        for batch in (0, 1):
            stage = broker.stage(kafka_name, epoch, batch, f"0_0-{batch}-a")
            stage.append(topic, batch, 1, b"k", b"%d" % batch)
            decision = Decision(kafka_name, epoch, batch, staged=[stage.finish()])
            assert broker.decide(decision) is Outcome.DONE
            broker.alter_topic(topic, partitions=2)
        # A commit is answered a little before what it wrote can be read.
        wait_for(lambda: values(broker.read(topic, 1, 0)) == ["1"])


def test_a_key_chooses_the_partition_and_the_clock_the_time(broker: KafkaBroker, topic: str) -> None:
    before = int(time.time() * 1000)
    ranges = broker.append([NewRecord(topic, b"foobar", b"1"), NewRecord(topic, b"foobar", b"2")]).ranges
    ((place, span),) = ranges.items()
    assert span == (0, 2)
    (batch,) = broker.read(*place, 0)
    assert all(before <= record[3] <= int(time.time() * 1000) for record in batch)


def test_the_first_millisecond_of_1970_becomes_the_second(broker: KafkaBroker, topic: str) -> None:
    broker.append(NewRecord(topic, b"k", b"v", at, partition=0) for at in (0, 1, 2))
    (batch,) = broker.read(topic, 0, 0)
    assert [record[3] for record in batch] == [1, 1, 2]


def test_ranges_follow_each_other_on_one_consumer(
    broker: KafkaBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[str, int]] = []

    class Counted(reading.PartitionReader):
        def __init__(self, clients: Any, *place: Any) -> None:
            made.append(place)
            super().__init__(clients, *place)

    monkeypatch.setattr(reading, "PartitionReader", Counted)
    put(broker, topic, *map(str, range(1000)))
    found = [values(broker.read(topic, 0, at, at + 50, max_records=30)) for at in range(0, 1000, 50)]
    assert found == [[str(each) for each in range(at, at + 50)] for at in range(0, 1000, 50)]
    assert made == [(topic, 0)]
    again = list(broker.read(topic, 0, 10, 50, max_records=30))
    assert sum(map(len, again)) == 40
    assert max(map(len, again)) <= 30
    assert made == [(topic, 0)] * 2


def test_a_range_that_was_left_in_the_middle_is_read_again(broker: KafkaBroker, topic: str) -> None:
    put(broker, topic, *map(str, range(100)))
    batches = broker.read(topic, 0, 0, 100, max_records=10)
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert values(broker.read(topic, 0, 0, 100)) == [str(each) for each in range(100)]
    assert values(broker.read(topic, 0, 10, 20)) == [str(each) for each in range(10, 20)]


def test_threads_read_the_same_partition_at_once(broker: KafkaBroker, topic: str) -> None:
    put(broker, topic, *map(str, range(2000)))
    found: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: found.append(values(broker.read(topic, 0, 0, 2000, max_records=100))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert found == [[str(each) for each in range(2000)]] * 4


def test_an_end_that_is_open_means_up_to_now(broker: KafkaBroker, topic: str) -> None:
    assert list(broker.read(topic, 0, 0)) == []
    put(broker, topic, "a")
    assert values(broker.read(topic, 0, 0)) == ["a"]
    assert list(broker.read(topic, 0, 1)) == []
    put(broker, topic, "b")
    assert values(broker.read(topic, 0, 1)) == ["b"]


# Transactions and gaps


def test_an_open_transaction_is_not_read_and_does_not_count_as_the_end(
    broker: KafkaBroker, kafka_address: str, topic: str
) -> None:
    put(broker, topic, "plain")
    producer = transaction(kafka_address, topic, "a", "b", is_committed=None)
    put(broker, topic, "behind")
    assert broker.end_offsets([(topic, 0)]) == {(topic, 0): 1}
    assert broker.describe_topic(topic).partitions[0].next_offset == 4
    assert values(broker.read(topic, 0, 0)) == ["plain"]

    settings = {"consumer.isolation.level": "read_uncommitted"}
    with closing(open_broker(BrokerConfig(kafka_address, settings))) as careless:
        assert careless.end_offsets([(topic, 0)]) == {(topic, 0): 4}
        assert values(careless.read(topic, 0, 0)) == ["plain", "a", "b", "behind"]

    producer.commit_transaction(SECONDS)
    wait_for(lambda: broker.end_offsets([(topic, 0)]) == {(topic, 0): 5})
    assert values(broker.read(topic, 0, 1, 5)) == ["a", "b", "behind"]


def test_ranges_end_in_the_gaps_of_transactions(broker: KafkaBroker, kafka_address: str, topic: str) -> None:
    """Offsets: 0 1 committed, 2 its mark, 3 4 given up, 5 its mark, 6 plain, 7 committed, 8 its mark."""
    transaction(kafka_address, topic, "a", "b", is_committed=True)
    wait_for(lambda: broker.end_offsets([(topic, 0)]) == {(topic, 0): 3})
    transaction(kafka_address, topic, "x", "y", is_committed=False)
    wait_for(lambda: broker.end_offsets([(topic, 0)]) == {(topic, 0): 6})
    put(broker, topic, "c")
    transaction(kafka_address, topic, "d", is_committed=True)
    wait_for(lambda: broker.end_offsets([(topic, 0)]) == {(topic, 0): 9})

    there = {0: "a", 1: "b", 6: "c", 7: "d"}
    for start in range(10):
        for end in range(start, 10):
            expected = [value for offset, value in there.items() if start <= offset < end]
            assert values(broker.read(topic, 0, start, end)) == expected, (start, end)
    # And one after the other, each of one offset, on a consumer that goes on.
    for start in range(9):
        assert values(broker.read(topic, 0, start, start + 1)) == ([there[start]] if start in there else [])
    put(broker, topic, "e")
    assert values(broker.read(topic, 0, 9, 10)) == ["e"]


def test_compaction_leaves_gaps_that_are_read_over(kafka_broker_factory: BrokerFactory) -> None:
    server = kafka_broker_factory({"log.cleaner.backoff.ms": "100"})
    config = {
        "cleanup.policy": "compact",
        "segment.ms": 100,
        "min.cleanable.dirty.ratio": 0.0,
        "max.compaction.lag.ms": 100,
    }
    with closing(KafkaBroker(BrokerConfig(server.address))) as broker:
        broker.create_topic("t", 1, config)
        for number in range(20):
            broker.append([NewRecord("t", f"k{number % 2}".encode(), str(number).encode())])
        time.sleep(0.2)
        broker.append([NewRecord("t", b"last", b"last")])
        wait_for(lambda: len(values(broker.read("t", 0, 0, 21))) == 3)
        assert values(broker.read("t", 0, 0, 21)) == ["18", "19", "last"]
        assert values(broker.read("t", 0, 0, 10)) == []
        assert values(broker.read("t", 0, 10, 19)) == ["18"]
        assert values(broker.read("t", 0, 19, 20)) == ["19"]


# What is gone, or never was


def test_an_offset_that_retention_removed_is_an_error(broker: KafkaBroker, kafka_address: str, topic: str) -> None:
    put(broker, topic, *map(str, range(10)))
    admin = AdminClient({"bootstrap.servers": kafka_address})
    for future in admin.delete_records([TopicPartition(topic, 0, 4)]).values():
        future.result(SECONDS)
    assert broker.start_offsets([(topic, 0), (topic, 1)]) == {(topic, 0): 4, (topic, 1): 0}
    with pytest.raises(OffsetOutOfRangeError, match=f"{topic}-0 does not hold offset 2: it has 4 up to 10"):
        list(broker.read(topic, 0, 2, 10))
    assert values(broker.read(topic, 0, 4, 6)) == ["4", "5"]


def test_an_offset_that_was_never_written_is_an_error(broker: KafkaBroker, topic: str) -> None:
    put(broker, topic, "a", "b")
    with pytest.raises(OffsetOutOfRangeError, match="does not hold offset 5: it has 0 up to 2"):
        list(broker.read(topic, 0, 5, 6))
    with pytest.raises(OffsetOutOfRangeError, match="has no offsets up to 9: it ends at 2"):
        list(broker.read(topic, 0, 0, 9))
    with pytest.raises(OffsetOutOfRangeError, match="has no offsets 3 to 2"):
        list(broker.read(topic, 0, 3, 2))


def test_offsets_by_time(broker: KafkaBroker, topic: str) -> None:
    broker.append(NewRecord(topic, b"k", b"v", at, partition=0) for at in (1000, 2000, 3000))
    asked = {at: broker.offsets_for_time({(topic, 0): at, (topic, 1): at}) for at in (-1, 1000, 1500, 3000, 3001)}
    assert [asked[at][topic, 0] for at in (-1, 1000, 1500, 3000, 3001)] == [0, 0, 1, 2, None]
    assert {asked[at][topic, 1] for at in asked} == {None}


# Groups


def test_groups_commit_and_lag_behind(broker: KafkaBroker, topic: str) -> None:
    group = f"{topic}-group"
    put(broker, topic, "a", "b", "c")
    put(broker, topic, "d", partition=1)
    assert broker.committed(group) == {}
    broker.commit_offsets(group, {(topic, 0): OffsetAndMetadata(1, "a note: ü")})
    assert broker.committed(group) == {(topic, 0): OffsetAndMetadata(1, "a note: ü")}
    assert group in broker.groups()
    assert broker.lag(group) == {(topic, 0): 2, (topic, 1): 1}
    broker.commit_offsets(group, {(topic, 1): OffsetAndMetadata(1)})
    assert broker.lag(group) == {(topic, 0): 2, (topic, 1): 0}
    with pytest.raises(ArgumentError, match="cannot commit the offset -1"):
        broker.commit_offsets(group, {(topic, 1): OffsetAndMetadata(-1)})
    broker.delete_group(group)
    assert broker.committed(group) == {}
    broker.delete_group(group)


def test_a_group_that_is_being_read_as_is_left_alone(broker: KafkaBroker, kafka_address: str, topic: str) -> None:
    group = f"{topic}-group"
    consumer = Consumer({"bootstrap.servers": kafka_address, "group.id": group})
    consumer.subscribe([topic])
    deadline = time.monotonic() + SECONDS
    while not consumer.assignment():
        consumer.poll(0.1)
        assert time.monotonic() < deadline
    with pytest.raises(BrokerError, match=f"offsets of the group {group} cannot be set: it has members that read"):
        broker.commit_offsets(group, {(topic, 0): OffsetAndMetadata(0)})
    with pytest.raises(BrokerError, match="the group has members"):
        broker.delete_group(group)
    consumer.close()
    broker.commit_offsets(group, {(topic, 0): OffsetAndMetadata(0)})
    broker.delete_group(group)


# A broker that is not there, and processes


@pytest.mark.parametrize(
    "asked",
    [
        lambda broker: broker.topics(),
        lambda broker: broker.describe_topic("t"),
        lambda broker: broker.create_topic("t"),
        lambda broker: broker.end_offsets([("t", 0)]),
        lambda broker: list(broker.read("t", 0, 0, 1)),
        lambda broker: broker.append([NewRecord("t", b"k", b"v")]),
        lambda broker: broker.committed("g"),
        lambda broker: broker.commit_offsets("g", {("t", 0): OffsetAndMetadata(1)}),
        lambda broker: broker.groups(),
    ],
)
def test_a_broker_that_does_not_answer_is_told_within_the_limit(asked: Callable[..., Any]) -> None:
    config = BrokerConfig("127.0.0.1:1", {"admin.default.api.timeout.ms": 500})
    before = time.monotonic(), time.process_time()
    with (
        closing(open_broker(config)) as broker,
        pytest.raises(BrokerUnreachableError, match=r"Kafka at 127\.0\.0\.1:1 does not answer"),
    ):
        asked(broker)
    assert time.monotonic() - before[0] < SECONDS
    assert time.process_time() - before[1] < 1


def test_a_forked_child_is_told_to_open_its_own(broker: KafkaBroker) -> None:
    broker.topics()
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        try:
            broker.topics()
        except BaseException as error:
            os._exit(7 if "opened it" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
