"""One run of the streaming query: Structured Streaming keeps it alive, the runner does what is due.

Spark's own batches are rounds of some seconds, from a source in the JVM whose rows nobody reads. In each the driver
plans what is due and runs it as jobs, so that no batch waits for Spark to ask, and no process is needed that asks.
"""

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
from headrace.waiting import BATCH_SECONDS, join, overdue, within

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.application.layout import Application
    from headrace.batch.runner import BatchRunner
    from headrace.spark.job import SparkJob

_SQL = {
    "spark.sql.streaming.numRecentProgressUpdates": "1",
    # Without it Spark waits for ever for its thread to end.
    "spark.sql.streaming.stopTimeout": "45s",
}
_ROUND_SECONDS = 5.0
_LOOK_SECONDS = 0.2
_BEGIN_SECONDS = 120.0
_END_SECONDS = 60.0
_STOPPING = "the streaming query to stop"
_IDLE = "Spark to begin a round in which nothing is due"
_FAILED = "Spark could not run the batch"


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
        self._looked = threading.Condition()
        self._looks, self._nothing_due = 0, 0
        self._ending = threading.Lock()
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self._telling = threading.Lock()
        remove_abandoned()
        self._lives = sign_on_as_driver(directory_of(job.run))
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
        with self._runner.waiting():
            self._await_nothing_due()
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
        for setting, value in _SQL.items():
            session.conf.set(setting, value)
        rounds = session.readStream.format("rate-micro-batch").options(rowsPerBatch=1, numPartitions=1).load()
        # On this machine, whatever file system Spark takes a path to be in.
        location = f"file://{self._directory.absolute()}"
        writer = rounds.writeStream.foreachBatch(self._on_round).option("checkpointLocation", location)
        check_callbacks()
        return writer.queryName(name).start()

    def _await_nothing_due(self) -> None:
        """Until a look that began later than this call found nothing; or a failure, or the end."""
        deadline = time.monotonic() + _BEGIN_SECONDS
        with self._looked:
            before = self._looks
            self._gate.hurry()
            while self._nothing_due <= before and self._failure is None and self.is_active:
                if self._gate.is_busy:
                    deadline = time.monotonic() + _BEGIN_SECONDS
                elif time.monotonic() > deadline:
                    # One that does not answer has failed, too: who waits for the application's end hears of it.
                    self._failure = overdue(_IDLE, _BEGIN_SECONDS)
                self._looked.wait(_LOOK_SECONDS)

    def _on_round(self, nothing: DataFrame, number: int) -> None:
        """Run what is due until the round is over. Of Spark's batch nothing is needed but that it happens."""
        end = time.monotonic() + _ROUND_SECONDS
        while self._failure is None and time.monotonic() < end:
            goes_on = self._run_batch() if self._is_due() else not self._gate.closes_within(self._poll_seconds)
            if not goes_on:
                return

    def _is_due(self) -> bool:
        """Plan the next batch."""
        with self._looked:
            self._looks += 1
        try:
            is_due = self._runner.plan()
        except BaseException as error:
            self._failure = error
            is_due = False
        with self._looked:
            if not is_due:
                self._nothing_due = self._looks
            self._looked.notify_all()
        return is_due

    def _run_batch(self) -> bool:
        """Run what is planned; False where nothing may be run any more."""
        with self._gate.batch() as may_begin:
            # Skipping a batch is harmless: what is not decided is planned again.
            if may_begin and self._failure is None:
                try:
                    self._runner.run()
                except BaseException as error:
                    self._failure = error
        return may_begin and self._failure is None

    def _watch(self) -> None:
        """Wait for the end, and tell of a failure."""
        try:
            while self._failure is None and self.is_active:
                if self._query.awaitTermination(_LOOK_SECONDS):  # type: ignore[arg-type]
                    break
        except EXECUTION_ERRORS as error:
            self._failure = self._failure or explained(error, _FAILED)
        except BaseException as error:
            self._failure = self._failure or error
        if not self.is_active:
            return
        self._failure = self._failure or StreamsError("the streaming query was stopped by somebody else")
        self._fail(self._failure)

    def _fail(self, failure: BaseException) -> None:
        """End because of a failure, and tell of it, once."""
        # Where that fails it is logged; what is told is why the query ended.
        try:
            with suppress(StreamsError):
                self._end()
        finally:
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
