from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from headrace import serde as serdes
from headrace import stores
from headrace.dsl.builder import StreamsBuilder
from headrace.errors import StreamsError
from headrace.testing import TopologyTestDriver
from headrace.windows import EmitStrategy, SessionWindows, SlidingWindows, TimeWindows

Timeline = Iterable[tuple[str, str, int]]


def keep_window(window: Any, value: Any) -> str:
    return str(window)


def results(builder: StreamsBuilder, timeline: Timeline, **settings: Any) -> list[tuple[Any, Any, int | None]]:
    """What arrives in ``out``: key, value and time."""
    config = {"application.id": "test", **{name.replace("_", "."): value for name, value in settings.items()}}
    with TopologyTestDriver(builder.build(), config) as driver:
        source = driver.create_input_topic("in")
        sink = driver.create_output_topic("out")
        for key, value, timestamp in timeline:
            source.pipe_input(key, value, timestamp=timestamp)
        return [(record.key, record.value, record.timestamp) for record in sink.read_records_to_list()]


def test_reduces_in_time_windows() -> None:
    builder = StreamsBuilder()
    table = builder.stream("in").group_by_key().windowed_by(TimeWindows(10)).reduce(lambda a, b: a + b)
    table.to_stream(keep_window).to("out", key_serde=serdes.string(), value_serde=serdes.string())
    timeline = [("A", "a", 1), ("A", "b", 9), ("A", "c", 10), ("A", "late", 2)]
    assert results(builder, timeline) == [("[A@0/10]", "a", 1), ("[A@0/10]", "ab", 9), ("[A@10/20]", "c", 10)]


def test_emits_once_when_sliding_windows_close() -> None:
    builder = StreamsBuilder()
    view = builder.stream("in").group_by_key().windowed_by(SlidingWindows(10))
    table = view.emit_strategy(EmitStrategy.on_window_close()).aggregate(str, lambda k, v, a: a + v)
    table.to_stream(keep_window).to("out", key_serde=serdes.string(), value_serde=serdes.string())
    timeline = [("A", "a", 20), ("A", "b", 25), ("A", "c", 36)]
    expected = [("[A@10/20]", "a", 20), ("[A@15/25]", "ab", 25), ("[A@21/31]", "b", 25)]
    assert results(builder, timeline) == expected


def test_merges_sessions_of_cogrouped_streams_in_memory() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in")
    left = stream.filter(lambda k, v: v.islower()).group_by_key()
    right = stream.filter(lambda k, v: v.isupper()).group_by_key()
    cogrouped = left.cogroup(lambda k, v, a: a + v).cogroup(right, lambda k, v, a: v + a)
    table = cogrouped.windowed_by(SessionWindows(10)).aggregate(str, lambda k, a, b: a + b)
    table.to_stream(keep_window).to("out", key_serde=serdes.string(), value_serde=serdes.string())
    found = results(builder, [("A", "a", 0), ("A", "B", 10)], dsl_store_suppliers_class="in_memory")
    assert found == [("[A@0/0]", "a", 0), ("[A@0/0]", None, 0), ("[A@0/10]", "Ba", 10)]


def test_final_results_need_a_store_that_keeps_timestamps() -> None:
    builder = StreamsBuilder()
    view = builder.stream("in").group_by_key().windowed_by(TimeWindows(10))
    final = view.emit_strategy(EmitStrategy.on_window_close())
    final.count(store=stores.persistent_window("plain", 100, 10), caching=False)
    with pytest.raises(StreamsError, match="timestamp is negative"):
        results(builder, [("A", "a", 1), ("A", "b", 20)])
