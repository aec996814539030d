"""The embedded broker against a list per partition: whatever is done to it, in whatever order."""

from __future__ import annotations

import tempfile
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from headrace.broker import rewriting
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import Decision, Handover, NewRecord, OffsetAndMetadata, Outcome
from headrace.errors import FencedError, OffsetOutOfRangeError
from headrace.records import Headers, RawRecord
from tests.unit.broker.scene import FakeClock

PARTITIONS = 2
RETENTION_MS = 1_000
DELETE_RETENTION_MS = 500
TOPICS: dict[str, dict[str, object]] = {
    "log": {"retention.ms": RETENTION_MS, "segment.bytes": 100_000},
    "table": {"cleanup.policy": "compact", "delete.retention.ms": DELETE_RETENTION_MS, "segment.bytes": 100_000},
}

HEADERS = st.sampled_from([Headers(), Headers([("h", b"1")]), Headers([("h", None), ("h", b"")])])
KEYS = st.sampled_from([b"", b"a", b"b", b"c"])
VALUES = st.none() | st.sampled_from([b"", b"1", b"2", b"big"])

Row = tuple[str, int, bytes, bytes | None, Headers]


def as_rows(drawn: list[Row]) -> list[Row]:
    """``b"big"`` stands for a value that makes a file of its segment; it would be too long to print."""
    return [(*row[:3], b"x" * 40_000 if row[3] == b"big" else row[3], row[4]) for row in drawn]


ROW = st.tuples(st.sampled_from(sorted(TOPICS)), st.integers(0, PARTITIONS - 1), KEYS, VALUES, HEADERS)
ROWS = st.lists(ROW, min_size=1, max_size=8)
TopicPartition = tuple[str, int]


class Log:
    """What a partition should hold."""

    def __init__(self) -> None:
        self.records: list[RawRecord] = []
        self.start = self.end = 0
        self.horizons: dict[int, int] = {}
        self.arrived: dict[int, int] = {}

    def append(self, row: Row, timestamp: int, now: int) -> None:
        topic, partition, key, value, headers = row
        self.arrived[self.end] = now
        self.records.append((topic, partition, self.end, timestamp, key, value, headers))
        self.end += 1

    def compact(self, now: int) -> None:
        latest = {record[4]: record[2] for record in self.records}
        kept = [record for record in self.records if latest[record[4]] == record[2]]
        self.records = [record for record in kept if not self.is_over(record, now)]

    def is_over(self, record: RawRecord, now: int) -> bool:
        """Whether a tombstone may go; the first pass sets its time."""
        if record[5] is not None:
            return False
        return self.horizons.setdefault(record[2], now + DELETE_RETENTION_MS) <= now

    def start_at(self, offset: int) -> None:
        self.start = max(self.start, offset)


class BrokerMachine(RuleBasedStateMachine):
    """Random calls, with the model beside it."""

    @initialize()
    def open(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.clock = FakeClock()
        self.broker = EmbeddedBroker(self.directory.name, fsync=False, clock=self.clock)
        for name, config in TOPICS.items():
            self.broker.create_topic(name, PARTITIONS, config)
        self.logs = {(name, partition): Log() for name in TOPICS for partition in range(PARTITIONS)}
        self.lease = self.broker.acquire_lease("app")
        self.batch_id = -1
        self.staged: list[tuple[int, list[Row], int, Handover]] = []
        self.offsets: dict[TopicPartition, OffsetAndMetadata] = {}

    def teardown(self) -> None:
        if hasattr(self, "broker"):
            self.broker.close()
            self.directory.cleanup()

    @rule(rows=ROWS)
    def append(self, rows: list[Row]) -> None:
        rows = as_rows(rows)
        records = [NewRecord(row[0], row[2], row[3], None, row[4], row[1]) for row in rows]
        self.broker.append(records)
        self.add(rows, self.clock.now)

    def add(self, rows: list[Row], timestamp: int) -> None:
        for row in rows:
            self.logs[row[0], row[1]].append(row, timestamp, self.clock.now)

    @rule(rows=ROWS, finished=st.booleans())
    def stage(self, rows: list[Row], finished: bool) -> None:
        rows = as_rows(rows)
        with self.broker.stage("app", self.lease.epoch, self.batch_id + 1, "0") as stage:
            for topic, partition, key, value, headers in rows:
                stage.append(topic, partition, self.clock.now, key, value, headers)
            if finished:
                self.staged.append((self.lease.epoch, rows, self.clock.now, stage.finish()))

    @precondition(lambda self: self.staged)
    @rule(data=st.data(), again=st.booleans())
    def commit(self, data: Any, again: bool) -> None:
        epoch, rows, timestamp, staged = self.staged.pop(data.draw(st.integers(0, len(self.staged) - 1)))
        ends = {("log", partition): self.logs["log", partition].end for partition in range(PARTITIONS)}
        read = data.draw(st.sampled_from([[0], [0, 1]]), "partitions whose end was reached")
        offsets = {("log", partition): OffsetAndMetadata(ends["log", partition], "note") for partition in read}
        decision = Decision("app", epoch, self.batch_id + 1, [staged], offsets, {"batch": str(self.batch_id + 1)})
        if epoch != self.lease.epoch:
            try:
                self.broker.decide(decision)
            except FencedError:
                return
            raise AssertionError("a stale epoch could commit")
        assert self.broker.decide(decision) is Outcome.DONE
        self.batch_id += 1
        self.offsets.update(offsets)
        self.add(rows, timestamp)
        # What was staged for the same batch by other attempts can never be committed.
        for other in [staged, *[staged for _, _, _, staged in self.staged]]:
            if again:
                assert self.broker.decide(Decision("app", epoch, self.batch_id, [other])) is Outcome.DONE
        self.staged = []

    @rule()
    def replace_the_driver(self) -> None:
        self.lease.release()
        epoch = self.lease.epoch
        self.lease = self.broker.acquire_lease("app")
        assert self.lease.epoch == epoch + 1

    @rule(ms=st.sampled_from([1, 300, 600, 1_100]))
    def wait(self, ms: int) -> None:
        self.clock.now += ms

    @rule()
    def compact(self) -> None:
        self.broker.compact("table", force=True)
        for partition in range(PARTITIONS):
            self.logs["table", partition].compact(self.clock.now)

    @rule()
    def apply_retention(self) -> None:
        self.broker.apply_retention("log")
        young = self.clock.now - RETENTION_MS
        for (topic, partition), log in self.logs.items():
            start = self.broker.start_offsets([(topic, partition)])[topic, partition]
            read_to = self.read_to((topic, partition))
            gone = [record for record in log.records if log.start <= record[2] < start]
            assert all(topic == "log" and log.arrived[record[2]] < young for record in gone), gone
            assert all(record[2] < read_to for record in gone), gone
            if topic == "log" and read_to >= log.end and all(log.arrived[record[2]] < young for record in log.records):
                assert start == log.end
            log.start_at(start)

    def read_to(self, where: TopicPartition) -> int:
        """How far the application has read; the end where it does not read the topic at all."""
        if not any(topic == where[0] for topic, _ in self.offsets):
            return self.logs[where].end
        return self.offsets[where].offset if where in self.offsets else 0

    @rule(at=st.integers(2, 4))
    def merge(self, at: int) -> None:
        for topic in TOPICS:
            self.broker.merge(topic, at=at)

    @rule()
    def roll(self) -> None:
        threshold, rewriting.ROLL_SEGMENTS = rewriting.ROLL_SEGMENTS, 3
        try:
            self.append([("log", 0, b"a", b"1", Headers()), ("table", 1, b"a", b"1", Headers())])
        finally:
            rewriting.ROLL_SEGMENTS = threshold

    @rule()
    def sweep(self) -> None:
        self.broker.sweep()

    @rule(data=st.data())
    def delete_records(self, data: Any) -> None:
        where = data.draw(st.sampled_from(sorted(self.logs)))
        offset = data.draw(st.integers(0, self.logs[where].end))
        self.broker.delete_records({where: offset})
        self.logs[where].start_at(offset)

    @rule()
    def reopen(self) -> None:
        self.broker.close()
        self.broker = EmbeddedBroker(self.directory.name, fsync=False, clock=self.clock)
        self.lease = self.broker.acquire_lease("app") if self.lease_is_gone() else self.lease
        self.staged = [staged for staged in self.staged if staged[0] == self.lease.epoch]

    def lease_is_gone(self) -> bool:
        """The old lease object belongs to the closed broker: take it again."""
        self.lease._catalog = self.broker._catalog
        return self.broker.lease_owner("app") is None

    @rule(data=st.data())
    def read_a_part(self, data: Any) -> None:
        where = data.draw(st.sampled_from(sorted(self.logs)))
        log = self.logs[where]
        start = data.draw(st.integers(log.start, log.end))
        end = data.draw(st.integers(start, log.end))
        topic, partition = where
        most = data.draw(st.integers(1, 9))
        chunks = self.broker.read(topic, partition, start, end, max_records=most)
        found = [record for chunk in chunks for record in chunk]
        assert found == [record for record in log.records if start <= record[2] < end]

    @rule(data=st.data(), time=st.integers(999_000, 1_010_000))
    def find_a_time(self, data: Any, time: int) -> None:
        where = data.draw(st.sampled_from(sorted(self.logs)))
        log = self.logs[where]
        later = (record[2] for record in log.records if record[3] >= time and record[2] >= log.start)
        assert self.broker.offsets_for_time({where: time}) == {where: next(later, None)}

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        if not hasattr(self, "broker"):
            return
        starts, ends = self.broker.start_offsets(self.logs), self.broker.end_offsets(self.logs)
        for where, log in self.logs.items():
            assert (starts[where], ends[where]) == (log.start, log.end)
            found = [record for chunk in self.broker.read(*where, log.start) for record in chunk]
            assert found == [record for record in log.records if record[2] >= log.start]
            if log.start:
                try:
                    self.broker.read(*where, log.start - 1)
                except OffsetOutOfRangeError:
                    continue
                raise AssertionError("an offset before the start could be read")
        last = self.broker.last_decided("app")
        assert (-1 if last is None else last.batch_id) == self.batch_id
        assert self.broker.committed("app") == self.offsets

    @invariant()
    def has_no_file_that_nobody_needs(self) -> None:
        """Every file is registered, or staged and not yet committed, or from an attempt that the sweeper will find."""
        if not hasattr(self, "broker"):
            return
        with self.broker._catalog.read() as connection:
            known = {row[0] for row in connection.execute("SELECT file FROM segments WHERE file IS NOT NULL")}
        there = {file for file, _ in self.broker._disk.files()}
        assert known <= there
        assert all("/staged-" in file for file in there - known)


TestBroker = BrokerMachine.TestCase
TestBroker.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
