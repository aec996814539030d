"""The engine in one process: the levels of a batch one after another, then the decision.

What makes a batch is the same wherever tasks run: the plan, the visits, the notes and the one decision. Here tasks run
in one thread, and what they send to each other stays in this process. Without ``start`` that is the calling thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from headrace.application.global_stores import GlobalStores
from headrace.application.layout import Application
from headrace.batch.coordinator import Coordinator
from headrace.batch.level import Level
from headrace.batch.loop import BatchLoop
from headrace.batch.order import BatchOrder
from headrace.batch.parcels import Parcel
from headrace.batch.reports import BatchReport, BatchUnderWay
from headrace.batch.runner import BatchRunner
from headrace.batch.visiting import OpenTasks
from headrace.clock import now_ms
from headrace.errors import IllegalStateError, UnsupportedError

if TYPE_CHECKING:
    from headrace.batch.reading_time import ReadingTime
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
        clock: Callable[[], int] = now_ms,
        on_batch: Callable[[BatchReport], None] = lambda report: None,
        on_failure: Callable[[BaseException], None] = lambda error: None,
        time: ReadingTime | None = None,
    ) -> None:
        """``time`` limits batches where no setting does; ``on_failure`` hears why the thread of ``start`` ended."""
        self._broker = broker
        self._clock = clock
        self._on_batch, self._on_failure = on_batch, on_failure
        self._coordinator = Coordinator(topology, settings, broker, clock)
        self._runner = BatchRunner(self._coordinator, self._job, self._done, time)
        self._global_stores = GlobalStores(self.application, broker, clock)
        self._loop: BatchLoop | None = None
        self.tasks = OpenTasks(self.application, broker)
        self.dropped_records: Counter[str] = Counter()

    @property
    def application(self) -> Application:
        """What is run."""
        return self._coordinator.application

    @property
    def batch_under_way(self) -> BatchUnderWay | None:
        """The batch that runs now."""
        return self._runner.under_way

    @property
    def has_new_topics(self) -> bool:
        """Whether other topics, or other partitions, are to be read than those that are."""
        return self._coordinator.has_new_topics

    def start(self) -> None:
        """Run batches in a thread, from now on."""
        if self._loop is not None and self._loop.is_active:
            raise IllegalStateError("the engine runs already")
        poll_seconds = self.application.config["poll.ms"] / 1000
        self._loop = BatchLoop(lambda: self.run_batch() is not None, poll_seconds, self._on_failure)

    def stop(self, timeout: float | None = None) -> bool:
        """End the thread after the batch that is under way; False where that takes longer than ``timeout`` seconds."""
        if self._loop is not None:
            if not self._loop.stop(timeout):
                return False
            self._loop = None
            self._runner.publish()
        return True

    def set_threads(self, count: int) -> None:
        """Tasks run one after another here, however many threads are asked for."""

    def lay_out_again(self) -> None:
        """Stop, and read the topics there are now."""
        self.stop()
        self.tasks.close()
        self._coordinator.lay_out_again()
        self.tasks = OpenTasks(self.application, self._broker)

    def run_batch(self) -> BatchReport | None:
        """Process what there is to process and decide it; None where nothing was due."""
        return self._runner.run() if self._runner.plan() else None

    def run_until_idle(self) -> int:
        """Batch after batch, until nothing is due; how many."""
        before = self._runner.count
        with self._runner.waiting():
            if self._loop is not None:
                self._loop.wait_until_idle()
            else:
                while self.run_batch() is not None:
                    pass
        return self._runner.count - before

    def renew_lease(self) -> None:
        """Hold the application for another while; FencedError where another process took it over."""
        self._coordinator.renew()

    def dataframe(self, table: Any) -> Any:
        """There is no Spark here."""
        hint = "store_arrow() and store_pandas() give the same without Spark."
        raise UnsupportedError("a DataFrame needs an application that runs on Spark", hint=hint)

    def close(self) -> None:
        """Stop, and give the application back."""
        with ExitStack() as ending:
            ending.callback(self._coordinator.close)
            ending.callback(self._global_stores.close)
            ending.callback(self.tasks.close)
            self.stop()

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _done(self, report: BatchReport) -> None:
        self.dropped_records.update(report.dropped)
        self._on_batch(report)

    def _job(self, batch: BatchOrder, parcels: list[Parcel]) -> list[Parcel]:
        stores = self._global_stores.at(batch.global_ends)
        for number in range(len(self.application.levels.levels)):
            level = Level(self.application, batch, number, self.tasks, clock=self._clock, global_stores=stores)
            parcels = list(level.run(parcels))
        return parcels
