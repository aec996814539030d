"""The versioned key-value store: every version of a key within the history retention, in RocksDB.

The latest version of each key lives in a section of its own and never expires. Older versions lie in
segments of time, each under the segment in which the version *ended*; a whole segment expires at once.
Which puts are refused and what a get finds depends on these segments, so they follow Kafka Streams'.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from headrace.errors import OperatorTypeError, StoreError
from headrace.records import NO_HEADERS, NO_TIMESTAMP, Headers, VersionedRecord
from headrace.state.contracts import IS_LATEST, NOT_PUT, StateStore, StoreContext, StoreIterator
from headrace.state.position import Position
from headrace.state.rocksdb.database import Database
from headrace.state.rocksdb.segments import RESERVED, Segments
from headrace.state.rocksdb.store import DatabaseStore
from headrace.windows import MAX_TIMESTAMP

_TWO_LONGS = struct.Struct(">qq")
_VERSION = struct.Struct(">qi")
_LONG = struct.Struct(">q")
_NULL = -1
_MIN_TIMESTAMP = -(2**63)


class Found(NamedTuple):
    """A version inside a segment value: where it stands, since when and until when it is valid."""

    place: int
    valid_from: int
    valid_to: int
    value: bytes | None


class SegmentValue:
    """The versions of one key in one segment, newest first, and when the newest of them ended.

    A version without value is a tombstone. A *degenerate* value (its only version begins where it ends)
    marks nothing but a tombstone that is the latest version of the key.
    """

    __slots__ = ("next_timestamp", "versions")

    def __init__(self, next_timestamp: int, versions: list[tuple[int, bytes | None]]) -> None:
        self.next_timestamp = next_timestamp
        self.versions = versions

    @classmethod
    def of(cls, value: bytes | None, valid_from: int, valid_to: int) -> SegmentValue:
        """A segment value with one version."""
        return cls(valid_to, [(valid_from, value)])

    @classmethod
    def parse(cls, data: bytes) -> SegmentValue:
        """Read what ``dump`` wrote."""
        next_timestamp, count = _TWO_LONGS.unpack_from(data)
        versions: list[tuple[int, bytes | None]] = []
        at, values_at = _TWO_LONGS.size, _TWO_LONGS.size + count * _VERSION.size
        for _ in range(count):
            timestamp, size = _VERSION.unpack_from(data, at)
            at += _VERSION.size
            versions.append((timestamp, None if size == _NULL else data[values_at : values_at + size]))
            values_at += max(size, 0)
        return cls(next_timestamp, versions)

    def dump(self) -> bytes:
        """As bytes: until when, how many versions, their times and sizes, their values."""
        parts = [_TWO_LONGS.pack(self.next_timestamp, len(self.versions))]
        parts += [_VERSION.pack(at, _NULL if value is None else len(value)) for at, value in self.versions]
        parts += [value for _, value in self.versions if value]
        return b"".join(parts)

    @property
    def min_timestamp(self) -> int:
        """When the oldest version begins."""
        return self.versions[-1][0]

    @property
    def is_degenerate(self) -> bool:
        """Whether there is nothing but a tombstone here that still is the latest version."""
        return self.next_timestamp == self.min_timestamp

    def find(self, timestamp: int) -> Found:
        """The version valid at ``timestamp``, which lies inside this segment value."""
        valid_to = self.next_timestamp
        for index, (valid_from, value) in enumerate(self.versions):
            if valid_from <= timestamp:
                return Found(index, valid_from, valid_to, value)
            valid_to = valid_from
        message = f"no version at {timestamp} in a segment that begins at {self.min_timestamp}"
        raise StoreError(message)

    def find_all(self, time_from: int, time_to: int) -> Iterator[VersionedRecord]:
        """The versions with a value that were valid at some time of the span, newest first."""
        valid_to = self.next_timestamp
        for valid_from, value in self.versions:
            if value is not None and valid_from <= time_to and valid_to > time_from:
                yield VersionedRecord(value, valid_from, valid_to)
            valid_to = valid_from

    def insert_latest(self, valid_from: int, valid_to: int, value: bytes | None) -> None:
        """Add a version newer than all here; a gap before it is filled with a tombstone."""
        if valid_from < self.next_timestamp:
            # Only after a failure between two writes; the later write wins.
            self._truncate(valid_from)
        if self.is_degenerate:
            self.versions.clear()
        if self.next_timestamp != valid_from:
            self.versions.insert(0, (self.next_timestamp, None))
        self.versions.insert(0, (valid_from, value))
        self.next_timestamp = valid_to

    def insert_earliest(self, timestamp: int, value: bytes | None) -> None:
        """Add a version older than all here."""
        if self.is_degenerate:
            self.versions.clear()
        self.versions.append((timestamp, value))

    def _truncate(self, timestamp: int) -> None:
        if timestamp <= self.min_timestamp:
            self.versions = [(timestamp, None)]
        else:
            found = self.find(timestamp)
            del self.versions[: found.place + (found.valid_from == timestamp)]
        self.next_timestamp = timestamp


class RocksDBVersionedStore(DatabaseStore):
    """Versions of byte values, in a RocksDB database below the task's directory.

    The history retention is the grace period, too: a put older than that is refused and counted.
    """

    remembered = ("_stream_time", "position")

    def __init__(self, name: str, history_ms: int, segment_interval_ms: int) -> None:
        super().__init__(name)
        self._history_ms = history_ms
        self._segment_interval_ms = segment_interval_ms
        self._stream_time = NO_TIMESTAMP

    def init(self, context: StoreContext, root: StateStore | None = None) -> None:
        """Open the database; the root of the store's layers is registered with the task."""
        self._context = context
        self._database = Database.open(self.name, context)
        self._segments = Segments(self._database, self._history_ms, self._segment_interval_ms)
        self.position = Position()
        context.register(root or self, self.restore)

    def put(self, key: bytes, value: bytes | None, timestamp: int) -> int:
        """Store a version; returns until when it is valid, IS_LATEST, or NOT_PUT when it came too late."""
        self._check(key)
        if self._is_expired(timestamp, "put"):
            self.position.observe(self._context.record_context)
            return NOT_PUT
        self._stream_time = max(self._stream_time, timestamp)
        valid_to = self._put(key, value, timestamp)
        self.position.observe(self._context.record_context)
        return valid_to

    def delete(self, key: bytes, timestamp: int) -> VersionedRecord | None:
        """Store a tombstone; returns the version that was valid at ``timestamp``."""
        self._check(key)
        if self._is_expired(timestamp, "delete"):
            return None
        existing = self.get(key, timestamp)
        self._stream_time = max(self._stream_time, timestamp)
        self._put(key, None, timestamp)
        self.position.observe(self._context.record_context)
        return existing

    def get(self, key: bytes, as_of: int | None = None) -> VersionedRecord | None:
        """The latest version, or the one valid at ``as_of``; nothing from before the history retention."""
        self._check(key)
        latest = self._latest(key)
        if as_of is None or (latest is not None and latest.timestamp <= as_of):
            return latest
        if as_of < self._stream_time - self._history_ms:
            return None
        return self._get_older(key, as_of)

    def versions(
        self, key: bytes, time_from: int, time_to: int, *, descending: bool = False
    ) -> Iterator[VersionedRecord]:
        """The versions of ``key`` that were valid in the span, oldest first unless ``descending``.

        As in Kafka Streams, an older version is only found when it ended no later than the segment of ``time_to``.
        """
        self._check(key)
        latest = self._latest(key)
        newest = [latest] if latest is not None and latest.timestamp <= time_to else []
        if time_to < self._stream_time - self._history_ms:
            return iter(newest)
        older = self._versions_in_segments(key, time_from, time_to)
        return iter(newest + older if descending else older[::-1] + newest)

    def all(self) -> StoreIterator[bytes, VersionedRecord]:
        """The latest version of every key, in order of the keys."""
        scan = self._open_database().scan(RESERVED)
        versions = ((key[len(RESERVED) :], VersionedRecord(data[8:], _LONG.unpack_from(data)[0])) for key, data in scan)
        return StoreIterator(versions, scan.close)

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        """Apply a record of the changelog; what the store refused then, it leaves out again."""
        if timestamp >= self._stream_time - self._history_ms:
            self._stream_time = max(self._stream_time, timestamp)
            self._put(key, value, timestamp)

    def _check(self, key: bytes | None) -> None:
        if key is None:
            raise OperatorTypeError("the key of a store cannot be None")
        self._open_database()

    def _is_expired(self, timestamp: int, verb: str) -> bool:
        if timestamp >= self._stream_time - self._history_ms:
            return False
        self._context.drop(f"expired {verb}")
        return True

    def _latest(self, key: bytes) -> VersionedRecord | None:
        data = self._open_database().get(RESERVED + key)
        return None if data is None else VersionedRecord(data[8:], _LONG.unpack_from(data)[0])

    def _put_latest(self, key: bytes, value: bytes | None, timestamp: int) -> None:
        self._open_database().put(RESERVED + key, None if value is None else _LONG.pack(timestamp) + value)

    def _get_older(self, key: bytes, as_of: int) -> VersionedRecord | None:
        for segment in self._segments.between(as_of, MAX_TIMESTAMP, forward=False):
            held = self._held(segment, key)
            if held is None or (held.min_timestamp > as_of and held.next_timestamp > as_of):
                continue
            if held.next_timestamp <= as_of:
                return None
            found = held.find(as_of)
            return None if found.value is None else VersionedRecord(found.value, found.valid_from, found.valid_to)
        return None

    def _versions_in_segments(self, key: bytes, time_from: int, time_to: int) -> list[VersionedRecord]:
        segments = self._segments.between(_MIN_TIMESTAMP, time_to, forward=False)
        held = (self._held(segment, key) for segment in segments)
        return [version for value in held if value is not None for version in value.find_all(time_from, time_to)]

    def _held(self, segment: int, key: bytes) -> SegmentValue | None:
        data = self._segments.get(segment, key)
        return None if data is None else SegmentValue.parse(data)

    def _hold(self, segment: int, key: bytes, value: SegmentValue) -> None:
        self._segments.put(segment, key, value.dump())

    def _append(self, segment: int, key: bytes, value: bytes | None, valid_from: int, valid_to: int) -> None:
        held = self._held(segment, key)
        if held is None:
            held = SegmentValue.of(value, valid_from, valid_to)
        else:
            held.insert_latest(valid_from, valid_to, value)
        self._hold(segment, key, held)

    def _claim(self, timestamp: int) -> int | None:
        """The segment of ``timestamp``, ready to be written; None when it has expired."""
        segment = self._segments.id_of(timestamp)
        return segment if self._segments.open_if_live(segment, self._stream_time) else None

    def _put(self, key: bytes, value: bytes | None, timestamp: int) -> int:
        self._segments.expire(self._stream_time)
        latest = self._latest(key)
        if latest is not None and timestamp >= latest.timestamp:
            self._replace_latest(key, latest, value, timestamp)
            return IS_LATEST
        return self._put_older(key, value, timestamp, None if latest is None else latest.timestamp)

    def _replace_latest(self, key: bytes, latest: VersionedRecord, value: bytes | None, timestamp: int) -> None:
        if timestamp > latest.timestamp:
            segment = self._claim(timestamp)
            if segment is not None:
                self._append(segment, key, latest.value, latest.timestamp, timestamp)
        self._put_latest(key, value, timestamp)

    def _put_older(self, key: bytes, value: bytes | None, timestamp: int, next_timestamp: int | None) -> int:
        """Find the segment the version belongs to; ``next_timestamp`` is when the next known version begins."""
        for segment in self._segments.between(timestamp, MAX_TIMESTAMP, forward=False):
            held = self._held(segment, key)
            if held is None:
                continue
            if held.next_timestamp <= timestamp:
                break
            if held.min_timestamp <= timestamp:
                return self._put_inside(segment, held, key, value, timestamp)
            if held.min_timestamp < self._stream_time - self._history_ms:
                return IS_LATEST  # It was refused; but as in Kafka Streams, this path does not report that.
            next_timestamp = held.min_timestamp
        if next_timestamp is None:
            return self._put_first(key, value, timestamp)
        return self._put_before(key, value, timestamp, next_timestamp)

    def _put_inside(self, segment: int, held: SegmentValue, key: bytes, value: bytes | None, timestamp: int) -> int:
        """Split the version of ``held`` that is valid at ``timestamp``."""
        found = held.find(timestamp)
        if found.valid_from == timestamp:
            held.versions[found.place] = (timestamp, value)
        elif self._segments.id_of(timestamp) == segment:
            held.versions.insert(found.place, (timestamp, value))
        else:
            # The first half now ends in an older segment's time, so it moves there.
            older = self._claim(timestamp)
            if older is not None:
                self._append(older, key, found.value, found.valid_from, timestamp)
            held.versions[found.place] = (timestamp, value)
        self._hold(segment, key, held)
        return found.valid_to

    def _put_first(self, key: bytes, value: bytes | None, timestamp: int) -> int:
        """No later version is known: the new one is the latest."""
        if value is not None:
            self._put_latest(key, value, timestamp)
            return IS_LATEST
        segment = self._claim(timestamp)
        if segment is None:
            return IS_LATEST
        held = self._held(segment, key)
        if held is None:
            self._hold(segment, key, SegmentValue.of(None, timestamp, timestamp))
        elif held.next_timestamp != timestamp:
            held.insert_latest(held.next_timestamp, timestamp, None)
            self._hold(segment, key, held)
        return IS_LATEST

    def _put_before(self, key: bytes, value: bytes | None, timestamp: int, next_timestamp: int) -> int:
        """The new version ends where the next one begins, and lies in that segment."""
        segment = self._claim(next_timestamp)
        if segment is None:
            return IS_LATEST
        held = self._held(segment, key)
        if held is None:
            self._hold(segment, key, SegmentValue.of(value, timestamp, next_timestamp))
        else:
            if held.next_timestamp <= timestamp:
                held.insert_latest(timestamp, next_timestamp, value)
            else:
                held.insert_earliest(timestamp, value)
            self._hold(segment, key, held)
        return next_timestamp
