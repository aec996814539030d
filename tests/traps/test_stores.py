"""Traps of stores and caches (40, 41, 43 to 46, 48)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace import Processor, StreamsBuilder, query, serdes, stores
from headrace.state.cache import CacheEntry, ThreadCache
from headrace.state.contracts import NOT_PUT
from tests.traps.scene import scene, watch
from tests.unit.state.fake_context import FakeContext


@contextmanager
def opened(builder: Any, directory: Path) -> Iterator[tuple[Any, FakeContext]]:
    context = FakeContext(directory)
    store = builder.build()
    store.init(context)
    try:
        yield store, context
    finally:
        store.close()


class Writer(Processor):
    """Writes all ``key=value`` pairs of a record into a cached store; ``key=`` deletes."""

    stores = (stores.key_value(stores.in_memory("rows"), serdes.string(), serdes.string()).with_caching_enabled(),)

    def process(self, record: Any) -> None:
        rows = self.context.store("rows")
        for pair in record.value.split():
            key, _, value = pair.partition("=")
            rows.put(key, value or None)


def flushed_after(pairs: str) -> list[tuple[bytes, bytes | None]]:
    """What left the cache at the commit that follows one record."""
    builder = StreamsBuilder()
    builder.stream("in").process(Writer)
    with scene(builder) as s:
        s.pipe("in", "", pairs, at=0)
        return [(key, value) for key, value, _, _ in s.driver.changelog("rows")]


def test_trap_40_a_cache_flushes_in_the_order_in_which_keys_became_dirty_last() -> None:
    assert flushed_after("b=1 a=1 c=1 b=2") == [(b"a", b"1"), (b"c", b"1"), (b"b", b"2")]


@pytest.mark.parametrize(("caching", "tombstones"), [(True, []), (False, [("a", None, 0)])])
def test_trap_40_a_cache_swallows_the_tombstone_of_a_row_that_never_was(caching: bool, tombstones: list[Any]) -> None:
    builder = StreamsBuilder()
    rows = watch(builder.table("in", store="rows", caching=caching))

    with scene(builder) as s:
        s.pipe("in", "a", None, at=0)
        assert rows == tombstones
        assert len(s.driver.changelog("rows")) == len(tombstones)


def test_trap_40_evicting_one_dirty_entry_flushes_its_whole_store() -> None:
    flushed: list[list[bytes]] = []
    cache = ThreadCache(max_bytes=400)  # room for four of these entries
    named = cache.namespace("store", lambda entries: flushed.append([key for key, _ in entries]))

    for key in (b"a", b"b", b"c", b"d", b"e"):
        cache.put(named, key, CacheEntry(b"x" * 50, dirty=True))

    assert flushed == [[b"a", b"b", b"c", b"d", b"e"]]


def test_trap_41_the_cache_evicts_from_the_store_that_is_written_not_from_the_one_unused_for_longest() -> None:
    flushed: list[str] = []
    cache = ThreadCache(max_bytes=400)
    idle = cache.namespace("idle", lambda entries: flushed.append("idle"))
    busy = cache.namespace("busy", lambda entries: flushed.append("busy"))

    cache.put(idle, b"old", CacheEntry(b"x" * 100, dirty=True))
    for number in range(10):
        cache.put(busy, b"%d" % number, CacheEntry(b"x" * 50, dirty=True))

    assert set(flushed) == {"busy"}
    assert len(idle) == 1


KINDS = pytest.mark.parametrize("make", [stores.in_memory, stores.persistent])


@KINDS
def test_trap_43_ranges_follow_the_order_of_bytes_so_negative_numbers_come_last(make: Any, tmp_path: Path) -> None:
    with opened(stores.key_value(make("s"), serdes.long(), serdes.string()), tmp_path) as (store, _):
        for number in (-1, 0, 1):
            store.put(number, str(number))

        assert [key for key, _ in store.all()] == [0, 1, -1]
        assert [key for key, _ in store.range(0, 1)] == [0, 1]


@KINDS
def test_trap_43_a_range_that_ends_before_it_begins_is_empty(make: Any, tmp_path: Path) -> None:
    with opened(stores.key_value(make("s"), serdes.long(), serdes.string()), tmp_path) as (store, _):
        for number in (-1, 0, 1):
            store.put(number, str(number))

        assert list(store.range(1, 0)) == []
        assert list(store.range(-1, 1)) == []  # as bytes -1 comes after 1


@pytest.mark.parametrize(
    ("make", "order"),
    [
        (stores.in_memory_window, ["[a@0/10]", "[b@0/10]", "[a@10/20]", "[b@10/20]"]),  # by time
        (stores.persistent_window, ["[a@0/10]", "[a@10/20]", "[b@0/10]", "[b@10/20]"]),  # by key
    ],
)
def test_trap_44_window_stores_give_several_keys_in_different_orders(
    make: Any, order: list[str], tmp_path: Path
) -> None:
    with opened(stores.window(make("s", 1000, 10), serdes.string(), serdes.string()), tmp_path) as (store, _):
        for key in ("b", "a"):
            for start in (10, 0):
                store.put(key, "", start)

        assert [str(window) for window, _ in store.fetch_keys("a", "b", 0, 100)] == order


@pytest.mark.parametrize(("make", "taken"), [(stores.in_memory_window, False), (stores.persistent_window, True)])
def test_trap_45_an_expired_window_is_refused_in_memory_and_taken_but_hidden_in_rocksdb(
    make: Any, taken: bool, tmp_path: Path
) -> None:
    # Retention 100; at stream time 200 everything up to start 100 has expired, in the same segment of 60 s.
    with opened(stores.window(make("s", 100, 10), serdes.string(), serdes.string()), tmp_path) as (store, context):
        store.put("a", "now", 200)
        store.put("a", "expired", 100)
        store.put("a", "kept", 101)

        assert (context.dropped == []) is taken
        assert [value for _, value in store.fetch_range("a", 0, 300)] == ["kept", "now"]
        assert [value for _, value in store.all()] == ["kept", "now"]


def test_trap_46_a_version_found_as_of_a_time_does_not_say_until_when_it_was_valid(tmp_path: Path) -> None:
    builder = stores.versioned_key_value(stores.versioned("s", 1000), serdes.string(), serdes.string())
    with opened(builder, tmp_path) as (store, _):
        store.put("a", "1", 10)
        store.put("a", "2", 20)

        found = store.get("a", 15)

        assert (found.value, found.timestamp, found.valid_to) == ("1", 10, None)


def test_trap_46_a_put_that_is_refused_as_too_old_is_in_the_changelog_all_the_same(tmp_path: Path) -> None:
    builder = stores.versioned_key_value(stores.versioned("s", 1000), serdes.string(), serdes.string())
    with opened(builder, tmp_path) as (store, context):
        store.put("a", "now", 1_000_000)

        assert store.put("a", "too old", 0) == NOT_PUT
        assert store.get("a").value == "now"
        assert [(entry.value, entry.timestamp) for entry in context.changelog] == [(b"now", 1_000_000), (b"too old", 0)]


def test_trap_48_only_key_queries_look_into_the_cache(tmp_path: Path) -> None:
    # Several partitions, which version 1 of the queries puts one after the other, are the engine's.
    builder = stores.key_value(stores.persistent("s"), serdes.string(), serdes.string()).with_caching_enabled()
    with opened(builder, tmp_path) as (store, _):
        store.put("a", "1")

        def found_by_range() -> list[Any]:
            return list(store.query(query.RangeQuery()).result)

        assert store.query(query.KeyQuery("a")).result == "1"
        assert store.query(query.KeyQuery("a", skip_cache=True)).result is None
        assert found_by_range() == []
        store.flush()
        assert found_by_range() == [("a", "1")]
