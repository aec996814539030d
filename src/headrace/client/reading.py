"""Reads partitions of a topic side by side, to their ends or on as long as something comes."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.broker.port import Log, TopicPartition
    from headrace.records import RawRecord

_POLL_SECONDS = 0.05


class Reading:
    """A way through partitions: the offset to read next in each, and, where it is fixed, the last one."""

    def __init__(
        self,
        broker: Log,
        starts: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int] | None = None,
    ) -> None:
        self._broker = broker
        self._positions = dict(starts)
        self._ends = broker.end_offsets(starts) if ends is None else ends

    def fixed(self) -> Reading:
        """The same way again, from where this one begins to what was the end when it was made."""
        return Reading(self._broker, self._positions, self._ends)

    def records(self, seconds: float | None = None) -> Iterator[RawRecord]:
        """What there is; with ``seconds`` also what comes, until nothing came for that long."""
        yield from self._available()
        quiet_since = time.monotonic()
        while seconds is not None and (left := quiet_since + seconds - time.monotonic()) > 0:
            self._ends = self._broker.end_offsets(self._positions)
            if self._ends == self._positions:
                time.sleep(min(_POLL_SECONDS, left))
            else:
                yield from self._available()
                quiet_since = time.monotonic()

    def _available(self) -> Iterator[RawRecord]:
        """The records up to the ends known."""
        yield from merged(self._broker, self._positions, self._ends)
        # Compaction may have taken the last records: the end is reached all the same.
        self._positions = {one: max(position, self._ends[one]) for one, position in self._positions.items()}


def merged(
    broker: Log, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> Iterator[RawRecord]:
    """The records between these offsets, by timestamp as far as the order of each partition allows.

    What retention removed meanwhile is passed over.
    """
    there = broker.start_offsets(starts)
    parts = [_part(broker, one, max(start, there[one]), ends[one]) for one, start in starts.items()]
    return heapq.merge(*parts, key=lambda record: record[3])


def _part(broker: Log, one: TopicPartition, start: int, end: int) -> Iterator[RawRecord]:
    for records in broker.read(*one, start, end) if start < end else ():
        yield from records
