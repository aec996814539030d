from __future__ import annotations

from pathlib import Path

import pytest

from headrace import serde as serdes
from headrace.errors import ArgumentError, UnsupportedError
from headrace.records import NO_HEADERS, Headers, RecordContext, ValueAndTimestamp, VersionedRecord
from headrace.state import stores
from headrace.state.kinds import VERSIONED, StoreKind
from headrace.state.layers.caching import CachingKeyValueStore
from headrace.state.layers.typed import TypedKeyValueStore, TypedSessionStore, TypedWindowStore
from headrace.state.layers.versioned import TypedVersionedStore
from headrace.state.memory.kv import InMemoryKeyValueStore
from headrace.state.memory.timed import InMemorySessionStore, InMemoryWindowStore
from headrace.state.position import Position, PositionBound
from headrace.state.query import (
    FailureReason,
    KeyQuery,
    MultiVersionedKeyQuery,
    RangeQuery,
    ResultOrder,
    TimestampedKeyQuery,
    TimestampedRangeQuery,
    VersionedKeyQuery,
    WindowKeyQuery,
    WindowRangeQuery,
    execute,
)
from headrace.state.rocksdb.versioned import RocksDBVersionedStore
from headrace.state.value_codecs import HEADERS, TIMESTAMPED
from headrace.windows import SessionWindow, TimeWindow, Windowed
from tests.unit.state.fake_context import FakeContext


@pytest.fixture
def context(tmp_path: Path) -> FakeContext:
    return FakeContext(tmp_path)


@pytest.fixture
def kv(context: FakeContext) -> TypedKeyValueStore:
    store = TypedKeyValueStore(CachingKeyValueStore(InMemoryKeyValueStore("S")), StoreKind.parse("kv"))
    store.init(context)
    store.put("a", "1")
    store.put("c", "3")
    store.flush()
    return store


@pytest.fixture
def timestamped(context: FakeContext) -> TypedKeyValueStore:
    store = TypedKeyValueStore(InMemoryKeyValueStore("S"), StoreKind.parse("timestamped_kv"), codec=TIMESTAMPED)
    store.init(context)
    store.put("a", ValueAndTimestamp("1", 5))
    store.put("b", ValueAndTimestamp("2", 6))
    return store


def test_only_a_key_query_sees_the_cache(kv: TypedKeyValueStore) -> None:
    kv.put("a", "new")
    kv.put("b", "2")

    assert execute(kv, KeyQuery("a")).result == "new"
    assert execute(kv, KeyQuery("a", skip_cache=True)).result == "1"
    assert list(execute(kv, RangeQuery()).result) == [("a", "1"), ("c", "3")]


def test_ranges_have_bounds_and_an_order(kv: TypedKeyValueStore) -> None:
    assert list(execute(kv, RangeQuery(lower="b")).result) == [("c", "3")]
    assert list(execute(kv, RangeQuery(upper="a")).result) == [("a", "1")]
    assert [key for key, _ in execute(kv, RangeQuery(order=ResultOrder.DESCENDING)).result] == ["c", "a"]


def test_a_timestamped_store_answers_with_and_without_time(timestamped: TypedKeyValueStore) -> None:
    assert execute(timestamped, KeyQuery("a")).result == "1"
    assert execute(timestamped, KeyQuery("zz")).result is None
    assert execute(timestamped, TimestampedKeyQuery("a")).result == ValueAndTimestamp("1", 5)
    assert list(execute(timestamped, RangeQuery()).result) == [("a", "1"), ("b", "2")]
    assert list(execute(timestamped, TimestampedRangeQuery(lower="b")).result) == [("b", ValueAndTimestamp("2", 6))]


def test_a_store_with_headers_answers_without_them(context: FakeContext) -> None:
    store = TypedKeyValueStore(InMemoryKeyValueStore("S"), StoreKind("kv", True, True), codec=HEADERS)
    store.init(context)
    store.put("a", ValueAndTimestamp("1", 5, Headers([("h", b"x")])))

    assert execute(store, TimestampedKeyQuery("a")).result == ValueAndTimestamp("1", 5, NO_HEADERS)
    assert list(execute(store, TimestampedRangeQuery()).result) == [("a", ValueAndTimestamp("1", 5, NO_HEADERS))]


def test_a_store_that_keeps_headers_on_disk_answers_nothing(context: FakeContext) -> None:
    store = stores.timestamped_key_value(stores.persistent_timestamped_with_headers("S")).build()
    store.init(context)
    store.put("a", ValueAndTimestamp("1", 5))

    assert execute(store, KeyQuery("a")).failure_reason is FailureReason.UNKNOWN_QUERY_TYPE


def test_a_window_store_is_asked_for_spans_of_time(context: FakeContext) -> None:
    store = TypedWindowStore(InMemoryWindowStore("S", 100), StoreKind.parse("window"), window_size_ms=10)
    store.init(context)
    store.put("A", "1", 0)
    store.put("B", "2", 10)

    assert list(execute(store, WindowKeyQuery("A", 0, 10)).result) == [(0, "1")]
    assert list(execute(store, WindowRangeQuery(time_from=5, time_to=10)).result) == [
        (Windowed("B", TimeWindow(10, 20)), "2")
    ]
    for query in (WindowKeyQuery("A"), WindowRangeQuery(key="A"), KeyQuery("A")):
        assert execute(store, query).failure_reason is FailureReason.UNKNOWN_QUERY_TYPE


def test_a_window_store_that_keeps_no_timestamps_answers_with_bare_values(context: FakeContext) -> None:
    supplier = stores.persistent_window("S", 100, 10)
    store = stores.timestamped_window(supplier, serdes.string(), serdes.string()).with_caching_enabled().build()
    store.init(context)
    store.put("A", ValueAndTimestamp("1", 5), 0)
    store.flush()

    assert list(store.fetch_range("A", 0, 10)) == [(0, ValueAndTimestamp("1", 5))]
    assert list(execute(store, WindowKeyQuery("A", 0, 10)).result) == [(0, "1")]
    assert list(execute(store, WindowRangeQuery(time_from=0, time_to=10)).result) == [
        (Windowed("A", TimeWindow(0, 10)), "1")
    ]
    store.close()


def test_a_session_store_is_asked_for_a_key(context: FakeContext) -> None:
    store = TypedSessionStore(InMemorySessionStore("S", 100), StoreKind.parse("session"))
    store.init(context)
    session = Windowed("A", SessionWindow(1, 3))
    store.put(session, "1")

    assert list(execute(store, WindowRangeQuery(key="A")).result) == [(session, "1")]
    for query in (WindowRangeQuery(time_from=0, time_to=9), WindowKeyQuery("A", 0, 9)):
        assert execute(store, query).failure_reason is FailureReason.UNKNOWN_QUERY_TYPE


def test_queries_a_store_does_not_know_fail(kv: TypedKeyValueStore) -> None:
    for query in (TimestampedKeyQuery("a"), TimestampedRangeQuery(), VersionedKeyQuery("a"), WindowKeyQuery("a", 0, 1)):
        answer = execute(kv, query)

        assert not answer.is_success
        assert answer.failure_reason is FailureReason.UNKNOWN_QUERY_TYPE
        assert "S (kv) cannot answer" in str(answer.failure_message)


def test_a_versioned_store_is_asked_for_versions(context: FakeContext) -> None:
    store = TypedVersionedStore(RocksDBVersionedStore("V", 100, 30), VERSIONED, serdes.string(), serdes.string())
    store.init(context)
    store.put("k", "a", 10)
    store.put("k", "b", 20)
    latest, earlier = VersionedRecord("b", 20), VersionedRecord("a", 10, 20)

    assert execute(store, VersionedKeyQuery("k")).result == latest
    assert execute(store, VersionedKeyQuery("k", as_of=15)).result == earlier
    assert list(execute(store, MultiVersionedKeyQuery("k")).result) == [latest, earlier]
    ascending = MultiVersionedKeyQuery("k", order=ResultOrder.ASCENDING)
    assert list(execute(store, ascending).result) == [earlier, latest]
    with pytest.raises(ArgumentError, match="cannot be after"):
        execute(store, MultiVersionedKeyQuery("k", 5, 4))
    with pytest.raises(UnsupportedError, match="KeyQuery"):
        execute(store, KeyQuery("k"))


def test_a_store_behind_the_bound_does_not_answer(kv: TypedKeyValueStore, context: FakeContext) -> None:
    bound = PositionBound.at(Position({"in": {0: 4}}))

    assert execute(kv, KeyQuery("a"), bound).failure_reason is FailureReason.NOT_UP_TO_BOUND
    context.record_context = RecordContext(1, 4, 0, "in")
    kv.put("a", "2")
    answer = execute(kv, KeyQuery("a"), bound)

    assert answer.result == "2"
    assert answer.position == Position({"in": {0: 4}})


def test_bounds_of_other_partitions_do_not_matter() -> None:
    bound = PositionBound.at(Position({"in": {1: 4}}))

    assert bound.permits(Position(), 0)
    assert not bound.permits(Position(), 1)
    assert PositionBound.unbounded().is_unbounded


def test_positions_only_move_forward() -> None:
    position = Position({"in": {0: 4}}).merge(Position({"in": {0: 2}, "other": {1: 9}}))
    position.observe(RecordContext(0, 7, 0, None))

    assert position == Position({"in": {0: 4}, "other": {1: 9}})
    assert position.topics == {"in", "other"}
