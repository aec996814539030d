"""Window and session stores in memory."""

from __future__ import annotations

import struct
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from headrace.errors import ArgumentError
from headrace.records import NO_HEADERS, NO_TIMESTAMP, Headers
from headrace.serde.bytes_keys import numbered
from headrace.state.bytes_stores import Entries
from headrace.state.contracts import StoreIterator
from headrace.state.key_schemas import MAX_SEQUENCE, SESSION_KEYS, WINDOW_KEYS, KeySchema
from headrace.state.memory.sorted_map import SortedMap
from headrace.state.memory.store import MemoryStore
from headrace.windows import MAX_TIMESTAMP

if TYPE_CHECKING:
    from headrace.state.rocksdb.visits import VisitedDatabase

_TIME = struct.Struct(">Q")
_ZERO = 1 << 63


class _Entry:
    """A key and its value; None once it is removed. One that expires keeps it for the iterators that have the entry."""

    __slots__ = ("key", "value")

    def __init__(self, key: bytes, value: bytes) -> None:
        self.key = key
        self.value: bytes | None = value


class InMemoryTimedStore(MemoryStore):
    """Entries by time, then key. One expires as soon as the retention after its time has passed."""

    remembered: tuple[str, ...] = ("_stream_time",)
    _schema: KeySchema

    def __init__(self, name: str, retention_ms: int) -> None:
        super().__init__(name)
        self._retention_ms = retention_ms
        self._stream_time = NO_TIMESTAMP
        self._entries: dict[bytes, _Entry] = {}
        self._by_time: SortedMap[int, SortedMap[Any, _Entry]] = SortedMap()
        # Time, place and entry: looking for one key must not mean looking at all times.
        self._by_key: dict[bytes, list[tuple[int, Any, _Entry]]] = {}
        # No entry has an earlier time than this; the first may be later. Saves looking for expired ones.
        self._earliest = MAX_TIMESTAMP
        # What has changed since the store was put down.
        self._changed: dict[bytes, None] = {}

    def close(self) -> None:
        self._entries.clear()
        self._by_time.clear()
        self._by_key.clear()
        self._earliest = MAX_TIMESTAMP
        super().close()

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        self.put(key, self.codec.from_changelog(value, timestamp, headers))

    def get(self, key: bytes) -> bytes | None:
        entry = self._entries.get(key)
        return None if entry is None else entry.value

    def put(self, key: bytes, value: bytes | None) -> None:
        """Set the value; None deletes. Dropped when it has expired."""
        entry = self._entries.get(key)
        if entry is not None and value is not None:
            # What is there has not expired, and does not move stream time.
            entry.value = value
            self._note(key)
        elif not self._is_live(self._schema.time_of(key)):
            self._context.drop(f"expired-{self._schema.entries}")
        elif value is not None:
            self._add(_Entry(key, value))
            self._note(key)
        else:
            self.remove(key)

    def remove(self, key: bytes) -> None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        entry.value = None
        self._note(key)
        time, place = self._schema.time_of(key), self._schema.place(key)
        at_time = self._by_time.entries[time]
        at_time.remove(place)
        if not at_time.entries:
            self._by_time.remove(time)
        plain_key = key[: -self._schema.suffix_size]
        of_key = self._by_key[plain_key]
        del of_key[bisect_left(of_key, (time, place))]
        if not of_key:
            del self._by_key[plain_key]

    def fetch(self, key: bytes, time_from: int, time_to: int, *, forward: bool = True) -> Entries:
        of_key = self._by_key.get(key, [])
        last = self._schema.last_time(time_to)
        found = of_key[bisect_left(of_key, (time_from,)) : bisect_left(of_key, (last + 1,))]
        entries = (entry for _, _, entry in (found if forward else reversed(found)))
        if not self._schema.by_start:
            matches = self._schema.matcher(None, None, time_from, time_to)
            entries = (entry for entry in entries if matches(entry.key))
        return StoreIterator(self._present(entries))

    def fetch_keys(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, *, forward: bool = True
    ) -> Entries:
        """The entries of a range of keys, by time, then key."""
        matches = self._schema.matcher(key_from, key_to, time_from, time_to)
        bounds = self._schema.place_bounds(key_from, key_to)
        found = self._between(time_from, self._schema.last_time(time_to), bounds, forward)
        return StoreIterator(self._present(entry for entry in found if matches(entry.key)))

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> Entries:
        """All entries of the span, by time, then key."""
        return StoreIterator(self._present(self._between(time_from, time_to, (None, None), forward)))

    def _between(self, first: int, last: int, bounds: tuple[Any, Any], forward: bool) -> Iterator[_Entry]:
        # The times are taken now, so that none expires from under the iterator.
        times = list(self._by_time.items(first, last, forward=forward))
        return (entry for _, at_time in times for _, entry in at_time.items(*bounds, forward=forward))

    def _present(self, entries: Iterable[_Entry]) -> Iterator[tuple[bytes, bytes]]:
        for entry in entries:
            # One that was removed may have been put again.
            value = self.get(entry.key) if entry.value is None else entry.value
            if value is not None:
                yield entry.key, value

    def _is_live(self, time: int) -> bool:
        """Move stream time to ``time``, if it is later; False where the retention has passed ``time``."""
        if time > self._stream_time:
            self._stream_time = time
            self._expire(time - self._retention_ms + 1)
        return time > self._stream_time - self._retention_ms

    def _add(self, entry: _Entry) -> None:
        key = entry.key
        time, place = self._schema.time_of(key), self._schema.place(key)
        self._entries[key] = entry
        at_time = self._by_time.entries.get(time)
        if at_time is None:
            at_time = SortedMap()
            self._by_time.put(time, at_time)
            self._earliest = min(self._earliest, time)
        at_time.put(place, entry)
        insort(self._by_key.setdefault(key[: -self._schema.suffix_size], []), (time, place, entry))

    def _expire(self, first_live: int) -> None:
        if self._earliest < first_live:
            for time in self._by_time.keys(None, first_live - 1):
                for entry in self._by_time.entries[time].entries.values():
                    del self._entries[entry.key]
                    self._forget_before(first_live, entry.key[: -self._schema.suffix_size])
                self._by_time.remove(time)
            self._earliest = next(iter(self._by_time.keys(None, None)), MAX_TIMESTAMP)

    def _forget_before(self, first_live: int, plain_key: bytes) -> None:
        of_key = self._by_key.get(plain_key)
        if of_key is not None:
            del of_key[: bisect_left(of_key, (first_live,))]
            if not of_key:
                del self._by_key[plain_key]

    def _note(self, key: bytes) -> None:
        if self._home is not None:
            self._changed[key] = None

    def _take_up(self, home: VisitedDatabase) -> None:
        for place, value in home.scan():
            self._add(_Entry(place[_TIME.size :], value))

    def _put_down(self, home: VisitedDatabase) -> None:
        for key in self._changed:
            home.put(_time(self._schema.time_of(key)) + key, self.get(key))
        self._changed.clear()
        if self._stream_time >= self._retention_ms:
            for place, _ in home.scan(b"", _time(self._stream_time - self._retention_ms + 1)):
                home.put(place, None)


class InMemoryWindowStore(InMemoryTimedStore):
    """Values by window. A store that retains duplicates numbers them; there a put of None deletes nothing."""

    remembered = ("_stream_time", "_sequence")
    _schema = WINDOW_KEYS

    def __init__(self, name: str, retention_ms: int, *, retain_duplicates: bool = False) -> None:
        super().__init__(name, retention_ms)
        self.retain_duplicates = retain_duplicates
        self._sequence = 0

    def put(self, key: bytes, value: bytes | None) -> None:
        if self.retain_duplicates:
            self._sequence = (self._sequence + 1) & MAX_SEQUENCE
            key = numbered(key, self._sequence)
        super().put(key, value)


class InMemorySessionStore(InMemoryTimedStore):
    """Values by session."""

    _schema = SESSION_KEYS

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> Entries:
        if time_from > time_to:
            message = f"earliest_end ({time_from}) cannot be after latest_end ({time_to})"
            raise ArgumentError(message)
        return super().fetch_all(time_from, time_to, forward=forward)


def _time(time: int) -> bytes:
    return _TIME.pack(max(0, time + _ZERO))
