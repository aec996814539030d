"""Window and session stores in memory."""

from __future__ import annotations

import struct
from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from headrace.errors import ArgumentError
from headrace.records import NO_HEADERS, NO_TIMESTAMP, Headers
from headrace.serde.bytes_keys import numbered
from headrace.state.bytes_stores import Entries
from headrace.state.contracts import StoreIterator
from headrace.state.key_schemas import DUPLICATE_KEYS, MAX_SEQUENCE, SESSION_KEYS, WINDOW_KEYS, KeySchema
from headrace.state.memory.sorted_map import SortedMap
from headrace.state.memory.store import MemoryStore
from headrace.windows import MAX_TIMESTAMP

if TYPE_CHECKING:
    from headrace.state.rocksdb.visits import VisitedDatabase

_TIME = struct.Struct(">Q")
_ZERO = 1 << 63


class InMemoryTimedStore(MemoryStore):
    """Entries by time, then key. One expires as soon as the retention after its time has passed."""

    remembered: tuple[str, ...] = ("_stream_time",)

    def __init__(self, name: str, retention_ms: int, schema: KeySchema) -> None:
        super().__init__(name)
        self._schema = schema
        self._time_and_place = schema.time_and_place
        self._retention_ms = retention_ms
        self._stream_time = NO_TIMESTAMP
        # The values of each time, by what ``time_and_place`` makes of their keys.
        self._by_time: SortedMap[int, SortedMap[Any, bytes]] = SortedMap()
        # Time, place and key of entries: looking for those of one key must not mean looking at all times.
        self._by_key: dict[bytes, list[tuple[int, Any, bytes]]] = {}
        # No entry has an earlier time than this; the first may be later. Saves looking for expired ones.
        self._earliest = MAX_TIMESTAMP
        # What has changed since the store was saved.
        self._changed: dict[bytes, None] = {}

    def close(self) -> None:
        self._by_time.clear()
        self._by_key.clear()
        self._earliest = MAX_TIMESTAMP
        super().close()

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        self.put(key, self.codec.from_changelog(value, timestamp, headers))

    def get(self, key: bytes) -> bytes | None:
        time, place = self._time_and_place(key)
        at_time = self._by_time.entries.get(time)
        return None if at_time is None else at_time.entries.get(place)

    def put(self, key: bytes, value: bytes | None) -> None:
        """Set the value; None deletes. Dropped when it has expired."""
        time, place = self._time_and_place(key)
        if time > self._stream_time:
            self._stream_time = time
            self._expire(time - self._retention_ms + 1)
        if time <= self._stream_time - self._retention_ms:
            self._context.drop(f"expired-{self._schema.entries}")
        elif value is not None:
            self._set(key, time, place, value)
        else:
            self.remove(key)

    def remove(self, key: bytes) -> None:
        time, place = self._time_and_place(key)
        at_time = self._by_time.entries.get(time)
        if at_time is None or at_time.remove(place) is None:
            return
        if not at_time.entries:
            self._by_time.remove(time)
        plain_key = key[: -self._schema.suffix_size]
        of_key = self._by_key[plain_key]
        del of_key[bisect_left(of_key, (time, place))]
        if not of_key:
            del self._by_key[plain_key]
        if self._home is not None:
            self._changed[key] = None

    def fetch(self, key: bytes, time_from: int, time_to: int, *, forward: bool = True) -> Entries:
        of_key = self._by_key.get(key, [])
        last = self._schema.last_time(time_to)
        found = of_key[bisect_left(of_key, (time_from,)) : bisect_left(of_key, (last + 1,))]
        if not self._schema.by_start:
            matches = self._schema.matcher(None, None, time_from, time_to)
            found = [entry for entry in found if matches(entry[2])]
        times = self._by_time.entries
        # The times are taken now, so that none expires from under the iterator; the values when their turn comes.
        places = [(key, times[time].entries, place) for time, place, key in (found if forward else reversed(found))]
        return StoreIterator((key, value) for key, held, place in places if (value := held.get(place)) is not None)

    def fetch_keys(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, *, forward: bool = True
    ) -> Entries:
        """The entries of a range of keys, by time, then key."""
        matches = self._schema.matcher(key_from, key_to, time_from, time_to)
        bounds = self._schema.place_bounds(key_from, key_to)
        found = self._between(time_from, self._schema.last_time(time_to), bounds, forward)
        return StoreIterator(entry for entry in found if matches(entry[0]))

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> Entries:
        """All entries of the span, by time, then key."""
        return StoreIterator(self._between(time_from, time_to, (None, None), forward))

    def _between(self, first: int, last: int, bounds: tuple[Any, Any], forward: bool) -> Iterator[tuple[bytes, bytes]]:
        key_at = self._schema.key_at
        times = list(self._by_time.items(first, last, forward=forward))
        return (
            (key_at(time, place), value)
            for time, held in times
            for place, value in held.items(*bounds, forward=forward)
        )

    def _set(self, key: bytes, time: int, place: Any, value: bytes) -> None:
        at_time = self._by_time.entries.get(time)
        if at_time is None:
            at_time = SortedMap()
            self._by_time.put(time, at_time)
            self._earliest = min(self._earliest, time)
        if place in at_time.entries:
            at_time.entries[place] = value
        else:
            at_time.put(place, value)
            of_key = self._by_key.setdefault(key[: -self._schema.suffix_size], [])
            insort(of_key, (time, place, key))
        if self._home is not None:
            self._changed[key] = None

    def _expire(self, first_live: int) -> None:
        if self._earliest < first_live:
            for time in self._by_time.keys(None, first_live - 1):
                for place in self._by_time.entries[time].entries:
                    self._forget_before(first_live, self._schema.plain_key(place))
                self._by_time.remove(time)
            self._earliest = next(iter(self._by_time.keys(None, None)), MAX_TIMESTAMP)

    def _forget_before(self, first_live: int, plain_key: bytes) -> None:
        of_key = self._by_key.get(plain_key)
        if of_key is None:
            return
        if of_key[-1][0] < first_live:
            del self._by_key[plain_key]
        else:
            del of_key[: bisect_left(of_key, (first_live,))]

    def _load(self, home: VisitedDatabase) -> None:
        for place, value in home.scan():
            key = place[_TIME.size :]
            self._set(key, *self._time_and_place(key), value)
        self._changed.clear()

    def _save(self, home: VisitedDatabase) -> None:
        for key in self._changed:
            home.put(_time(self._schema.time_of(key)) + key, self.get(key))
        self._changed.clear()
        if self._stream_time >= self._retention_ms:
            for place, _ in home.scan(b"", _time(self._stream_time - self._retention_ms + 1)):
                home.put(place, None)


class InMemoryWindowStore(InMemoryTimedStore):
    """Values by window."""

    def __init__(self, name: str, retention_ms: int) -> None:
        super().__init__(name, retention_ms, WINDOW_KEYS)


class InMemoryDuplicatesStore(InMemoryTimedStore):
    """Values by window, several of a key: they are numbered. A put of None deletes nothing."""

    remembered = ("_stream_time", "_sequence")

    def __init__(self, name: str, retention_ms: int) -> None:
        super().__init__(name, retention_ms, DUPLICATE_KEYS)
        self._sequence = 0

    def put(self, key: bytes, value: bytes | None) -> None:
        self._sequence = (self._sequence + 1) & MAX_SEQUENCE
        super().put(numbered(key, self._sequence), value)


class InMemorySessionStore(InMemoryTimedStore):
    """Values by session."""

    def __init__(self, name: str, retention_ms: int) -> None:
        super().__init__(name, retention_ms, SESSION_KEYS)

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> Entries:
        if time_from > time_to:
            message = f"earliest_end ({time_from}) cannot be after latest_end ({time_to})"
            raise ArgumentError(message)
        return super().fetch_all(time_from, time_to, forward=forward)


def _time(time: int) -> bytes:
    return _TIME.pack(max(0, time + _ZERO))
