"""The session store in RocksDB."""

from __future__ import annotations

from headrace.errors import UnsupportedError
from headrace.serde.bytes_keys import parse_session_key, session_key
from headrace.state.bytes_stores import SessionKey, SessionValues
from headrace.state.contracts import StoreIterator
from headrace.state.key_schemas import SessionKeySchema
from headrace.state.rocksdb.segments import Entries, SegmentedStore


class SegmentedSessions(SegmentedStore):
    """Values by session, in whatever order the entries lie."""

    def put(self, session: SessionKey, value: bytes | None) -> None:
        self.put_entry(session_key(*session), value)

    def remove(self, session: SessionKey) -> None:
        self.remove_entry(session_key(*session))

    def fetch_session(self, key: bytes, start: int, end: int) -> bytes | None:
        return self.get_entry(session_key(key, start, end))

    def find_sessions(self, key: bytes, earliest_end: int, latest_start: int, *, forward: bool = True) -> SessionValues:
        return _sessions(self.fetch_key(key, earliest_end, latest_start, forward=forward))

    def find_sessions_keys(
        self,
        key_from: bytes | None,
        key_to: bytes | None,
        earliest_end: int,
        latest_start: int,
        *,
        forward: bool = True,
    ) -> SessionValues:
        return _sessions(self.fetch_range_of_keys(key_from, key_to, earliest_end, latest_start, forward=forward))


class RocksDBSessionStore(SegmentedSessions):
    """Values by session. Iterators go by segment (of the session's end), inside it by key, end, start."""

    def __init__(self, name: str, retention_ms: int, segment_interval_ms: int) -> None:
        super().__init__(name, retention_ms, segment_interval_ms, SessionKeySchema())

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> SessionValues:
        """Refused: the entries are not in order of time."""
        message = f"store {self.name} cannot look for sessions by their end alone"
        raise UnsupportedError(message, hint="Use an in-memory session store, or ask for a range of keys.")


def _sessions(entries: Entries) -> SessionValues:
    return StoreIterator((parse_session_key(key), value) for key, value in entries)
