"""The job of a batch on Spark: a straight chain of levels, with a shuffle between each and the next."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from pyspark import Broadcast
from pyspark.sql import SparkSession

from headrace.batch.order import BatchOrder
from headrace.batch.parcels import Parcel
from headrace.spark.jvm import EXECUTION_ERRORS, explained
from headrace.spark.parcel_rows import SCHEMA, TARGET, from_batches
from headrace.spark.shipping import packed
from headrace.spark.worker import FirstLevelFunction, LevelFunction, Shipment

if TYPE_CHECKING:
    from headrace.application.layout import Application
    from headrace.broker import BrokerConfig

SQL = {
    # The chain is short and known: planning it anew while it runs costs more than it can win.
    "spark.sql.adaptive.enabled": "false",
    # A task that runs again sends something else each time. The commit checks who read what, and runs the batch again.
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableQueryLevelRollbackOnMismatch": "false",
    # Rows are large.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",
}
"""What a session is told that runs batches."""


class SparkJob:
    """Runs the batches of one start of an application. Made where the session is; ``close`` lets go of what it sent."""

    def __init__(self, session: SparkSession, application: Application, broker: BrokerConfig) -> None:
        self.session = session.newSession()
        for name, value in SQL.items():
            self.session.conf.set(name, value)
        silent_seconds = application.config.session_timeout_ms / 1000
        shipped = Shipment(uuid.uuid4().hex, broker, packed(application), silent_seconds)
        self.run = shipped.run
        """Names this start."""
        self._levels = len(application.levels.levels)
        self._groups = max(1, min(len(application.topics.task_ids()), session.sparkContext.defaultParallelism))
        self._shipment: Broadcast[Shipment] = session.sparkContext.broadcast(shipped)

    def __call__(self, batch: BatchOrder, parcels: list[Parcel]) -> Iterator[Parcel]:
        """What the levels send to the driver."""
        order = msgspec.msgpack.encode(batch)
        groups: list[list[Parcel]] = [[] for _ in range(self._groups)]
        for parcel in parcels:
            groups[parcel.target % len(groups)].append(parcel)
        try:
            numbers = self.session.range(0, len(groups), numPartitions=len(groups))
            rows = numbers.mapInArrow(FirstLevelFunction(self._shipment, order, groups), SCHEMA)
            for level in range(1, self._levels):
                shuffled = rows.repartitionById(len(groups), TARGET)
                rows = shuffled.mapInArrow(LevelFunction(self._shipment, order, level), SCHEMA)
            return from_batches(rows.toArrow().to_batches())
        except EXECUTION_ERRORS as error:
            raise explained(error, "Spark could not run the batch") from error

    def close(self) -> None:
        self._shipment.unpersist()
