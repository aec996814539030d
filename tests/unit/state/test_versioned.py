from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from headrace.errors import IllegalStateError, OperatorTypeError, StoreError
from headrace.records import VersionedRecord
from headrace.state.builders import TypedStoreBuilder
from headrace.state.contracts import IS_LATEST, NOT_PUT
from headrace.state.kinds import VERSIONED
from headrace.state.layers.versioned import TypedVersionedStore
from headrace.state.rocksdb.versioned import RocksDBVersionedStore, SegmentValue
from tests.unit.state.fake_context import FakeContext


@dataclass(frozen=True)
class Supplier:
    name: str = "V"
    history_ms: int = 100
    segment_interval_ms: int = 30
    metrics_scope: str = "rocksdb"

    def get(self) -> RocksDBVersionedStore:
        return RocksDBVersionedStore(self.name, self.history_ms, self.segment_interval_ms)


@pytest.fixture
def context(tmp_path: Path) -> FakeContext:
    return FakeContext(tmp_path)


@pytest.fixture
def store(context: FakeContext) -> TypedVersionedStore:
    store: TypedVersionedStore = TypedStoreBuilder(VERSIONED, Supplier()).build()
    store.init(context)
    return store


def test_a_newer_version_is_the_latest_and_older_ones_stay_readable(store: TypedVersionedStore) -> None:
    assert store.put("k", "a", 10) == IS_LATEST
    assert store.put("k", "b", 20) == IS_LATEST

    assert store.get("k") == VersionedRecord("b", 20)
    assert store.get("k", 15) == VersionedRecord("a", 10)
    assert store.get("k", 9) is None


def test_an_older_version_says_until_when_it_is_valid(store: TypedVersionedStore) -> None:
    store.put("k", "b", 20)

    assert store.put("k", "a", 10) == 20
    assert store.put("k", "between", 15) == 20
    assert store.version("k", 12) == VersionedRecord("a", 10, 15)


def test_a_put_older_than_the_history_is_refused_counted_and_logged(
    store: TypedVersionedStore, context: FakeContext
) -> None:
    store.put("k", "new", 200)

    assert store.put("k", "old", 99) == NOT_PUT
    assert context.dropped == ["expired put"]
    assert context.changelog[-1][:3] == (b"k", b"old", 99)


def test_a_get_from_before_the_history_only_finds_the_latest_version(store: TypedVersionedStore) -> None:
    store.put("k", "a", 10)
    store.put("k", "b", 20)
    store.put("other", "x", 300)

    assert store.get("k", 15) is None
    assert store.get("k", 100) == VersionedRecord("b", 20)


def test_delete_leaves_a_tombstone_and_returns_what_was_valid(store: TypedVersionedStore, context: FakeContext) -> None:
    store.put("k", "a", 10)

    assert store.delete("k", 20) == VersionedRecord("a", 10)
    assert store.get("k") is None
    assert store.get("k", 19) == VersionedRecord("a", 10)
    assert context.changelog[-1][:3] == (b"k", None, 20)


def test_a_value_after_a_tombstone_leaves_the_gap_empty(store: TypedVersionedStore) -> None:
    store.put("k", None, 10)
    store.put("k", "a", 20)

    assert store.get("k", 15) is None
    assert store.get("k") == VersionedRecord("a", 20)


def test_versions_come_in_either_order_across_segments(store: TypedVersionedStore) -> None:
    for timestamp, value in ((10, "a"), (40, "b"), (80, "c")):
        store.put("k", value, timestamp)

    ascending = list(store.versions("k", 0, 100, descending=False))

    assert ascending == [VersionedRecord("a", 10, 40), VersionedRecord("b", 40, 80), VersionedRecord("c", 80)]
    assert list(store.versions("k", 0, 100, descending=True)) == ascending[::-1]
    assert list(store.versions("k", 30, 60, descending=False)) == ascending[:2]


def test_a_version_whose_segment_lies_after_the_span_is_not_found_as_in_kafka_streams(
    store: TypedVersionedStore,
) -> None:
    store.put("k", "a", 10)
    store.put("k", "b", 80)

    assert list(store.versions("k", 0, 50, descending=False)) == []


def test_old_versions_survive_closing_and_opening(store: TypedVersionedStore, context: FakeContext) -> None:
    store.put("k", "a", 10)
    store.put("k", "b", 40)
    store.close()

    again = TypedStoreBuilder(VERSIONED, Supplier()).build()
    again.init(context)

    assert again.get("k", 20) == VersionedRecord("a", 10)
    assert again.get("k") == VersionedRecord("b", 40)


def test_the_changelog_restores_the_store(store: TypedVersionedStore, context: FakeContext, tmp_path: Path) -> None:
    store.put("k", "a", 10)
    store.put("k", "b", 200)
    store.put("k", "late", 50)
    other = FakeContext(tmp_path / "other")
    restored = TypedStoreBuilder(VERSIONED, Supplier()).build()
    restored.init(other)

    assert other.restore is not None
    for record in context.changelog:
        other.restore(record.key, record.value, record.timestamp or 0, record.headers)

    assert restored.get("k") == VersionedRecord("b", 200)
    assert restored.get("k", 150) == store.get("k", 150)
    assert other.dropped == []


def test_closed_stores_and_none_keys_are_refused(store: TypedVersionedStore) -> None:
    with pytest.raises(OperatorTypeError):
        store.get(None)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.get("k")


def test_a_versioned_store_cannot_be_cached() -> None:
    builder = TypedStoreBuilder(VERSIONED, Supplier())

    with pytest.raises(IllegalStateError, match="cannot be cached"):
        builder.with_caching_enabled()
    assert (builder.is_versioned_store, builder.history_ms) == (True, 100)


def test_segment_values_survive_the_way_through_bytes() -> None:
    value = SegmentValue(50, [(40, None), (30, b""), (10, b"abc")])

    again = SegmentValue.parse(value.dump())

    assert (again.next_timestamp, again.versions) == (50, [(40, None), (30, b""), (10, b"abc")])


def test_an_overlapping_latest_version_cuts_off_what_lies_after_it() -> None:
    value = SegmentValue(50, [(30, b"b"), (10, b"a")])

    value.insert_latest(20, 60, b"c")

    assert value.versions == [(20, b"c"), (10, b"a")]
    assert value.next_timestamp == 60
