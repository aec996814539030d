"""Suppression of table changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace import serde
from headrace.errors import StreamsError
from headrace.processors.suppress import Suppress
from headrace.records import Headers, Record, RecordContext
from headrace.state.buffers.suppress import suppress_buffer
from headrace.windows import BufferConfig, TimeWindow, Windowed
from tests.unit.processors.table_fakes import FakeContext, FakeStore, FakeTable, change, row, started

UNBOUNDED = BufferConfig.unbounded()


class BufferContext(FakeContext):
    """A context in which a suppression buffer can live."""

    state_dir = Path()

    def register(self, store: Any, restore: Any) -> None:
        """Nothing to restore."""

    def changelog_topic(self, store_name: str) -> str:
        return f"app-{store_name}-changelog"


def suppress(
    limits: BufferConfig = UNBOUNDED, *, wait_ms: int = 10, size_ms: int | None = None
) -> tuple[Suppress, BufferContext]:
    key_serde: Any = serde.string() if size_ms is None else serde.windowed(serde.string(), size_ms)
    builder = suppress_buffer("buffer", key_serde, serde.string())
    builder.with_logging_disabled()
    context = BufferContext(buffer=builder.build(), parent=FakeStore())
    context.stores["buffer"].init(context)
    return Suppress(FakeTable("parent"), builder, limits, wait_ms, final=size_ms is not None), context


def test_a_change_waits_for_the_time_limit_of_the_first_change_of_its_key() -> None:
    supplier, context = suppress()
    processor = started(supplier, context)
    processor.process(change("a", "1", None, 0))
    processor.process(change("a", "2", "1", 9))
    assert context.changes == []
    processor.process(change("b", "1", None, 10))
    assert context.changes == [("a", "2", "1", 9)]


def test_deletions_leave_after_a_time_limit_too() -> None:
    supplier, context = suppress(wait_ms=0)
    started(supplier, context).process(change("a", None, "1", 5))
    assert context.changes == [("a", None, "1", 5)]


def test_only_final_results_leave_when_a_window_closes() -> None:
    supplier, context = suppress(wait_ms=2, size_ms=10)
    processor = started(supplier, context)
    window = TimeWindow(0, 10)
    processor.process(change(Windowed("a", window), "1", None, 1))
    processor.process(change(Windowed("b", window), "1", None, 1))
    processor.process(change(Windowed("b", window), None, "1", 2))
    processor.process(change(Windowed("a", window), "2", "1", 11))
    assert context.changes == []
    processor.process(change(Windowed("c", TimeWindow(10, 20)), "1", None, 12))
    assert context.changes == [(Windowed("a", window), "2", "1", 11)]


def test_a_full_buffer_lets_the_oldest_go_early() -> None:
    supplier, context = suppress(BufferConfig.max_records(1), wait_ms=100)
    processor = started(supplier, context)
    processor.process(change("a", "1", None, 1))
    processor.process(change("b", "1", None, 2))
    assert context.changes == [("a", "1", None, 1)]


def test_a_full_buffer_that_must_not_emit_early_stops_the_task() -> None:
    supplier, context = suppress(BufferConfig.max_bytes(60).shut_down_when_full(), wait_ms=100)
    processor = started(supplier, context)
    processor.process(change("a", "1", None, 1))
    with pytest.raises(StreamsError, match="exceeded its capacity"):
        processor.process(change("b", "1", None, 2))


def test_what_leaves_brings_its_own_origin_along() -> None:
    supplier, context = suppress()
    seen: list[Any] = []
    context.forward = lambda record: seen.append((record, context.record_context))  # type: ignore[method-assign]
    processor = started(supplier, context)
    headers = Headers([("h", b"1")])
    context.record_context = RecordContext(3, 1, 0, "in", headers)
    processor.process(change("a", "1", None, 3).with_headers(headers))
    context.record_context = later = RecordContext(30, 2, 0, "in")
    processor.process(change("b", "1", None, 30))
    record, origin = seen[0]
    assert isinstance(record, Record)
    assert (record.timestamp, record.headers, origin.offset) == (3, headers, 1)
    assert context.record_context == later


def test_a_look_up_sees_the_row_before_the_change_that_is_held_back() -> None:
    supplier, context = suppress()
    context.stores["parent"].put("a", row("2", 5))
    context.stores["parent"].put("b", row("9", 5))
    started(supplier, context).process(change("a", "2", "1", 5))
    view = supplier.view()
    getter = view.get()
    getter.init(context)  # type: ignore[arg-type]
    held = getter.get("a")
    assert held is not None
    assert (held.value, getter.get("b"), view.store_names) == ("1", row("9", 5), ("buffer", "parent"))
