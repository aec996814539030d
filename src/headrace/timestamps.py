"""Timestamp extractors: where a record gets its time from.

An extractor is a callable ``(record, partition_time)`` that gives milliseconds since 1970, or a datetime. A negative
answer drops the record. ``partition_time`` is the highest time seen in the record's partition so far, -1 before
the first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeAlias

from headrace.clock import now_ms
from headrace.errors import StreamsError
from headrace.instants import Instant
from headrace.records import ConsumedRecord

__all__ = [
    "EXTRACTORS",
    "TimestampExtractor",
    "fail_on_invalid_timestamp",
    "log_and_skip_on_invalid_timestamp",
    "use_partition_time_on_invalid_timestamp",
    "wallclock_timestamp",
]

TimestampExtractor: TypeAlias = Callable[[ConsumedRecord, int], Instant]

_log = logging.getLogger(__name__)


def fail_on_invalid_timestamp(record: ConsumedRecord, partition_time: int) -> int:
    """The record's own timestamp; a negative one stops the application. This is the default.

    >>> from headrace.records import ConsumedRecord
    >>> fail_on_invalid_timestamp(ConsumedRecord("in", 0, offset=5, timestamp=7, key="a", value="x"), -1)
    7
    """
    if record.timestamp < 0:
        message = f"the record {_place(record)} has the invalid timestamp {record.timestamp}"
        raise StreamsError(
            message,
            hint="Possibly an old producer wrote it without one. Set default.timestamp.extractor to an extractor that "
            "takes the time from the value, or to log_and_skip_on_invalid_timestamp.",
        )
    return record.timestamp


def log_and_skip_on_invalid_timestamp(record: ConsumedRecord, partition_time: int) -> int:
    """The record's own timestamp; a record with a negative one is logged, dropped and counted.

    >>> builder = StreamsBuilder()
    >>> _ = builder.stream("in", timestamp_extractor=timestamps.log_and_skip_on_invalid_timestamp)
    """
    if record.timestamp < 0:
        _log.warning("skipping the record %s: its timestamp %d is invalid", _place(record), record.timestamp)
    return record.timestamp


def use_partition_time_on_invalid_timestamp(record: ConsumedRecord, partition_time: int) -> int:
    """The record's own timestamp; in place of a negative one the highest time its partition has seen.

    Before the first valid timestamp there is none to take, and that stops the application.

    >>> use_partition_time_on_invalid_timestamp(ConsumedRecord("in", 0, 5, timestamp=-1, key="a", value="x"), 40)
    40
    """
    if record.timestamp >= 0:
        return record.timestamp
    if partition_time < 0:
        message = f"the record {_place(record)} has no valid timestamp and its partition had none before"
        hint = "Use log_and_skip_on_invalid_timestamp, or an extractor that takes the time from the value."
        raise StreamsError(message, hint=hint)
    return partition_time


def wallclock_timestamp(record: ConsumedRecord, partition_time: int) -> int:
    """The time at which the record is processed: results then depend on when the application runs.

    >>> wallclock_timestamp(ConsumedRecord("in", 0, 5, timestamp=7, key="a", value="x"), -1) > 1_700_000_000_000
    True
    """
    return now_ms()


EXTRACTORS: dict[str, TimestampExtractor] = {
    "fail_on_invalid_timestamp": fail_on_invalid_timestamp,
    "log_and_skip_on_invalid_timestamp": log_and_skip_on_invalid_timestamp,
    "use_partition_time_on_invalid_timestamp": use_partition_time_on_invalid_timestamp,
    "wallclock_timestamp": wallclock_timestamp,
    "fail_on_invalid": fail_on_invalid_timestamp,
    "log_and_skip": log_and_skip_on_invalid_timestamp,
    "use_partition_time": use_partition_time_on_invalid_timestamp,
    "wallclock": wallclock_timestamp,
}
"""The extractors by the names a configuration may use."""


def _place(record: ConsumedRecord) -> str:
    return f"{record.topic}-{record.partition}@{record.offset}"


def __dir__() -> list[str]:
    return __all__
