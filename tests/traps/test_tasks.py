"""Traps of tasks: punctuation, commits, offsets, handlers, and what the test driver does differently (38 to 54)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from headrace import Processor, PunctuationType, Record, StreamsBuilder, Topology, ValueAndTimestamp, errors
from headrace.config import StreamsConfig
from headrace.records import Headers, RawRecord, raw_record
from headrace.task.checkpoint import read_checkpoint, write_checkpoint
from headrace.task.global_task import GlobalTask
from headrace.task.stream_task import StreamTask
from tests.traps.scene import scene, watch


class Ticker(Processor):
    """Schedules itself every 10 ms and writes down when it was called, and as what."""

    punctuation = PunctuationType.STREAM_TIME

    def __init__(self, calls: list[Any]) -> None:
        self._calls = calls

    def init(self, context: Any) -> None:
        self.context = context
        context.schedule(10, self.punctuation, self.tick)

    def tick(self, now_ms: int) -> None:
        self._calls.append(now_ms)

    def process(self, record: Record[Any, Any]) -> None: ...


def test_trap_38_stream_time_punctuation_fires_with_the_first_record_and_once_however_much_time_passed() -> None:
    calls: list[int] = []
    builder = StreamsBuilder()
    builder.stream("in").process(lambda: Ticker(calls))

    with scene(builder) as s:
        s.pipe("in", "a", "", at=3)  # the very first record, whatever its time
        s.pipe("in", "a", "", at=9)
        s.pipe("in", "a", "", at=57)  # four intervals at once: one call, with the time it is now
        s.pipe("in", "a", "", at=59)
        s.pipe("in", "a", "", at=60)

    assert calls == [3, 57, 60]


def test_trap_39_inside_a_punctuation_there_is_record_metadata_that_says_nothing() -> None:
    metadata: list[Any] = []

    class Asking(Ticker):
        def tick(self, now_ms: int) -> None:
            metadata.append(self.context.record_metadata)

    builder = StreamsBuilder()
    builder.stream("in").process(lambda: Asking([]))

    with scene(builder) as s:
        s.pipe("in", "a", "", at=0)

    assert metadata == [(None, -1, -1)]


class Port:
    """A producer that writes down what it is given."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(
        self,
        topic: str,
        partition: int | None,
        timestamp: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
    ) -> None:
        self.sent.append(f"{topic} {key!r}={value!r}")

    def partitions_for(self, topic: str) -> int:
        return 1

    def flush(self) -> None: ...


@contextmanager
def running(builder: StreamsBuilder, port: Port | None = None, **keywords: Any) -> Iterator[StreamTask]:
    """One task that its test drives by hand."""
    config = StreamsConfig({"application.id": "app", "dsl.store.suppliers.class": "in_memory"})
    topology = builder.build()
    planned = topology.configured(config)
    plan = planned.task_plan()
    partitions = [(topic, 0) for topic in plan.source_topics]
    task = StreamTask(plan, config, port or Port(), partitions=partitions, clock=lambda: 0, **keywords)
    task.initialize()
    task.start()
    try:
        yield task
        task.prepare_commit()
        task.post_commit()
    finally:
        task.suspend()
        task.close()


def raw(topic: str, offset: int, timestamp: int, key: bytes = b"a", value: bytes = b"1") -> RawRecord:
    return raw_record(topic, 0, offset, timestamp, key, value)


def test_trap_42_what_a_commit_flushes_is_processed_and_written_before_the_offsets_are_committed() -> None:
    port = Port()
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count(store="counts").map_values(str).to_stream().to("out")

    with running(builder, port) as task:
        task.add_records(("in", 0), [raw("in", 0, 0), raw("in", 1, 1)])
        while task.process(0):
            pass
        assert port.sent == []  # the count is in the cache
        offsets = task.prepare_commit()  # a crash after this line and before the next leaves the output behind
        assert port.sent == [r"app-counts-changelog b'a'=b'\x00\x00\x00\x00\x00\x00\x00\x02'", "out b'a'=b'2'"]
        assert offsets["in", 0].offset == 2
        task.post_commit()


def test_trap_47_a_global_task_counts_the_next_offset_and_a_checkpoint_takes_either(tmp_path: Any) -> None:
    # A task's checkpoint holds the last changelog offset applied, a global one the next: the engine's to write.
    builder = StreamsBuilder()
    builder.global_table("everywhere", store="rows")
    topology = builder.build()
    config = StreamsConfig({"application.id": "app"})
    planned = topology.configured(config)
    plan = planned.global_plan()
    assert plan is not None
    task = GlobalTask(plan, config, state_dir=tmp_path)
    task.initialize()
    task.update(raw("everywhere", 41, 0))

    assert task.offsets == {("everywhere", 0): 42}
    write_checkpoint(tmp_path / ".checkpoint", task.offsets)
    assert read_checkpoint(tmp_path / ".checkpoint") == task.offsets
    task.close()


def test_trap_49_the_test_driver_is_one_task_with_one_stream_time_for_all_sub_topologies() -> None:
    calls: list[int] = []
    builder = StreamsBuilder()
    builder.stream("one").process(lambda: Ticker(calls))
    builder.stream("other").foreach(lambda key, value: None)

    with scene(builder) as s:
        s.pipe("one", "a", "", at=0)
        s.pipe("other", "a", "", at=100)

    assert calls == [0, 100]


def test_trap_49_it_commits_after_every_record_so_caches_hold_nothing_back() -> None:
    builder = StreamsBuilder()
    counts = watch(builder.stream("in").group_by_key().count(store="counts"))

    with scene(builder) as s:
        for at in (0, 1, 2):
            s.pipe("in", "a", "", at=at)

    assert [count for _, count, _ in counts] == [1, 2, 3]


def test_trap_50_a_row_put_through_the_drivers_plain_store_has_no_timestamp() -> None:
    builder = StreamsBuilder()
    builder.table("in", store="rows", logging=False, caching=False)

    with scene(builder) as s:
        s.driver.key_value_store("rows").put("a", "1")
        assert s.driver.timestamped_key_value_store("rows").get("a") == ValueAndTimestamp("1", -1)


def test_trap_50_so_a_logged_store_refuses_it() -> None:
    builder = StreamsBuilder()
    builder.table("in", store="rows", caching=False)

    with scene(builder) as s, pytest.raises(errors.ArgumentError, match="cannot take the timestamp -1"):
        s.driver.key_value_store("rows").put("a", "1")


@pytest.mark.parametrize(("lag", "waits"), [(0, False), (5, True), (None, True)])
def test_trap_51_without_idle_time_a_task_still_waits_for_a_partition_that_lags(lag: int | None, waits: bool) -> None:
    builder = StreamsBuilder()
    builder.stream("left").merge(builder.stream("right")).foreach(lambda key, value: None)

    with running(builder, lag_of=lambda partition: lag) as task:  # max.task.idle.ms is 0
        task.add_records(("left", 0), [raw("left", 0, 0)])

        assert task.is_processable(0) is not waits


def test_trap_52_commit_only_asks_and_the_host_commits_all_its_tasks() -> None:
    class Committing(Processor):
        def process(self, record: Any) -> None:
            self.context.commit()

    port = Port()
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.group_by_key().count(store="counts")
    stream.process(Committing)

    with running(builder, port) as task:
        task.add_records(("in", 0), [raw("in", 0, 0)])
        task.process(0)

        assert port.sent == []  # nothing was flushed


def test_trap_54_going_on_after_an_error_gives_up_one_branch_and_not_what_other_branches_did() -> None:
    def fail(value: str) -> str:
        if value == "bad":
            raise ValueError(value)
        return value

    builder = StreamsBuilder()
    stream = builder.stream("in")
    first = watch(stream)
    failing = watch(stream.map_values(fail))
    last = watch(stream)

    with scene(builder, {"processing.exception.handler": "log_and_continue"}) as s:
        s.pipe("in", "a", "bad", at=0)
        s.pipe("in", "a", "good", at=1)

        assert first == last == [("a", "bad", 0), ("a", "good", 1)]
        assert failing == [("a", "good", 1)]
        assert s.dropped == {"processing failed": 1}


def test_trap_54_nor_what_the_failing_branch_had_forwarded_before() -> None:
    class Twice(Processor):
        def process(self, record: Any) -> None:
            self.context.forward(record)
            raise ValueError("after the first")

    topology = (
        Topology()
        .add_source("in", ["in"])
        .add_processor("twice", Twice, parents="in")
        .add_sink("out", "out", parents="twice")
    )

    with scene(topology, {"processing.exception.handler": "log_and_continue"}) as s:
        s.pipe("in", "a", "1", at=0)

        assert s.read("out") == [("a", "1", 0)]
