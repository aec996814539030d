"""Entries in RocksDB that expire by time: a store cut into segments, each holding a span of time.

An entry lives in the segment of its time. A whole segment expires at once, when its span has left the retention;
until then reads leave out what is too old. All segments share one database: an entry's key there is the segment's id
(eight bytes), then its own.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import NoReturn

from headrace.errors import UnsupportedError
from headrace.records import NO_HEADERS, NO_TIMESTAMP, Headers
from headrace.serde.bytes_keys import numbered
from headrace.state.bytes_stores import Entries
from headrace.state.contracts import StateStore, StoreContext, StoreIterator
from headrace.state.key_schemas import MAX_SEQUENCE, SESSION_KEYS, WINDOW_KEYS, KeySchema, Matches
from headrace.state.rocksdb.database import Database
from headrace.state.rocksdb.store import DatabaseStore
from headrace.state.value_codecs import PLAIN, ValueCodec

RESERVED = b"\xff" * 8
"""A prefix that belongs to no segment: the versioned store keeps its latest values there."""

_ID = struct.Struct(">q")

Found = Iterator[tuple[bytes, bytes]]
Bounds = tuple[bytes | None, bytes | None]
"""The first and the last key of a stretch of a segment; None is an open end."""


class Segments:
    """Which segments there are, and their entries in one database."""

    __slots__ = ("_database", "_ids", "_interval_ms", "_retention_ms")

    def __init__(self, database: Database, retention_ms: int, interval_ms: int) -> None:
        self._database = database
        self._retention_ms = retention_ms
        self._interval_ms = interval_ms
        self._ids = list(_existing_ids(database))

    def id_of(self, timestamp: int) -> int:
        """The segment that ``timestamp`` falls into; rounds towards 0, as Java does."""
        return timestamp // self._interval_ms if timestamp >= 0 else -(-timestamp // self._interval_ms)

    def open_if_live(self, segment_id: int, stream_time: int) -> bool:
        """Make the segment if it is not there, and drop those that expired; False if itself has expired."""
        if segment_id < self.id_of(stream_time - self._retention_ms):
            return False
        if not self._has(segment_id):
            insort(self._ids, segment_id)
        self.expire(stream_time)
        return True

    def get(self, segment_id: int, key: bytes) -> bytes | None:
        return self._database.get(_ID.pack(segment_id) + key) if self._has(segment_id) else None

    def put(self, segment_id: int, key: bytes, value: bytes | None) -> None:
        self._database.put(_ID.pack(segment_id) + key, value)

    def delete(self, segment_id: int, key: bytes) -> None:
        if self._has(segment_id):
            self._database.put(_ID.pack(segment_id) + key, None)

    def between(self, time_from: int, time_to: int, *, forward: bool) -> list[int]:
        """The segments that the span of time touches."""
        low = bisect_left(self._ids, self.id_of(time_from))
        ids = self._ids[low : bisect_right(self._ids, self.id_of(time_to))]
        return ids if forward else ids[::-1]

    def scan(self, segment_id: int, lower: bytes | None, upper: bytes | None, *, forward: bool) -> Found:
        """The entries of one segment between two keys, both included."""
        prefix = _ID.pack(segment_id)
        end = _ID.pack(segment_id + 1) if upper is None else prefix + upper + b"\0"
        for key, value in self._database.scan(prefix + (lower or b""), end, reverse=not forward):
            yield key[_ID.size :], value

    def _has(self, segment_id: int) -> bool:
        at = bisect_left(self._ids, segment_id)
        return at < len(self._ids) and self._ids[at] == segment_id

    def expire(self, stream_time: int) -> None:
        """Delete the segments that lie wholly before the retention."""
        end = bisect_left(self._ids, self.id_of(stream_time - self._retention_ms))
        for segment_id in self._ids[:end]:
            self._database.delete_prefix(_ID.pack(segment_id))
        del self._ids[:end]


def _existing_ids(database: Database) -> Iterator[int]:
    key = database.first_key(b"", RESERVED)
    while key is not None:
        (segment_id,) = _ID.unpack_from(key)
        yield segment_id
        key = database.first_key(_ID.pack(segment_id + 1), RESERVED)


class SegmentedStore(DatabaseStore):
    """A store of entries that expire by time. Iterators go by segment, inside it by key, then time.

    A store that retains duplicates numbers them; there a put of None does nothing.
    """

    remembered: tuple[str, ...] = ("_stream_time", "_sequence")
    _schema: KeySchema

    def __init__(
        self, name: str, retention_ms: int, segment_interval_ms: int, *, retain_duplicates: bool = False
    ) -> None:
        super().__init__(name)
        self.codec: ValueCodec = PLAIN
        self.retain_duplicates = retain_duplicates
        self._retention_ms = retention_ms
        self._segment_interval_ms = segment_interval_ms
        self._stream_time = NO_TIMESTAMP
        self._sequence = 0

    def init(self, context: StoreContext, root: StateStore | None = None) -> None:
        self._context = context
        self._database = Database.open(self.name, context)
        self._segments = Segments(self._database, self._retention_ms, self._segment_interval_ms)
        context.register(root or self, self.restore)

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        """Apply one record of the changelog; one that has expired is left out and not counted."""
        self._write(key, self.codec.from_changelog(value, timestamp, headers))

    def put(self, key: bytes, value: bytes | None) -> None:
        """Write an entry; dropped when its segment has expired."""
        self._open_database()
        if self.retain_duplicates:
            if value is None:
                return
            self._sequence = (self._sequence + 1) & MAX_SEQUENCE
            key = numbered(key, self._sequence)
        if not self._write(key, value):
            self._context.drop("expired-segment")

    def remove(self, key: bytes) -> None:
        self._open_database()
        time = self._schema.time_of(key)
        self._stream_time = max(self._stream_time, time)
        self._delete_at(self._segments.id_of(time), key)

    def get(self, key: bytes) -> bytes | None:
        """The value of an entry (among duplicates, the last one put into the store), unless it is too old."""
        self._open_database()
        if self.retain_duplicates:
            key = numbered(key, self._sequence)
        time = self._schema.time_of(key)
        return None if time < self._first_live() else self._get_at(self._segments.id_of(time), key)

    def fetch(self, key: bytes, time_from: int, time_to: int, *, forward: bool = True) -> Entries:
        first = max(time_from, self._first_live())
        bounds = self._schema.fixed_bounds(key, first, time_to)
        return StoreIterator(self._fetch(key, key, first, time_to, bounds, forward))

    def fetch_keys(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, *, forward: bool = True
    ) -> Entries:
        if key_from is not None and key_to is not None and key_from > key_to:
            return StoreIterator(())
        first = max(time_from, self._first_live())
        lower = None if key_from is None else self._schema.lower_bound(key_from)
        upper = None if key_to is None else self._schema.upper_bound(key_to, time_to)
        return StoreIterator(self._fetch(key_from, key_to, first, time_to, (lower, upper), forward))

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> Entries:
        return self.fetch_keys(None, None, time_from, time_to, forward=forward)

    def _fetch(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, bounds: Bounds, forward: bool
    ) -> Found:
        self._open_database()
        if self._schema.by_start and time_to < time_from:
            return iter(())
        ids = self._segments.between(time_from, self._schema.last_time(time_to), forward=forward)
        matches = self._schema.matcher(key_from, key_to, time_from, time_to)
        return (entry for segment_id in ids for entry in self._scan(segment_id, bounds, matches, forward))

    def _write(self, key: bytes, value: bytes | None) -> bool:
        time = self._schema.time_of(key)
        if time > self._stream_time:
            self._stream_time = time
        segment_id = self._segments.id_of(time)
        if not self._segments.open_if_live(segment_id, self._stream_time):
            return False
        self._put_at(segment_id, key, value)
        return True

    def _first_live(self) -> int:
        return self._stream_time - self._retention_ms + 1

    # How an entry lies in its segment; a store ordered by time does it in another way.

    def _get_at(self, segment_id: int, key: bytes) -> bytes | None:
        return self._segments.get(segment_id, key)

    def _put_at(self, segment_id: int, key: bytes, value: bytes | None) -> None:
        self._segments.put(segment_id, key, value)

    def _delete_at(self, segment_id: int, key: bytes) -> None:
        self._segments.delete(segment_id, key)

    def _scan(self, segment_id: int, bounds: Bounds, matches: Matches, forward: bool) -> Found:
        return (entry for entry in self._segments.scan(segment_id, *bounds, forward=forward) if matches(entry[0]))


class RocksDBWindowStore(SegmentedStore):
    """Values by window."""

    _schema = WINDOW_KEYS


class RocksDBSessionStore(SegmentedStore):
    """Values by session; the segment is that of its end."""

    _schema = SESSION_KEYS

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> NoReturn:
        """Refused: the entries are not in order of time."""
        message = f"store {self.name} cannot look for sessions by their end alone"
        raise UnsupportedError(message, hint="Use an in-memory session store, or ask for a range of keys.")
