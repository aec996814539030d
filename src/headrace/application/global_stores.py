"""The global stores of one process: a copy of its own, filled up to where a batch says and kept current from there."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from headrace.task.global_task import GlobalTask
from headrace.task.lock import OwnDirectory

if TYPE_CHECKING:
    from headrace.application.layout import Application
    from headrace.broker.port import Log


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
        for topic, partition, end in ends:
            start = task.offsets.get((topic, partition))
            if start is None:
                start = self._broker.start_offsets([(topic, partition)])[topic, partition]
            for records in self._broker.read(topic, partition, start, max(start, end)):
                for record in records:
                    task.update(record)
        task.flush()
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
