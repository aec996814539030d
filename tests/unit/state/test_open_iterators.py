"""Writes while an iterator of a cached store is open, and flushes that lead to writes of the same store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace import serde
from headrace.records import Record, ValueAndTimestamp
from headrace.state import stores
from headrace.state.suppliers import TimeOrderedWindowSupplier
from headrace.windows import SessionWindow, Windowed
from tests.unit.state.fake_context import FakeContext

TWO_ENTRIES = 130
TEXT = serde.string()


@pytest.fixture
def context(tmp_path: Path) -> FakeContext:
    return FakeContext(tmp_path, cache_bytes=TWO_ENTRIES)


def opened(builder: Any, context: FakeContext) -> Any:
    store = builder.with_caching_enabled().build()
    store.init(context)
    return store


@pytest.fixture(params=[stores.persistent, stores.in_memory], ids=["persistent", "in memory"])
def rows(context: FakeContext, request: pytest.FixtureRequest) -> Iterator[Any]:
    store = opened(stores.key_value(request.param("s"), TEXT, TEXT), context)
    yield store
    store.close()


def test_an_entry_that_is_evicted_under_an_iterator_shows_its_last_value(rows: Any) -> None:
    rows.put("a", "old")
    rows.put("z", "old")
    rows.flush_cache()
    rows.inner.clear_cache()
    rows.put("z", "new")

    with rows.all() as entries:
        assert next(entries) == ("a", "old")
        for key in "mno":
            rows.put(key, "pushes z out")
        assert list(entries) == [("z", "new")]


def test_an_entry_that_is_deleted_and_evicted_under_an_iterator_stays_deleted(rows: Any) -> None:
    rows.put("a", "old")
    rows.put("z", "old")
    rows.flush_cache()
    rows.inner.clear_cache()
    rows.delete("z")

    with rows.all() as entries:
        assert next(entries) == ("a", "old")
        for key in "mno":
            rows.put(key, "pushes z out")
        assert list(entries) == []


def test_an_iterator_has_the_values_of_the_moment_and_the_keys_of_its_beginning(
    rows: Any, context: FakeContext
) -> None:
    context.cache.max_bytes = 1_000_000
    rows.put_all([(key, "before") for key in "abcd"])

    with rows.all() as entries:
        assert next(entries) == ("a", "before")
        rows.put("b", "after")
        rows.delete("c")
        rows.put("bb", "after")
        assert list(entries) == [("b", "after"), ("d", "before")]


@pytest.mark.parametrize("make", [stores.persistent_window, stores.in_memory_window])
@pytest.mark.parametrize("method", ["fetch_range", "backward_fetch_range"])
def test_a_window_that_is_evicted_under_an_iterator_shows_its_last_value(
    context: FakeContext, make: Any, method: str
) -> None:
    store = opened(stores.window(make("w", 1_000_000, 10), TEXT, TEXT), context)
    for start in (0, 70_000):
        store.put("a", "old", start)
        store.flush_cache()
    store.inner.clear_cache()
    last = 70_000 if method == "fetch_range" else 0
    store.put("a", "new", last)

    with getattr(store, method)("a", 0, 100_000) as windows:
        assert next(windows)[1] == "old"
        for key in "xyz":
            store.put(key, "pushes it out", 30_000)
        assert list(windows) == [(last, "new")]
    store.close()


@pytest.mark.parametrize("with_index", [True, False])
def test_windows_in_order_of_time_have_the_values_of_the_moment_even_if_they_are_evicted(
    context: FakeContext, with_index: bool
) -> None:
    context.cache.max_bytes = 1_000_000
    supplier = TimeOrderedWindowSupplier("w", 1_000_000, 10, with_index=with_index)
    store = opened(stores.window(supplier, TEXT, TEXT), context)
    for start in (0, 10, 20):
        store.put("a", "before", start)

    with store.fetch_range("a", 0, 100) as windows:
        assert next(windows) == (0, "before")
        store.put("a", "after", 10)
        store.put("a", "after", 20)
        assert next(windows) == (10, "after")
        context.cache.max_bytes = 1
        store.put("z", "pushes it out", 500_000)
        assert list(windows) == [(20, "after")]
    store.close()


@pytest.mark.parametrize("make", [stores.persistent_window, stores.in_memory_window])
def test_backward_the_windows_of_one_key_leave_out_those_that_were_deleted(context: FakeContext, make: Any) -> None:
    context.cache.max_bytes = 1_000_000
    store = opened(stores.window(make("w", 1_000_000, 10), TEXT, TEXT), context)
    for start in (0, 10, 20):
        store.put("a", "1", start)
    store.flush_cache()
    store.inner.clear_cache()
    store.put("a", None, 10)
    store.put("a", None, 30)

    assert [start for start, _ in store.backward_fetch_range("a", 0, 100)] == [20, 0]
    store.close()


@pytest.mark.parametrize("make", [stores.persistent_session, stores.in_memory_session])
def test_a_search_that_begins_long_before_time_0_finds_each_session_once(context: FakeContext, make: Any) -> None:
    context.cache.max_bytes = 1_000_000
    store = opened(stores.session(make("s", 300_000), TEXT, TEXT), context)
    store.put(Windowed("a", SessionWindow(0, 0)), "1")
    store.put(Windowed("a", SessionWindow(60_000, 60_000)), "2")

    assert [value for _, value in store.find_sessions("a", -300_000, 300_000)] == ["1", "2"]
    store.close()


def test_a_window_fetch_that_begins_long_before_time_0_finds_each_window_once(context: FakeContext) -> None:
    context.cache.max_bytes = 1_000_000
    store = opened(stores.window(stores.persistent_window("w", 300_000, 10), TEXT, TEXT), context)
    store.put("a", "1", 0)

    assert list(store.fetch_range("a", -1_000_000, 10)) == [(0, "1")]
    assert list(store.backward_fetch_range("a", -1_000_000, 10)) == [(0, "1")]
    store.close()


def test_a_write_during_the_flush_of_a_deletion_is_not_lost(rows: Any) -> None:
    rows.put("a", "1")
    rows.flush_cache()
    rows.delete("a")

    def put_again(record: Record[Any, Any]) -> None:
        if record.value.new is None:
            rows.put("a", "2")

    rows.set_flush_listener(put_again, True)
    rows.flush_cache()

    assert rows.get("a") == "2"
    rows.flush_cache()
    assert rows.uncached().get("a") == "2"


def test_what_a_flush_has_yet_to_write_can_be_read_even_if_it_is_evicted(rows: Any) -> None:
    context: FakeContext = rows.inner._context
    context.cache.max_bytes = 1_000_000
    rows.put_all([(key, "old") for key in "abc"])
    rows.flush_cache()
    rows.inner.clear_cache()
    seen = []

    def look(record: Record[Any, Any]) -> None:
        if record.key == "a":
            context.cache.max_bytes = 1
            rows.get("unknown")
            rows.put("d", "pushes everything out")
            seen.extend([rows.get("c"), dict(rows.all())["c"]])
            context.cache.max_bytes = 1_000_000

    rows.put_all([(key, "new") for key in "abc"])
    rows.set_flush_listener(look, True)
    rows.flush_cache()

    assert seen == ["new", "new"]
    assert rows.get("c") == "new"


def test_a_value_that_was_overtaken_during_a_flush_does_not_come_back(rows: Any) -> None:
    context: FakeContext = rows.inner._context
    context.cache.max_bytes = 1_000_000

    def overtake(record: Record[Any, Any]) -> None:
        if record.key == "a":
            rows.put("b", "newer")
            rows.flush_cache()

    rows.put_all([("a", "new"), ("b", "new")])
    rows.set_flush_listener(overtake, True)
    rows.flush_cache()

    assert rows.uncached().get("b") == "newer"


def test_a_flush_of_windows_in_order_of_time_leaves_the_current_record_as_it_was(context: FakeContext) -> None:
    supplier = TimeOrderedWindowSupplier("w", 100_000, 10, with_index=True)
    store = opened(stores.timestamped_window(supplier, TEXT, TEXT), context)
    context.at(1)
    store.put("a", ValueAndTimestamp("1", 1), 0)
    context.at(2)
    current = context.record_context
    store.flush_cache()

    assert context.record_context == current
    store.close()


def test_a_row_that_is_not_flushed_yet_can_be_read_as_it_was(rows: Any) -> None:
    context: FakeContext = rows.inner._context
    context.cache.max_bytes = 1_000_000
    flushed = rows.as_flushed()
    rows.put("a", "1")
    rows.flush_cache()
    context.at(1, offset=1)
    rows.put("a", "2")
    rows.put("b", "1")
    # One record has changed both sides of a join: they meet as they are.
    assert (flushed.get("a"), flushed.get("b")) == ("2", "1")
    rows.delete("a")
    assert flushed.get("a") == "1"

    context.at(2, offset=2)
    assert (flushed.get("a"), flushed.get("b"), rows.get("a")) == ("1", None, None)
    rows.flush_cache()
    assert (flushed.get("a"), flushed.get("b")) == (None, "1")
