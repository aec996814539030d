"""The streaming data source: plans what each batch reads. Records do not pass through it; tasks read them themselves.

Its offset is the plan of a batch. Structured Streaming asks for the latest one again and again, writes it down, and
runs a batch when it is another one than before. The driver reads the plan there (``planned``): rows would cost another
process for each Spark task.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import BinaryType, StructField, StructType

from headrace.batch.batch_size import BatchSize
from headrace.batch.failures import pack_failure, unpack_failure
from headrace.batch.reading_plan import PlannedBatch, Planner, ReadingPlan
from headrace.broker import open_broker
from headrace.task.clock import system_clock

FORMAT = "headrace"
_NO_ROWS = StructType([StructField("nothing", BinaryType())])


class SourceOptions(msgspec.Struct, frozen=True):
    """What the source has to know; it runs in a process of its own."""

    broker: str
    plan: ReadingPlan


class _Offset(msgspec.Struct, frozen=True):
    """A plan, or why there is none; neither before the first batch."""

    number: int = 0
    plan: PlannedBatch | None = None
    failure: bytes | None = None


def planned(checkpoint: Path, number: int) -> PlannedBatch | None:
    """What the source planned for a batch that has begun; raises why it could not.

    None where nothing is due: Spark begins with a batch even then.
    """
    # Structured Streaming writes a version, its own notes, and the offset of each source, a line each.
    line = (checkpoint / "offsets" / str(number)).read_text().splitlines()[-1]
    offset = msgspec.json.decode(line, type=_Offset)
    if offset.failure is not None:
        raise unpack_failure(offset.failure)
    return offset.plan


class RangeSource(DataSource):
    """``spark.readStream.format("headrace")``; made for one query of one application."""

    @classmethod
    def name(cls) -> str:
        """How queries call it."""
        return FORMAT

    def schema(self) -> StructType:
        """A source must have a column."""
        return _NO_ROWS

    def streamReader(self, schema: Any) -> RangeReader:  # noqa: N802
        """The reader of a query."""
        sys.excepthook = _ended
        return RangeReader(msgspec.json.decode(self.options["headrace"], type=SourceOptions))


def _ended(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Why this process ends. When a query is stopped Spark hangs up, which nobody wants to read about."""
    if not issubclass(kind, ConnectionError):
        sys.__excepthook__(kind, error, traceback)


class RangeReader(DataSourceStreamReader):
    """Plans batches from what the broker has and what the application committed."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._known: Planner | None = None
        self._latest = _Offset()
        self._size = BatchSize()

    def __reduce__(self) -> tuple[object, ...]:
        return RangeReader, (self._options,)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Before the first batch. Where to read from is what the broker says is committed, not this."""
        return _as_json(_Offset())

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The plan of the next batch; the last one again where nothing is due."""
        number = self._latest.number + 1
        try:
            # Spark asks again as soon as a batch is over.
            self._size.end()
            batch = self._planner.next_batch(system_clock(), limit=self._size.limit)
            if not batch.is_empty:
                self._latest = _Offset(number, plan=batch)
                self._size.begin(batch.records)
        except Exception as error:
            # In the offset the error gets to the driver as it is; raised here, only its text would.
            self._latest = _Offset(number, failure=pack_failure(error))
        return _as_json(self._latest)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """None: there are no rows."""
        return []

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """What no partition has."""
        return iter(())

    @property
    def _planner(self) -> Planner:
        if self._known is None:
            self._known = Planner(self._options.plan, open_broker(self._options.broker))
        return self._known


def _as_json(offset: _Offset) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(offset)
    return found
