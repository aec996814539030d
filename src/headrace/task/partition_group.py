"""The input of a task: one queue per partition, and the choice of the next record.

The queue whose head has the smallest timestamp comes first; inside a partition offsets decide.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from headrace.errors import IllegalStateError, StreamsError
from headrace.instants import to_timestamp
from headrace.metrics import Sensor
from headrace.metrics.topic_count import TopicCount
from headrace.processors.columns import Columns
from headrace.records import NO_TIMESTAMP, ConsumedRecord, RawRecord, TopicPartition
from headrace.task.context import TaskContext
from headrace.task.failures import headline, note_part, place
from headrace.task.handlers import Handle, LogAndFailExceptionHandler
from headrace.task.nodes import TaskSource, handle_unreadable
from headrace.task.priority_queue import PriorityQueue
from headrace.timestamps import EXTRACTORS, TimestampExtractor, fail_on_invalid_timestamp

if TYPE_CHECKING:
    from headrace.config import StreamsConfig
    from headrace.topology.task_plan import TaskPlan

FEW_RECORDS = 128
"""Records in columns that are not worth another try."""

_EXTRACTOR = (
    "An extractor is called as extractor(record, partition_time) and returns whole milliseconds since 1970 (not the "
    "seconds of time.time()) or a datetime; a negative number drops the record."
)


Head: TypeAlias = tuple[int, Any, Any, RawRecord, bool]
"""``(timestamp, key, value, raw record, is skipped)``: the next record of a queue, read and stamped.

One that had to be skipped has no key, no value, no time; its offset still counts.
"""


class RecordQueue:
    """The records of one partition that wait to be processed. Only the head is deserialised."""

    __slots__ = (
        "_columns",
        "_extract",
        "_fifo",
        "_handler",
        "_task",
        "consumed",
        "head",
        "head_in_columns",
        "partition_time",
        "source",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        source: TaskSource,
        extractor: TimestampExtractor,
        handler: Any,
        task: TaskContext,
    ) -> None:
        self.topic_partition = topic_partition
        self.source = source
        self.head: Head | None = None
        self.partition_time = NO_TIMESTAMP
        self.consumed = TopicCount(topic_partition[0])
        self._fifo: deque[RawRecord] = deque()
        # What comes after these, not yet looked at.
        self._columns: deque[Columns] = deque()
        self.head_in_columns = False
        """Whether the head is still in the columns that it is the first record of."""
        # The default extractor only looks at the sign: no need to build what an extractor is shown.
        self._extract = None if extractor is fail_on_invalid_timestamp else extractor
        self._handler = handler
        self._task = task

    def __len__(self) -> int:
        has_single_head = self.head is not None and not self.head_in_columns
        return len(self._fifo) + has_single_head + sum(map(len, self._columns))

    def add(self, records: Iterable[RawRecord]) -> None:
        while self._columns:
            self._take_apart()
        self._fifo.extend(records)
        if self.head is None:
            self._advance()

    def add_columns(self, columns: Columns) -> None:
        """The same for records in columns; they are taken apart only when records have to be processed one by one."""
        self._columns.append(columns)
        if self.head is None:
            self._look_into_columns()

    @property
    def next_offset(self) -> int | None:
        """The offset from which on nothing was processed or skipped; None where no record waits."""
        if self.head is None:
            return None
        _, _, _, (_, _, offset, *_), is_skipped = self.head
        return offset + 1 if is_skipped else offset

    @property
    def takes_columns(self) -> bool:
        """Whether what follows the head, or begins with it, can be processed in columns."""
        return bool(self._columns) and not self._fifo and self._extract is None and self.source.take_columns is not None

    def take_head(self) -> Head:
        """Take the head without reading the next record."""
        head = self.head
        assert head is not None
        if self.head_in_columns:
            self._take_apart()
        self.head = None
        timestamp, _, _, (_, _, _, _, key, value, headers), _ = head
        self.consumed.add(key, value, headers)
        if timestamp > self.partition_time:
            self.partition_time = timestamp
        return head

    def take_columns(self) -> Columns | None:
        """Take records in columns. Each part is either ``counted`` when it is done, or ``split``."""
        if self.head_in_columns:
            self.head, self.head_in_columns = None, False
        return self._columns.popleft() if self._columns else None

    def counted(self, columns: Columns) -> None:
        """These records, all with key and value, have been processed."""
        self.consumed.records += len(columns)
        self.consumed.content_bytes += columns.content_bytes
        self.partition_time = max(self.partition_time, columns.latest_ms)

    def split(self, columns: Columns) -> bool:
        """Take these records back, in halves; True where they are so few that they have to go one by one."""
        if len(columns) <= FEW_RECORDS:
            self._fifo.extend(columns.rows())
            return True
        middle = len(columns) // 2
        self._columns.extendleft((columns[middle:], columns[:middle]))
        return False

    def go_on(self) -> None:
        """Where there is no head, make the next record it."""
        if self.head is None:
            self._advance()

    def poll(self) -> Head:
        """Take the head; the next record becomes the head."""
        head = self.take_head()
        self._advance()
        return head

    def drain(self) -> Generator[Head, None, None]:
        """All heads in turn, as ``poll`` gives them. Close it: what was not taken stays."""
        fifo, read_key, read_value = self._fifo, self.source.read_key, self.source.read_value
        consumed, is_stamped = self.consumed, self._extract is None
        while self.head is not None and not (self._columns and self.takes_columns):
            head = self.head
            timestamp, _, _, (topic, _, _, _, key, value, headers), _ = head
            consumed.records += 1
            consumed.content_bytes += len(key or b"") + len(value or b"")
            if headers:
                consumed.add_headers(headers)
            if timestamp > self.partition_time:
                self.partition_time = timestamp
            self.head = None
            # As in Kafka, the next record is read before this one is processed.
            if fifo or self._fill():
                raw = fifo[0]
                topic, _, _, timestamp, key, value, _ = raw
                try:
                    next_key, next_value = read_key(topic, key), read_value(topic, value)
                except Exception:
                    # Whatever a serde raises: ``_advance`` reads the record once more and asks the handler about it.
                    self._advance()
                else:
                    if is_stamped and timestamp >= 0:
                        fifo.popleft()
                        self.head = (timestamp, next_key, next_value, raw, False)
                    else:
                        self._advance()
            yield head

    def forget_records(self) -> None:
        self._fifo.clear()
        self._columns.clear()
        self.head, self.head_in_columns = None, False

    def clear(self) -> None:
        self.forget_records()
        self.partition_time = NO_TIMESTAMP

    def _advance(self) -> None:
        fifo, source = self._fifo, self.source
        skipped: RawRecord | None = None
        while fifo or self._fill():
            raw = fifo.popleft()
            topic, _, _, timestamp, raw_key, raw_value, _ = raw
            part = "key"
            try:
                key = source.read_key(topic, raw_key)
                part = "value"
                value = source.read_value(topic, raw_value)
            except Exception as error:
                note_part(error, part)
                handle_unreadable(self._task, self._handler, self.source.name, raw, part, error)
                skipped = raw
                continue
            if self._extract is not None or timestamp < 0:
                timestamp = self._stamp(raw, key, value)
                if timestamp < 0:
                    self._task.drop("the extracted timestamp is negative", source.name, raw)
                    skipped = raw
                    continue
            self.head = (timestamp, key, value, raw, False)
            return
        if skipped is not None:
            # Its offset still has to be committed.
            self.head = (NO_TIMESTAMP, None, None, skipped, True)

    def _fill(self) -> bool:
        """Where no more single records wait, take some out of their columns; whether any wait then."""
        if self._columns and not self._fifo:
            self._take_apart()
        return bool(self._fifo)

    def _take_apart(self) -> None:
        """Make single records of the next columns."""
        rows = self._columns.popleft().rows()
        if self.head_in_columns:
            next(rows)
            self.head_in_columns = False
        self._fifo.extend(rows)

    def _look_into_columns(self) -> None:
        """Make the first record of the columns the head, but leave it there: they may be processed as a whole."""
        raw = self._columns[0].row(0)
        topic, _, _, timestamp, raw_key, raw_value, _ = raw
        if self.takes_columns and timestamp >= 0:
            try:
                key, value = self.source.read_key(topic, raw_key), self.source.read_value(topic, raw_value)
            except Exception:
                # Whatever a serde raises: ``_advance`` reads the record once more and asks the handler about it.
                self._advance()
                return
            self.head, self.head_in_columns = (timestamp, key, value, raw, False), True
        else:
            self._advance()

    def _stamp(self, raw: RawRecord, key: Any, value: Any) -> int:
        topic, partition, offset, timestamp, _, _, headers = raw
        extract = self._extract or fail_on_invalid_timestamp
        consumed = ConsumedRecord(topic, partition, offset, timestamp, key, value, headers)
        record = f"record {topic}-{partition}@{offset}"
        try:
            extracted = extract(consumed, self.partition_time)
        except StreamsError as error:
            error.at = error.at or f"node {self.source.name}, {record}"
            raise
        except Exception as error:
            at = f"{place(error, self.source.name)}, {record}"
            failed = "the timestamp extractor failed"
            raise StreamsError(headline(error), detail=failed, hint=_EXTRACTOR, at=at) from error
        if isinstance(extracted, datetime):
            return to_timestamp(extracted)
        if not isinstance(extracted, int):
            message = f"the timestamp extractor gave {extracted!r}"
            raise StreamsError(message, hint=_EXTRACTOR, at=f"node {self.source.name}, {record}")
        return extracted


class PartitionGroup:
    def __init__(
        self,
        queues: Mapping[TopicPartition, RecordQueue],
        *,
        max_idle_ms: int,
        lag_of: Callable[[TopicPartition], int | None],
        lateness: Sensor | None = None,
    ) -> None:
        self._queues = dict(queues)
        self._by_time: PriorityQueue[RecordQueue] = PriorityQueue(_head_timestamp)
        self._max_idle_ms = max_idle_ms
        self._lag_of = lag_of
        self._lateness = lateness
        self.deadlines: dict[TopicPartition, int] = {}
        """Until when partitions without records are waited for."""
        self.stream_time = NO_TIMESTAMP

    @property
    def has_records(self) -> bool:
        return len(self._by_time) > 0

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        return tuple(self._queues)

    def queue(self, partition: TopicPartition) -> RecordQueue:
        try:
            return self._queues[partition]
        except KeyError:
            message = f"the task does not read {partition[0]}-{partition[1]}"
            raise IllegalStateError(message) from None

    def add_queue(self, queue: RecordQueue) -> None:
        self._queues[queue.topic_partition] = queue

    def add(self, partition: TopicPartition, records: Iterable[RawRecord]) -> None:
        queue = self.queue(partition)
        was_empty = queue.head is None
        queue.add(records)
        if was_empty and queue.head is not None:
            self._by_time.offer(queue)

    def add_columns(self, partition: TopicPartition, columns: Columns) -> None:
        queue = self.queue(partition)
        was_empty = queue.head is None
        queue.add_columns(columns)
        if was_empty and queue.head is not None:
            self._by_time.offer(queue)

    def next(self) -> tuple[RecordQueue, Head] | None:
        """Take the record that is to be processed now; stream time moves with it."""
        queue = self._by_time.poll()
        if queue is None:
            return None
        head = queue.poll()
        if queue.head is not None:
            self._by_time.offer(queue)
        late_ms = self.stream_time - head[0]
        if late_ms < 0:
            self.stream_time = head[0]
        if self._lateness is not None:
            self._lateness.record(max(late_ms, 0))
        return queue, head

    @property
    def buffered(self) -> int:
        return sum(map(len, self._queues.values()))

    @property
    def only_queue(self) -> RecordQueue | None:
        """The queue that holds all waiting records; None where several do."""
        return self._by_time.peek() if len(self._by_time) == 1 and self._lateness is None else None

    def set_aside(self) -> None:
        """Take out the only queue that has records, to work through it."""
        self._by_time.clear()

    def put_back(self, queue: RecordQueue) -> None:
        if queue.head is not None:
            self._by_time.offer(queue)

    def is_ready(self, now_ms: int) -> bool:
        """Whether to process now, or wait (``max.task.idle.ms``) for a partition that has nothing buffered."""
        if self._max_idle_ms < 0 or len(self._by_time) == len(self._queues):
            return True
        for partition, queue in self._queues.items():
            if queue.head is not None:
                self.deadlines.pop(partition, None)
            elif not self._may_skip(partition, now_ms):
                return False
        return self.has_records

    @property
    def partition_times(self) -> dict[TopicPartition, int]:
        return {partition: queue.partition_time for partition, queue in self._queues.items()}

    def set_partition_time(self, partition: TopicPartition, timestamp: int) -> None:
        self.queue(partition).partition_time = timestamp
        self.stream_time = max(self.stream_time, timestamp)

    def forget_records(self) -> None:
        """Drop what waits: it will be read again. Times go on."""
        for queue in self._queues.values():
            queue.forget_records()
        self._by_time.clear()

    def clear(self) -> None:
        for queue in self._queues.values():
            queue.clear()
        self._by_time.clear()
        self.deadlines.clear()
        self.stream_time = NO_TIMESTAMP

    def _may_skip(self, partition: TopicPartition, now_ms: int) -> bool:
        """Whether the empty partition is caught up and was waited for long enough."""
        lag = self._lag_of(partition)
        if lag is None or lag > 0:
            self.deadlines.pop(partition, None)
            return False
        return now_ms >= self.deadlines.setdefault(partition, now_ms + self._max_idle_ms)


def _head_timestamp(queue: RecordQueue) -> int:
    return NO_TIMESTAMP if queue.head is None else queue.head[0]


def make_queue(
    partition: TopicPartition, node: TaskSource, plan: TaskPlan, context: TaskContext, handler: Handle
) -> RecordQueue:
    """The queue of a partition that ``node`` reads, with gauges for what it takes in."""
    # Records of internal topics must be readable: skipping one would lose what the application wrote itself.
    is_own = partition[0] in plan.repartition_topics
    handler = LogAndFailExceptionHandler().handle if is_own else handler
    queue = RecordQueue(partition, node, _extractor(node, context.config), handler, context)
    gauge = context.metrics.topic_gauge
    gauge(node.name, partition[0], "records-consumed-total", lambda: queue.consumed.records)
    gauge(node.name, partition[0], "bytes-consumed-total", lambda: queue.consumed.size)
    return queue


def _extractor(node: TaskSource, config: StreamsConfig) -> TimestampExtractor:
    extractor = node.extractor
    if extractor is None:
        return config.default_timestamp_extractor
    return EXTRACTORS[extractor] if isinstance(extractor, str) else extractor
