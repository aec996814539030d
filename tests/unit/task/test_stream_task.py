"""A task on its own: fed by hand, writing to a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.config import StreamsConfig
from headrace.errors import (
    ArgumentError,
    IllegalStateError,
    ProcessingError,
    StoreError,
    StreamsError,
    TaskCorruptedError,
)
from headrace.processors.api import Processor, PunctuationType
from headrace.records import NO_HEADERS, Headers, OffsetAndMetadata, Record, raw_record
from headrace.state import stores
from headrace.task import commit_metadata, handlers
from headrace.task.handlers import ProducedRecord
from headrace.task.stream_task import StreamTask
from headrace.topology import Topology


class Port:
    """A producer that keeps what it is given, or fails."""

    def __init__(self) -> None:
        self.sent: list[ProducedRecord] = []
        self.error: Exception | None = None
        self.partitions = 3

    def send(self, *record: Any) -> None:
        if self.error is not None:
            raise self.error
        self.sent.append(ProducedRecord(*record))

    def partitions_for(self, topic: str) -> int:
        return self.partitions

    def flush(self) -> None:
        pass

    def values(self, topic: str = "out") -> list[str]:
        return [record.value.decode() for record in self.sent if record.topic == topic]


class Run:
    """A task, its port and its clock."""

    def __init__(self, topology: Topology, partitions: list[tuple[str, int]] | None = None, **settings: Any) -> None:
        config = StreamsConfig(
            {"application.id": "app", **{name.replace("_", "."): value for name, value in settings.items()}}
        )
        planned = topology.configured(config)
        self.port = Port()
        self.now = 1000
        self.lags: dict[tuple[str, int], int | None] = {}
        self.task = StreamTask(
            planned.task_plan(),
            config,
            self.port,
            partitions=partitions or [("in", 0)],
            clock=lambda: self.now,
            lag_of=lambda partition: self.lags.get(partition, 0),
        )
        self.task.initialize()

    def start(self, committed: Any = None) -> Run:
        self.task.start(committed)
        return self

    def feed(self, *values: tuple[str, int], topic: str = "in", partition: int = 0, offset: int = 0) -> Run:
        records = [
            raw_record(topic, partition, offset + number, timestamp, b"k", value.encode(), NO_HEADERS)
            for number, (value, timestamp) in enumerate(values)
        ]
        self.task.add_records((topic, partition), records)
        return self

    def drain(self) -> Run:
        while self.task.process(self.now):
            pass
        return self


class Calls(Processor):
    """Hands each record to a function, with the context."""

    def __init__(self, call: Callable[[Any, Record[Any, Any]], None]) -> None:
        self.call = call

    def process(self, record: Record[Any, Any]) -> None:
        self.call(self.context, record)


def one_node(call: Callable[[Any, Record[Any, Any]], None], **sink: Any) -> Topology:
    return (
        Topology()
        .add_source("source", ["in"])
        .add_processor("node", lambda: Calls(call), "source")
        .add_sink("sink", "out", "node", **sink)
    )


def forward(context: Any, record: Record[Any, Any]) -> None:
    context.forward(record)


def two_sources() -> Topology:
    return Topology().add_source("source", ["a", "b"]).add_sink("sink", "out", "source")


def test_takes_the_smallest_timestamp_first() -> None:
    run = Run(two_sources(), [("a", 0), ("b", 0)]).start()
    run.feed(("a3", 3), ("a1", 1), topic="a").feed(("b2", 2), ("b5", 5), topic="b").drain()
    # Offsets decide inside a partition: a1 waits behind a3.
    assert run.port.values() == ["b2", "a3", "a1", "b5"]
    assert run.task.stream_time == 5


def test_alternates_between_partitions_with_equal_timestamps() -> None:
    run = Run(two_sources(), [("a", 0), ("b", 0)]).start()
    run.feed(("a1", 1), ("a2", 1), topic="a").feed(("b1", 1), ("b2", 1), topic="b").drain()
    assert run.port.values() == ["a1", "b1", "a2", "b2"]


def test_waits_for_an_empty_partition_that_lags() -> None:
    run = Run(two_sources(), [("a", 0), ("b", 0)]).start()
    run.lags["b", 0] = 5
    run.feed(("a1", 1), topic="a")
    assert not run.task.is_processable(run.now)
    run.lags["b", 0] = 0
    assert run.task.is_processable(run.now)


def test_waits_max_task_idle_ms_for_a_partition_that_has_caught_up() -> None:
    run = Run(two_sources(), [("a", 0), ("b", 0)], max_task_idle_ms=100).start()
    run.feed(("a1", 1), topic="a")
    assert not run.task.is_processable(1000)
    assert not run.task.is_processable(1099)
    assert run.task.is_processable(1100)


def test_goes_depth_first_in_the_order_of_children() -> None:
    def twice(context: Any, record: Record[Any, Any]) -> None:
        context.forward(record.with_value(record.value + "1"))
        context.forward(record.with_value(record.value + "2"))

    topology = (
        Topology()
        .add_source("source", ["in"])
        .add_processor("left", lambda: Calls(twice), "source")
        .add_processor("right", lambda: Calls(forward), "source")
        .add_sink("sink", "out", ["left", "right"])
    )
    run = Run(topology).start().feed(("v", 0)).drain()
    assert run.port.values() == ["v1", "v2", "v"]


def test_forwards_to_one_child_by_name() -> None:
    topology = (
        Topology()
        .add_source("source", ["in"])
        .add_processor("node", lambda: Calls(lambda c, r: c.forward(r, r.value)), "source")
        .add_sink("x", "to-x", "node")
        .add_sink("y", "to-y", "node")
    )
    run = Run(topology).start().feed(("y", 0), ("x", 1)).drain()
    assert [record.topic for record in run.port.sent] == ["to-y", "to-x"]
    with pytest.raises(ProcessingError, match="no child called 'z'") as raised:
        run.feed(("z", 2), offset=2).drain()
    assert "its children are: x, y" in str(raised.value.__cause__)


def test_the_record_context_follows_what_is_forwarded_and_comes_back() -> None:
    seen: list[Any] = []

    def move(context: Any, record: Record[Any, Any]) -> None:
        context.forward(record.with_timestamp(77).with_headers([("h", b"1")]))
        seen.append(("after", context.record_context.timestamp, context.record_context.headers))

    topology = (
        Topology()
        .add_source("source", ["in"])
        .add_processor("move", lambda: Calls(move), "source")
        .add_processor(
            "look", lambda: Calls(lambda c, r: seen.append((c.record_context.timestamp, c.record_metadata))), "move"
        )
    )
    Run(topology).start().feed(("v", 5)).drain()
    assert seen == [(77, ("in", 0, 0)), ("after", 5, NO_HEADERS)]


def test_an_error_names_node_record_and_line() -> None:
    def fail(context: Any, record: Record[Any, Any]) -> None:
        raise KeyError("price")

    with pytest.raises(ProcessingError) as raised:
        Run(one_node(fail)).start().feed(("v", 0)).drain()
    assert isinstance(raised.value.__cause__, KeyError)
    assert "KeyError: 'price'" in str(raised.value)
    assert raised.value.at is not None
    assert raised.value.at.endswith(", node node, record in-0@0")
    assert f"test_stream_task.py:{fail.__code__.co_firstlineno + 1}" in raised.value.at


def test_the_handler_is_asked_once_where_it_happened() -> None:
    asked: list[Any] = []

    def handler(context: Any, record: Any, error: Any) -> handlers.Response:
        asked.append((context.node, context.topic, context.offset, record.value, str(error)))
        return handlers.resume()

    def fail(context: Any, record: Record[Any, Any]) -> None:
        raise ValueError("no")

    topology = (
        Topology()
        .add_source("source", ["in"])
        .add_processor("above", lambda: Calls(forward), "source")
        .add_processor("broken", lambda: Calls(fail), "above")
        .add_processor("sound", lambda: Calls(forward), "above")
        .add_sink("sink", "out", "sound")
    )
    run = Run(topology, processing_exception_handler=handler).start().feed(("v", 0)).drain()
    assert asked == [("broken", "in", 0, "v", "no")]
    assert run.port.values() == ["v"]
    assert run.task.context.metrics.dropped_records == 1


def test_a_handler_that_fails_is_fatal() -> None:
    def handler(context: Any, record: Any, error: Any) -> handlers.Response:
        raise RuntimeError("the handler")

    def fail(context: Any, record: Record[Any, Any]) -> None:
        raise ValueError("no")

    with pytest.raises(ProcessingError, match="handler itself failed") as raised:
        Run(one_node(fail), processing_exception_handler=handler).start().feed(("v", 0)).drain()
    assert isinstance(raised.value.__cause__, RuntimeError)


def test_an_exception_that_cannot_say_anything_is_told_by_its_class() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    def fail(context: Any, record: Record[Any, Any]) -> None:
        raise MuteError

    with pytest.raises(ProcessingError, match=r"MuteError: \(its __str__ raised RuntimeError\)") as raised:
        Run(one_node(fail)).start().feed(("v", 0)).drain()
    assert isinstance(raised.value.__cause__, MuteError)


def test_a_skipped_record_counts_as_consumed() -> None:
    run = Run(
        Topology().add_source("source", ["in"], value_serde=Picky()).add_sink("sink", "out", "source"),
        deserialization_exception_handler="log_and_continue",
    ).start()
    run.feed(("bad", 5), ("good", 6)).drain()
    assert run.port.values() == ["good"]
    assert run.task.prepare_commit()["in", 0].offset == 2
    assert run.task.context.metrics.dropped_records_by_reason == {"the record could not be deserialized": 1}


def test_the_place_of_a_skipped_record_is_its_own(caplog: pytest.LogCaptureFixture) -> None:
    source = Topology().add_source("source", ["in"], value_serde=Picky()).add_sink("sink", "out", "source")
    run = Run(source, deserialization_exception_handler="log_and_continue").start()
    run.feed(("bad", 5)).drain()
    assert "at node source of task 0_0, record in-0@0: ValueError: cannot read bad" in caplog.text

    def extractor(record: Any, partition_time: int) -> int:
        return -1 if record.value == "late" else int(record.timestamp)

    source = Topology().add_source("source", ["in"], timestamp_extractor=extractor).add_sink("sink", "out", "source")
    Run(source).start().feed(("good", 5), ("late", 6), ("good", 7)).drain()
    assert "node source (in-0@1): the extracted timestamp is negative" in caplog.text


def test_so_is_that_of_one_which_a_store_drops(caplog: pytest.LogCaptureFixture) -> None:
    class Keep(Processor):
        def process(self, record: Record[Any, Any]) -> None:
            self.context.store("seen").put("k", record.value, record.timestamp)

    supplier = stores.in_memory_window("seen", 10, 10)
    seen = stores.window(supplier, "string", "string")
    topology = Topology().add_source("source", ["in"]).add_processor("keep", Keep, "source")
    topology.add_state_store(seen, "keep")
    Run(topology).start().feed(("new", 100), ("old", 5)).drain()
    assert "task 0_0 dropped a record (in-0@1): expired-" in caplog.text


class Picky:
    """A serde that cannot read or write the text bad."""

    def serialize(self, topic: str, value: str | None) -> bytes | None:
        if value == "bad":
            raise ValueError("cannot write bad")
        return None if value is None else value.encode()

    def deserialize(self, topic: str, data: bytes | None) -> str | None:
        if data == b"bad":
            raise ValueError("cannot read bad")
        return None if data is None else data.decode()


def test_a_record_that_cannot_be_read_stops_the_task() -> None:
    run = Run(Topology().add_source("source", ["in"], value_serde=Picky()).add_sink("sink", "out", "source")).start()
    with pytest.raises(StreamsError, match="could not be deserialized: cannot read bad") as raised:
        run.feed(("bad", 5))
    assert raised.value.at == "node source, record in-0@0"


def test_a_record_that_cannot_be_written_goes_to_the_production_handler() -> None:
    origins: list[Any] = []

    def handler(context: Any, record: Any, error: Any, origin: Any = None) -> handlers.Response:
        origins.append((context.node, origin, record.value))
        return handlers.resume()

    run = Run(one_node(forward, value_serde=Picky()), production_exception_handler=handler).start()
    run.feed(("bad", 1), ("good", 2)).drain()
    assert origins == [("sink", "VALUE", "bad")]
    assert run.port.values() == ["good"]
    assert run.task.context.metrics.dropped_records == 1


def test_an_error_of_the_producer_fails_the_send_that_met_it() -> None:
    run = Run(one_node(forward)).start().feed(("v", 1))
    run.port.error = OSError("broker gone")
    with pytest.raises(ProcessingError, match="broker gone"):
        run.drain()


def test_a_retriable_error_asks_for_a_new_start() -> None:
    class Busy(Exception):
        retriable = True

    run = Run(one_node(forward)).start().feed(("v", 1))
    run.port.error = Busy("try later")
    with pytest.raises(TaskCorruptedError):
        run.drain()


@pytest.mark.parametrize(("answer", "partitions"), [(None, [None]), (1, [1]), ([2, 0], [0, 2]), ([], [])])
def test_a_partitioner_may_choose_none_one_or_several(answer: Any, partitions: list[int | None]) -> None:
    run = Run(one_node(forward, partitioner=lambda topic, key, value, count: answer)).start().feed(("v", 1)).drain()
    assert [record.partition for record in run.port.sent] == partitions
    assert run.task.context.metrics.dropped_records == (0 if partitions else 1)


@pytest.mark.parametrize("answer", [True, [True]])
def test_a_partitioner_may_answer_with_a_condition(answer: Any) -> None:
    run = Run(one_node(forward, partitioner=lambda topic, key, value, count: answer)).start().feed(("v", 1)).drain()
    assert [repr(record.partition) for record in run.port.sent] == ["1"]


def test_commits_the_head_of_the_queue_or_what_comes_after_the_last_record() -> None:
    run = Run(one_node(forward)).start().feed(("a", 10), ("b", 20))
    run.task.process(0)
    assert run.task.prepare_commit() == {("in", 0): OffsetAndMetadata(1, commit_metadata.encode(10, {}))}
    run.task.post_commit()
    assert run.task.prepare_commit() == {}
    run.task.process(0)
    assert run.task.prepare_commit()["in", 0].offset == 2


def test_goes_on_from_committed_time_and_numbers() -> None:
    run = Run(one_node(lambda c, r: c.forward(r.with_value(str(c.processor_metadata("emitted"))))))
    run.start({("in", 0): OffsetAndMetadata(7, commit_metadata.encode(500, {"emitted": 42}))})
    assert run.task.stream_time == 500
    run.feed(("v", 1), offset=7).drain()
    assert run.port.values() == ["42"]


class Ticker(Processor):
    """Forwards what its punctuations are called with."""

    def __init__(self, *schedules: tuple[int, PunctuationType, int | None]) -> None:
        self.schedules = schedules

    def init(self, context: Any) -> None:
        super().init(context)
        for interval, kind, start in self.schedules:
            context.schedule(interval, kind, self.tick, start)

    def tick(self, now: int) -> None:
        assert self.context.record_metadata == (None, -1, -1)
        self.context.forward(Record("tick", str(now), now))

    def process(self, record: Record[Any, Any]) -> None:
        """Nothing: only the clock matters."""


def ticking(*schedules: tuple[int, PunctuationType, int | None]) -> Topology:
    return (
        Topology()
        .add_source("source", ["in"])
        .add_processor("node", lambda: Ticker(*schedules), "source")
        .add_sink("sink", "out", "node")
    )


def test_stream_time_fires_at_the_first_record_and_then_on_the_grid() -> None:
    run = Run(ticking((10, PunctuationType.STREAM_TIME, None))).start()
    assert not run.task.punctuate_stream_time()
    for timestamp in (3, 9, 10, 35, 39, 40):
        run.feed(("v", timestamp), offset=timestamp).drain()
        run.task.punctuate_stream_time()
    assert run.port.values() == ["3", "10", "35", "40"]


def test_wall_clock_fires_one_interval_after_it_was_scheduled() -> None:
    run = Run(ticking((10, PunctuationType.WALL_CLOCK_TIME, None))).start()
    assert run.task.next_wall_clock_punctuation_ms == 1010
    assert not run.task.punctuate_wall_clock()
    run.now = 1035
    assert run.task.punctuate_wall_clock()
    assert run.port.values() == ["1035"]
    assert run.task.next_wall_clock_punctuation_ms == 1040
    assert run.task.commit_needed


def test_a_start_anchors_the_grid() -> None:
    run = Run(ticking((100, PunctuationType.WALL_CLOCK_TIME, 30))).start()
    assert run.task.next_wall_clock_punctuation_ms == 1030


@pytest.mark.parametrize(("interval", "start"), [(0, None), (10, -1)])
def test_refuses_a_schedule_that_cannot_be(interval: int, start: int | None) -> None:
    with pytest.raises(StreamsError) as raised:
        Run(ticking((interval, PunctuationType.STREAM_TIME, start))).start()
    assert raised.value.detail == "the processor could not be initialized"
    assert isinstance(raised.value.__cause__, ArgumentError)


def test_a_punctuation_that_raises_asks_the_handler_without_a_record() -> None:
    asked: list[Any] = []

    def handler(context: Any, record: Any, error: Any) -> handlers.Response:
        asked.append((context.node, context.topic, record, str(error)))
        return handlers.resume()

    class Broken(Ticker):
        def tick(self, now: int) -> None:
            raise ValueError("tick")

    topology = (
        Topology()
        .add_source("source", ["in"])
        .add_processor("node", lambda: Broken((10, PunctuationType.STREAM_TIME, None)), "source")
    )
    run = Run(topology, processing_exception_handler=handler).start().feed(("v", 1)).drain()
    assert run.task.punctuate_stream_time()
    assert asked == [("node", None, None, "tick")]


def test_forwarding_from_outside_is_refused() -> None:
    contexts: list[Any] = []
    run = Run(one_node(lambda context, record: contexts.append(context))).start().feed(("v", 1)).drain()
    with pytest.raises(StreamsError, match="from outside its task"):
        contexts[0].forward(Record("k", "v", 0))
    with pytest.raises(IllegalStateError, match="from outside its task"):
        contexts[0].schedule(10, PunctuationType.STREAM_TIME, print)
    assert run.port.sent == []


def with_store(call: Callable[[Any, Record[Any, Any]], None], *, connect: bool = True) -> Topology:
    builder = stores.key_value(stores.in_memory("seen"))
    return one_node(call).add_state_store(builder, processors=["node"] if connect else [])


def test_a_store_that_is_not_connected_cannot_be_reached() -> None:
    with pytest.raises(ProcessingError, match="no access to the store 'seen'") as raised:
        Run(with_store(lambda c, r: c.store("seen"), connect=False)).start().feed(("v", 1)).drain()
    assert "connect_processor_and_state_stores" in str(raised.value.__cause__)


def test_writes_to_the_changelog_of_its_partition() -> None:
    run = Run(with_store(lambda c, r: c.store("seen").put(r.key, r.value))).start().feed(("v", 9)).drain()
    assert run.port.sent == [ProducedRecord("app-seen-changelog", 0, 9, b"k", b"v", Headers())]


def test_a_store_is_the_replay_of_its_changelog() -> None:
    def call(context: Any, record: Record[Any, Any]) -> None:
        context.store("seen").put(record.value, record.value * 2)

    first = Run(with_store(call)).start().feed(("a", 1), ("b", 2), ("a", 3)).drain()
    second = Run(with_store(call))
    entries = [(r.key, r.value, r.timestamp or 0, r.headers) for r in first.port.sent]
    assert second.task.restore("seen", entries) == 3
    second.start()
    with second.task.registry.store("seen").all() as found:
        assert list(found) == [("a", "aa"), ("b", "bb")]
    assert second.port.sent == []


def test_only_logged_stores_can_be_restored() -> None:
    with pytest.raises(StoreError, match="cannot be restored"):
        Run(one_node(forward)).task.restore("nowhere", [])


def test_tells_its_nodes_when_it_closes() -> None:
    closed: list[str] = []

    class Closing(Processor):
        def close(self) -> None:
            closed.append(self.context.node_name)  # type: ignore[attr-defined]

    topology = Topology().add_source("source", ["in"]).add_processor("node", Closing, "source")
    run = Run(topology).start()
    run.task.suspend()
    run.task.close()
    assert closed == ["node"]


def test_what_a_broker_refuses_is_told_in_its_parts() -> None:
    run = Run(Topology().add_source("source", ["in"]).add_sink("sink", "out", "source")).start()
    run.port.error = ArgumentError(
        "topic out has no partition 7", detail="It has the partitions 0 to 2.", hint="Count."
    )
    fed = run.feed(("v", 0))
    with pytest.raises(StreamsError) as caught:
        fed.drain()
    assert caught.value.message == "could not write to the topic 'out': topic out has no partition 7"
    assert (caught.value.detail, caught.value.hint) == ("It has the partitions 0 to 2.", "Count.")
