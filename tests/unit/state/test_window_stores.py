"""Window stores, in memory and in RocksDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace import serde
from headrace.errors import OperatorTypeError
from headrace.records import ValueAndTimestamp
from headrace.serde.bytes_keys import window_store_key
from headrace.state import stores
from headrace.windows import MAX_TIMESTAMP, TimeWindow, Windowed
from tests.unit.state.fake_context import FakeContext


@pytest.fixture
def context(tmp_path: Path) -> FakeContext:
    return FakeContext(tmp_path)


def opened(context: FakeContext, kind: str, retention: int = 200_000, **options: Any) -> Any:
    make = stores.in_memory_window if "memory" in kind else stores.persistent_window
    builder = stores.window(make("w", retention, 10, **options), serde.string(), serde.long())
    if "cached" in kind:
        builder.with_caching_enabled()
    store = builder.build()
    store.init(context)
    return store


@pytest.fixture(params=["memory", "rocksdb", "memory cached", "rocksdb cached"])
def store(request: pytest.FixtureRequest, context: FakeContext) -> Iterator[Any]:
    store = opened(context, request.param)
    yield store
    store.close()


def test_finds_the_window_that_starts_then(store: Any) -> None:
    store.put("a", 1, 10)
    assert store.fetch("a", 10) == 1
    assert store.fetch("a", 11) is None
    assert store.fetch("b", 10) is None
    store.put("a", None, 10)
    assert store.fetch("a", 10) is None


def test_the_windows_of_a_key_come_by_time_across_segments(store: Any) -> None:
    for start in (70_000, 5, 130_000, 0):
        store.put("a", start, start)
        store.put("ab", 1, start)

    assert list(store.fetch_range("a", 5, 70_000)) == [(5, 5), (70_000, 70_000)]
    assert [start for start, _ in store.backward_fetch_range("a", 30_001, MAX_TIMESTAMP)] == [130_000, 70_000]
    assert list(store.fetch_range("a", 6, 5)) == []


def test_windowed_keys_have_their_window(store: Any) -> None:
    store.put("a", 1, 10)

    assert list(store.all()) == [(Windowed("a", TimeWindow(10, 20)), 1)]
    assert list(store.fetch_all(11, 20)) == []
    assert list(store.fetch_keys("a", None, 0, 10)) == list(store.backward_all())


def test_ranges_of_keys_hold_both_ends(store: Any) -> None:
    for key in ("a", "b", "c", "bb"):
        store.put(key, 1, 0)

    assert [entry.key for entry, _ in store.fetch_keys("b", "c", 0, 0)] == ["b", "bb", "c"]
    assert [entry.key for entry, _ in store.backward_fetch_keys(None, "b", 0, 0)] == ["b", "a"]
    assert list(store.fetch_keys("c", "b", 0, 0)) == []


def test_refuses_none_as_key(store: Any) -> None:
    with pytest.raises(OperatorTypeError):
        store.put(None, 1, 0)
    with pytest.raises(OperatorTypeError):
        store.fetch(None, 0)


@pytest.mark.parametrize("kind", ["memory", "rocksdb"])
def test_reads_leave_out_what_is_older_than_the_retention(context: FakeContext, kind: str) -> None:
    store = opened(context, kind, retention=50)
    store.put("a", 1, 10)
    store.put("a", 2, 59)
    assert store.fetch("a", 10) == 1

    store.put("a", 3, 60)

    assert store.fetch("a", 10) is None
    assert [start for start, _ in store.fetch_range("a", 0, 100)] == [59, 60]
    assert [entry.start for entry, _ in store.all()] == [59, 60]
    assert context.dropped == []
    store.close()


def test_in_memory_drops_a_put_as_soon_as_it_is_too_old_rocksdb_when_its_segment_is(context: FakeContext) -> None:
    memory, rocksdb = opened(context, "memory", retention=50), opened(context, "rocksdb", retention=50)
    for store in (memory, rocksdb):
        store.put("a", 1, 100_000)

    memory.put("a", 1, 99_950)
    assert len(context.dropped) == 1

    rocksdb.put("a", 1, 99_949)
    assert len(context.dropped) == 1
    rocksdb.put("a", 1, 59_999)
    assert len(context.dropped) == 2
    rocksdb.close()


def test_a_dropped_put_is_logged_all_the_same(context: FakeContext) -> None:
    store = opened(context, "memory", retention=50)
    store.put("a", 1, 1000)
    store.put("a", 2, 1)

    assert [logged.key for logged in context.changelog] == [window_store_key(b"a", 1000), window_store_key(b"a", 1)]
    assert len(context.dropped) == 1


def test_memory_orders_all_windows_by_time_rocksdb_by_segment_then_key(context: FakeContext) -> None:
    for kind, order in (
        ("memory", [("b", 0), ("c", 0), ("a", 5), ("a", 70_000)]),
        ("rocksdb", [("a", 5), ("b", 0), ("c", 0), ("a", 70_000)]),
    ):
        store = opened(context, kind, retention=100_000)
        for key, start in (("a", 5), ("c", 0), ("b", 0), ("a", 70_000)):
            store.put(key, 1, start)
        assert [(entry.key, entry.start) for entry, _ in store.all()] == order
        assert [(entry.key, entry.start) for entry, _ in store.backward_all()] == order[::-1]
        store.close()


@pytest.mark.parametrize("kind", ["memory", "rocksdb"])
def test_duplicates_are_kept_in_the_order_they_came(context: FakeContext, kind: str) -> None:
    store = opened(context, kind, retain_duplicates=True)
    store.put("a", 1, 0)
    store.put("ab", 9, 0)
    store.put("a", 2, 0)
    store.put("a", None, 0)

    assert store.retain_duplicates
    assert list(store.fetch_range("a", 0, 0)) == [(0, 1), (0, 2)]
    assert [value for _, value in store.backward_fetch_range("a", 0, 0)] == [2, 1]
    assert [value for _, value in store.fetch_keys("a", "a", 0, 0)] == [1, 2]
    # The changelog numbers its records by itself: a put of None takes a number there, and none in the store.
    assert [logged.key[-4:] for logged in context.changelog] == [bytes((0, 0, 0, n)) for n in (1, 2, 3, 4)]
    store.close()


def test_duplicates_are_never_cached_and_their_changelog_is_not_compacted() -> None:
    supplier = stores.persistent_window("w", 100, 10, retain_duplicates=True)
    builder = stores.window(supplier).with_caching_enabled().with_logging_enabled({"segment.bytes": "9"})
    assert builder.log_config == {"cleanup.policy": "delete", "segment.bytes": "9"}

    store = builder.build()
    assert store.set_flush_listener(lambda record: None, False) is False


def test_a_rocksdb_store_knows_its_segments_when_it_is_opened_again(context: FakeContext) -> None:
    store = opened(context, "rocksdb")
    for start in (0, 70_000, 400_000):
        store.put("a", start, start)
    store.close()

    again = opened(context, "rocksdb")
    # Its stream time starts anew, so what had not expired with its segment is seen again.
    assert [start for start, _ in again.fetch_range("a", 0, MAX_TIMESTAMP)] == [400_000]
    again.put("a", 1, 390_000)
    assert [start for start, _ in again.fetch_range("a", 0, MAX_TIMESTAMP)] == [390_000, 400_000]
    again.close()


def test_a_changelog_restores_the_store(context: FakeContext, tmp_path: Path) -> None:
    builder = stores.timestamped_window(
        stores.persistent_timestamped_window("w", 100_000, 10), serde.string(), serde.long()
    )
    store = builder.build()
    store.init(context)
    store.put("a", ValueAndTimestamp(1, 12), 10)
    store.put("b", ValueAndTimestamp(2, 13), 10)
    store.put("b", None, 10)
    entries = list(store.all())
    store.close()

    other = FakeContext(tmp_path / "other")
    restored = builder.build()
    restored.init(other)
    assert other.restore is not None
    for logged in context.changelog:
        other.restore(logged.key, logged.value, logged.timestamp or 0, logged.headers)
    assert list(restored.all()) == entries == [(Windowed("a", TimeWindow(10, 20)), ValueAndTimestamp(1, 12))]
    restored.close()
