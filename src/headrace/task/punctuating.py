"""The punctuations of a task: nodes schedule them by stream time or by the wall clock, the host fires what is due."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from headrace.errors import ProcessingError, TaskCorruptedError, TaskMigratedError
from headrace.processors.api import Cancellable, PunctuationType, Punctuator
from headrace.records import NO_HEADERS, NO_TIMESTAMP, RecordContext
from headrace.task.context import TaskContext
from headrace.task.failures import QUITTING, note_node
from headrace.task.handlers import Handle
from headrace.task.nodes import handle_processing_error
from headrace.task.partition_group import PartitionGroup
from headrace.task.progress import InputProgress
from headrace.task.punctuation import Punctuation, PunctuationQueue
from headrace.task.schedules import Schedules


class Punctuations:
    def __init__(
        self,
        context: TaskContext,
        group: PartitionGroup,
        progress: InputProgress,
        *,
        processors: Mapping[str, Any],
        handler: Handle,
        clock: Callable[[], int],
    ) -> None:
        self.by_stream_time = PunctuationQueue()
        self.by_wall_clock = PunctuationQueue()
        self.schedules = Schedules(processors, (self.by_stream_time, self.by_wall_clock))
        self._context = context
        self._group = group
        self._progress = progress
        self._clock = clock
        self.nodes: Collection[str] | None = None
        """Those whose punctuations may fire; None: all."""
        self._handler = handler
        self._sensor = context.metrics.task_sensor("punctuate")

    def schedule(
        self, node: str, interval_ms: int, punctuation: PunctuationType, callback: Punctuator, start: int | None
    ) -> Cancellable:
        is_stream_time = punctuation is PunctuationType.STREAM_TIME
        now_ms = self._group.stream_time if is_stream_time else self._clock()
        due_ms = start
        if due_ms is None:
            due_ms = 0 if is_stream_time else now_ms + interval_ms
        scheduled = Punctuation(node, due_ms, interval_ms, callback)
        if start is not None and start < now_ms:
            scheduled.move_past(now_ms)
        queue = self.by_stream_time if is_stream_time else self.by_wall_clock
        return queue.schedule(self.schedules.number(scheduled))

    def fire_by_stream_time(self) -> bool:
        """Call what is due by stream time; True where something was."""
        now_ms = self._group.stream_time
        return now_ms != NO_TIMESTAMP and self._fire_due(self.by_stream_time, now_ms)

    def fire_by_wall_clock(self) -> bool:
        return self._fire_due(self.by_wall_clock, self._clock())

    def clear(self) -> None:
        self.by_stream_time.clear()
        self.by_wall_clock.clear()

    def _fire_due(self, queue: PunctuationQueue, now_ms: int) -> bool:
        fired = queue.fire(now_ms, self._fire, self.nodes)
        if fired:
            self._progress.commit_needed = True
        return fired

    def _fire(self, punctuation: Punctuation, now_ms: int) -> None:
        context = RecordContext(now_ms, -1, -1, None, NO_HEADERS)
        with self._context.active(context, self._clock()):
            try:
                if self._sensor is None:
                    punctuation.punctuator(now_ms)
                else:
                    self._sensor.timed(punctuation.punctuator, now_ms)
            except (ProcessingError, TaskCorruptedError, TaskMigratedError):
                raise
            except QUITTING as error:
                note_node(error, punctuation.node)
                raise
            except Exception as error:
                self._context.record_context = context
                handle_processing_error(
                    self._context, self._handler, punctuation.node, None, error, "a punctuation failed"
                )
