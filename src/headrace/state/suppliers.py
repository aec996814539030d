"""Suppliers: the data that says which bytes store to make. They travel inside a topology."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.state.memory.kv import InMemoryKeyValueStore
from headrace.state.memory.lru import LRUStore
from headrace.state.memory.timed import (
    InMemoryDuplicatesStore,
    InMemorySessionStore,
    InMemoryTimedStore,
    InMemoryWindowStore,
)
from headrace.state.rocksdb.segments import RocksDBSessionStore, RocksDBWindowStore, SegmentedStore
from headrace.state.rocksdb.store import RocksDBStore
from headrace.state.rocksdb.time_ordered import RocksDBTimeOrderedSessionStore, RocksDBTimeOrderedWindowStore
from headrace.state.rocksdb.versioned import RocksDBVersionedStore

_MIN_SEGMENT_INTERVAL_MS = 60_000


@dataclass(frozen=True, slots=True)
class InMemoryKeyValueSupplier:
    """Key-value stores in memory."""

    name: str

    metrics_scope = "in-memory"

    def get(self) -> InMemoryKeyValueStore:
        return InMemoryKeyValueStore(self.name)


@dataclass(frozen=True, slots=True)
class LRUSupplier:
    """Key-value stores in memory that keep the entries used last."""

    name: str
    max_entries: int

    metrics_scope = "in-memory-lru"

    def get(self) -> LRUStore:
        return LRUStore(self.name, self.max_entries)


@dataclass(frozen=True, slots=True)
class RocksDBKeyValueSupplier:
    """Key-value stores in RocksDB: for bare values, for values with timestamps, or with headers as well."""

    name: str
    is_timestamped: bool = False
    has_headers: bool = False

    metrics_scope = "rocksdb"

    def get(self) -> RocksDBStore:
        return RocksDBStore(self.name)


@dataclass(frozen=True, slots=True)
class VersionedSupplier:
    """Versioned key-value stores in RocksDB."""

    name: str
    history_ms: int
    segment_interval_ms: int

    metrics_scope = "rocksdb"
    is_versioned = True

    def get(self) -> RocksDBVersionedStore:
        return RocksDBVersionedStore(self.name, self.history_ms, self.segment_interval_ms)


@dataclass(frozen=True, slots=True)
class RocksDBWindowSupplier:
    """Window stores in RocksDB: for bare values, for values with timestamps, or with headers as well."""

    name: str
    retention_ms: int
    window_size_ms: int
    retain_duplicates: bool = False
    is_timestamped: bool = False
    has_headers: bool = False

    metrics_scope = "rocksdb-window"

    @property
    def segment_interval_ms(self) -> int:
        """How much time one segment holds."""
        return _segment_interval(self.retention_ms)

    def get(self) -> SegmentedStore:
        return RocksDBWindowStore(
            self.name, self.retention_ms, self.segment_interval_ms, retain_duplicates=self.retain_duplicates
        )


@dataclass(frozen=True, slots=True)
class InMemoryWindowSupplier:
    """Window stores in memory."""

    name: str
    retention_ms: int
    window_size_ms: int
    retain_duplicates: bool = False

    metrics_scope = "in-memory-window"
    # There are no segments; with this the cache has the same order as the store: by time.
    segment_interval_ms = 1

    def get(self) -> InMemoryTimedStore:
        keeps = InMemoryDuplicatesStore if self.retain_duplicates else InMemoryWindowStore
        return keeps(self.name, self.retention_ms)


@dataclass(frozen=True, slots=True)
class RocksDBSessionSupplier:
    """Session stores in RocksDB, for bare values or with headers."""

    name: str
    retention_ms: int
    has_headers: bool = False

    metrics_scope = "rocksdb-session"

    @property
    def segment_interval_ms(self) -> int:
        """How much time one segment holds."""
        return _segment_interval(self.retention_ms)

    def get(self) -> SegmentedStore:
        return RocksDBSessionStore(self.name, self.retention_ms, self.segment_interval_ms)


@dataclass(frozen=True, slots=True)
class InMemorySessionSupplier:
    """Session stores in memory."""

    name: str
    retention_ms: int

    metrics_scope = "in-memory-session"
    # There are no segments; with this the cache has the same order as the store: by time.
    segment_interval_ms = 1

    def get(self) -> InMemorySessionStore:
        return InMemorySessionStore(self.name, self.retention_ms)


@dataclass(frozen=True, slots=True)
class TimeOrderedWindowSupplier(RocksDBWindowSupplier):
    """Window stores in RocksDB that are ordered by time, perhaps with an index by key."""

    is_timestamped: bool = True
    with_index: bool = False

    def get(self) -> RocksDBTimeOrderedWindowStore:
        return RocksDBTimeOrderedWindowStore(
            self.name,
            self.retention_ms,
            self.segment_interval_ms,
            retain_duplicates=self.retain_duplicates,
            with_index=self.with_index,
        )


@dataclass(frozen=True, slots=True)
class TimeOrderedSessionSupplier(RocksDBSessionSupplier):
    """Session stores in RocksDB that are ordered by time."""

    def get(self) -> RocksDBTimeOrderedSessionStore:
        return RocksDBTimeOrderedSessionStore(self.name, self.retention_ms, self.segment_interval_ms, with_index=True)


def _segment_interval(retention_ms: int) -> int:
    return max(retention_ms // 2, _MIN_SEGMENT_INTERVAL_MS)
