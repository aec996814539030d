"""One application on one engine: a broker with the topics of a case, fed batch by batch, and what comes out of it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from headrace import Topology
from headrace.application.layout import Application
from headrace.broker.port import NewRecord, TopicPartition
from headrace.records import RawRecord
from tests.conformance.agreement import Difference
from tests.conformance.case_inputs import Advance, Piped
from tests.conformance.cutting import Chunk
from tests.conformance.engines import EngineKind
from tests.conformance.program_facts import global_topics, sink_topics, source_topics

CONTROL_TOPIC = "-headrace-batches"
"""How the name of the topic ends in which an application on Kafka keeps its decisions."""


class EngineRun:
    """Runs a topology; topics it reads have ``partitions`` partitions, global ones and sinks ``other_partitions``."""

    def __init__(
        self,
        kind: EngineKind,
        topology: Topology,
        settings: dict[str, Any],
        directory: Path,
        *,
        topics: Iterable[str],
        partitions: int,
        other_partitions: int,
        wall_clock_ms: int,
        starts_empty: bool,
    ) -> None:
        self._now_ms = wall_clock_ms
        self._wait_until_readable = kind.wait_until_readable
        self._ends: dict[TopicPartition, int] = {}
        planned = topology.configured(settings)
        with ExitStack() as undoing:
            settings = {**settings, **kind.settings}
            self._broker = undoing.enter_context(kind.open_broker(directory, settings))
            read = source_topics(planned) | set(topics)
            split = read - global_topics(planned)
            for topic in sorted(read | sink_topics(planned)):
                self._broker.create_topic(topic, partitions if topic in split else other_partitions)
            self._engine = kind.make(topology, settings, self._broker, clock=lambda: self._now_ms)
            undoing.callback(self._engine.close)
            if starts_empty:
                self._run_until_idle()
            self._closing = undoing.pop_all()
        self._new_records()

    @property
    def application(self) -> Application:
        """What the engine made of the topology and the topics."""
        return self._engine.application

    def partitions_for(self, topic: str) -> int:
        """How many partitions a topic has; one that is made on the way has one."""
        return self.application.topics.partitions.get(topic) or self._broker.topics().get(topic, 1)

    def feed(self, chunk: Chunk) -> list[RawRecord]:
        """Append records, or move the clock, and let the engine do what there is to do; what it wrote."""
        given: set[tuple[str, int, int]] = set()
        if isinstance(chunk, Advance):
            self._now_ms += chunk.ms
        else:
            appended = self._broker.append([self._new(record) for record in chunk])
            for place, (start, end) in appended.ranges.items():
                given.update((*place, offset) for offset in range(start, end))
        self._run_until_idle()
        return [record for record in self._new_records() if record[:3] not in given]

    def uncommitted(self) -> list[Difference]:
        """The partitions of which not everything counts as read."""
        committed = self._broker.committed(self.application.id)
        own = [
            (topic, partition)
            for topic in self.application.reset_policies()
            for partition in range(self.application.topics.partitions[topic])
        ]
        read = {place: committed[place].offset if place in committed else 0 for place in own}
        ends = self._broker.end_offsets(own)
        return [
            {"where": f"committed offset of {place}", "expected": ends[place], "found": read[place]}
            for place in own
            if ends[place] != read[place]
        ]

    def close(self) -> None:
        """Give everything back."""
        self._closing.close()

    def _run_until_idle(self) -> None:
        """Run until nothing is due, counting what the engine wrote to topics that it reads; all of it can be read."""
        while self._engine.run_until_idle():
            self._wait_until_readable()

    def _new(self, record: Piped) -> NewRecord:
        partition = record.partition(self.partitions_for(record.topic))
        return NewRecord(record.topic, record.key, record.value, record.timestamp, record.headers, partition)

    def _new_records(self) -> list[RawRecord]:
        places = [
            (topic, partition)
            for topic, count in self._broker.topics().items()
            for partition in range(count)
            if not topic.endswith(CONTROL_TOPIC)
        ]
        found = []
        for place, end in self._broker.end_offsets(places).items():
            for records in self._broker.read(*place, self._ends.get(place, 0), end):
                found += records
            # Behind the mark of a transaction, if there is one: whoever read it stands there.
            self._ends[place] = end
        return found
