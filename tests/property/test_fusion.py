"""The fast path equals the reference: fused operators against the same nodes one by one.

With metrics at DEBUG every node is measured by itself, so nothing is fused: that run is the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import FixedKeyProcessor, KStream, StreamsBuilder, Topology, TopologyTestDriver, handlers
from headrace.config import StreamsConfig
from headrace.processors.peek import nothing
from headrace.records import NO_HEADERS, Headers
from headrace.state.cache import ThreadCache
from headrace.task.stream_task import StreamTask

Step = Callable[[KStream], KStream]


def _raise_on(text: str) -> Callable[..., Any]:
    def check(*arguments: Any) -> Any:
        if text in arguments:
            raise ValueError(text)
        return arguments[-1]

    return check


def _words(value: str) -> list[str]:
    return value.split()


def _words_then_raise(value: str) -> Any:
    yield from value.split()
    if value.endswith("c"):
        raise ValueError(value)


STEPS: dict[str, Step] = {
    "filter": lambda s: s.filter(lambda key, value: value != "b"),
    "filter raises": lambda s: s.filter(_raise_on("a")),
    "filter_not": lambda s: s.filter_not(lambda key, value: key == "k2"),
    "map": lambda s: s.map(lambda key, value: (value, key)),
    "map to no pair": lambda s: s.map(lambda key, value: None if value == "b" else (key, value)),  # type: ignore[arg-type, return-value]
    "select_key": lambda s: s.select_key(lambda key, value: f"{key}{value}"),
    "map_values": lambda s: s.map_values(lambda value: f"{value} {value}"),
    "map_values with key": lambda s: s.map_values(lambda key, value: f"{key} {value}", with_key=True),
    "map_values raises": lambda s: s.map_values(_raise_on("a b")),
    "flat_map": lambda s: s.flat_map(lambda key, value: [(key, value), (value, key)]),
    "flat_map to none": lambda s: s.flat_map(lambda key, value: None if value == "c" else [(key, value)]),  # type: ignore[arg-type, return-value]
    "flat_map_values": lambda s: s.flat_map_values(_words),
    "flat_map_values raises": lambda s: s.flat_map_values(_words_then_raise),
    "peek raises": lambda s: s.peek(_raise_on("b")),
    "peek of nothing": lambda s: s.peek(nothing),
    "merge": lambda s: s.merge(s.filter(lambda key, value: value != "a")),
    "to_table": lambda s: s.to_table().to_stream(),
    "process": lambda s: s.process_values(_Echo),
}


class _Echo(FixedKeyProcessor):
    def process(self, record: Any) -> None:
        self.context.forward(record)
        self.context.forward(record.with_value(f"{record.value}!"))


trees = st.recursive(
    st.just(()),
    lambda children: st.lists(st.tuples(st.sampled_from(sorted(STEPS)), children), min_size=1, max_size=3).map(tuple),
    max_leaves=8,
)
records = st.lists(
    st.tuples(st.sampled_from(["k1", "k2"]), st.sampled_from(["a", "b", "c", "a b", "b c"]), st.integers(0, 50)),
    max_size=6,
)


def _grow(stream: KStream, tree: Any, path: str = "out") -> None:
    stream.to(path)
    for number, (step, children) in enumerate(tree):
        _grow(STEPS[step](stream), children, f"{path}-{number}")


def _topology(tree: Any) -> Topology:
    builder = StreamsBuilder()
    _grow(builder.stream("in"), tree)
    return builder.build()


class _Noting:
    """A processing handler that goes on and keeps what it was told."""

    def __init__(self) -> None:
        self.noted: list[Any] = []

    def handle(self, context: Any, record: Any, error: BaseException) -> Any:
        self.noted.append((context.node, context.offset, record, repr(error)))
        return handlers.resume()


def _run(tree: Any, piped: list[tuple[str, str, int]], level: str) -> Any:
    noting = _Noting()
    config = {
        "application.id": "fusion",
        "dsl.store.suppliers.class": "in_memory",
        "metrics.recording.level": level,
        "processing.exception.handler": noting,
    }
    with TopologyTestDriver(_topology(tree), config, wall_clock_ms=0) as driver:
        topic = driver.create_input_topic("in")
        for key, value, timestamp in piped:
            topic.pipe_input(key, value, timestamp=timestamp, headers=[("h", value.encode())])
        return driver.produced, noting.noted, driver.dropped_records_by_reason


@settings(max_examples=150, deadline=None)
@given(trees, records)
def test_fused_operators_write_note_and_drop_what_single_nodes_do(tree: Any, piped: Any) -> None:
    assert _run(tree, piped, "INFO") == _run(tree, piped, "DEBUG")


class _Port:
    """Keeps what a task writes."""

    def __init__(self) -> None:
        self.written: list[Any] = []

    def send(self, *record: Any) -> None:
        self.written.append(record)

    def partitions_for(self, topic: str) -> int:
        return 1

    def flush(self) -> None:
        pass


def _run_task(piped: list[tuple[str, str, int]], work: Callable[[StreamTask], None]) -> Any:
    builder = StreamsBuilder()
    stream = builder.stream("in").filter(lambda key, value: value != "b")
    stream.group_by_key().count(caching=False).to_stream().map_values(str).to("out")
    topology = builder.build()
    config = StreamsConfig({"application.id": "work", "dsl.store.suppliers.class": "in_memory"})
    planned = topology.configured(config)
    port = _Port()
    task = StreamTask(planned.task_plan(), config, port, partitions=[("in", 0)], cache=ThreadCache(0))
    task.initialize()
    task.start()
    rows: list[Any] = [
        (
            "in",
            0,
            offset,
            timestamp,
            key.encode(),
            value.encode(),
            Headers([("h", b"1")]) if timestamp % 2 else NO_HEADERS,
        )
        for offset, (key, value, timestamp) in enumerate(piped)
    ]
    task.add_records(("in", 0), rows)
    work(task)
    offsets = task.prepare_commit()
    task.post_commit()
    return port.written, offsets, task.stream_time


def _one_by_one(task: StreamTask) -> None:
    while task.process(0):
        pass


@settings(max_examples=100, deadline=None)
@given(records)
def test_working_through_a_queue_gives_what_record_by_record_gives(piped: Any) -> None:
    assert _run_task(piped, lambda task: task.process_all(0)) == _run_task(piped, _one_by_one)
