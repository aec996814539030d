"""The bytes of windowed keys, in topics and in stores.

========================  ==========================================
time window, in a topic   key, start (8 bytes)
time window, in a store   key, start (8 bytes), sequence (4 bytes)
session, in both          key, **end** (8 bytes), start (8 bytes)
========================  ==========================================

Numbers are big-endian, so that the entries of one key sort by time.
"""

from __future__ import annotations

import struct

TIMESTAMP_SIZE = 8
WINDOW_STORE_SUFFIX_SIZE = 12
SESSION_SUFFIX_SIZE = 16

_START = struct.Struct(">q")
_SEQUENCE = struct.Struct(">i")
_START_AND_SEQUENCE = struct.Struct(">qi")
_END_AND_START = struct.Struct(">qq")


def window_topic_key(key: bytes, start: int) -> bytes:
    """The key of a time window as it is written to a topic."""
    return key + _START.pack(start)


def parse_window_topic_key(data: bytes) -> tuple[bytes, int]:
    """``(key, start)`` of a time window's key in a topic."""
    return data[:-TIMESTAMP_SIZE], _START.unpack_from(data, len(data) - TIMESTAMP_SIZE)[0]


def window_store_key(key: bytes, start: int, seq: int = 0) -> bytes:
    """The key of a time window as a store and its changelog keep it; ``seq`` tells duplicates apart."""
    return key + _START_AND_SEQUENCE.pack(start, seq)


def parse_window_store_key(data: bytes) -> tuple[bytes, int, int]:
    start, seq = _START_AND_SEQUENCE.unpack_from(data, len(data) - WINDOW_STORE_SUFFIX_SIZE)
    return data[:-WINDOW_STORE_SUFFIX_SIZE], start, seq


def window_store_start(data: bytes) -> int:
    start: int = _START.unpack_from(data, len(data) - WINDOW_STORE_SUFFIX_SIZE)[0]
    return start


def numbered(data: bytes, seq: int) -> bytes:
    """A window store's key with another sequence number."""
    return data[: -_SEQUENCE.size] + _SEQUENCE.pack(seq)


def session_key(key: bytes, start: int, end: int) -> bytes:
    """The key of a session, in topics, stores and changelogs alike. The end comes first: lookups search by it."""
    return key + _END_AND_START.pack(end, start)


def parse_session_key(data: bytes) -> tuple[bytes, int, int]:
    end, start = _END_AND_START.unpack_from(data, len(data) - SESSION_SUFFIX_SIZE)
    return data[:-SESSION_SUFFIX_SIZE], start, end


def session_end(data: bytes) -> int:
    end: int = _START.unpack_from(data, len(data) - SESSION_SUFFIX_SIZE)[0]
    return end
