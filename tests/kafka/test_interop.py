"""Applications go from Kafka Streams to Headrace and back, with the same id, offsets and changelogs."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace import Streams, failpoints, serdes
from headrace.batch.runner import AFTER_JOB
from headrace.broker import open_broker
from headrace.broker.kafka.crash_points import BEFORE_DECISION
from headrace.broker.port import Broker, NewRecord
from headrace.errors import FencedError, LeaseHeldError
from headrace.partitioning import default_partition
from tests.kafka.interop_programs import PROGRAMS, START_MS, Model, Program, Sent, Written, last_values
from tests.kafka.java_programs import SECONDS, kafka_streams
from tests.kafka.running import IS_LONG, long, wait_for

EXACTLY_ONCE, AT_LEAST_ONCE = "exactly_once_v2", "at_least_once"
_PART = 40
_LEFT_OVER = 3


class Handover:
    """The same application on both sides, part by part of its input, and the model beside it."""

    def __init__(self, program: Program, name: str, broker: Broker, *, has_caches: bool = False) -> None:
        self.program, self.application, self._broker = program, f"{name}-{program.name}", broker
        # A cache leaves out what comes between.
        self._has_caches, self._told = has_caches, last_values if has_caches else program.told
        self._model = Model(program, self.application)
        self._parts = 0
        for topic in program.topics(self.application):
            broker.create_topic(topic, program.partitions)

    def send(self, size: int = _PART) -> None:
        """The next part of the input, to the broker and to the model."""
        part = self.program.part(self._parts, size)
        self._parts += 1
        self._model.feed(part)
        self._broker.append([self._record(sent) for sent in part])

    def leave_unread(self) -> None:
        """As if Kafka Streams had been stopped between writing to its repartition topic and reading from it."""
        word, topic = "unread", f"{self.application}-counts-repartition"
        place = default_partition(word.encode(), self.program.partitions)
        left = [NewRecord(topic, word.encode(), word.encode(), START_MS, partition=place)] * _LEFT_OVER
        self._broker.append(left)
        self._model.feed([("in", "k", word, START_MS)] * _LEFT_OVER)

    def streams(self, directory: Path, guarantee: str, spark: Any = None) -> Streams:
        """In one process, or on Spark."""
        config = {
            "application.id": self.application,
            "bootstrap.servers": self._broker.address,
            "state.dir": directory,
            "processing.guarantee": guarantee,
            "default.value.serde": serdes.string(),
        }
        if not self._has_caches:
            config["statestore.cache.max.bytes"] = 0
        options: dict[str, Any] = {"engine": "local"} if spark is None else {"spark": spark}
        return Streams(self.program.build(self.application), config, **options)

    def run_here(self, directory: Path, guarantee: str, spark: Any = None) -> None:
        """Until nothing is left to read."""
        with self.streams(directory, guarantee, spark) as app:
            app.run_until_idle()

    def written(self) -> list[Written]:
        """All that is in the output topic, read committed."""
        topic, key, value = f"{self.application}-out", self.program.key_serde, self.program.value_serde
        return [
            (key.deserialize(topic, read[4]), None if read[5] is None else value.deserialize(topic, read[5]), read[3])
            for number in range(self.program.partitions)
            for records in self._broker.read(topic, number, 0)
            for read in records
        ]

    def check(self) -> None:
        """The results are those of the model."""
        assert self._told(self.written()) == self._told(self._model.written), self.program.name

    def wait_until_done(self) -> None:
        """While Kafka Streams runs it. Then a check tells more."""
        deadline = time.monotonic() + SECONDS
        while self._told(self.written()) != self._told(self._model.written) and time.monotonic() < deadline:
            time.sleep(0.2)

    def _record(self, sent: Sent) -> NewRecord:
        end, key, value, timestamp = sent
        data = None if value is None else value.encode()
        partition = default_partition(key.encode(), self.program.partitions)
        return NewRecord(f"{self.application}-{end}", key.encode(), data, timestamp, partition=partition)


@contextmanager
def on_kafka_streams(
    each: list[Handover], address: str, directory: Path, guarantee: str = EXACTLY_ONCE, *, has_caches: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """All of them in one process, which reads what we committed without a warning.

    In a directory of its own: everything it knows it has from the changelogs.
    """
    directory.mkdir()
    log = directory / "java.log"
    applications = {one.program.name: one.application for one in each}
    with kafka_streams(address, directory, guarantee, applications, log, has_caches=has_caches) as java:
        yield java
    assert "offset metadata" not in log.read_text()


def run_on_kafka_streams(
    each: list[Handover], address: str, directory: Path, guarantee: str = EXACTLY_ONCE, *, has_caches: bool = False
) -> None:
    """Until it has come to the end; then the results are right."""
    with on_kafka_streams(each, address, directory, guarantee, has_caches=has_caches):
        for one in each:
            one.wait_until_done()
    for one in each:
        one.check()


@pytest.fixture
def broker(kafka_address: str) -> Iterator[Broker]:
    with closing(open_broker(kafka_address)) as broker:
        yield broker


def test_applications_go_from_kafka_streams_to_headrace_and_back(
    broker: Broker, kafka_address: str, kafka_name: str, tmp_path: Path, spark: Any
) -> None:
    each = [Handover(program, kafka_name, broker) for program in (PROGRAMS if IS_LONG else PROGRAMS[::2])]
    words = each[0]

    send(each)
    with on_kafka_streams(each, kafka_address, tmp_path / "java-0"):
        for one in each:
            one.wait_until_done()
        with pytest.raises(LeaseHeldError, match="its consumer group has members"):
            words.run_here(tmp_path / "state", EXACTLY_ONCE)
    send(each)
    words.leave_unread()
    for one in each:
        one.run_here(tmp_path / "state", EXACTLY_ONCE, spark if one is words else None)
        one.check()
    send(each)
    run_on_kafka_streams(each, kafka_address, tmp_path / "java-1")


def test_headrace_gives_way_to_kafka_streams_that_joins_the_group(
    broker: Broker, kafka_address: str, kafka_name: str, tmp_path: Path
) -> None:
    one = Handover(PROGRAMS[0], kafka_name, broker)
    one.send()
    with one.streams(tmp_path / "state", EXACTLY_ONCE) as app:
        one.wait_until_done()
        with on_kafka_streams([one], kafka_address, tmp_path / "java"):
            one.send()
            wait_for(lambda: app.failure is not None)
            one.wait_until_done()
    one.check()
    assert isinstance(app.failure, FencedError)
    assert "was taken over: its consumer group has members" in str(app.failure)


@long
@pytest.mark.parametrize(("guarantee", "has_caches"), [(EXACTLY_ONCE, False), (AT_LEAST_ONCE, True)])
def test_applications_go_to_and_fro_between_kafka_streams_and_spark(
    broker: Broker, kafka_address: str, kafka_name: str, tmp_path: Path, guarantee: str, has_caches: bool, spark: Any
) -> None:
    # With caches its inner join does not tell of a key whose rows go on both sides between two commits.
    left_out = "table-join" if has_caches else None
    each = [
        Handover(program, kafka_name, broker, has_caches=has_caches) for program in PROGRAMS if program.name != left_out
    ]

    for number in range(2):
        send(each)
        run_on_kafka_streams(each, kafka_address, tmp_path / f"java-{number}", guarantee, has_caches=has_caches)
        send(each)
        for one in each:
            # Here with the same directory, in which stores are left that know nothing of what happened meanwhile.
            one.run_here(tmp_path / "state", guarantee, spark)
            one.check()


@long
@pytest.mark.parametrize("point", [AFTER_JOB, BEFORE_DECISION])
def test_what_a_driver_was_about_to_decide_does_not_count_when_kafka_streams_ran_while_it_slept(
    broker: Broker,
    kafka_address: str,
    kafka_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    point: str,
) -> None:
    one = Handover(PROGRAMS[0], kafka_name, broker)
    one.send()
    one.run_here(tmp_path / "state", EXACTLY_ONCE)
    one.send()

    def sleep(at: str) -> None:
        if at == point:
            monkeypatch.setattr(failpoints, "on_reached", None)
            # Before the decision it waits until the broker gives up the transaction that is under way.
            run_on_kafka_streams([one], kafka_address, tmp_path / "java")

    monkeypatch.setattr(failpoints, "on_reached", sleep)
    with pytest.raises(FencedError, match="was taken over: its consumer group moved"):
        one.run_here(tmp_path / "state", EXACTLY_ONCE)
    one.check()
    one.send()
    one.run_here(tmp_path / "state", EXACTLY_ONCE)
    one.check()


@long
def test_headrace_finishes_what_a_killed_kafka_streams_left(
    broker: Broker, kafka_address: str, kafka_name: str, tmp_path: Path
) -> None:
    each = [Handover(program, kafka_name, broker) for program in PROGRAMS]
    send(each, 3_000)
    with on_kafka_streams(each, kafka_address, tmp_path / "java") as java:
        wait_for(lambda: all(one.written() for one in each))
        java.kill()
        java.wait()
    for one in each:
        run_when_left(one, tmp_path / "state")
        one.check()


def run_when_left(one: Handover, directory: Path) -> None:
    """Who was killed leaves its group when its session ends."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return one.run_here(directory, EXACTLY_ONCE)
        except LeaseHeldError:
            assert time.monotonic() < deadline
            time.sleep(0.5)


def send(each: list[Handover], size: int = _PART) -> None:
    for one in each:
        one.send(size)
