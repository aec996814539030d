"""Applications go from Kafka Streams to Headrace and back, with the same id, offsets and changelogs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace import Streams, serdes
from headrace.broker import open_broker
from headrace.broker.port import Broker, NewRecord
from headrace.errors import LeaseHeldError
from headrace.partitioning import default_partition
from tests.kafka.interop_programs import PROGRAMS, START_MS, Model, Program, Sent, table_of
from tests.kafka.java_programs import kafka_streams

_SECONDS = 120.0
_PART = 40
_LEFT_OVER = 3


class Handover:
    """The same application on both sides, part by part of its input, and the model beside it."""

    def __init__(self, program: Program, application: str, broker: Broker) -> None:
        self.program, self.application, self.broker = program, application, broker
        self.model = Model(program, application)
        self._parts = 0
        for topic in program.topics(application):
            broker.create_topic(topic, program.partitions)

    def send(self) -> None:
        """The next part of the input, to the broker and to the model."""
        part = self.program.part(self._parts, _PART)
        self._parts += 1
        self.model.feed(part)
        self.broker.append([self._record(sent) for sent in part])

    def run_here(self, directory: Path, guarantee: str, spark: Any = None) -> None:
        """Until nothing is left to read; in one process, or on Spark."""
        config = {
            "application.id": self.application,
            "bootstrap.servers": self.broker.address,
            "state.dir": directory,
            "processing.guarantee": guarantee,
            "default.value.serde": serdes.string(),
        }
        options: dict[str, Any] = {"engine": "local"} if spark is None else {"spark": spark}
        with Streams(self.program.build(self.application), config, **options) as app:
            app.run_until_idle()

    def written(self) -> list[tuple[Any, Any]]:
        """All that is in the output topic, read committed."""
        topic, key, value = f"{self.application}-out", self.program.key_serde, self.program.value_serde
        return [
            (key.deserialize(topic, record[4]), None if record[5] is None else value.deserialize(topic, record[5]))
            for number in range(self.program.partitions)
            for records in self.broker.read(topic, number, 0)
            for record in records
        ]

    def check(self) -> None:
        """The final results are those of the model; where each result comes once, it did."""
        written = self.written()
        assert table_of(written) == table_of(self.model.written), self.program.name
        if self.program.name == "suppress":
            assert sorted(written, key=repr) == sorted(self.model.written, key=repr)
        if self.program.name == "word-count":
            counts: dict[str, int] = {}
            for word, count in written:
                assert count > counts.get(word, 0)
                counts[word] = count

    def wait_until_done(self) -> None:
        deadline = time.monotonic() + _SECONDS
        while table_of(self.written()) != table_of(self.model.written):
            assert time.monotonic() < deadline, self.program.name
            time.sleep(0.3)

    def _record(self, sent: Sent) -> NewRecord:
        end, key, value, timestamp = sent
        data = None if value is None else value.encode()
        partition = default_partition(key.encode(), self.program.partitions)
        return NewRecord(f"{self.application}-{end}", key.encode(), data, timestamp, partition=partition)


@pytest.fixture
def broker(kafka_address: str) -> Iterator[Broker]:
    with closing(open_broker(kafka_address)) as broker:
        yield broker


@pytest.mark.parametrize("guarantee", ["exactly_once_v2", "at_least_once"])
def test_applications_go_from_kafka_streams_to_headrace_and_back_twice(
    broker: Broker, kafka_address: str, kafka_name: str, tmp_path: Path, guarantee: str, spark: Any
) -> None:
    each = [Handover(program, f"{kafka_name}-{program.name}", broker) for program in PROGRAMS]
    applications = {one.program.name: one.application for one in each}

    for number in range(2):
        for one in each:
            one.send()
        # Each time with a state directory of its own: everything it knows it has from the changelogs.
        log = tmp_path / f"java-{number}.log"
        with kafka_streams(kafka_address, tmp_path / f"java-{number}", guarantee, applications, log):
            for one in each:
                one.wait_until_done()
            with pytest.raises(LeaseHeldError, match="its consumer group has members"):
                each[0].run_here(tmp_path / "state", guarantee)
        assert "offset metadata" not in log.read_text().lower()
        for one in each:
            one.send()
        leave_unread(each[0], number)
        for one in each:
            # Here with the same one, in which stores are left that know nothing of what happened meanwhile.
            is_on_spark = one is each[0] and number == 1
            one.run_here(tmp_path / "state", guarantee, spark if is_on_spark else None)
            one.check()


def leave_unread(one: Handover, number: int) -> None:
    """As if Kafka Streams had been stopped between writing to its repartition topic and reading from it."""
    word, timestamp = "unread", START_MS + number * 1000
    topic = f"{one.application}-counts-repartition"
    place = default_partition(word.encode(), one.program.partitions)
    left = [NewRecord(topic, word.encode(), word.encode(), timestamp, partition=place)] * _LEFT_OVER
    one.broker.append(left)
    one.model.feed([("in", "k", word, timestamp)] * _LEFT_OVER)
