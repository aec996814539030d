"""The session store in memory."""

from __future__ import annotations

import struct
from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.errors import ArgumentError
from headrace.records import NO_HEADERS, NO_TIMESTAMP, Headers
from headrace.serde.bytes_keys import parse_session_key
from headrace.state.bytes_stores import SessionKey, SessionValues
from headrace.state.contracts import StoreIterator
from headrace.state.memory.sorted_map import SortedMap
from headrace.state.memory.store import MemoryStore
from headrace.windows import MAX_TIMESTAMP

if TYPE_CHECKING:
    from headrace.state.rocksdb.visits import VisitedDatabase

_END_AND_START = struct.Struct(">QQ")
_ZERO = 1 << 63


class InMemorySessionStore(MemoryStore):
    """Values by session. Sessions of one key come by end, those with the same end latest start first.

    A session expires as soon as the retention after its end has passed.
    """

    remembered = ("_stream_time",)

    def __init__(self, name: str, retention_ms: int) -> None:
        super().__init__(name)
        self._retention_ms = retention_ms
        self._stream_time = NO_TIMESTAMP
        self._values: dict[SessionKey, bytes] = {}
        # Both indexes hold negated starts, which puts them in the order of iteration.
        self._by_key: dict[bytes, list[tuple[int, int]]] = {}
        self._by_end: SortedMap[int, set[tuple[bytes, int]]] = SortedMap()
        # No session ends before this; it may end later. Saves looking for expired sessions.
        self._earliest = MAX_TIMESTAMP
        # What has changed since the store was put down.
        self._changed: dict[SessionKey, None] = {}

    def close(self) -> None:
        self._values.clear()
        self._by_key.clear()
        self._by_end.clear()
        self._earliest = MAX_TIMESTAMP
        super().close()

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        self.put(parse_session_key(key), self.codec.from_changelog(value, timestamp, headers))

    def put(self, session: SessionKey, value: bytes | None) -> None:
        key, start, end = session
        self._stream_time = max(self._stream_time, end)
        self._expire()
        if end <= self._stream_time - self._retention_ms:
            self._context.drop("expired-session")
        elif value is None:
            self.remove(session)
        else:
            if session not in self._values:
                self._index(key, start, end)
            self._values[session] = value
            if self._home is not None:
                self._changed[session] = None

    def remove(self, session: SessionKey) -> None:
        if self._values.pop(session, None) is None:
            return
        if self._home is not None:
            self._changed[session] = None
        key, start, end = session
        ends = self._by_end.entries[end]
        ends.discard((key, -start))
        if not ends:
            self._by_end.remove(end)
        self._unindex_key(key, start, end)

    def fetch_session(self, key: bytes, start: int, end: int) -> bytes | None:
        return self._values.get((key, start, end)) if end > self._stream_time - self._retention_ms else None

    def find_sessions(self, key: bytes, earliest_end: int, latest_start: int, *, forward: bool = True) -> SessionValues:
        sessions = self._by_key.get(key, [])
        found = sessions[bisect_left(sessions, (earliest_end,)) :]
        keys = ((key, -start, end) for end, start in (found if forward else reversed(found)) if -start <= latest_start)
        return StoreIterator(self._present(keys))

    def find_sessions_keys(
        self,
        key_from: bytes | None,
        key_to: bytes | None,
        earliest_end: int,
        latest_start: int,
        *,
        forward: bool = True,
    ) -> SessionValues:
        """The sessions of a range of keys, by end, then key."""
        found = self._ending(earliest_end, None, forward)
        keys = (
            session
            for session in found
            if (key_from is None or session[0] >= key_from)
            and (key_to is None or session[0] <= key_to)
            and session[1] <= latest_start
        )
        return StoreIterator(self._present(keys))

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> SessionValues:
        """The sessions that end in that span, by end, then key."""
        if earliest_end > latest_end:
            message = f"earliest_end ({earliest_end}) cannot be after latest_end ({latest_end})"
            raise ArgumentError(message)
        return StoreIterator(self._present(self._ending(earliest_end, latest_end, True)))

    def _index(self, key: bytes, start: int, end: int) -> None:
        insort(self._by_key.setdefault(key, []), (end, -start))
        sessions = self._by_end.entries.get(end)
        if sessions is None:
            self._by_end.put(end, {(key, -start)})
            self._earliest = min(self._earliest, end)
        else:
            sessions.add((key, -start))

    def _unindex_key(self, key: bytes, start: int, end: int) -> None:
        sessions = self._by_key[key]
        del sessions[bisect_left(sessions, (end, -start))]
        if not sessions:
            del self._by_key[key]

    def _expire(self) -> None:
        first_live = self._stream_time - self._retention_ms + 1
        if self._earliest < first_live:
            for end in self._by_end.keys(None, first_live - 1):
                for key, start in self._by_end.remove(end) or ():
                    del self._values[key, -start, end]
                    self._unindex_key(key, -start, end)
            self._earliest = next(iter(self._by_end.keys(None, None)), MAX_TIMESTAMP)

    def _ending(self, earliest: int, latest: int | None, forward: bool) -> Iterator[SessionKey]:
        for end, sessions in self._by_end.items(earliest, latest, forward=forward):
            for key, start in sorted(sessions, reverse=not forward):
                yield key, -start, end

    def _present(self, sessions: Iterator[SessionKey]) -> Iterator[tuple[SessionKey, bytes]]:
        for session in sessions:
            value = self._values.get(session)
            if value is not None:
                yield session, value

    def _take_up(self, home: VisitedDatabase) -> None:
        for place, value in home.scan():
            end, start = _END_AND_START.unpack_from(place)
            session = (place[_END_AND_START.size :], start - _ZERO, end - _ZERO)
            self._index(*session)
            self._values[session] = value

    def _put_down(self, home: VisitedDatabase) -> None:
        for key, start, end in self._changed:
            home.put(_place(end, start) + key, self._values.get((key, start, end)))
        self._changed.clear()
        if self._stream_time >= self._retention_ms:
            for place, _ in home.scan(b"", _place(self._stream_time - self._retention_ms + 1, -_ZERO)):
                home.put(place, None)


def _place(end: int, start: int) -> bytes:
    return _END_AND_START.pack(max(0, end + _ZERO), start + _ZERO)
