"""Session stores, in memory and in RocksDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace import serde
from headrace.errors import ArgumentError, OperatorTypeError, UnsupportedError
from headrace.serde.bytes_keys import session_key
from headrace.state import stores
from headrace.windows import SessionWindow, Windowed
from tests.unit.state.fake_context import FakeContext


def session(key: str, start: int, end: int) -> Windowed[str]:
    return Windowed(key, SessionWindow(start, end))


@pytest.fixture
def context(tmp_path: Path) -> FakeContext:
    return FakeContext(tmp_path)


def opened(context: FakeContext, kind: str, retention: int = 100_000) -> Any:
    make = stores.in_memory_session if "memory" in kind else stores.persistent_session
    builder = stores.session(make("s", retention), serde.string(), serde.long())
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


def test_a_session_is_found_by_its_ends_until_it_is_removed(store: Any) -> None:
    store.put(session("a", 5, 10), 1)
    assert store.fetch_session("a", 5, 10) == 1
    assert store.fetch_session("a", 5, 11) is None
    store.remove(session("a", 5, 10))
    assert store.fetch_session("a", 5, 10) is None
    assert list(store.fetch("a")) == []


def test_finds_the_sessions_that_overlap_a_span(store: Any) -> None:
    #    0····5····10···15···20
    #    [────]    [────]    [─
    for start, end in ((0, 5), (10, 15), (20, 20)):
        store.put(session("a", start, end), end)

    found = [(found.start, found.end) for found, _ in store.find_sessions("a", 5, 10)]
    assert found == [(0, 5), (10, 15)]
    assert [found.end for found, _ in store.find_sessions("a", 6, 9)] == []
    assert [found.end for found, _ in store.backward_fetch("a")] == [20, 15, 5]


def test_ranges_of_keys_hold_both_ends(store: Any) -> None:
    for key in ("a", "b", "bb", "c"):
        store.put(session(key, 0, 1), 1)

    assert [found.key for found, _ in store.fetch_keys("b", "c")] == ["b", "bb", "c"]
    assert [found.key for found, _ in store.backward_fetch_keys(None, "b")] == ["b", "a"]
    assert [found.key for found, _ in store.find_sessions_keys("b", None, 2, 10)] == []


def test_refuses_none(store: Any) -> None:
    with pytest.raises(OperatorTypeError):
        store.put(None, 1)
    with pytest.raises(OperatorTypeError):
        store.put(Windowed(None, SessionWindow(0, 1)), 1)
    with pytest.raises(OperatorTypeError):
        store.fetch(None)


def test_only_an_uncached_store_in_memory_finds_sessions_by_their_end(context: FakeContext) -> None:
    memory = opened(context, "memory")
    for end in (3, 1, 2):
        memory.put(session("a", 0, end), end)
    assert [value for _, value in memory.find_sessions_by_end(2, 3)] == [2, 3]
    with pytest.raises(ArgumentError, match="cannot be after"):
        memory.find_sessions_by_end(3, 2)

    for kind in ("rocksdb", "memory cached"):
        store = opened(context, kind)
        with pytest.raises(UnsupportedError):
            store.find_sessions_by_end(0, 1)
        store.close()


def test_sessions_with_the_same_end_come_latest_start_first_in_memory(context: FakeContext) -> None:
    for kind, starts in (("memory", [2, 1, 0]), ("rocksdb", [0, 1, 2])):
        store = opened(context, kind)
        for start in (1, 0, 2):
            store.put(session("a", start, 5), 1)
        assert [found.start for found, _ in store.fetch("a")] == starts
        assert [found.start for found, _ in store.fetch_keys(None, None)] == starts
        assert [found.start for found, _ in store.backward_fetch("a")] == starts[::-1]
        store.close()


def test_a_session_expires_with_the_retention_after_its_end(context: FakeContext) -> None:
    store = opened(context, "memory", retention=10)
    store.put(session("a", 0, 5), 1)
    store.put(session("b", 0, 14), 1)
    assert store.fetch_session("a", 0, 5) == 1

    store.put(session("b", 0, 15), 1)
    assert store.fetch_session("a", 0, 5) is None
    assert list(store.fetch("a")) == []

    store.put(session("c", 0, 5), 1)
    assert len(context.dropped) == 1


def test_changes_are_logged_with_the_time_of_the_record(context: FakeContext) -> None:
    store = opened(context, "memory")
    context.at(42)
    store.put(session("a", 1, 2), 7)
    store.remove(session("a", 1, 2))

    key = session_key(b"a", 1, 2)
    assert [(logged.key, logged.value, logged.timestamp) for logged in context.changelog] == [
        (key, (7).to_bytes(8, "big"), 42),
        (key, None, 42),
    ]


def test_a_backward_search_in_the_cache_misses_sessions_that_end_after_the_latest_start(context: FakeContext) -> None:
    store = opened(context, "rocksdb cached")
    store.put(session("a", 5, 20), 1)

    assert [value for _, value in store.find_sessions("a", 0, 10)] == [1]
    assert list(store.backward_find_sessions("a", 0, 10)) == []
    store.flush_cache()
    store.inner.clear_cache()
    assert [value for _, value in store.backward_find_sessions("a", 0, 10)] == [1]
    store.close()


def test_a_backward_search_is_refused_in_a_cache_that_never_held_a_session(context: FakeContext) -> None:
    store = opened(context, "rocksdb cached")

    assert list(store.find_sessions("a", 0, 10)) == []
    with pytest.raises(ArgumentError, match="no sessions to look back from"):
        list(store.backward_find_sessions("a", 0, 10))
    store.close()
