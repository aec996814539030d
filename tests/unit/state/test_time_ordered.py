from __future__ import annotations

from pathlib import Path

import pytest

from headrace.records import Change, Record
from headrace.serde.bytes_keys import session_key, window_store_key
from headrace.state.layers.time_ordered_caching import TimeOrderedCachingWindowStore
from headrace.state.rocksdb.time_ordered import RocksDBTimeOrderedSessionStore, RocksDBTimeOrderedWindowStore
from headrace.state.suppliers import TimeOrderedSessionSupplier, TimeOrderedWindowSupplier
from tests.unit.state.fake_context import FakeContext


@pytest.fixture
def context(tmp_path: Path) -> FakeContext:
    return FakeContext(tmp_path)


def windows(context: FakeContext, *, with_index: bool = False) -> RocksDBTimeOrderedWindowStore:
    store = TimeOrderedWindowSupplier("W", 120_000, 10, with_index=with_index).get()
    store.init(context)
    return store


def sessions(context: FakeContext) -> RocksDBTimeOrderedSessionStore:
    store = TimeOrderedSessionSupplier("S", 120_000).get()
    store.init(context)
    return store


def test_all_windows_come_by_time_then_key(context: FakeContext) -> None:
    store = windows(context)
    for key, start in ((b"B", 0), (b"A", 70_000), (b"A", 10), (b"B", 10)):
        store.put(key, b"v", start)

    forward = [(b"B", 0), (b"A", 10), (b"B", 10), (b"A", 70_000)]
    assert [key for key, _ in store.fetch_all(0, 100_000)] == forward
    assert [key for key, _ in store.fetch_all(0, 100_000, forward=False)] == forward[::-1]
    assert [key for key, _ in store.fetch_keys(b"A", b"A", 0, 10)] == [(b"A", 10)]


def test_with_an_index_ranges_of_keys_come_by_segment_then_key(context: FakeContext) -> None:
    store = windows(context, with_index=True)
    for key, start in ((b"B", 0), (b"A", 70_000), (b"A", 10)):
        store.put(key, b"v", start)

    assert [key for key, _ in store.fetch_keys(None, None, 0, 100_000)] == [(b"A", 10), (b"B", 0), (b"A", 70_000)]
    assert [key for key, _ in store.fetch_all(0, 100_000)] == [(b"B", 0), (b"A", 10), (b"A", 70_000)]


@pytest.mark.parametrize("with_index", [True, False])
def test_one_keys_windows_come_by_time_and_do_not_mix_with_longer_keys(context: FakeContext, with_index: bool) -> None:
    store = windows(context, with_index=with_index)
    for key, start in ((b"A", 30), (b"A\0", 10), (b"A", 5)):
        store.put(key, b"%d" % start, start)

    assert list(store.fetch_range(b"A", 0, 100)) == [(5, b"5"), (30, b"30")]
    assert list(store.fetch_range(b"A", 0, 100, forward=False)) == [(30, b"30"), (5, b"5")]
    assert store.fetch(b"A", 30) == b"30"
    store.put(b"A", None, 30)
    assert list(store.fetch_range(b"A", 0, 100)) == [(5, b"5")]


def test_windows_expire_by_segment_and_are_counted(context: FakeContext) -> None:
    store = windows(context)
    store.put(b"A", b"old", 60_000)
    store.put(b"A", b"new", 190_000)

    assert store.fetch(b"A", 60_000) is None
    store.put(b"A", b"late, but its segment lives", 60_001)
    assert context.dropped == []
    store.put(b"A", b"too late", 59_999)
    assert context.dropped == ["expired-segment"]
    assert [key for key, _ in store.fetch_all(0, 200_000)] == [(b"A", 190_000)]


def test_windows_live_one_millisecond_longer_than_elsewhere(context: FakeContext) -> None:
    store = windows(context)
    store.put(b"A", b"old", 70_000)
    store.put(b"A", b"new", 190_000)

    assert store.fetch(b"A", 70_000) == b"old"


def test_the_changelog_restores_windows(context: FakeContext) -> None:
    store = windows(context, with_index=True)
    store.restore(window_store_key(b"A", 10), b"v", 12)

    assert list(store.fetch_range(b"A", 0, 100)) == [(10, b"v")]


def test_sessions_are_found_by_end_and_by_key(context: FakeContext) -> None:
    store = sessions(context)
    for session in ((b"B", 0, 5), (b"A", 2, 5), (b"A", 1, 9), (b"C", 50, 60)):
        store.put(session, b"v")

    assert [key for key, _ in store.find_sessions_by_end(5, 9)] == [(b"B", 0, 5), (b"A", 2, 5), (b"A", 1, 9)]
    assert [key for key, _ in store.find_sessions(b"A", 6, 100)] == [(b"A", 1, 9)]
    assert [key for key, _ in store.find_sessions_keys(None, None, 0, 100)] == [
        (b"A", 2, 5),
        (b"A", 1, 9),
        (b"B", 0, 5),
        (b"C", 50, 60),
    ]
    store.remove((b"A", 1, 9))
    assert store.fetch_session(b"A", 1, 9) is None
    assert store.fetch_session(b"A", 2, 5) == b"v"


def test_the_changelog_restores_sessions(context: FakeContext) -> None:
    store = sessions(context)
    store.restore(session_key(b"A", 1, 9), b"v", 12)

    assert [key for key, _ in store.find_sessions(b"A", 0, 100)] == [(b"A", 1, 9)]


@pytest.mark.parametrize("with_index", [True, False])
def test_cached_windows_merge_with_stored_ones_in_order_of_time(context: FakeContext, with_index: bool) -> None:
    beneath = TimeOrderedWindowSupplier("W", 120_000, 10, with_index=with_index).get()
    store = TimeOrderedCachingWindowStore(beneath, 60_000, with_index=with_index)
    store.init(context)
    store.put(b"B", b"stored", 10)
    store.put(b"A", b"stored", 70_000)
    store.flush_cache()
    store.put(b"A", b"cached", 20)
    store.put(b"B", b"newer", 10)

    assert list(store.fetch_all(0, 100_000)) == [
        ((b"B", 10), b"newer"),
        ((b"A", 20), b"cached"),
        ((b"A", 70_000), b"stored"),
    ]
    assert list(store.fetch_range(b"A", 0, 100_000)) == [(20, b"cached"), (70_000, b"stored")]
    assert next(store.fetch_all(0, 100_000, forward=False))[0] == (b"A", 70_000)
    assert store.fetch(b"B", 10) == b"newer"
    assert beneath.fetch(b"B", 10) == b"stored"


@pytest.mark.parametrize("with_index", [True, False])
def test_a_flush_writes_each_window_once_and_tells_the_listener(context: FakeContext, with_index: bool) -> None:
    beneath = TimeOrderedWindowSupplier("W", 120_000, 10, with_index=with_index).get()
    store = TimeOrderedCachingWindowStore(beneath, 60_000, with_index=with_index)
    store.init(context)
    flushed: list[Record[bytes, Change]] = []
    store.set_flush_listener(flushed.append, True)
    context.at(11)
    store.put(b"A", b"1", 10)
    store.put(b"A", b"2", 10)
    store.flush_cache()
    store.put(b"A", b"3", 10)
    store.flush_cache()

    key = window_store_key(b"A", 10)
    assert flushed == [Record(key, Change(b"2", None), 11), Record(key, Change(b"3", b"2"), 11)]


def test_the_index_entry_counts_against_the_budget_and_takes_its_window_along(tmp_path: Path) -> None:
    context = FakeContext(tmp_path, cache_bytes=1)
    beneath = TimeOrderedWindowSupplier("W", 120_000, 10, with_index=True).get()
    store = TimeOrderedCachingWindowStore(beneath, 60_000, with_index=True)
    store.init(context)

    store.put(b"A", b"1", 10)

    assert beneath.fetch(b"A", 10) == b"1"
