"""What a task reads, visit by visit: ranges of topics and what other tasks sent, in pieces, in the order of time.

A visit ends early where its time is up. What it has read and not processed waits in the open task for the next one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from math import inf
from typing import TYPE_CHECKING, TypeAlias

from headrace.batch import payloads
from headrace.batch.merging import merged_by_time
from headrace.batch.parcels import Parcel
from headrace.batch.spool import Spool
from headrace.broker.port import TopicPartition
from headrace.processors.columns import Columns, RecordColumns
from headrace.records import RawRecord

if TYPE_CHECKING:
    from headrace.batch.offsets import ReadRange
    from headrace.batch.visit_contract import VisitRequest
    from headrace.broker.port import Log
    from headrace.task.stream_task import StreamTask

_MOST_RECORDS, _MOST_IN_COLUMNS = 4096, 32768
"""Records in a piece. In columns, the more there are, the more share a key."""
_FEWEST_RECORDS = 1
"""Also in the first piece of a visit, when nobody knows yet how long they take."""
_GROWTH = 4
_PIECES = 8
"""The time of a visit is for about so many pieces. It can end between two of them."""
_JOINED_CHUNKS = 8
_TICK = 1e-6

Piece: TypeAlias = "list[RawRecord] | Columns"


class TaskInput:
    """Feeds a task. The task waits for a partition that has more to read, as in Kafka for one that lags."""

    _lags: dict[TopicPartition, int]
    _left: dict[TopicPartition, list[_Range | _Sent]]
    _sent: set[TopicPartition]
    _piece: int

    def __init__(self, task: StreamTask, broker: Log, repartition_topics: Iterable[str]) -> None:
        self._task = task
        self._broker = broker
        self._repartition_topics = frozenset(repartition_topics)
        self._ranges: dict[TopicPartition, _Range] = {}
        self.count = 0
        """How many records of topics the visit has read."""
        self.seconds = 0.0
        """For how long it has fed the task."""
        self.repartition_ends: dict[str, int] = {}

    def begin(self, request: VisitRequest) -> None:
        """Give the task what ``request`` says from now on."""
        self.count, self._piece = 0, _FEWEST_RECORDS
        self.repartition_ends = {} if request.before is None else dict(request.before.repartition_ends)
        self._go_on(each for each in request.reading.ranges if each.size)
        self._lags = {(each.topic, each.partition): each.lag for each in request.reading.ranges}
        self._left = {place: [known] for place, known in self._ranges.items()}
        for topic, spool in request.records.items():
            place = (topic, request.task.partition)
            # What Kafka Streams left in a repartition topic comes first, as it would there.
            sent = _Sent(self.repartition_ends, place, spool, in_columns=self._task.takes_columns(place))
            self._left.setdefault(place, []).append(sent)
        self._sent = {place for place in self._left if place[0] in self._repartition_topics}

    def lag_of(self, partition: TopicPartition) -> int:
        """How much may still come."""
        return 1 if partition in self._left else self._lags.get(partition, 0)

    def feed(self, now_ms: int, seconds: float | None = None) -> None:
        """Feed everything in the order of time, or as much as ``seconds`` allow.

        Also stops when a partition is used up here but has more in its topic. What other tasks sent exists in this
        batch only, so all of it is fed: after what comes before it in time, however much that is.
        """
        try:
            self._feed(now_ms, seconds)
        finally:
            for known in self._ranges.values():
                known.pause()

    def _feed(self, now_ms: int, seconds: float | None) -> None:
        task, begin = self._task, time.monotonic()
        end = inf if seconds is None else begin + seconds
        while self._refill(begin, seconds) or (task.has_records and task.is_processable(now_ms)):
            # A task with one partition has nothing else to wait for.
            if task.has_one_partition or (not self._left and not any(self._lags.values())):
                task.process_all(now_ms)
            elif task.has_records and task.is_processable(now_ms):
                self._process(now_ms)
            if time.monotonic() > end and not self._has_sent():
                break
        # A partition that is idle is not waited for within a batch.
        while self._has_sent():
            self._refill(begin, seconds)
            if task.has_records:
                self._process(now_ms)
        self.seconds = time.monotonic() - begin

    def next_offset(self, read: ReadRange) -> int:
        """What to commit of a range: the offset of the first record that was not processed, else its end."""
        place = (read.topic, read.partition)
        return self._waits_at(place) if place in self._ranges else read.end

    def _has_sent(self) -> bool:
        """Whether anything is left of what other tasks sent."""
        return any(self._task.buffered_of(partition) or partition in self._left for partition in self._sent)

    def _go_on(self, ranges: Iterable[ReadRange]) -> None:
        """Go on where the last visit ended; where the ranges begin elsewhere, what waits is forgotten."""
        given = {(each.topic, each.partition): each for each in ranges}
        if not all(self._fits(place, given.get(place)) for place in self._ranges):
            self._task.forget_records()
            self._ranges.clear()
        self._ranges = {place: self._ranges.get(place) or _Range(self._broker, each) for place, each in given.items()}
        for place, each in given.items():
            self._ranges[place].end = each.end

    def _fits(self, place: TopicPartition, given: ReadRange | None) -> bool:
        known = self._ranges[place]
        if given is None:
            return self._waits_at(place) == known.end
        # A topic that was deleted and made again begins at 0, too: what was committed of the old one went with it.
        return not given.is_reset and given.start == self._waits_at(place) and given.end >= known.read_to

    def _waits_at(self, place: TopicPartition) -> int:
        """The offset of the first record that was not processed."""
        waiting = self._task.next_offset(place)
        return self._ranges[place].next_offset if waiting is None else waiting

    def _process(self, now_ms: int) -> None:
        """Process the next record, or all that wait where it is clear that they come before any other."""
        task = self._task
        if task.waits_in_one_queue:
            # The other partitions have nothing, and nothing more comes of them in this visit.
            task.process_all(now_ms)
        else:
            task.process(now_ms)
            task.punctuate_stream_time()

    def _refill(self, begin: float, seconds: float | None) -> bool:
        """Read more for partitions of which the task has no records left; whether anything was read, or an end."""
        empty = [each for each in self._left if not self._task.buffered_of(each)]
        if empty and self.count and seconds is not None:
            as_many = self.count / max(time.monotonic() - begin, _TICK) * seconds / _PIECES
            self._piece = max(_FEWEST_RECORDS, min(self._piece * _GROWTH, int(as_many), _MOST_IN_COLUMNS))
        for partition in empty:
            self._feed_next(partition, _MOST_IN_COLUMNS if seconds is None else self._piece)
        return bool(empty)

    def _feed_next(self, partition: TopicPartition, most: int) -> None:
        """Feed the next records, in the form that the task processes fastest."""
        task, sources = self._task, self._left[partition]
        while sources or self._extended(partition):
            found = sources[0].take(most, in_columns=task.takes_columns(partition))
            if found is None:
                sources.pop(0)
                continue
            if isinstance(sources[0], _Range):
                self.count += len(found)
            if isinstance(found, list):
                task.add_records(partition, found)
            else:
                task.add_columns(partition, found)
            return
        del self._left[partition]

    def _extended(self, partition: TopicPartition) -> bool:
        """Read more of a partition than was planned, where there is more and records wait that other tasks sent."""
        lag = self._lags.get(partition, 0)
        if not lag or partition in self._sent or not self._has_sent():
            return False
        known, more = self._ranges[partition], min(lag, _MOST_RECORDS)
        known.pause()
        known.end += more
        self._lags[partition] = lag - more
        self._left[partition].append(known)
        return True


class _Range:
    """What is left of a range of a topic: in memory, and behind that in the log."""

    def __init__(self, broker: Log, given: ReadRange) -> None:
        self._broker = broker
        self._place = given.topic, given.partition
        self._waiting: list[RawRecord] = []
        self._lists: Iterator[list[RawRecord]] | None = None
        self.read_to = given.start
        """Where the log is read on."""
        self.end = given.end

    @property
    def next_offset(self) -> int:
        """Where the next record may be."""
        return self._waiting[0][2] if self._waiting else self.read_to

    def take(self, most: int, *, in_columns: bool) -> Piece | None:
        """Some records; None where there are no more."""
        if not in_columns:
            return self._cut(self._waiting or self._read(), min(most, _MOST_RECORDS))
        found, lists = self._waiting, 0
        # A list has a limit in bytes, too.
        while len(found) < most and lists < _JOINED_CHUNKS and (more := self._read()):
            found, lists = found + more, lists + 1
        return RecordColumns.of(self._cut(found, most) or ())

    def pause(self) -> None:
        """Let go of the log until more is read. ``end`` may change then."""
        if self._lists is not None:
            self._lists.close()  # type: ignore[attr-defined]
            self._lists = None

    def _cut(self, found: list[RawRecord], most: int) -> list[RawRecord] | None:
        self._waiting = found[most:]
        return found[:most] or None

    def _read(self) -> list[RawRecord]:
        """The next records in the log, none at the end of the range."""
        if self.read_to >= self.end:
            return []
        if self._lists is None:
            self._lists = self._broker.read(*self._place, self.read_to, self.end)
        found = next(self._lists, [])
        self.read_to = found[-1][2] + 1 if found else self.end
        return found


class _Sent:
    """The records that were sent to a repartition topic, with the offsets that the reader gives them."""

    def __init__(self, ends: dict[str, int], place: TopicPartition, spool: Spool, *, in_columns: bool) -> None:
        """``ends`` has the next offset of each repartition topic; it goes on with what is taken."""
        senders = spool.by_sender()
        if in_columns or len(senders) == 1:
            # What is counted over a whole batch at once has no order of time.
            self._pieces = _numbered(ends, place, spool)
        else:
            self._pieces = _merged(ends, place, senders)

    def take(self, most: int, *, in_columns: bool) -> Piece | None:
        """Some records, as they came; None where there are no more."""
        return next(self._pieces, None)


def _numbered(ends: dict[str, int], place: TopicPartition, spool: Spool) -> Iterator[Piece]:
    topic = place[0]
    for _, parcels in groupby(spool, lambda parcel: parcel.place[:2]):
        while chunks := [parcel.data for parcel in islice(parcels, _JOINED_CHUNKS)]:
            for columns in payloads.columns_in(chunks, *place, ends.get(topic, 0)):
                ends[topic] = columns.offsets[-1] + 1
                yield columns


def _merged(ends: dict[str, int], place: TopicPartition, senders: Iterable[Iterator[Parcel]]) -> Iterator[Piece]:
    topic = place[0]
    sent = [_columns_of(parcels, place) for parcels in senders]
    for records in merged_by_time(sent, ends.get(topic, 0)):
        ends[topic] = records[-1][2] + 1
        yield records


def _columns_of(parcels: Iterator[Parcel], place: TopicPartition) -> Iterator[Columns]:
    for parcel in parcels:
        yield from payloads.columns_in([parcel.data], *place, 0)
