"""The global stores of an application, filled once more from the topics that they are made of."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.application.global_stores import fill
from headrace.state.position import Position
from headrace.task.global_task import GlobalTask

if TYPE_CHECKING:
    from headrace.application.layout import Application
    from headrace.broker.port import Log
    from headrace.topology.task_plan import TaskPlan


class GlobalReplica:
    """All global stores together. They are filled anew by every process, as the application itself does it."""

    def __init__(self, application: Application, plan: TaskPlan, directory: Path) -> None:
        shutil.rmtree(directory, ignore_errors=True)
        self._topics = application.topics.global_topics
        self._task = GlobalTask(plan, application.config, state_dir=directory)
        self._task.initialize()

    def store(self, name: str) -> Any:
        return self._task.stores[name]

    @property
    def position(self) -> Position:
        """The last offsets that the stores reflect."""
        position = Position()
        for (topic, partition), offset in self._task.offsets.items():
            position.with_component(topic, partition, offset - 1)
        return position

    def follow(self, broker: Log) -> int:
        """Process what is new in the topics; how many records."""
        counts = broker.topics()
        partitions = [(topic, number) for topic in self._topics for number in range(counts.get(topic, 0))]
        return fill(self._task, broker, broker.end_offsets(partitions))

    def close(self) -> None:
        self._task.close()
