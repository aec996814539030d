"""Plain persistent stores beneath typed stores with timestamps: the timestamps are not kept, and read as -1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from headrace.state.bytes_stores import (
    BytesKeyValueStore,
    BytesWindowStore,
    KeyValues,
    WindowedValues,
    WindowValues,
)
from headrace.state.contracts import StoreIterator
from headrace.state.layers.wrapped import Wrapped
from headrace.state.value_codecs import NO_TIMESTAMP_BYTES, TIMESTAMP_SIZE

K = TypeVar("K")


def _plain(value: bytes | None) -> bytes | None:
    return None if value is None else value[TIMESTAMP_SIZE:]


def _timestamped(value: bytes | None) -> bytes | None:
    return None if value is None else NO_TIMESTAMP_BYTES + value


def _all_timestamped(entries: StoreIterator[K, bytes]) -> StoreIterator[K, bytes]:
    return StoreIterator(((key, NO_TIMESTAMP_BYTES + value) for key, value in entries), entries.close)


class PlainKeyValueAsTimestamped(Wrapped[BytesKeyValueStore]):
    """A plain key-value store that takes and gives values with timestamps."""

    def get(self, key: bytes) -> bytes | None:
        """The value, without a time."""
        return _timestamped(self.inner.get(key))

    def put(self, key: bytes, value: bytes | None) -> None:
        """Set the bare value."""
        self.inner.put(key, _plain(value))

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        """Set the bare value unless there is one."""
        return _timestamped(self.inner.put_if_absent(key, _plain(value)))

    def put_all(self, entries: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Set the bare values."""
        self.inner.put_all([(key, _plain(value)) for key, value in entries])

    def delete(self, key: bytes) -> bytes | None:
        """Delete; returns the value there was."""
        return _timestamped(self.inner.delete(key))

    def range(self, key_from: bytes | None, key_to: bytes | None, *, forward: bool = True) -> KeyValues:
        """The entries of both ends and between."""
        return _all_timestamped(self.inner.range(key_from, key_to, forward=forward))

    def prefix_scan(self, prefix: bytes) -> KeyValues:
        """The entries whose keys begin with ``prefix``."""
        return _all_timestamped(self.inner.prefix_scan(prefix))

    def approximate_num_entries(self) -> int:
        """About how many entries there are."""
        return self.inner.approximate_num_entries()


class PlainWindowAsTimestamped(Wrapped[BytesWindowStore]):
    """A plain window store that takes and gives values with timestamps."""

    def put(self, key: bytes, value: bytes | None, window_start: int) -> None:
        """Set the bare value."""
        self.inner.put(key, _plain(value), window_start)

    def fetch(self, key: bytes, time: int) -> bytes | None:
        """The value of the window, without a time."""
        return _timestamped(self.inner.fetch(key, time))

    def fetch_range(self, key: bytes, time_from: int, time_to: int, *, forward: bool = True) -> WindowValues:
        """The windows of one key that start in the span."""
        return _all_timestamped(self.inner.fetch_range(key, time_from, time_to, forward=forward))

    def fetch_keys(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, *, forward: bool = True
    ) -> WindowedValues:
        """The windows of a range of keys that start in the span."""
        return _all_timestamped(self.inner.fetch_keys(key_from, key_to, time_from, time_to, forward=forward))

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> WindowedValues:
        """The windows of all keys that start in the span."""
        return _all_timestamped(self.inner.fetch_all(time_from, time_to, forward=forward))
