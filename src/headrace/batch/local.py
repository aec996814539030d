"""The batch engine in one process: the levels of a batch one after another, then the commit.

What makes a batch is the same wherever tasks run: the plan, the visits, the notes and the one commit. Here tasks run in
the calling thread, and what they send to each other stays in this process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from headrace.batch.application import Application
from headrace.batch.coordinator import Coordinator
from headrace.batch.global_stores import GlobalStores
from headrace.batch.level import Level
from headrace.batch.order import BatchOrder
from headrace.batch.parcels import Parcel
from headrace.batch.reading_plan import PlannedBatch, Planner, parcels, reading_plan
from headrace.batch.reports import BatchReport
from headrace.task.clock import system_clock

if TYPE_CHECKING:
    from headrace.broker.port import Broker
    from headrace.topology import Topology


class LocalEngine:
    """Runs an application batch by batch. A context manager; ``close`` gives the application back.

    Only one process runs an application at a time: a second one is refused (LeaseHeldError).
    """

    def __init__(
        self,
        topology: Topology,
        settings: Mapping[str, Any],
        broker: Broker,
        *,
        clock: Callable[[], int] = system_clock,
    ) -> None:
        self._broker = broker
        self._clock = clock
        self._coordinator = Coordinator(topology, settings, broker, clock)
        self._plan_reading()
        self._global_stores = GlobalStores(self.application, broker, clock)
        self.dropped_records: Counter[str] = Counter()

    @property
    def application(self) -> Application:
        """What is run."""
        return self._coordinator.application

    def run_batch(self) -> BatchReport | None:
        """Process what there is to process and commit it; None where nothing was due."""
        planned = self._planner.next_batch(self._clock(), self._coordinator.progress)
        if planned.is_empty:
            return None
        report = self._coordinator.run(lambda batch: self._run(batch, planned))
        self.dropped_records.update(report.dropped)
        return report

    def run_until_idle(self) -> int:
        """Batch after batch, until nothing is due; how many."""
        count = 0
        while self.run_batch() is not None:
            count += 1
        return count

    def follow_topics(self) -> bool:
        """Go on with the topics and partitions there are now; whether they are others than before."""
        if not self._coordinator.has_new_topics:
            return False
        self._coordinator.lay_out_again()
        self._plan_reading()
        return True

    def close(self) -> None:
        """Give the application back."""
        self._global_stores.close()
        self._coordinator.close()

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _plan_reading(self) -> None:
        self._plan = reading_plan(self.application)
        self._planner = Planner(self._plan, self._broker)

    def _run(self, batch: BatchOrder, planned: PlannedBatch) -> list[Parcel]:
        stores = self._global_stores.at(batch.global_ends)
        waiting = parcels(self._plan, planned)
        for number in range(len(self.application.levels.levels)):
            level = Level(self.application, batch, number, self._broker, clock=self._clock, global_stores=stores)
            waiting = list(level.run(waiting))
        return waiting
