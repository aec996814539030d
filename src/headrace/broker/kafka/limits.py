"""What a topic takes. It is checked when a record is staged: after the decision it would be too late."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.errors import ArgumentError, HeadraceError, RecordTooLargeError
from headrace.records import Headers

_MAX_TIMESTAMP = 2**63 - 1


class TopicLimits(NamedTuple):
    """What a stage has to know of a topic."""

    partitions: int
    widest: int
    """The most bytes a record may have."""
    needs_key: bool


def check_partition(topic: str, partition: int, limits: TopicLimits) -> None:
    """Refuse a partition that the topic does not have."""
    if not 0 <= partition < limits.partitions:
        message = f"topic {topic} has no partition {partition}"
        raise ArgumentError(message, detail=f"It has the partitions 0 to {limits.partitions - 1}.")


def check_record(
    topic: str, limits: TopicLimits, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers
) -> int:
    """Refuse what the topic would not take: after the decision it would be too late. Returns the record's size."""
    if key is None:
        good, size = not limits.needs_key, 0
    else:
        good, size = type(key) is bytes, len(key)
    if value is not None:
        good = good and type(value) is bytes
        size += len(value)
    if headers:
        size += _size_of(topic, headers)
    if not (good and 0 <= timestamp <= _MAX_TIMESTAMP and size <= limits.widest):
        raise _refusal(topic, limits, timestamp, key, value, size)
    return size


def _refusal(topic: str, limits: TopicLimits, timestamp: int, key: Any, value: Any, size: int) -> HeadraceError:
    if (key is not None and type(key) is not bytes) or (value is not None and type(value) is not bytes):
        message = f"a record for {topic} is not serialised: keys and values must be bytes"
        return ArgumentError(message, detail=f"key {type(key).__name__}, value {type(value).__name__}")
    if size > limits.widest:
        message = f"a record of {size:,} bytes is too large for topic {topic}"
        return RecordTooLargeError(
            message, hint=f"The topic takes {limits.widest:,}: send less, or raise max.message.bytes."
        )
    if key is None and limits.needs_key:
        message = f"a record without a key cannot go to {topic}: the topic is compacted"
        return ArgumentError(message, hint="Compaction keeps the last record of each key: give it one.")
    message = f"a record for {topic} has the timestamp {timestamp}"
    return ArgumentError(message, hint="Timestamps are milliseconds since 1970, 0 or more.")


def _size_of(topic: str, headers: Headers) -> int:
    try:
        return sum(len(name.encode()) + (0 if data is None else len(b"" + data)) for name, data in headers)
    except (AttributeError, TypeError, ValueError) as error:
        message = f"a record for {topic} has headers that cannot be written"
        raise ArgumentError(message, detail=repr(headers), hint="Headers are pairs of text and bytes.") from error
