"""How the keys of windows and sessions are composed, and which stretch of keys a lookup has to read."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from headrace.serde.bytes_keys import (
    SESSION_SUFFIX_SIZE,
    WINDOW_STORE_SUFFIX_SIZE,
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
_START = struct.Struct(">q")
_SEQUENCE = struct.Struct(">i")

Matches: TypeAlias = Callable[[bytes], bool]


class KeySchema(Protocol):
    """How the key of an entry is composed, and which stretch of keys a lookup has to read.

    Spans of time are ``(time_from, time_to)`` of window starts, or ``(earliest end, latest start)`` of sessions.
    """

    entries: str
    """What the entries are, in one word."""
    by_start: bool
    """Whether a span of time is one of window starts: then an empty one finds nothing."""
    suffix_size: int
    """How many bytes follow the key as the user gave it."""

    def time_of(self, key: bytes) -> int:
        """The time that chooses the segment, and by which the entry expires."""

    def last_time(self, time_to: int) -> int:
        """The last time whose entries must be searched."""

    def fixed_bounds(self, key: bytes, time_from: int, time_to: int) -> tuple[bytes, bytes]:
        """First and last key of the entries of one key."""

    def lower_bound(self, key: bytes) -> bytes:
        """The least key that entries of ``key`` or more can have."""

    def upper_bound(self, key: bytes, time_to: int) -> bytes:
        """The greatest key that entries of ``key`` or less can have, up to ``time_to``."""

    def matcher(self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int) -> Matches:
        """Whether an entry belongs to the answer."""

    def time_first(self, key: bytes) -> bytes:
        """The key rearranged so that its time comes first."""

    def time_last(self, time_first: bytes) -> bytes:
        """The key as it was."""

    def time_and_place(self, key: bytes) -> tuple[int, Any]:
        """The time, and what orders the entries of one time as in Kafka Streams' stores in memory."""

    def key_at(self, time: int, place: Any) -> bytes:
        """The key of the entry at that place."""

    def plain_key(self, place: Any) -> bytes:
        """The key of the entry as the user gave it."""

    def place_bounds(self, key_from: bytes | None, key_to: bytes | None) -> tuple[Any, Any]:
        """First and last place of the entries of a range of keys."""


class WindowKeySchema:
    """Key, window start, sequence number; the start chooses the segment."""

    entries = "window"
    by_start = True
    suffix_size = WINDOW_STORE_SUFFIX_SIZE

    time_of = staticmethod(window_store_start)

    def last_time(self, time_to: int) -> int:
        return time_to

    def fixed_bounds(self, key: bytes, time_from: int, time_to: int) -> tuple[bytes, bytes]:
        return window_store_key(key, max(0, time_from)), window_store_key(key, time_to, MAX_SEQUENCE)

    def lower_bound(self, key: bytes) -> bytes:
        return key + bytes(_WINDOW_SUFFIX.size)

    def upper_bound(self, key: bytes, time_to: int) -> bytes:
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

    def time_first(self, key: bytes) -> bytes:
        """Window start, key, sequence number."""
        return key[-12:-4] + key[:-12] + key[-4:]

    def time_last(self, time_first: bytes) -> bytes:
        return time_first[8:-4] + time_first[:8] + time_first[-4:]

    def time_and_place(self, key: bytes) -> tuple[int, Any]:
        at = len(key) - WINDOW_STORE_SUFFIX_SIZE
        return _START.unpack_from(key, at)[0], key[:at]

    def key_at(self, time: int, place: Any) -> bytes:
        return window_store_key(place, time)

    def plain_key(self, place: Any) -> bytes:
        return place  # type: ignore[no-any-return]

    def place_bounds(self, key_from: bytes | None, key_to: bytes | None) -> tuple[Any, Any]:
        return key_from, key_to


class DuplicateKeySchema(WindowKeySchema):
    """Among duplicates the sequence number counts in memory, too."""

    def time_and_place(self, key: bytes) -> tuple[int, Any]:
        return window_store_start(key), key[:-WINDOW_STORE_SUFFIX_SIZE] + key[-_SEQUENCE.size :]

    def key_at(self, time: int, place: Any) -> bytes:
        return window_store_key(place[: -_SEQUENCE.size], time, *_SEQUENCE.unpack(place[-_SEQUENCE.size :]))

    def plain_key(self, place: Any) -> bytes:
        return place[: -_SEQUENCE.size]  # type: ignore[no-any-return]

    def place_bounds(self, key_from: bytes | None, key_to: bytes | None) -> tuple[Any, Any]:
        first = None if key_from is None else key_from + _SEQUENCE.pack(0)
        return first, None if key_to is None else key_to + _SEQUENCE.pack(MAX_SEQUENCE)


class SessionKeySchema:
    """Key, session end, session start; the end chooses the segment."""

    entries = "session"
    by_start = False
    suffix_size = SESSION_SUFFIX_SIZE

    time_of = staticmethod(session_end)

    def last_time(self, time_to: int) -> int:
        """Sessions may end any time later."""
        return MAX_TIMESTAMP

    def fixed_bounds(self, key: bytes, time_from: int, time_to: int) -> tuple[bytes, bytes]:
        """From the earliest end on."""
        return session_key(key, 0, max(0, time_from)), session_key(key, time_to, MAX_TIMESTAMP)

    def lower_bound(self, key: bytes) -> bytes:
        return key + bytes(_SESSION_SUFFIX.size)

    def upper_bound(self, key: bytes, time_to: int) -> bytes:
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

    def time_first(self, key: bytes) -> bytes:
        """Session end, session start, key."""
        return key[-16:] + key[:-16]

    def time_last(self, time_first: bytes) -> bytes:
        return time_first[16:] + time_first[:16]

    def time_and_place(self, key: bytes) -> tuple[int, Any]:
        """By key; of those with the same end, the latest start first."""
        plain_key, start, end = parse_session_key(key)
        return end, (plain_key, -start)

    def key_at(self, time: int, place: Any) -> bytes:
        return session_key(place[0], -place[1], time)

    def plain_key(self, place: Any) -> bytes:
        return place[0]  # type: ignore[no-any-return]

    def place_bounds(self, key_from: bytes | None, key_to: bytes | None) -> tuple[Any, Any]:
        first = None if key_from is None else (key_from,)
        return first, None if key_to is None else (key_to, MAX_TIMESTAMP)


def _upper_bound(key: bytes, suffix: bytes) -> bytes:
    # Kafka's OrderedBytes: a shorter key's suffix may sort after a longer key, so cut the key where it could.
    if suffix[0] == 0:
        return key + suffix
    size = 1
    while size < len(key) and key[size] >= suffix[0]:
        size += 1
    return key[:size] + suffix


WINDOW_KEYS, DUPLICATE_KEYS, SESSION_KEYS = WindowKeySchema(), DuplicateKeySchema(), SessionKeySchema()
