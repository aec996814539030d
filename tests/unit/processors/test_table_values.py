"""Mapped and transformed tables."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import StreamsError
from headrace.processors.table_map_values import TableMapValues
from headrace.processors.table_to_stream import TableToStream
from headrace.processors.table_transform_values import TableTransformValues
from headrace.records import Record, RecordContext
from tests.unit.processors.table_fakes import FakeContext, FakeStore, FakeTable, change, row, started, store_named


def test_map_values_maps_new_and_old_but_no_deletion() -> None:
    context = FakeContext()
    table = TableMapValues(FakeTable(), None, str.upper, False)
    table.enable_sending_old_values(True)
    processor = started(table, context)
    processor.process(change("k", "b", "a"))
    processor.process(change("k", None, "b"))
    assert context.changes == [("k", "B", "A", 0), ("k", None, "B", 0)]


def test_map_values_hides_old_values_nobody_asked_for() -> None:
    context = FakeContext()
    started(TableMapValues(FakeTable(), None, str.upper, False), context).process(change("k", "b", "a"))
    assert context.changes == [("k", "B", None, 0)]


def test_map_values_with_key() -> None:
    context = FakeContext(s=FakeStore())
    table = TableMapValues(FakeTable(), store_named("s"), lambda key, value: key + value, True)
    started(table, context).process(change("k", "b", timestamp=4))
    assert context.stores["s"].rows == {"k": row("kb", 4)}


def test_a_mapped_table_that_is_not_kept_is_mapped_on_look_up() -> None:
    context = FakeContext(parent=FakeStore())
    context.stores["parent"].put("k", row("b", 4))
    getter = TableMapValues(FakeTable("parent"), None, str.upper, False).view().get()
    getter.init(context)  # type: ignore[arg-type]
    assert (getter.get("k"), getter.get("none")) == (row("B", 4), None)


class Origin:
    """Appends the offset of the context; sees deletions, too."""

    def init(self, context: Any) -> None:
        self.context = context

    def transform(self, key: Any, value: Any) -> str:
        return f"{value}@{self.context.record_context.offset}"

    def close(self) -> None:
        self.context = None


def test_a_transformer_sees_deletions() -> None:
    context = FakeContext()
    started(TableTransformValues(FakeTable(), None, Origin), context).process(change("k", None))
    assert context.changes == [("k", "None@7", None, 0)]


def test_a_transformer_is_asked_on_look_up_as_if_the_row_were_processed() -> None:
    context = FakeContext(parent=FakeStore())
    context.stores["parent"].put("k", row("b", 4))
    getter = TableTransformValues(FakeTable("parent"), None, Origin).view().get()
    getter.init(context)  # type: ignore[arg-type]
    assert (getter.get("k"), getter.get("none")) == (row("b@-1", 4), row("None@-1", -1))
    assert context.record_context == RecordContext(0, 7, 3, "in")


def test_a_transformer_cannot_forward() -> None:
    class Forwarding(Origin):
        def transform(self, key: Any, value: Any) -> str:
            self.context.forward(Record(key, value, 0))
            return ""

    processor = started(TableTransformValues(FakeTable(), None, Forwarding), FakeContext())
    with pytest.raises(StreamsError, match="cannot forward"):
        processor.process(change("k", "b"))


def test_to_stream_sends_new_values_only() -> None:
    context = FakeContext()
    started(TableToStream, context).process(change("k", None, "old", 3))
    assert context.forwarded == [Record("k", None, 3)]
