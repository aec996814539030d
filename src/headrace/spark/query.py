"""One run of the streaming query: each batch that the source plans becomes one job, a straight chain of levels."""

from __future__ import annotations

import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame, SparkSession

from headrace.batch.parcels import Parcel
from headrace.batch.reading_plan import PlannedBatch, parcels, reading_plan
from headrace.errors import StreamsError
from headrace.private_directories import make_private
from headrace.spark.gate import BatchGate
from headrace.spark.jvm import SPARK_ERRORS, check_callbacks, end_of_jvm
from headrace.spark.parcel_rows import SCHEMA, TARGET, from_batches
from headrace.spark.shipping import packed
from headrace.spark.source import FORMAT, RangeSource, SourceOptions, planned
from headrace.spark.worker import FirstLevelFunction, LevelFunction, Shipment
from headrace.waiting import BATCH_SECONDS, join, overdue, within

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.batch.application import Application

Job: TypeAlias = Callable[[bytes], "Iterator[Parcel]"]
"""Runs the tasks of a batch, given its packed order; what comes back is for the commit."""

_SQL = {
    # The chain is short and known: planning it anew while it runs costs more than it can win.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "1",
    # Without it Spark waits for ever for its thread to end.
    "spark.sql.streaming.stopTimeout": "45s",
    # A task that runs again sends something else each time. The commit checks who read what, and runs the batch again.
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableQueryLevelRollbackOnMismatch": "false",
    # Rows are large.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",
}
_SPARK_ERRORS = (*SPARK_ERRORS, pa.ArrowException)
_LOOK_SECONDS = 0.2
_START_SECONDS = 0.02
_HEAD_LINES = 12
_START_TRIES = 5
_BEGIN_SECONDS = 120.0
_END_SECONDS = 60.0
_STOPPING = "the streaming query to stop"
_IDLE = "Spark to say that nothing is due"
_TOO_SLOW = "failed to connect back"


class BatchQuery:
    """The query from start to end.

    ``run_batch`` is called for each batch with the number of its records, ``on_failure`` if it ends by an error.
    """

    def __init__(
        self,
        session: SparkSession,
        application: Application,
        broker: str,
        run_batch: Callable[[int, Job], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._run_batch, self._on_failure = run_batch, on_failure
        self._levels = len(application.levels.levels)
        self._plan = reading_plan(application)
        self._gate = BatchGate()
        self._ending = threading.Lock()
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        shipped = Shipment(uuid.uuid4().hex, broker, packed(application))
        self._directory = _new_checkpoint(application.config.application_dir, shipped.run)
        try:
            self._groups = max(1, min(len(self._plan.tasks), session.sparkContext.defaultParallelism))
            self._shipment: Broadcast[Shipment] = session.sparkContext.broadcast(shipped)
            self._query = self._start(session, SourceOptions(broker, self._plan), application.config["poll.ms"])
        except _SPARK_ERRORS as error:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise _explained(error, "Spark could not start the query") from error
        self._watcher = threading.Thread(target=self._watch, name="headrace-watcher", daemon=True)
        self._watcher.start()

    @property
    def is_active(self) -> bool:
        """Whether batches are run."""
        return not self._ending.locked()

    def process_all(self) -> None:
        """Wait until nothing is due; raises what made it fail."""
        try:
            within(_BEGIN_SECONDS, _IDLE, self._query.processAllAvailable, lambda: self._gate.is_busy)
        except (StreamsError, *_SPARK_ERRORS) as error:
            if self._failure is None:
                # One that does not answer has failed, too: who waits for the application's end hears of it.
                self._failure = error if isinstance(error, StreamsError) else _explained(error)
        if self._failure is not None:
            raise self._failure

    def stop(self, timeout: float | None = None) -> bool:
        """End after the batch that is under way; False where that takes longer than ``timeout`` seconds.

        Without a ``timeout`` it waits for as long as a batch may take; then it is an error.
        """
        if not self._gate.close(BATCH_SECONDS if timeout is None else timeout):
            if timeout is None and not self._gate.is_inside:
                raise overdue("the batch under way to end", BATCH_SECONDS)
            return False
        self._end()
        join(self._watcher, _END_SECONDS)
        return True

    def _start(self, session: SparkSession, options: SourceOptions, poll_ms: int) -> StreamingQuery:
        own = session.newSession()
        for name, value in {**_SQL, "spark.sql.streaming.pollingDelay": f"{max(1, poll_ms)}ms"}.items():
            own.conf.set(name, value)
        own.dataSource.register(RangeSource)
        ranges = own.readStream.format(FORMAT).option("headrace", msgspec.json.encode(options).decode()).load()
        # On this machine, whatever file system Spark takes a path to be in.
        location = f"file://{self._directory.absolute()}"
        writer = ranges.writeStream.foreachBatch(self._on_batch).option("checkpointLocation", location)
        check_callbacks()
        for left in reversed(range(_START_TRIES)):
            query = writer.queryName(f"headrace-{options.plan.application}").start()
            if _has_begun(query) or not left:
                break
        return query

    def _on_batch(self, ranges: DataFrame, number: int) -> None:
        with self._gate.batch() as may_begin:
            # Skipping a batch is harmless: what is not committed is planned again.
            if not may_begin or self._failure is not None:
                return
            try:
                batch = planned(self._directory, number)
                if batch is not None:
                    self._run_batch(batch.records, lambda order: self._job(ranges.sparkSession, batch, order))
            except BaseException as error:
                self._failure = error

    def _job(self, session: SparkSession, batch: PlannedBatch, order: bytes) -> Iterator[Parcel]:
        groups: list[list[Parcel]] = [[] for _ in range(self._groups)]
        for parcel in parcels(self._plan, batch):
            groups[parcel.target % len(groups)].append(parcel)
        try:
            numbers = session.range(0, len(groups), numPartitions=len(groups))
            rows = numbers.mapInArrow(FirstLevelFunction(self._shipment, order, groups), SCHEMA)
            for level in range(1, self._levels):
                shuffled = rows.repartitionById(len(groups), TARGET)
                rows = shuffled.mapInArrow(LevelFunction(self._shipment, order, level), SCHEMA)
            return from_batches(rows.toArrow().to_batches())
        except _SPARK_ERRORS as error:
            raise _explained(error) from error

    def _watch(self) -> None:
        """Wait for the end, and tell of a failure."""
        try:
            while self._failure is None and self.is_active:
                if self._query.awaitTermination(_LOOK_SECONDS):  # type: ignore[arg-type]
                    break
        except _SPARK_ERRORS as error:
            self._failure = self._failure or _explained(error)
        if not self.is_active:
            return
        failure = self._failure or StreamsError("the streaming query was stopped by somebody else")
        # Where that fails it is logged; what is told is why the query ended.
        with suppress(StreamsError):
            self._end()
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
            shutil.rmtree(self._directory, ignore_errors=True)
            self._ended.set()

    def _stop_query(self) -> None:
        try:
            self._query.stop()
            self._shipment.unpersist()
        except _SPARK_ERRORS as error:
            if self._still_runs():
                raise _explained(error, "Spark could not stop the query") from error

    def _still_runs(self) -> bool:
        try:
            return self._query.isActive
        except _SPARK_ERRORS:
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


def _explained(error: BaseException, message: str = "Spark could not run the batch") -> StreamsError:
    ended = end_of_jvm(error)
    if ended is not None:
        return ended
    said = str(error).strip().splitlines()
    causes = [line for line in said[_HEAD_LINES:] if line.startswith("Caused by: ")]
    failure = StreamsError(message, detail="\n".join(said[:_HEAD_LINES] + causes))
    failure.__cause__ = error
    return failure
