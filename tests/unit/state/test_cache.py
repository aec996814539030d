"""The record cache: what counts against its budget, what it evicts, what it flushes and in which order."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.records import Headers, RecordContext
from headrace.state.cache import CacheEntry, NamedCache, ThreadCache, context_size

RECORD = RecordContext(1, 2, 3, "in")


def dirty(value: bytes | None = b"v") -> CacheEntry:
    return CacheEntry(value, RECORD, dirty=True)


class Flushed(list[tuple[bytes, bytes | None]]):
    """What a cache let go."""

    def take(self, entries: Iterable[tuple[bytes, CacheEntry]]) -> None:
        self += [(key, entry.value) for key, entry in entries]


def cache_of(max_bytes: int) -> tuple[ThreadCache, NamedCache, Flushed]:
    threads, flushed = ThreadCache(max_bytes), Flushed()
    return threads, threads.namespace("0_0-s", flushed.take), flushed


def test_sizes_are_those_of_kafka_streams() -> None:
    context = RecordContext(1, 2, 3, "topic", Headers([("h", b"12"), ("n", None)]))
    # timestamp and offset 8 each, partition 4, topic 5, headers 1 + 2 and 1
    assert context_size(context) == 8 + 8 + 4 + 5 + 3 + 1
    assert CacheEntry(b"abc", context, dirty=True).size == 1 + 3 + 29
    assert CacheEntry(None).size == 1 + 20

    threads, cache, _ = cache_of(1000)
    threads.put(cache, b"key", dirty(b"abc"))
    # three references of 8 bytes around an entry
    assert threads.size_bytes == cache.size_bytes == 3 + 24 + (1 + 3 + 22)
    threads.put(cache, b"key", dirty(None))
    assert threads.size_bytes == 3 + 24 + (1 + 22)


def test_a_flush_goes_in_the_order_of_the_last_writes() -> None:
    threads, cache, flushed = cache_of(10_000)
    for key in (b"c", b"a", b"b", b"c"):
        threads.put(cache, key, dirty())
    threads.flush(cache)

    assert [key for key, _ in flushed] == [b"a", b"b", b"c"]
    threads.flush(cache)
    assert len(flushed) == 3


def test_flushed_tombstones_leave_the_cache_and_values_stay() -> None:
    threads, cache, flushed = cache_of(10_000)
    threads.put(cache, b"a", dirty(None))
    threads.put(cache, b"b", dirty())
    threads.flush(cache)

    assert flushed == [(b"a", None), (b"b", b"v")]
    assert cache.get(b"a") is None
    assert cache.get(b"b") is not None
    assert threads.size_bytes == 1 + 24 + (1 + 1 + 22)


def test_exceeding_the_budget_evicts_the_eldest_and_flushes_everything_dirty_with_it() -> None:
    size = 1 + 24 + (1 + 1 + 22)
    threads, cache, flushed = cache_of(2 * size)
    threads.put(cache, b"a", dirty())
    threads.put(cache, b"b", dirty())
    cache.get(b"a")
    assert flushed == []

    threads.put(cache, b"c", dirty())

    # b is evicted and comes first, then the others in the order they were written.
    assert [key for key, _ in flushed] == [b"b", b"a", b"c"]
    assert len(cache) == 2
    assert threads.size_bytes == 2 * size


def test_evicting_a_clean_entry_flushes_nothing() -> None:
    threads, cache, flushed = cache_of(98)
    threads.put(cache, b"a", CacheEntry(b"read"))
    threads.put(cache, b"b", dirty())

    assert cache.get(b"a") is None
    assert flushed == []


def test_only_the_store_just_written_is_evicted_from() -> None:
    threads, first, first_flushed = cache_of(60)
    second_flushed = Flushed()
    second = threads.namespace("0_0-t", second_flushed.take)
    threads.put(first, b"a", dirty())
    threads.put(second, b"b", dirty())

    assert first_flushed == []
    assert [key for key, _ in second_flushed] == [b"b"]
    assert len(first) == 1
    assert len(second) == 0


def test_keys_come_in_order_and_reading_an_entry_is_a_use_of_it() -> None:
    threads, cache, flushed = cache_of(3 * 49)
    for key in (b"b", b"c", b"a"):
        threads.put(cache, key, dirty())

    assert cache.keys(None, b"b") == [b"a", b"b"]
    assert cache.keys(b"b", None, forward=False) == [b"c", b"b"]
    assert cache.get(b"b") is not None

    threads.put(cache, b"d", dirty())
    assert flushed[0][0] == b"c"


def test_the_keys_with_a_prefix_are_without_the_one_after_it() -> None:
    threads, cache, _ = cache_of(1000)
    for key in (b"b", b"aa", b"a", b"c"):
        threads.put(cache, key, dirty())
    assert cache.keys_with_prefix(b"a") == [b"a", b"aa"]


def test_a_closed_namespace_gives_its_bytes_back() -> None:
    threads, cache, flushed = cache_of(1000)
    threads.put(cache, b"a", dirty())
    threads.close(cache)

    assert threads.size_bytes == 0
    assert flushed == []
