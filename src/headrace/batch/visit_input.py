"""What a task reads in a visit: ranges of topics and what other tasks sent, in chunks, in the order of time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, TypeAlias

from headrace.batch import payloads
from headrace.batch.spool import Spool
from headrace.broker.port import TopicPartition
from headrace.processors.columns import Columns, RecordColumns
from headrace.records import RawRecord

if TYPE_CHECKING:
    from headrace.batch.visit_contract import VisitRequest
    from headrace.broker.port import Log
    from headrace.task.stream_task import StreamTask

_JOINED = 8
"""How many lists or chunks as they are read make one batch of columns: the more records, the more share a key."""

Chunk: TypeAlias = "list[RawRecord] | Columns"


class VisitInput:
    """Feeds a task in chunks. The task waits for a partition that has more to read, as in Kafka for one that lags."""

    def __init__(self, request: VisitRequest, broker: Log) -> None:
        self.count = 0
        before = request.before
        self.repartition_ends = {} if before is None else dict(before.repartition_ends)
        self._chunks: dict[TopicPartition, Iterator[Chunk]] = {
            (each.topic, each.partition): self._counted(broker.read(each.topic, each.partition, each.start, each.end))
            for each in request.reading.ranges
            if each.size
        }
        for topic, spool in request.records.items():
            place = (topic, request.task.partition)
            sent = self._sent_records(*place, spool)
            # What Kafka Streams left in a repartition topic comes first, as it would there.
            left = self._chunks.get(place)
            self._chunks[place] = sent if left is None else chain(_in_columns(left), sent)
        self._sent = [(topic, request.task.partition) for topic in request.records]
        self._lags = {(each.topic, each.partition): each.lag for each in request.reading.ranges}

    def lag_of(self, partition: TopicPartition) -> int:
        """How much may still come."""
        return 1 if partition in self._chunks else self._lags.get(partition, 0)

    def feed(self, task: StreamTask, now_ms: int) -> None:
        """Feed everything in the order of time; stop when a partition is used up here but has more in its topic."""
        while self._refill(task) or (task.has_records and task.is_processable(now_ms)):
            # A task with one partition has nothing else to wait for.
            if task.has_one_partition or (not self._chunks and not any(self._lags.values())):
                task.process_all(now_ms)
            elif task.has_records and task.is_processable(now_ms):
                self._process(task, now_ms)
        # What other tasks sent exists in this batch only, so it is fed now, even if a partition has more to read.
        while any(task.buffered_of(partition) or partition in self._chunks for partition in self._sent):
            task.process_all(now_ms)
            self._refill(task)

    def _process(self, task: StreamTask, now_ms: int) -> None:
        """Process the next record, or all that wait where it is clear that they come before any other."""
        if task.waits_in_one_queue:
            # The other partitions have nothing, and nothing more comes of them in this visit.
            task.process_all(now_ms)
        else:
            task.process(now_ms)
            task.punctuate_stream_time()

    def _refill(self, task: StreamTask) -> bool:
        """Read more for partitions of which the task has no records left; whether anything was read."""
        found = False
        for partition in [each for each in self._chunks if not task.buffered_of(each)]:
            if not _feed_next(task, partition, self._chunks[partition]):
                del self._chunks[partition]
            found = True
        return found

    def _counted(self, chunks: Iterator[list[RawRecord]]) -> Iterator[Chunk]:
        for records in chunks:
            self.count += len(records)
            yield records

    def _sent_records(self, topic: str, partition: int, spool: Spool) -> Iterator[Chunk]:
        """The records that were sent to a repartition topic, with the offsets that the reader gives them."""
        for _, parcels in groupby(spool, lambda parcel: parcel.place[:2]):
            while chunks := [parcel.data for parcel in islice(parcels, _JOINED)]:
                start = self.repartition_ends.get(topic, 0)
                for columns in payloads.columns_in(chunks, topic, partition, start):
                    self.repartition_ends[topic] = columns.offsets[-1] + 1
                    yield columns


def _in_columns(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    for chunk in chunks:
        columns = RecordColumns.of(chunk) if isinstance(chunk, list) else chunk
        if columns is not None:
            yield columns


def _feed_next(task: StreamTask, partition: TopicPartition, chunks: Iterator[Chunk]) -> bool:
    """Feed the next records, in the form that the task processes fastest; False when there are none."""
    records: Chunk | None = next(chunks, None)
    if isinstance(records, list) and task.takes_columns(partition):
        records = RecordColumns.of(chain(records, *islice(chunks, _JOINED - 1)))  # type: ignore[arg-type]
    if isinstance(records, list):
        task.add_records(partition, records)
    elif records is not None:
        task.add_columns(partition, records)
    return records is not None
