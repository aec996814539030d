"""How the keys of windows and sessions are composed, and which stretch of keys a lookup has to read."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Protocol, TypeAlias

from headrace.serde.bytes_keys import (
    parse_session_key,
    parse_window_store_key,
    session_end,
    session_key,
    window_store_key,
    window_store_start,
)
from headrace.windows import MAX_TIMESTAMP

MAX_SEQUENCE = 0x7FFFFFFF

_WINDOW_SUFFIX = struct.Struct(">qi")
_SESSION_SUFFIX = struct.Struct(">qq")

Matches: TypeAlias = Callable[[bytes], bool]


class KeySchema(Protocol):
    """How the key of an entry is composed, and which stretch of keys a lookup has to read."""

    needs_time_range: bool
    """Whether a lookup whose time range is empty finds nothing (windows), or may still (sessions)."""

    def time_of(self, key: bytes) -> int:
        """The time that chooses the segment."""

    def fixed_bounds(self, key: bytes, time_from: int, time_to: int) -> tuple[bytes, bytes]:
        """First and last key of the entries of one key."""

    def lower_bound(self, key: bytes) -> bytes:
        """The least key that entries of ``key`` or more can have."""

    def upper_bound(self, key: bytes, time_to: int) -> bytes:
        """The greatest key that entries of ``key`` or less can have, up to ``time_to``."""

    def matcher(self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int) -> Matches:
        """Whether an entry belongs to the answer."""

    def last_time(self, time_to: int) -> int:
        """The last time whose segment must be searched."""


class WindowKeySchema:
    """Key, window start, sequence number; the start chooses the segment."""

    needs_time_range = True

    def time_of(self, key: bytes) -> int:
        """The window start."""
        return window_store_start(key)

    def fixed_bounds(self, key: bytes, time_from: int, time_to: int) -> tuple[bytes, bytes]:
        """From the first window to the last."""
        return window_store_key(key, max(0, time_from)), window_store_key(key, time_to, MAX_SEQUENCE)

    def lower_bound(self, key: bytes) -> bytes:
        """The key at time 0."""
        return key + bytes(_WINDOW_SUFFIX.size)

    def upper_bound(self, key: bytes, time_to: int) -> bytes:
        """The key at the last time."""
        return _upper_bound(key, _WINDOW_SUFFIX.pack(time_to, MAX_SEQUENCE))

    def matcher(self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int) -> Matches:
        """Key and start lie in the range."""

        def matches(data: bytes) -> bool:
            key, start, _ = parse_window_store_key(data)
            return (
                time_from <= start <= time_to
                and (key_from is None or key >= key_from)
                and (key_to is None or key <= key_to)
            )

        return matches

    def last_time(self, time_to: int) -> int:
        """The end of the time range."""
        return time_to


class SessionKeySchema:
    """Key, session end, session start; the end chooses the segment. Time ranges are (earliest end, latest start)."""

    needs_time_range = False

    def time_of(self, key: bytes) -> int:
        """The session end."""
        return session_end(key)

    def fixed_bounds(self, key: bytes, time_from: int, time_to: int) -> tuple[bytes, bytes]:
        """From the earliest end on."""
        return session_key(key, 0, max(0, time_from)), session_key(key, time_to, MAX_TIMESTAMP)

    def lower_bound(self, key: bytes) -> bytes:
        """The key at time 0."""
        return key + bytes(_SESSION_SUFFIX.size)

    def upper_bound(self, key: bytes, time_to: int) -> bytes:
        """The key at the end of time."""
        return _upper_bound(key, _SESSION_SUFFIX.pack(MAX_TIMESTAMP, time_to))

    def matcher(self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int) -> Matches:
        """The key lies in the range, the session ends no earlier and starts no later."""

        def matches(data: bytes) -> bool:
            key, start, end = parse_session_key(data)
            return (
                end >= time_from
                and start <= time_to
                and (key_from is None or key >= key_from)
                and (key_to is None or key <= key_to)
            )

        return matches

    def last_time(self, time_to: int) -> int:
        """Sessions may end any time later."""
        return MAX_TIMESTAMP


def _upper_bound(key: bytes, suffix: bytes) -> bytes:
    # Kafka's OrderedBytes: a shorter key's suffix may sort after a longer key, so cut the key where it could.
    if suffix[0] == 0:
        return key + suffix
    size = 1
    while size < len(key) and key[size] >= suffix[0]:
        size += 1
    return key[:size] + suffix
