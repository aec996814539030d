"""The processors of a query: they hand rows to the functions of ``rows`` and send on what comes back.

A topology is handed ``partial(MappedRows, function)``: what supplies a processor, and can be sent to other processes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.processors.api import FixedKeyProcessor, Processor
from headrace.processors.stateless import Fusible
from headrace.records import Record, RecordContext
from headrace.sql.build.rows import Passing, Projected, Row, SourceColumns, plain_key, with_plain_key
from headrace.sql.processing_log import PartLog


class SourceRows(FixedKeyProcessor):
    """Completes a row with what is known of its record. No row stays none."""

    def __init__(self, complete: SourceColumns) -> None:
        self._complete = complete
        self._is_plain = not complete.headers and not complete.key.is_windowed

    def init(self, context: Any) -> None:
        self._context = context
        self._place = context.record_place

    def process(self, record: Any) -> None:
        self._context.forward(record.with_value(self._completed(record.key, record.value)))

    @property
    def fusible(self) -> Fusible:
        """The same without a record around it."""
        return Fusible("map_values", self._completed)

    def _completed(self, key: Any, row: Row | None) -> Row | None:
        if row is None:
            return None
        if self._is_plain and key is not None:
            # As below; every record of most queries comes by here.
            return [*row, *self._place(), *key]
        return self._complete(key, row, self._context.record_context)


class MappedRows(FixedKeyProcessor):
    """One row for each row. No row stays none."""

    def __init__(self, function: Projected) -> None:
        self._mapped = function.of_any_row()

    def init(self, context: Any) -> None:
        self._forward = context.forward

    def process(self, record: Any) -> None:
        self._forward(record.with_value(self._mapped(record.key, record.value)))

    @property
    def fusible(self) -> Fusible:
        """The same without a record around it."""
        return Fusible("map_values", self._mapped)


class PresentRows(FixedKeyProcessor):
    """One row for each row; where there is none, nothing is sent on."""

    def __init__(self, function: Callable[[Any, Row], Row]) -> None:
        self._function = function

    def init(self, context: Any) -> None:
        self._forward = context.forward

    def process(self, record: Any) -> None:
        if record.value is not None:
            self._forward(record.with_value(self._function(record.key, record.value)))


class FilteredRows(FixedKeyProcessor):
    """Sends on the rows that pass."""

    def __init__(self, function: Passing) -> None:
        self._passes = function.of_any_row()

    def init(self, context: Any) -> None:
        self._forward = context.forward

    def process(self, record: Any) -> None:
        if self._passes(record.key, record.value):
            self._forward(record)

    @property
    def fusible(self) -> Fusible:
        """The same without a record around it."""
        return Fusible("filter", self._passes)


class ExplodedRows(FixedKeyProcessor):
    """Several rows for each row; for no row there is none."""

    def __init__(self, function: Callable[[Any, Row], list[Row]]) -> None:
        self._function = function

    def init(self, context: Any) -> None:
        self._forward = context.forward

    def process(self, record: Any) -> None:
        for row in self._rows(record.key, record.value):
            self._forward(record.with_value(row))

    @property
    def fusible(self) -> Fusible:
        """The same without a record around it."""
        return Fusible("flat_map_values", self._rows)

    def _rows(self, key: Any, row: Row | None) -> list[Row]:
        return [] if row is None else self._function(key, row)


class FewerKeys(Processor):
    """One row for each row, and of the key some parts only."""

    def __init__(self, function: Callable[[Any, Row], Row], kept: tuple[int, ...]) -> None:
        self._function, self._kept = function, kept

    def init(self, context: Any) -> None:
        self._forward = context.forward

    def process(self, record: Record[Any, Any]) -> None:
        row = None if record.value is None else self._function(record.key, record.value)
        old = plain_key(record.key)
        parts = None if old is None else tuple(old[at] for at in self._kept)
        key = with_plain_key(record.key, parts) if parts else None
        self._forward(Record(key, row, record.timestamp, record.headers))


class SetTime(Processor):
    """Gives records the time that their row says; one that says none is dropped and logged.

    A record without a row has the time of the stream.
    """

    def __init__(self, time: Callable[[Any, Row], int], log: PartLog) -> None:
        self._time, self._log = time, log

    def init(self, context: Any) -> None:
        self._context = context

    def process(self, record: Record[Any, Any]) -> None:
        try:
            time = (
                self._context.current_stream_time_ms if record.value is None else self._time(record.key, record.value)
            )
            timed = record.with_timestamp(time)
        except Exception as error:
            self._log.failed("no time for the row that is written", error, record.value)
            return
        self._context.forward(timed)


class TableRows:
    """One row for each row of a table, as ``transform_values`` asks for it. No row stays none."""

    def __init__(self, function: Callable[[Any, Row], Row | None]) -> None:
        self._function = function

    def init(self, context: Any) -> None:
        """Nothing is needed."""

    def transform(self, key: Any, row: Row | None) -> Row | None:
        return None if row is None else self._function(key, row)

    def close(self) -> None:
        """Nothing is held."""


class TableSourceRows(TableRows):
    """The same for functions that want to know of the record, too."""

    def __init__(self, complete: Callable[[Any, Row, RecordContext], Row]) -> None:
        self._complete = complete

    def init(self, context: Any) -> None:
        self._context = context

    def transform(self, key: Any, row: Row | None) -> Row | None:
        return None if row is None else self._complete(key, row, self._context.record_context)
