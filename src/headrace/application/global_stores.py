"""The global stores of one process: a copy of its own, filled up to where a batch says and kept current from there."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from headrace.task.global_task import GlobalTask
from headrace.task.lock import OwnDirectory

if TYPE_CHECKING:
    from headrace.application.layout import Application
    from headrace.broker.port import Log, TopicPartition


def fill(task: GlobalTask, broker: Log, ends: Mapping[TopicPartition, int]) -> int:
    """Process what is new to the task before ``ends``; how many records.

    Offsets have gaps: retention may have removed what comes next, and the last ones of a compacted topic may hold
    nothing.
    """
    due = {partition: end for partition, end in ends.items() if task.offsets.get(partition, 0) < end}
    if not due:
        return 0
    starts, count = broker.start_offsets(due), 0
    for partition, end in due.items():
        start = max(starts[partition], task.offsets.get(partition, 0))
        for records in broker.read(*partition, start, max(start, end)):
            for record in records:
                task.update(record)
                count += 1
        task.offsets[partition] = max(start, end)
    task.flush()
    return count


class GlobalStores:
    """Opened when they are first asked for; processes cannot share a store that is written."""

    def __init__(self, application: Application, broker: Log, clock: Callable[[], int]) -> None:
        self._application = application
        self._broker = broker
        self._clock = clock
        self._task: GlobalTask | None = None
        self._place: OwnDirectory | None = None

    def at(self, ends: Iterable[tuple[str, int, int]]) -> dict[str, Any]:
        """The stores by name, with all records of their topics before ``ends``."""
        task = self._task or self._open()
        if task is None:
            return {}
        fill(task, self._broker, {(topic, partition): end for topic, partition, end in ends})
        return task.stores

    def close(self) -> None:
        if self._task is not None:
            self._task.close()
            self._task = None
        if self._place is not None:
            self._place.release()
            self._place = None

    def _open(self) -> GlobalTask | None:
        plan = self._application.topology.global_plan()
        if plan is None:
            return None
        config = self._application.config
        self._place = OwnDirectory(config.application_dir / "global")
        # A copy that an earlier process left may have been filled up to another offset: discard it.
        directory = self._place.path / "stores"
        shutil.rmtree(directory, ignore_errors=True)
        self._task = GlobalTask(plan, config, clock=self._clock, state_dir=directory)
        self._task.initialize()
        return self._task
