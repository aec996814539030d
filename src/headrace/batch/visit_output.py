"""Where a task writes: records for other tasks are parcelled up, the rest is staged with the broker."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from headrace.application.deleted_topics import deleted_outputs
from headrace.batch.coded_records import CodedRecords
from headrace.batch.parcels import Kind, Parcel
from headrace.batch.payloads import Payload
from headrace.batch.spool import Spool
from headrace.broker.port import TopicPartition
from headrace.partitioning import default_partition
from headrace.records import Headers

if TYPE_CHECKING:
    from headrace.application.layout import Application
    from headrace.batch.visit_contract import VisitRequest
    from headrace.broker.port import Log, Stage
    from headrace.metrics.topic_count import TopicCount


class VisitOutput:
    """The producer of a task, visit by visit."""

    _stage: Stage
    _request: VisitRequest
    _spool: Spool

    def __init__(self, application: Application, broker: Log) -> None:
        self._broker = broker
        self._application = application
        self._addresses = application.addresses
        self._partitions = dict(application.topics.partitions)
        self._payloads: dict[TopicPartition, Payload] = {}
        self._coded: dict[str, CodedRecords] = {}
        self._turn = 0

    def begin(self, request: VisitRequest, stage: Stage, sent: Spool) -> None:
        """Write to ``stage`` and, for other tasks, to ``sent`` from now on."""
        self._request, self._stage, self._spool = request, stage, sent
        self._payloads.clear()

    def send(
        self,
        topic: str,
        partition: int | None,
        timestamp: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
    ) -> None:
        if partition is None:
            partition = self._partition(topic, key)
        if timestamp is None:
            timestamp = self._request.batch.now_ms
        if topic in self._addresses:
            if topic in self._coded:
                # Seal the columns that are buffered, so that records stay in the order in which they were sent.
                self._coded[topic].seal()
            self._payload(topic, partition).add(timestamp, key, value, headers)
        else:
            self._stage.append(topic, partition, timestamp, key, value, headers)

    def columns_for(self, topic: str, count: TopicCount) -> CodedRecords | None:
        """For a repartition topic: what takes the records of its writer in columns. Only one writer can have it."""
        if topic not in self._addresses or topic in self._coded:
            return None
        partitions = self.partitions_for(topic)
        self._coded[topic] = CodedRecords(partitions, partial(self._payload, topic), count)
        return self._coded[topic]

    def finish(self) -> None:
        """Parcel up what is left."""
        self.flush()
        for payload in self._payloads.values():
            payload.seal()

    def partitions_for(self, topic: str) -> int:
        """How many partitions a topic has. One that a function chose, and that does not exist yet, is made."""
        count = self._partitions.get(topic)
        if count is None:
            known = self._broker.topics()
            if topic not in known:
                if topic in self._application.outputs:
                    raise deleted_outputs(self._application, [topic])
                self._broker.create_topic(topic)
                known = self._broker.topics()
            count = self._partitions[topic] = known[topic]
        return count

    def flush(self) -> None:
        """What is staged is made durable when the visit ends."""
        for coded in self._coded.values():
            coded.seal()

    def _payload(self, topic: str, partition: int) -> Payload:
        payload = self._payloads.get((topic, partition))
        if payload is None:
            payload = self._payloads[topic, partition] = Payload(self._parcels(topic, partition))
        return payload

    def _parcels(self, topic: str, partition: int) -> Callable[[bytes], None]:
        """What takes the chunks of a partition and parcels them up."""
        first_task, level = self._addresses[topic]
        request, spool = self._request, self._spool
        target, sender = first_task + partition, (request.visit.level, request.number)

        def emit(chunk: bytes) -> None:
            spool.add(Parcel(target, Kind.RECORDS, level, *sender, len(spool), topic, request.attempt, chunk))

        return emit

    def _partition(self, topic: str, key: bytes | None) -> int:
        count = self.partitions_for(topic)
        if count == 1:
            return 0
        if key is not None:
            return default_partition(key, count)
        # Records without a key go round, as a producer spreads them.
        self._turn += 1
        return self._turn % count
