"""The batch engine on Spark: one streaming query, one job per batch, one commit at its end.

Everything that has to outlive the process is in that commit: offsets, outputs, changelogs, versions of stores. So the
checkpoint of the query is disposable. Each start has a new one, and a batch that was under way when the process ended
is planned anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.sql import SparkSession

from headrace.batch.application import Application
from headrace.batch.coordinator import Coordinator
from headrace.batch.order import BatchOrder
from headrace.batch.parcels import Parcel
from headrace.batch.reports import BatchReport, BatchUnderWay
from headrace.errors import IllegalStateError
from headrace.failpoints import reach
from headrace.spark.query import BatchQuery, Job
from headrace.spark.session import close_session, existing_session, is_alive, open_session
from headrace.task.clock import system_clock

if TYPE_CHECKING:
    from headrace.broker.port import Broker
    from headrace.topology import Topology

BEFORE_JOB, AFTER_JOB, AFTER_COMMIT = "spark.before-job", "spark.after-job", "spark.after-commit"


def _ignore(_: Any) -> None:
    """What a callback does that nobody gave."""


class SparkEngine:
    """Runs the batches of an application on Spark, from ``start`` to ``stop``; ``close`` gives the application back."""

    def __init__(
        self,
        topology: Topology,
        settings: Mapping[str, Any],
        broker: Broker,
        *,
        session: SparkSession | None = None,
        on_batch: Callable[[BatchReport], None] = _ignore,
        on_failure: Callable[[BaseException], None] = _ignore,
    ) -> None:
        """A given ``session`` is used as it is and never stopped. ``on_failure`` hears why the query ended."""
        self._broker = broker
        self._coordinator = Coordinator(topology, settings, broker, system_clock)
        self._given_session = session or existing_session()
        self._session = self._given_session
        self._threads: int = self.application.config["num.stream.threads"]
        self._on_batch, self._on_failure = on_batch, on_failure
        self._run: BatchQuery | None = None
        self._count = 0
        self.batch_under_way: BatchUnderWay | None = None

    @property
    def application(self) -> Application:
        """What is run."""
        return self._coordinator.application

    @property
    def session(self) -> SparkSession:
        """The session; made where there is none yet."""
        if self._session is None:
            self._session = open_session(self.application.config, self._threads)
        return self._session

    @property
    def is_running(self) -> bool:
        """Whether batches are run."""
        return self._run is not None and self._run.is_active

    def start(self) -> None:
        """Start the query; returns when it runs."""
        if self.is_running:
            raise IllegalStateError("the engine runs already")
        if self._session is not None and not is_alive(self._session):
            self._close_session()
        self._run = BatchQuery(self.session, self.application, self._broker.address, self._run_batch, self._on_failure)

    def stop(self, timeout: float | None = None) -> bool:
        """End the query after the batch that is under way; False where that takes longer than ``timeout`` seconds."""
        if self._run is not None:
            if not self._run.stop(timeout):
                return False
            self._run = None
        return True

    def set_threads(self, count: int) -> None:
        """Let ``count`` tasks run at a time. A session of our own is made anew for that."""
        was_running = self.is_running
        self.stop()
        self._threads = count
        self._close_session()
        if was_running:
            self.start()

    @property
    def has_new_topics(self) -> bool:
        """Whether other topics, or other partitions, are to be read than those that are."""
        return self._coordinator.has_new_topics

    def lay_out_again(self) -> None:
        """Read the topics there are now, from the next start on."""
        self.stop()
        self._coordinator.lay_out_again()

    def run_until_idle(self) -> int:
        """Wait until nothing is due any more; how many batches that took."""
        before = self._count
        if self._run is None:
            self.start()
        assert self._run is not None
        self._run.process_all()
        return self._count - before

    def renew_lease(self) -> None:
        """Hold the application for another while; FencedError where another process took it over."""
        self._coordinator.lease.renew()

    def close(self) -> None:
        """Stop, and give the application back."""
        with ExitStack() as ending:
            ending.callback(self._close_session)
            ending.callback(self._coordinator.close)
            self.stop()

    def __enter__(self) -> SparkEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _close_session(self) -> None:
        if self._given_session is None and self._session is not None:
            close_session(self._session)
            self._session = None

    def _run_batch(self, records: int, job: Job) -> None:
        def run(batch: BatchOrder) -> Iterator[Parcel]:
            self.batch_under_way = BatchUnderWay(batch.batch_id, records, batch.now_ms / 1000)
            reach(BEFORE_JOB)
            parcels = job(msgspec.msgpack.encode(batch))
            reach(AFTER_JOB)
            return parcels

        try:
            report = self._coordinator.run(run)
        finally:
            self.batch_under_way = None
        reach(AFTER_COMMIT)
        self._count += 1
        self._on_batch(report)
