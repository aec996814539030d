"""What several tasks sent to one partition, as one sequence: by time, and of each task in the order of that task.

In Kafka the tasks before a repartition topic write to it side by side, so that none is far ahead. Here what each has
made of a whole batch arrives at once. One after another, stream time would run to the end of the first, and windows
would take the records of the others for late. A task that is visited twice in a batch is one sender: what it sends then
comes behind all that it had sent before.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from operator import itemgetter

from headrace.processors.columns import Columns
from headrace.records import RawRecord

_by_time = itemgetter(0)


def merged_by_time(senders: Iterable[Iterator[Columns]], offset: int) -> Iterator[list[RawRecord]]:
    """The records of all senders, numbered from ``offset`` on; of each no more is held than was read at once.

    A record that is late at its sender has the time of those before it.

    >>> from headrace.processors.columns import RecordColumns
    >>> def sent(*times: int) -> Iterator[Columns]:
    ...     yield RecordColumns("t", 0, range(len(times)), [*times], [b"k"] * len(times), [b"v"] * len(times))
    >>> [(row[2], row[3]) for rows in merged_by_time([sent(1, 9, 2), sent(5, 10)], 7) for row in rows]
    [(7, 1), (8, 5), (9, 9), (10, 2), (11, 10)]
    """
    left = [_Sender(each) for each in senders]
    while left := [sender for sender in left if sender.has_records()]:
        # Nobody has anything before that which is not at hand.
        until = min(sender.times[-1] for sender in left)
        found = [pair for sender in left for pair in sender.take(until)]
        found.sort(key=_by_time)
        yield [
            (topic, partition, at, timestamp, key, value, headers)
            for at, (_, (topic, partition, _, timestamp, key, value, headers)) in enumerate(found, offset)
        ]
        offset += len(found)


class _Sender:
    """What is at hand of one sender's records, with its stream time at each."""

    def __init__(self, columns: Iterator[Columns]) -> None:
        """Of columns that are not empty."""
        self._columns = columns
        self._rows: list[RawRecord] = []
        self._latest = -1
        self.times: list[int] = []

    def has_records(self) -> bool:
        """Whether there are any. Reads on where none are at hand."""
        if not self._rows and (columns := next(self._columns, None)) is not None:
            self._rows = list(columns.rows())
            self.times = list(accumulate((row[3] for row in self._rows), max, initial=self._latest))[1:]
            self._latest = self.times[-1]
        return bool(self._rows)

    def take(self, until: int) -> Iterator[tuple[int, RawRecord]]:
        """Those up to a time."""
        count, times, rows = bisect_right(self.times, until), self.times, self._rows
        self.times, self._rows = times[count:], rows[count:]
        return zip(times[:count], rows[:count], strict=True)
