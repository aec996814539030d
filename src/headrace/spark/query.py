"""One run of the streaming query: Structured Streaming says when, the runner does what is due."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from headrace.errors import StreamsError
from headrace.private_directories import make_private
from headrace.spark.gate import BatchGate
from headrace.spark.host_wire import directory_of, sign_on_as_driver
from headrace.spark.hosts import end_hosts, remove_abandoned
from headrace.spark.jvm import EXECUTION_ERRORS, check_callbacks, explained
from headrace.spark.source import FORMAT, DueServer, DueSource
from headrace.waiting import BATCH_SECONDS, join, overdue, within

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.application.layout import Application
    from headrace.batch.runner import BatchRunner
    from headrace.spark.job import SparkJob

_SQL = {
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "1",
    # Without it Spark waits for ever for its thread to end.
    "spark.sql.streaming.stopTimeout": "45s",
}
_LOOK_SECONDS = 0.2
_START_SECONDS = 0.02
_ROUND_SECONDS = 5.0
"""How long batches run one after another before Spark is asked whether the next one is due."""
_LINGER_SECONDS = 0.2
"""How long such a round waits for the next records."""
_START_TRIES = 5
_BEGIN_SECONDS = 120.0
_END_SECONDS = 60.0
_STOPPING = "the streaming query to stop"
_IDLE = "Spark to say that nothing is due"
_FAILED = "Spark could not run the batch"
_TOO_SLOW = "failed to connect back"


class BatchQuery:
    """The query from start to end. ``on_failure`` hears of an error that ends it."""

    def __init__(
        self,
        application: Application,
        job: SparkJob,
        runner: BatchRunner,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._job, self._runner, self._on_failure = job, runner, on_failure
        self._poll_seconds = max(1, application.config["poll.ms"]) / 1000
        self._directory = _new_checkpoint(application.config.application_dir, job.run)
        self._gate = BatchGate()
        self._ending = threading.Lock()
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self._telling = threading.Lock()
        remove_abandoned()
        place = directory_of(job.run)
        self._lives = sign_on_as_driver(place)
        self._due = DueServer(place, self._is_due)
        try:
            self._query = self._start(f"headrace-{application.id}")
        except BaseException:
            self._clear()
            raise
        self._watcher = threading.Thread(target=self._watch, name="headrace-watcher", daemon=True)
        self._watcher.start()

    @property
    def is_active(self) -> bool:
        """Whether batches are run."""
        return not self._ending.locked()

    def process_all(self) -> None:
        """Wait until nothing is due; raises what made it fail."""
        try:
            with self._runner.waiting():
                within(_BEGIN_SECONDS, _IDLE, self._query.processAllAvailable, lambda: self._gate.is_busy)
        except (StreamsError, *EXECUTION_ERRORS) as error:
            if self._failure is None:
                # One that does not answer has failed, too: who waits for the application's end hears of it.
                self._failure = error if isinstance(error, StreamsError) else explained(error, _FAILED)
        if self._failure is not None:
            # Whoever waits may stop the query before its watcher has seen the failure.
            self._fail(self._failure)
            raise self._failure

    def stop(self, timeout: float | None = None) -> bool:
        """End after the batch that is under way; False where that takes longer than ``timeout`` seconds.

        Without a ``timeout`` it waits for as long as a batch may take; then it is an error.
        """
        if not self._gate.close(BATCH_SECONDS if timeout is None else timeout):
            if timeout is None and not self._gate.is_inside:
                raise overdue("the batch under way to end", BATCH_SECONDS)
            return False
        if self.is_active:
            # While the hosts are there that do it.
            self._runner.publish()
        self._end()
        join(self._watcher, _END_SECONDS)
        return True

    def _start(self, name: str) -> StreamingQuery:
        session = self._job.session
        for setting, value in {
            **_SQL,
            "spark.sql.streaming.pollingDelay": f"{self._poll_seconds * 1000:.0f}ms",
        }.items():
            session.conf.set(setting, value)
        session.dataSource.register(DueSource)
        nothing = session.readStream.format(FORMAT).option("path", str(self._due.path)).load()
        # On this machine, whatever file system Spark takes a path to be in.
        location = f"file://{self._directory.absolute()}"
        writer = nothing.writeStream.foreachBatch(self._on_batch).option("checkpointLocation", location)
        check_callbacks()
        for left in reversed(range(_START_TRIES)):
            query = writer.queryName(name).start()
            if _has_begun(query) or not left:
                break
        return query

    def _is_due(self) -> bool:
        """Plan the next batch. Asked by Spark, through the source."""
        try:
            return self._failure is None and self._runner.plan()
        except BaseException as error:
            self._failure = error
            return False

    def _on_batch(self, nothing: DataFrame, number: int) -> None:
        """Run what is due, and for a while what becomes due then: each batch of Spark's own takes a tenth of a second.

        Nothing of Spark's batch is needed but that it happens: Spark is asked again when this has ended.
        """
        end = time.monotonic() + _ROUND_SECONDS
        while self._run_batch() and time.monotonic() < end and self._becomes_due():
            pass

    def _run_batch(self) -> bool:
        """Run what is planned; False where nothing may be run any more."""
        with self._gate.batch() as may_begin:
            # Skipping a batch is harmless: what is not decided is planned again. Spark begins with an empty one.
            if may_begin and self._failure is None:
                try:
                    self._runner.run()
                except BaseException as error:
                    self._failure = error
        return may_begin and self._failure is None

    def _becomes_due(self) -> bool:
        """Whether something is due soon."""
        end = time.monotonic() + _LINGER_SECONDS
        while not self._is_due():
            if time.monotonic() > end or self._failure is not None or self._runner.is_awaited:
                return False
            if self._gate.closes_within(min(self._poll_seconds, _LINGER_SECONDS)):
                return False
        return True

    def _watch(self) -> None:
        """Wait for the end, and tell of a failure."""
        try:
            while self._failure is None and self.is_active:
                if self._query.awaitTermination(_LOOK_SECONDS):  # type: ignore[arg-type]
                    break
        except EXECUTION_ERRORS as error:
            self._failure = self._failure or explained(error, _FAILED)
        if not self.is_active:
            return
        self._fail(self._failure or StreamsError("the streaming query was stopped by somebody else"))

    def _fail(self, failure: BaseException) -> None:
        """End because of a failure, and tell of it, once."""
        # Where that fails it is logged; what is told is why the query ended.
        with suppress(StreamsError):
            self._end()
        if self._telling.acquire(blocking=False):
            self._on_failure(failure)

    def _end(self) -> None:
        """Stop the query. No lock is held meanwhile that a batch needs: Spark waits for the batch at hand."""
        if not self._ending.acquire(blocking=False):
            if not self._ended.wait(_END_SECONDS):
                raise overdue(_STOPPING, _END_SECONDS)
            return
        try:
            within(_END_SECONDS, _STOPPING, self._stop_query)
        finally:
            self._clear()
            self._ended.set()

    def _clear(self) -> None:
        self._due.close()
        end_hosts(self._job.run)
        self._lives.close()
        remove_abandoned()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _stop_query(self) -> None:
        try:
            self._query.stop()
            self._job.close()
        except EXECUTION_ERRORS as error:
            if self._still_runs():
                raise explained(error, "Spark could not stop the query") from error

    def _still_runs(self) -> bool:
        try:
            return self._query.isActive
        except EXECUTION_ERRORS:
            return False  # Spark itself is gone.


def _new_checkpoint(home: Path, run: str) -> Path:
    """A directory for the checkpoint of one run; those that earlier runs left, because they were killed, go away.

    It has a name of its own: a process that was replaced, but does not know it yet, may still write to its own.
    """
    parent = home / "spark"
    shutil.rmtree(parent, ignore_errors=True)
    make_private(parent / run)
    return parent / run


def _has_begun(query: StreamingQuery) -> bool:
    """Whether the source answers. On a busy machine its process may take longer than the ten seconds Spark grants."""
    deadline = time.monotonic() + _BEGIN_SECONDS
    while query.isActive and query.status["message"].startswith("Initializing"):
        if time.monotonic() > deadline:
            query.stop()
            raise overdue("the source of the query to answer", _BEGIN_SECONDS)
        time.sleep(_START_SECONDS)
    failure = query.exception()
    return failure is None or _TOO_SLOW not in str(failure)
