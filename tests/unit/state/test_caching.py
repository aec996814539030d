"""Stores behind the cache: what leaves at a flush, and how iterators merge cache and store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace import serde
from headrace.errors import IllegalStateError, StoreError
from headrace.records import Change, Headers, Record, ValueAndTimestamp
from headrace.state import stores
from headrace.windows import MAX_TIMESTAMP, SessionWindow, TimeWindow, Windowed
from tests.time_limit import time_limit
from tests.unit.state.fake_context import FakeContext


@pytest.fixture
def context(tmp_path: Path) -> FakeContext:
    return FakeContext(tmp_path)


@pytest.fixture
def store(context: FakeContext) -> Iterator[Any]:
    store = stores.key_value(stores.in_memory("s"), serde.string(), serde.string()).with_caching_enabled().build()
    store.init(context)
    yield store
    store.close()


def listen(store: Any, *, send_old_values: bool = True) -> list[Record[Any, Change]]:
    heard: list[Record[Any, Change]] = []
    assert store.set_flush_listener(heard.append, send_old_values)
    return heard


def test_a_flush_writes_the_last_value_and_tells_the_old_one_of_the_store(store: Any, context: FakeContext) -> None:
    heard = listen(store)
    store.put("a", "1")
    store.flush_cache()
    store.put("a", "2")
    store.put("a", "3")
    store.flush_cache()

    assert [record.value for record in heard] == [Change("1", None), Change("3", "1")]
    assert [logged.value for logged in context.changelog] == [b"1", b"3"]


def test_old_values_are_not_told_to_who_does_not_ask(store: Any) -> None:
    heard = listen(store, send_old_values=False)
    store.put("a", "1")
    store.flush_cache()
    store.put("a", None)
    store.flush_cache()

    assert [record.value for record in heard] == [Change("1", None), Change(None, None)]


def test_the_flush_happens_in_the_context_of_the_last_write(store: Any, context: FakeContext) -> None:
    seen = []
    store.set_flush_listener(lambda record: seen.append((record, context.record_context)), True)
    context.at(5, offset=1, headers=Headers([("h", b"1")]))
    store.put("a", "1")
    written = context.record_context
    context.at(9, offset=2)
    current = context.record_context
    store.flush_cache()

    record, during = seen[0]
    assert (record.timestamp, record.headers) == (5, [("h", b"1")])
    assert during == written
    assert context.record_context == current
    assert context.changelog[0].timestamp == 5


def test_a_tombstone_for_an_unknown_key_leaves_no_trace_when_somebody_listens(store: Any, context: FakeContext) -> None:
    store.delete("never")
    store.flush_cache()
    assert [logged.value for logged in context.changelog] == [None]

    context.changelog.clear()
    heard = listen(store)
    store.delete("never")
    store.flush_cache()
    assert (heard, context.changelog) == ([], [])


def test_iterators_see_the_cache_over_the_store(store: Any) -> None:
    store.put_all([("a", "1"), ("b", "1"), ("d", "1")])
    store.flush_cache()
    store.put("b", "2")
    store.put("c", "2")
    store.delete("a")

    assert list(store.all()) == [("b", "2"), ("c", "2"), ("d", "1")]
    assert list(store.range("b", "c")) == [("b", "2"), ("c", "2")]
    assert list(store.prefix_scan("d", serde.string())) == [("d", "1")]
    assert store.approximate_num_entries() == 3


def test_who_iterates_uses_what_is_read_and_nothing_else(store: Any) -> None:
    for key in ("b", "a", "c"):
        store.put(key, "1")
    heard = listen(store)

    assert list(store.prefix_scan("a", serde.string())) == [("a", "1")]
    store.range("b", "c")
    store.inner._cache.evict()
    assert heard[0].key == "b"

    assert list(store.range("c", None)) == [("c", "1")]
    assert list(store.inner._cache._entries) == [b"a", b"c"]


def test_backward_a_cached_tombstone_goes_wrong_as_in_kafka_streams(store: Any) -> None:
    store.put_all([("a", "1"), ("b", "1"), ("c", "1")])
    store.flush_cache()
    store.inner.clear_cache()
    store.delete("b")
    # The store's next key (c) is greater than the tombstone's: the tombstone is lost, the deleted entry shows.
    assert list(store.reverse_all()) == [("c", "1"), ("b", "1"), ("a", "1")]

    store.flush_cache()
    store.delete("d")
    # The store's next key is smaller: the tombstone itself shows.
    assert next(store.reverse_all()) == ("d", None)


def test_without_its_cache_a_store_shows_what_was_flushed(store: Any) -> None:
    store.put("a", "1")
    store.flush_cache()
    store.put("a", "2")

    assert store.get("a") == "2"
    assert store.uncached().get("a") == "1"
    assert store.uncached().uncached().get("a") == "1"


def test_closing_flushes_and_a_closed_store_says_so(context: FakeContext) -> None:
    store = stores.key_value(stores.in_memory("s"), serde.string(), serde.string()).with_caching_enabled().build()
    store.init(context)
    store.put("a", "1")
    store.close()
    store.close()

    assert [logged.key for logged in context.changelog] == [b"a"]
    assert context.cache.size_bytes == 0
    with pytest.raises(StoreError, match="closed"):
        store.put("a", "2")


def test_a_store_that_is_not_cached_has_no_listener(context: FakeContext) -> None:
    store = stores.key_value(stores.in_memory("s"), serde.string(), serde.string()).build()
    assert store.set_flush_listener(lambda record: None, True) is False


def test_flushed_windows_have_typed_keys_and_timestamped_values(context: FakeContext) -> None:
    supplier = stores.persistent_timestamped_window("w", 100_000, 10)
    store = stores.timestamped_window(supplier, serde.string(), serde.long()).with_caching_enabled().build()
    store.init(context)
    heard = listen(store)
    store.put("a", ValueAndTimestamp(1, 12), 10)
    store.flush_cache()
    store.put("a", None, 10)
    store.flush_cache()

    assert [record.key for record in heard] == [Windowed("a", TimeWindow(10, 20))] * 2
    assert [record.value for record in heard] == [
        Change(ValueAndTimestamp(1, 12), None),
        Change(None, ValueAndTimestamp(1, 12)),
    ]
    store.close()


def test_flushed_sessions_have_typed_keys(context: FakeContext) -> None:
    store = stores.session(stores.in_memory_session("s", 100), serde.string(), serde.long())
    store.with_caching_enabled()
    opened = store.build()
    opened.init(context)
    heard = listen(opened)
    opened.put(Windowed("a", SessionWindow(1, 2)), 7)
    opened.remove(Windowed("b", SessionWindow(1, 2)))
    opened.flush_cache()

    assert [(record.key, record.value) for record in heard] == [
        (Windowed("a", SessionWindow(1, 2)), Change(7, None)),
    ]


@pytest.mark.parametrize("make", [stores.persistent_window, stores.in_memory_window])
def test_cached_and_stored_windows_merge_in_the_order_of_the_store(context: FakeContext, make: Any) -> None:
    store: Any = stores.window(make("w", 200_000, 10), serde.string(), serde.long()).with_caching_enabled().build()
    plain = stores.window(make("p", 200_000, 10), serde.string(), serde.long()).build()
    for opened in (store, plain):
        opened.init(context)
    for number, (key, start) in enumerate([("b", 0), ("a", 70_000), ("a", 5), ("b", 130_000), ("a", 0), ("c", 65_000)]):
        for opened in (store, plain):
            opened.put(key, number, start)
        if number == 2:
            store.flush_cache()
            store.inner.clear_cache()

    assert list(store.all()) == list(plain.all())
    assert list(store.backward_all()) == list(plain.backward_all())
    assert list(store.fetch_keys("a", "b", 0, 100_000)) == list(plain.fetch_keys("a", "b", 0, 100_000))
    assert list(store.backward_fetch_keys("a", "b", 0, 100_000)) == list(
        plain.backward_fetch_keys("a", "b", 0, 100_000)
    )
    assert list(store.fetch_range("a", 0, MAX_TIMESTAMP)) == list(plain.fetch_range("a", 0, MAX_TIMESTAMP))
    assert list(store.backward_fetch_range("a", 1, 90_000)) == list(plain.backward_fetch_range("a", 1, 90_000))
    store.close()
    plain.close()


def test_a_range_that_ends_segments_before_it_begins_is_refused_when_cached(context: FakeContext) -> None:
    supplier = stores.persistent_window("w", 100_000, 10)
    store = stores.window(supplier, serde.string(), serde.long()).with_caching_enabled().build()
    store.init(context)
    store.put("a", 1, 70_000)

    assert list(store.fetch_range("a", 70_001, 70_000)) == []
    with pytest.raises(IllegalStateError, match="across segments"):
        list(store.fetch_range("a", 70_000, 0))
    store.close()


FAR_APART = [0, 1_780_000_000_000, 4_102_444_800_000, 2**62]
"""Millions of segments lie between any two of them."""


@pytest.mark.parametrize("make", [stores.in_memory_window, stores.persistent_window])
def test_cached_windows_are_found_however_far_apart_they_are(context: FakeContext, make: Any) -> None:
    store = stores.window(make("w", 100_000, 10), serde.string(), serde.long()).with_caching_enabled().build()
    store.init(context)
    for time in FAR_APART:
        store.put("a", 1, time)

    with time_limit():
        assert [start for start, _ in store.fetch_range("a", 0, MAX_TIMESTAMP)] == FAR_APART
        assert [start for start, _ in store.backward_fetch_range("a", 1, MAX_TIMESTAMP)] == FAR_APART[:0:-1]
        assert [key.start for key, _ in store.fetch_keys("a", "b", 1, 2**61)] == FAR_APART[1:3]
        assert {key.start for key, _ in store.fetch_keys(None, None, 0, MAX_TIMESTAMP)} == set(FAR_APART)
        assert {key.start for key, _ in store.backward_fetch_keys("a", None, 0, MAX_TIMESTAMP)} == set(FAR_APART)
    store.close()


@pytest.mark.parametrize("make", [stores.in_memory_session, stores.persistent_session])
def test_cached_sessions_are_found_however_far_apart_they_are(context: FakeContext, make: Any) -> None:
    store = stores.session(make("s", 100_000), serde.string(), serde.long()).with_caching_enabled().build()
    store.init(context)
    for time in FAR_APART:
        store.put(Windowed("a", SessionWindow(time, time)), 1)

    with time_limit():
        assert [key.end for key, _ in store.find_sessions("a", 0, MAX_TIMESTAMP)] == FAR_APART
        assert [key.end for key, _ in store.backward_find_sessions("a", 1, MAX_TIMESTAMP)] == FAR_APART[:0:-1]
        assert [key.end for key, _ in store.find_sessions("a", 1, 2**61)] == FAR_APART[1:3]
    store.close()
