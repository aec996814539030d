"""Stores in memory and in RocksDB, cached or not, give the same answers to the same calls.

Where the order of an answer is documented to differ (several keys in window and session stores, sessions with the same
end), the answers are compared as sets of entries; the order itself is asserted in the unit tests.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import serde
from headrace.state import stores
from headrace.windows import MAX_TIMESTAMP, SessionWindow, Windowed
from tests.time_limit import time_limit
from tests.unit.state.fake_context import FakeContext

KEYS = st.sampled_from(["a", "aa", "ab", "b", "c"])
BOUNDS = st.none() | KEYS
VALUES = st.none() | st.integers(0, 9)
# Within one minute all entries share a segment, and nothing expires in one kind of store before it does in the other.
TIMES = st.integers(0, 30)
RETENTION = 100_000

Call = tuple[str, tuple[Any, ...]]

QUICK = settings(max_examples=25, deadline=None)


@contextmanager
def opened(*builders: Any) -> Iterator[list[Any]]:
    with tempfile.TemporaryDirectory() as directory:
        made = []
        for number, builder in enumerate(builders):
            store = builder.build()
            store.init(FakeContext(Path(directory) / str(number), cache_bytes=300))
            made.append(store)
        try:
            yield made
        finally:
            for store in made:
                store.close()


def answers(store: Any, calls: list[Call], ordered: Callable[[str], bool]) -> list[Any]:
    found = []
    for method, arguments in calls:
        answer = getattr(store, method)(*arguments)
        if hasattr(answer, "peek_next_key"):
            entries = list(answer)
            answer = entries if ordered(method) else sorted(entries, key=repr)
        found.append(answer)
    return found


def call(method: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Call]:
    return st.tuples(st.just(method), st.tuples(*arguments))


KEY_VALUE_CALLS = st.lists(
    st.one_of(
        call("put", KEYS, VALUES),
        call("put", KEYS, VALUES),
        call("put_if_absent", KEYS, VALUES),
        call("put_all", st.lists(st.tuples(KEYS, VALUES), max_size=3)),
        call("delete", KEYS),
        call("get", KEYS),
        call("range", BOUNDS, BOUNDS),
        call("all"),
        call("prefix_scan", KEYS, st.just(serde.string())),
        call("flush"),
    ),
    max_size=25,
)
# Backward iterators over cached tombstones are wrong in a documented way, so only uncached stores are asked.
BACKWARD_KEY_VALUE_CALLS = st.lists(
    st.one_of(call("put", KEYS, VALUES), call("reverse_range", BOUNDS, BOUNDS), call("reverse_all")), max_size=25
)


def key_value_builders() -> list[Any]:
    suppliers = (stores.in_memory("m"), stores.persistent("r"), stores.lru("l", 100))
    return [stores.key_value(supplier, serde.string(), serde.long()) for supplier in suppliers]


@QUICK
@given(KEY_VALUE_CALLS)
def test_key_value_stores_agree(calls: list[Call]) -> None:
    cached = [builder.with_caching_enabled() for builder in key_value_builders()]
    with opened(*key_value_builders(), *cached) as opened_stores:
        expected, *others = (answers(store, calls, ordered=lambda _: True) for store in opened_stores)
        for other in others:
            assert other == expected


@QUICK
@given(BACKWARD_KEY_VALUE_CALLS)
def test_key_value_stores_agree_backward(calls: list[Call]) -> None:
    with opened(*key_value_builders()) as opened_stores:
        expected, *others = (answers(store, calls, ordered=lambda _: True) for store in opened_stores)
        for other in others:
            assert other == expected


WINDOW_READS = (
    call("fetch", KEYS, TIMES),
    call("fetch_range", KEYS, TIMES, TIMES),
    call("fetch_keys", BOUNDS, BOUNDS, TIMES, TIMES),
    call("fetch_all", TIMES, TIMES),
    call("all"),
)
WINDOW_PUTS = call("put", KEYS, VALUES, TIMES)


def window_builders(*, retain_duplicates: bool = False, retention: int = RETENTION) -> list[Any]:
    return [
        stores.window(make("w", retention, 10, retain_duplicates), serde.string(), serde.long())
        for make in (stores.in_memory_window, stores.persistent_window)
    ]


@QUICK
@given(st.lists(st.one_of(WINDOW_PUTS, WINDOW_PUTS, call("flush"), *WINDOW_READS), max_size=25))
def test_window_stores_agree(calls: list[Call]) -> None:
    cached = [builder.with_caching_enabled() for builder in window_builders()]
    with opened(*window_builders(), *cached) as opened_stores:
        expected, *others = (answers(store, calls, ordered=_one_key_of_window) for store in opened_stores)
        for other in others:
            assert other == expected


@QUICK
@given(
    st.lists(
        st.one_of(
            WINDOW_PUTS,
            call("fetch_range", KEYS, TIMES, TIMES),
            call("backward_fetch_range", KEYS, TIMES, TIMES),
            call("backward_fetch_keys", BOUNDS, BOUNDS, TIMES, TIMES),
            call("backward_fetch_all", TIMES, TIMES),
            call("backward_all"),
        ),
        max_size=25,
    ),
    st.booleans(),
)
def test_window_stores_agree_backward_and_on_duplicates(calls: list[Call], retain_duplicates: bool) -> None:
    with opened(*window_builders(retain_duplicates=retain_duplicates)) as opened_stores:
        memory, rocksdb = (answers(store, calls, ordered=_one_key_of_window) for store in opened_stores)
        assert memory == rocksdb


def _one_key_of_window(method: str) -> bool:
    return method in ("fetch_range", "backward_fetch_range")


SESSIONS = st.builds(
    lambda key, start, length: Windowed(key, SessionWindow(start, start + length)), KEYS, TIMES, st.integers(0, 9)
)
SESSION_CALLS = st.lists(
    st.one_of(
        call("put", SESSIONS, VALUES),
        call("put", SESSIONS, VALUES),
        call("remove", SESSIONS),
        call("fetch_session", KEYS, TIMES, TIMES),
        call("fetch", KEYS),
        call("fetch_keys", BOUNDS, BOUNDS),
        call("find_sessions", KEYS, TIMES, TIMES),
        call("find_sessions_keys", BOUNDS, BOUNDS, TIMES, TIMES),
        call("flush"),
    ),
    max_size=25,
)


def session_builders(*, retention: int = RETENTION) -> list[Any]:
    return [
        stores.session(make("s", retention), serde.string(), serde.long())
        for make in (stores.in_memory_session, stores.persistent_session)
    ]


@QUICK
@given(SESSION_CALLS)
def test_session_stores_agree(calls: list[Call]) -> None:
    cached = [builder.with_caching_enabled() for builder in session_builders()]
    with opened(*session_builders(), *cached) as opened_stores:
        expected, *others = (answers(store, calls, ordered=lambda _: False) for store in opened_stores)
        for other in others:
            assert other == expected


# Nothing expires, and millions of segments lie between any two times.
FAR_APART = st.sampled_from([0, 1_780_000_000_000, 4_102_444_800_000, 2**62])
SPANS = st.tuples(FAR_APART, FAR_APART | st.just(MAX_TIMESTAMP)).map(sorted)


def read(method: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Call]:
    """A call with a span of time at its end."""
    return st.tuples(st.just(method), st.tuples(*arguments, SPANS).map(lambda each: (*each[:-1], *each[-1])))


SHORT_SEGMENTS = patch("headrace.state.suppliers._segment_interval", lambda retention_ms: 60_000)


@QUICK
@given(
    st.lists(
        st.one_of(
            call("put", KEYS, VALUES, FAR_APART),
            call("flush"),
            read("fetch_range", KEYS),
            read("backward_fetch_range", KEYS),
            read("fetch_keys", KEYS, KEYS),
            read("fetch_all"),
        ),
        max_size=25,
    )
)
def test_window_stores_agree_on_times_far_apart(calls: list[Call]) -> None:
    cached = [builder.with_caching_enabled() for builder in window_builders(retention=MAX_TIMESTAMP)]
    with SHORT_SEGMENTS, opened(*window_builders(retention=MAX_TIMESTAMP), *cached) as opened_stores:
        with time_limit():
            expected, *others = (answers(store, calls, ordered=_one_key_of_window) for store in opened_stores)
        for other in others:
            assert other == expected


@QUICK
@given(
    st.lists(
        st.one_of(
            call("put", st.builds(lambda key, time: Windowed(key, SessionWindow(time, time)), KEYS, FAR_APART), VALUES),
            call("flush"),
            call("fetch", KEYS),
            read("find_sessions", KEYS),
            read("find_sessions_keys", KEYS, KEYS),
        ),
        max_size=25,
    )
)
def test_session_stores_agree_on_times_far_apart(calls: list[Call]) -> None:
    cached = [builder.with_caching_enabled() for builder in session_builders(retention=MAX_TIMESTAMP)]
    with SHORT_SEGMENTS, opened(*session_builders(retention=MAX_TIMESTAMP), *cached) as opened_stores:
        with time_limit():
            expected, *others = (answers(store, calls, ordered=lambda _: False) for store in opened_stores)
        for other in others:
            assert other == expected
