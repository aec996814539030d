"""The engine on Spark: one streaming query, one job per batch, one decision at its end.

Everything that has to outlive the process is in that decision: offsets, outputs, changelogs, versions of stores. So the
checkpoint of the query is disposable. Each start has a new one, and a batch that was under way when the process ended
is planned anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from headrace.application.layout import Application
from headrace.batch.coordinator import Coordinator
from headrace.batch.reading_time import ReadingTime
from headrace.batch.reports import BatchReport, BatchUnderWay
from headrace.batch.runner import BatchRunner
from headrace.clock import now_ms
from headrace.errors import IllegalStateError
from headrace.spark.frames import store_dataframe
from headrace.spark.job import SparkJob
from headrace.spark.jvm import EXECUTION_ERRORS, explained
from headrace.spark.query import BatchQuery
from headrace.spark.session import close_session, existing_session, is_alive, open_session
from headrace.spark.warm_up import WarmUp
from headrace.spark.worker_path import shared_import_path

if TYPE_CHECKING:
    from headrace.broker.port import Broker
    from headrace.topology import Topology


class SparkEngine:
    """Runs the batches of an application on Spark, from ``start`` to ``stop``; ``close`` gives the application back."""

    def __init__(
        self,
        topology: Topology,
        settings: Mapping[str, Any],
        broker: Broker,
        *,
        session: SparkSession | None = None,
        on_batch: Callable[[BatchReport], None] = lambda report: None,
        on_failure: Callable[[BaseException], None] = lambda error: None,
    ) -> None:
        """A given ``session`` is used as it is and never stopped. ``on_failure`` hears why the query ended."""
        self._broker = broker
        self._given_session = session or existing_session()
        self._session = self._given_session
        self._warm_up = None if self._session is None else WarmUp(self._session, broker.address)
        self._coordinator = Coordinator(topology, settings, broker, now_ms)
        self._threads: int = self.application.config["num.stream.threads"]
        self._on_batch, self._on_failure = on_batch, on_failure
        self._runner: BatchRunner | None = None
        self._query: BatchQuery | None = None

    @property
    def application(self) -> Application:
        """What is run."""
        return self._coordinator.application

    @property
    def session(self) -> SparkSession:
        """The session; made where there is none yet."""
        if self._session is None:
            self._session = open_session(self.application.config, self._threads)
            self._warm_up = WarmUp(self._session, self._broker.address)
        return self._session

    @property
    def is_running(self) -> bool:
        """Whether batches are run."""
        return self._query is not None and self._query.is_active

    @property
    def batch_under_way(self) -> BatchUnderWay | None:
        """The batch that runs now."""
        return None if self._runner is None else self._runner.under_way

    def start(self) -> None:
        """Start the query; returns when it runs."""
        if self.is_running:
            raise IllegalStateError("the engine runs already")
        if self._session is not None and not is_alive(self._session):
            self._close_session()
        with shared_import_path():
            try:
                self._query = self._started()
            except EXECUTION_ERRORS as error:
                raise explained(error, "Spark could not start the query") from error

    def stop(self, timeout: float | None = None) -> bool:
        """End the query after the batch that is under way; False where that takes longer than ``timeout`` seconds."""
        if self._query is not None:
            if not self._query.stop(timeout):
                return False
            self._query = None
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
        if self._query is None:
            self.start()
        assert self._query is not None and self._runner is not None
        before = self._runner.count
        self._query.process_all()
        return self._runner.count - before

    def renew_lease(self) -> None:
        """Hold the application for another while; FencedError where another process took it over."""
        self._coordinator.renew()

    def dataframe(self, table: Any) -> Any:
        """An Arrow table as a DataFrame of the session."""
        return store_dataframe(self.session, table)

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

    def _started(self) -> BatchQuery:
        application = self.application
        job = SparkJob(self.session, application, self._broker.config)
        self._runner = BatchRunner(self._coordinator, job, self._on_batch, ReadingTime())
        return BatchQuery(application, job, self._runner, self._on_failure)

    def _close_session(self) -> None:
        if self._given_session is None and self._session is not None:
            if self._warm_up is not None:
                self._warm_up.close()
            close_session(self._session)
            self._session = None
