from __future__ import annotations

from pathlib import Path

import pytest

from headrace.records import Change, Record
from headrace.serde.bytes_keys import (
    parse_session_key,
    parse_window_store_key,
    session_key,
    window_store_key,
    window_store_start,
)
from headrace.state.bytes_stores import Entries
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


def keys(entries: Entries) -> list[tuple[bytes, int]]:
    return [parse_window_store_key(key)[:2] for key, _ in entries]


def starts(entries: Entries) -> list[tuple[int, bytes]]:
    return [(window_store_start(key), value) for key, value in entries]


def sessions_in(entries: Entries) -> list[tuple[bytes, int, int]]:
    return [parse_session_key(key) for key, _ in entries]


def test_all_windows_come_by_time_then_key(context: FakeContext) -> None:
    store = windows(context)
    for key, start in ((b"B", 0), (b"A", 70_000), (b"A", 10), (b"B", 10)):
        store.put(window_store_key(key, start), b"v")

    forward = [(b"B", 0), (b"A", 10), (b"B", 10), (b"A", 70_000)]
    assert keys(store.fetch_all(0, 100_000)) == forward
    assert keys(store.fetch_all(0, 100_000, forward=False)) == forward[::-1]
    assert keys(store.fetch_keys(b"A", b"A", 0, 10)) == [(b"A", 10)]


def test_with_an_index_ranges_of_keys_come_by_segment_then_key(context: FakeContext) -> None:
    store = windows(context, with_index=True)
    for key, start in ((b"B", 0), (b"A", 70_000), (b"A", 10)):
        store.put(window_store_key(key, start), b"v")

    assert keys(store.fetch_keys(None, None, 0, 100_000)) == [(b"A", 10), (b"B", 0), (b"A", 70_000)]
    assert keys(store.fetch_all(0, 100_000)) == [(b"B", 0), (b"A", 10), (b"A", 70_000)]


@pytest.mark.parametrize("with_index", [True, False])
def test_one_keys_windows_come_by_time_and_do_not_mix_with_longer_keys(context: FakeContext, with_index: bool) -> None:
    store = windows(context, with_index=with_index)
    for key, start in ((b"A", 30), (b"A\0", 10), (b"A", 5)):
        store.put(window_store_key(key, start), b"%d" % start)

    assert starts(store.fetch(b"A", 0, 100)) == [(5, b"5"), (30, b"30")]
    assert starts(store.fetch(b"A", 0, 100, forward=False)) == [(30, b"30"), (5, b"5")]
    assert store.get(window_store_key(b"A", 30)) == b"30"
    store.put(window_store_key(b"A", 30), None)
    assert starts(store.fetch(b"A", 0, 100)) == [(5, b"5")]


def test_windows_expire_by_segment_and_are_counted(context: FakeContext) -> None:
    store = windows(context)
    store.put(window_store_key(b"A", 60_000), b"old")
    store.put(window_store_key(b"A", 190_000), b"new")

    assert store.get(window_store_key(b"A", 60_000)) is None
    store.put(window_store_key(b"A", 60_001), b"late, but its segment lives")
    assert context.dropped == []
    store.put(window_store_key(b"A", 59_999), b"too late")
    assert context.dropped == ["expired-segment"]
    assert keys(store.fetch_all(0, 200_000)) == [(b"A", 190_000)]


def test_windows_live_one_millisecond_longer_than_elsewhere(context: FakeContext) -> None:
    store = windows(context)
    store.put(window_store_key(b"A", 70_000), b"old")
    store.put(window_store_key(b"A", 190_000), b"new")

    assert store.get(window_store_key(b"A", 70_000)) == b"old"


def test_the_changelog_restores_windows(context: FakeContext) -> None:
    store = windows(context, with_index=True)
    store.restore(window_store_key(b"A", 10), b"v", 12)

    assert starts(store.fetch(b"A", 0, 100)) == [(10, b"v")]


def test_sessions_are_found_by_end_and_by_key(context: FakeContext) -> None:
    store = sessions(context)
    for session in ((b"B", 0, 5), (b"A", 2, 5), (b"A", 1, 9), (b"C", 50, 60)):
        store.put(session_key(*session), b"v")

    assert sessions_in(store.fetch_all(5, 9)) == [(b"B", 0, 5), (b"A", 2, 5), (b"A", 1, 9)]
    assert sessions_in(store.fetch(b"A", 6, 100)) == [(b"A", 1, 9)]
    assert sessions_in(store.fetch_keys(None, None, 0, 100)) == [
        (b"A", 2, 5),
        (b"A", 1, 9),
        (b"B", 0, 5),
        (b"C", 50, 60),
    ]
    store.remove(session_key(b"A", 1, 9))
    assert store.get(session_key(b"A", 1, 9)) is None
    assert store.get(session_key(b"A", 2, 5)) == b"v"


def test_the_changelog_restores_sessions(context: FakeContext) -> None:
    store = sessions(context)
    store.restore(session_key(b"A", 1, 9), b"v", 12)

    assert sessions_in(store.fetch(b"A", 0, 100)) == [(b"A", 1, 9)]


@pytest.mark.parametrize("with_index", [True, False])
def test_cached_windows_merge_with_stored_ones_in_order_of_time(context: FakeContext, with_index: bool) -> None:
    beneath = TimeOrderedWindowSupplier("W", 120_000, 10, with_index=with_index).get()
    store = TimeOrderedCachingWindowStore(beneath, 60_000, with_index=with_index)
    store.init(context)
    store.put(window_store_key(b"B", 10), b"stored")
    store.put(window_store_key(b"A", 70_000), b"stored")
    store.flush_cache()
    store.put(window_store_key(b"A", 20), b"cached")
    store.put(window_store_key(b"B", 10), b"newer")

    assert list(store.fetch_all(0, 100_000)) == [
        (window_store_key(b"B", 10), b"newer"),
        (window_store_key(b"A", 20), b"cached"),
        (window_store_key(b"A", 70_000), b"stored"),
    ]
    assert starts(store.fetch(b"A", 0, 100_000)) == [(20, b"cached"), (70_000, b"stored")]
    assert keys(store.fetch_all(0, 100_000, forward=False))[0] == (b"A", 70_000)
    assert store.get(window_store_key(b"B", 10)) == b"newer"
    assert beneath.get(window_store_key(b"B", 10)) == b"stored"


@pytest.mark.parametrize("with_index", [True, False])
def test_a_flush_writes_each_window_once_and_tells_the_listener(context: FakeContext, with_index: bool) -> None:
    beneath = TimeOrderedWindowSupplier("W", 120_000, 10, with_index=with_index).get()
    store = TimeOrderedCachingWindowStore(beneath, 60_000, with_index=with_index)
    store.init(context)
    flushed: list[Record[bytes, Change]] = []
    store.set_flush_listener(flushed.append, True)
    context.at(11)
    store.put(window_store_key(b"A", 10), b"1")
    store.put(window_store_key(b"A", 10), b"2")
    store.flush_cache()
    store.put(window_store_key(b"A", 10), b"3")
    store.flush_cache()

    key = window_store_key(b"A", 10)
    assert flushed == [Record(key, Change(b"2", None), 11), Record(key, Change(b"3", b"2"), 11)]


def test_the_index_entry_counts_against_the_budget_and_takes_its_window_along(tmp_path: Path) -> None:
    context = FakeContext(tmp_path, cache_bytes=1)
    beneath = TimeOrderedWindowSupplier("W", 120_000, 10, with_index=True).get()
    store = TimeOrderedCachingWindowStore(beneath, 60_000, with_index=True)
    store.init(context)

    store.put(window_store_key(b"A", 10), b"1")

    assert beneath.get(window_store_key(b"A", 10)) == b"1"
