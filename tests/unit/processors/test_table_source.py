"""The first step of a table."""

from __future__ import annotations

from headrace.processors.table_source import TableSource
from headrace.records import Record
from tests.unit.processors.table_fakes import FakeContext, FakeStore, FakeVersionedStore, row, started, store_named


def source(*, materialized: bool = True, old_values: bool = False) -> TableSource:
    table = TableSource(store_named("s"), "s" if materialized else None)
    if old_values:
        table.enable_sending_old_values(True)
    return table


def test_forwards_changes_without_old_values_when_nobody_keeps_the_table() -> None:
    context = FakeContext()
    processor = started(source(materialized=False), context)
    processor.process(Record("a", 1, 5))
    processor.process(Record("a", 2, 6))
    assert context.changes == [("a", 1, None, 5), ("a", 2, None, 6)]


def test_replaces_the_row_and_sends_the_old_value_when_asked_to() -> None:
    context = FakeContext(s=FakeStore())
    processor = started(source(old_values=True), context)
    processor.process(Record("a", 1, 5))
    processor.process(Record("a", None, 6))
    assert context.changes == [("a", 1, None, 5), ("a", None, 1, 6)]
    assert context.stores["s"].rows == {}


def test_an_older_record_replaces_a_newer_row() -> None:
    context = FakeContext(s=FakeStore())
    processor = started(source(), context)
    processor.process(Record("a", "new", 9))
    processor.process(Record("a", "late", 3))
    assert context.stores["s"].rows == {"a": row("late", 3)}


def test_drops_a_record_without_a_key() -> None:
    for table in (source(), source(materialized=False)):
        context = FakeContext(s=FakeStore())
        started(table, context).process(Record(None, 1, 0))
        assert (context.forwarded, context.dropped) == ([], ["null key"])


def test_a_versioned_store_marks_late_rows_and_keeps_refused_ones_from_going_on() -> None:
    context = FakeContext(s=FakeVersionedStore(oldest=2))
    processor = started(source(), context)
    for timestamp in (9, 4, 1):
        processor.process(Record("a", timestamp, timestamp))
    assert [(record.timestamp, record.value.is_latest) for record in context.forwarded] == [(9, True), (4, False)]


def test_brings_its_store_only_once_someone_needs_it() -> None:
    table = source(materialized=False)
    assert list(table.stores) == []
    assert not table.enable_sending_old_values(False)
    assert table.view().store_names == ("s",)
    assert list(table.stores) == [table.store]
    assert table.enable_sending_old_values(False)
