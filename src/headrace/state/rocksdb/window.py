"""The window store in RocksDB."""

from __future__ import annotations

from headrace.serde.bytes_keys import parse_window_store_key, window_store_key, window_store_start
from headrace.state.bytes_stores import WindowedValues, WindowValues
from headrace.state.contracts import StoreIterator
from headrace.state.key_schemas import MAX_SEQUENCE, WindowKeySchema
from headrace.state.rocksdb.segments import Entries, SegmentedStore


class SegmentedWindows(SegmentedStore):
    """Values by window, in whatever order the entries lie.

    A store that retains duplicates numbers its entries; there a put of None does nothing.
    """

    remembered = ("_stream_time", "_sequence")
    retain_duplicates: bool
    _sequence = 0

    def put(self, key: bytes, value: bytes | None, window_start: int) -> None:
        """Set the value of the window; None deletes, except among duplicates, which only expire."""
        if self.retain_duplicates:
            if value is None:
                return
            self._sequence = (self._sequence + 1) & MAX_SEQUENCE
        self.put_entry(window_store_key(key, window_start, self._sequence), value)

    def fetch(self, key: bytes, time: int) -> bytes | None:
        """The value of the window that starts at ``time`` (among duplicates, the last one put into the store)."""
        return self.get_entry(window_store_key(key, time, self._sequence))

    def fetch_range(self, key: bytes, time_from: int, time_to: int, *, forward: bool = True) -> WindowValues:
        """The windows of one key that start in the span, by time."""
        found = self.fetch_key(key, time_from, time_to, forward=forward)
        return StoreIterator((window_store_start(entry_key), value) for entry_key, value in found)

    def fetch_keys(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, *, forward: bool = True
    ) -> WindowedValues:
        return windowed(self.fetch_range_of_keys(key_from, key_to, time_from, time_to, forward=forward))

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> WindowedValues:
        return windowed(self.fetch_range_of_keys(None, None, time_from, time_to, forward=forward))


class RocksDBWindowStore(SegmentedWindows):
    """Values by window. Multi-key iterators go by segment, inside it by key, then time."""

    def __init__(
        self, name: str, retention_ms: int, segment_interval_ms: int, *, retain_duplicates: bool = False
    ) -> None:
        super().__init__(name, retention_ms, segment_interval_ms, WindowKeySchema())
        self.retain_duplicates = retain_duplicates


def windowed(entries: Entries) -> WindowedValues:
    """Entries under the keys of their windows."""
    return StoreIterator((parse_window_store_key(key)[:2], value) for key, value in entries)
