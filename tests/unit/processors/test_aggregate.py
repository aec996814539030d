from __future__ import annotations

from typing import Any

from headrace.processors.aggregate import Aggregate
from headrace.processors.reduce import Reduce
from headrace.records import Change, Record, ValueAndTimestamp
from headrace.state.contracts import IS_LATEST, NOT_PUT
from tests.unit.processors.aggregation_fakes import FakeContext, FakeKeyValueStore, NamedBuilder, concat


def started(supplier: Any, store: Any) -> tuple[Any, FakeContext]:
    context = FakeContext(store)
    processor = supplier()
    processor.init(context)
    return processor, context


def aggregate() -> Aggregate:
    return Aggregate(NamedBuilder(), lambda: "", concat)


def test_folds_values_and_keeps_the_latest_timestamp() -> None:
    store = FakeKeyValueStore()
    processor, context = started(aggregate(), store)
    processor.process(Record("A", "1", 10))
    processor.process(Record("A", "2", 5))
    assert context.results() == [("A", "1", 10), ("A", "12", 10)]
    assert store.rows == {"A": ValueAndTimestamp("12", 10)}


def test_drops_a_record_without_key_or_value() -> None:
    processor, context = started(aggregate(), FakeKeyValueStore())
    processor.process(Record(None, "1", 0))
    processor.process(Record("A", None, 0))
    assert context.dropped == ["null key or value"] * 2
    assert not context.forwarded


def test_forwards_the_headers_of_the_record() -> None:
    processor, context = started(aggregate(), FakeKeyValueStore())
    processor.process(Record("A", "1", 0, [("h", b"x")]))
    assert context.forwarded[0].headers == [("h", b"x")]


def test_sends_old_values_only_when_asked_and_the_initial_one_first() -> None:
    supplier = Aggregate(NamedBuilder(), lambda: "0", concat)
    processor, context = started(supplier, FakeKeyValueStore())
    processor.process(Record("A", "1", 0))
    assert context.forwarded[0].value == Change("01", None)
    assert supplier.enable_sending_old_values(True)
    processor, context = started(supplier, FakeKeyValueStore())
    processor.process(Record("A", "1", 0))
    assert context.forwarded[0].value == Change("01", "0")


def test_an_aggregate_that_becomes_none_deletes_the_row_and_starts_over() -> None:
    store = FakeKeyValueStore()
    supplier = Aggregate(NamedBuilder(), lambda: "", lambda k, v, a: None if v == "x" else a + v)
    processor, context = started(supplier, store)
    for timestamp, value in ((10, "1"), (11, "x"), (3, "2")):
        processor.process(Record("A", value, timestamp))
    assert context.results() == [("A", "1", 10), ("A", None, 11), ("A", "2", 3)]


def test_leaves_forwarding_to_the_cache() -> None:
    store = FakeKeyValueStore(cached=True)
    processor, context = started(aggregate(), store)
    processor.process(Record("A", "1", 7))
    assert not context.forwarded
    store.listener(Record("A", Change(ValueAndTimestamp("1", 7), None), 9))
    assert context.forwarded == [Record("A", Change("1", None), 7)]


class VersionedStore(FakeKeyValueStore):
    is_versioned = True
    answer = IS_LATEST

    def put(self, key: Any, value: Any, timestamp: int = 0) -> int:  # type: ignore[override]
        return self.answer


def test_forwards_nothing_that_a_versioned_store_refused() -> None:
    store = VersionedStore()
    store.answer = NOT_PUT
    processor, context = started(aggregate(), store)
    processor.process(Record("A", "1", 0))
    assert not context.forwarded


def test_marks_what_is_not_the_latest_version() -> None:
    store = VersionedStore()
    store.answer = 50
    processor, context = started(aggregate(), store)
    processor.process(Record("A", "1", 0))
    assert context.forwarded[0].value == Change("1", None, False)


def test_reduce_takes_the_first_value_as_it_is() -> None:
    store = FakeKeyValueStore()
    processor, context = started(Reduce(NamedBuilder(), lambda a, b: a + b), store)
    processor.process(Record("A", 1, 10))
    processor.process(Record("A", 2, 4))
    processor.process(Record("A", None, 4))
    assert context.results() == [("A", 1, 10), ("A", 3, 10)]
    assert context.dropped == ["null key or value"]
