"""Works off the records that wait in a task: one by one, a queue at a time, or in columns."""

from __future__ import annotations

from typing import Any

from headrace.errors import BrokerError, StreamsError
from headrace.task.context import TaskContext
from headrace.task.failures import processing_error
from headrace.task.nodes import TaskSource
from headrace.task.partition_group import Head, PartitionGroup, RecordQueue
from headrace.task.progress import InputProgress
from headrace.task.punctuating import Punctuations


class Processing:
    __slots__ = ("_context", "_group", "_progress", "_punctuations", "_sensor")

    def __init__(
        self, context: TaskContext, group: PartitionGroup, progress: InputProgress, punctuations: Punctuations
    ) -> None:
        self._context = context
        self._group = group
        self._progress = progress
        self._punctuations = punctuations
        self._sensor = context.metrics.task_sensor("process")

    def process(self, now_ms: int) -> bool:
        """Process the next record, whole and depth first; False where there is none."""
        chosen = self._group.next()
        if chosen is None:
            return False
        self._process_head(*chosen, now_ms)
        return True

    def process_all(self, now_ms: int) -> None:
        """Process every record that waits; stream-time punctuations fire between them, when they are due."""
        group, punctuations = self._group, self._punctuations
        while group.has_records:
            queue = group.only_queue
            if queue is None or self._sensor is not None or punctuations.by_stream_time.waiting:
                self.process(now_ms)
                punctuations.fire_by_stream_time()
            elif queue.takes_columns:
                self._process_columns(queue, now_ms)
            else:
                self._process_queue(queue, now_ms)
                punctuations.fire_by_stream_time()

    def _process_head(self, queue: RecordQueue, head: Head, now_ms: int) -> None:
        timestamp, key, value, raw, is_skipped = head
        if not is_skipped:
            context, headers = self._context, raw[6]
            context.timestamp, context.headers, context.origin = timestamp, headers, raw
            context.system_time_ms = now_ms
            context.is_active = True
            try:
                self._run(queue.source, key, value, timestamp, headers)
            finally:
                context.is_active = False
        self._progress.consumed[queue.topic_partition] = raw[2]
        self._progress.commit_needed = True

    def _process_queue(self, queue: RecordQueue, now_ms: int) -> None:
        """Process the records of the only partition that has any: what ``process`` does, without choosing."""
        context, group, scheduled = self._context, self._group, self._punctuations.by_stream_time.waiting
        take, heads, raw = queue.source.take, queue.drain(), None
        context.system_time_ms = now_ms
        context.is_active = True
        group.set_aside()
        try:
            for timestamp, key, value, raw, is_skipped in heads:
                if timestamp > group.stream_time:
                    group.stream_time = timestamp
                if not is_skipped:
                    headers = raw[6]
                    context.timestamp, context.headers, context.origin = timestamp, headers, raw
                    take(key, value, timestamp, headers)
                if scheduled:
                    break
        except (StreamsError, BrokerError):
            raise
        except Exception as error:
            raise processing_error(queue.source.name, context.record_context, error) from error
        finally:
            heads.close()
            context.is_active = False
            group.put_back(queue)
            if raw is not None:
                self._progress.consumed[queue.topic_partition] = raw[2]
                self._progress.commit_needed = True

    def _process_columns(self, queue: RecordQueue, now_ms: int) -> None:
        """The same for records in columns; ends early where some have to go one by one."""
        context, group, take = self._context, self._group, queue.source.take_columns
        assert take is not None
        group.set_aside()
        try:
            if not queue.head_in_columns:
                head = queue.take_head()
                group.stream_time = max(group.stream_time, head[0])
                self._process_head(queue, head, now_ms)
            context.system_time_ms = now_ms
            while (columns := queue.take_columns()) is not None:
                if take(columns):
                    queue.counted(columns)
                    last = columns.row(-1)
                    context.timestamp, context.headers, context.origin = last[3], last[6], last
                    group.stream_time = max(group.stream_time, queue.partition_time)
                    self._progress.consumed[queue.topic_partition] = last[2]
                    self._progress.commit_needed = True
                elif queue.split(columns):
                    break
        finally:
            queue.go_on()
            group.put_back(queue)

    def _run(self, source: TaskSource, *record: Any) -> None:
        try:
            if self._sensor is None:
                source.take(*record)
            else:
                self._sensor.timed(source.take, *record)
        except (StreamsError, BrokerError):
            raise
        except Exception as error:
            raise processing_error(source.name, self._context.record_context, error) from error
