"""The streaming data source: plans what each batch reads. Records do not pass through it; tasks read them themselves.

Its offset is the plan of a batch. Structured Streaming asks for the latest one again and again, and runs a batch when
it is another one than before. The rows of a batch are parcels that tell tasks what to read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from headrace.batch.failures import pack_failure
from headrace.batch.parcels import Kind, Parcel
from headrace.batch.reading_plan import PlannedBatch, Planner, ReadingPlan
from headrace.broker import open_broker
from headrace.spark.parcel_rows import SCHEMA, to_batches
from headrace.task.clock import system_clock

FORMAT = "headrace"


class SourceOptions(msgspec.Struct, frozen=True):
    """What the source has to know; it runs in a process of its own."""

    broker: str
    plan: ReadingPlan
    groups: int
    """How many Spark tasks a level has."""


class RangeSource(DataSource):
    """``spark.readStream.format("headrace")``; made for one query of one application."""

    @classmethod
    def name(cls) -> str:
        """How queries call it."""
        return FORMAT

    def schema(self) -> StructType:
        """That of parcels."""
        return SCHEMA

    def streamReader(self, schema: Any) -> RangeReader:  # noqa: N802
        """The reader of a query."""
        return RangeReader(msgspec.json.decode(self.options["headrace"], type=SourceOptions))


class _Group(InputPartition):
    """The tasks that one Spark task takes care of, with what they are to read."""

    def __init__(self, parcels: list[Parcel]) -> None:
        super().__init__(None)
        self.parcels = parcels


class RangeReader(DataSourceStreamReader):
    """Plans batches from what the broker has and what the application committed."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._known: Planner | None = None
        self._latest: dict[str, Any] = self.initialOffset()

    def __reduce__(self) -> tuple[object, ...]:
        # Workers only ``read``: they need no broker for that.
        return RangeReader, (self._options,)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Before the first batch. Where to read from is what the broker says is committed, not this."""
        return {"number": 0, "plan": ""}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The plan of the next batch; the last one again where nothing is due."""
        try:
            planned = self._planner.next_batch(system_clock())
            if planned.is_empty:
                return self._latest
            plan = msgspec.json.encode(planned).decode()
            self._latest = {"number": self._latest["number"] + 1, "plan": plan}
        except Exception as error:
            # As a row the error gets to the driver as it is; raised here, only its text would.
            self._latest = {"number": self._latest["number"] + 1, "failure": pack_failure(error).hex()}
        return self._latest

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """One for each group of tasks."""
        if "failure" in end:
            return [_Group([Parcel(0, Kind.FAILURE, 0, 0, 0, "", "", bytes.fromhex(end["failure"]))])]
        if not end["plan"]:
            # Spark begins with a batch even where nothing is due.
            return []
        planned = msgspec.json.decode(end["plan"], type=PlannedBatch)
        groups: list[list[Parcel]] = [[] for _ in range(self._options.groups)]
        for parcel in self._planner.parcels(planned):
            groups[parcel.target % len(groups)].append(parcel)
        return [_Group(parcels) for parcels in groups]

    @property
    def _planner(self) -> Planner:
        if self._known is None:
            self._known = Planner(self._options.plan, open_broker(self._options.broker))
        return self._known

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The parcels of a group."""
        assert isinstance(partition, _Group)
        return to_batches(partition.parcels)
