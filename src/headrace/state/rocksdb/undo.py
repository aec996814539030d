"""Undo records: what was there before a visit wrote a chunk, and at which version the database is.

They lie in a column family of their own, out of the way of the store's keys, and are written together with the chunk.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import msgspec
from rocksdict import Rdict, WriteBatch

from headrace.state.bytes_stores import next_prefix
from headrace.state.rocksdb.database import forward
from headrace.state.version import Version

FAMILY = "undo"
_VERSION = b"v"
_HEADER, _OLD_VALUES = b"h", b"o"
_NUMBER = struct.Struct(">Q")

Span = tuple[bytes, bytes]
"""The keys from the first to before the second."""


class Chunk(NamedTuple):
    """A part of what a visit wrote: where the visit started, where it was to end, which spans the chunk deleted."""

    number: int
    base: Version | None
    target: Version
    deleted: list[Span]
    positions: list[tuple[str, int, int]]
    """Up to where changelogs were applied at the start of the visit: topic, partition, offset."""


class _Header(msgspec.Struct, array_like=True, frozen=True):
    """The first part of an undo record: all of a chunk but its number."""

    base: tuple[int, int, int] | None
    target: tuple[int, int, int]
    deleted: list[Span]
    positions: list[tuple[str, int, int]] = []


_read_header = msgspec.msgpack.Decoder(_Header).decode
_read_old_values = msgspec.msgpack.Decoder(list[tuple[bytes, bytes | None]]).decode
_read_version = msgspec.msgpack.Decoder(tuple[int, int, int]).decode
_dump = msgspec.msgpack.Encoder().encode


def version_in(family: Any) -> Version | None:
    """The version of the database; None where none was written."""
    data = family.get(_VERSION)
    return None if data is None else Version(*_read_version(data))


def chunks_in(family: Any) -> list[Chunk]:
    """The chunks that have undo records, oldest first."""
    chunks = []
    for key, data in forward(family, _HEADER, next_prefix(_HEADER)):
        header, number = _read_header(data), _NUMBER.unpack_from(key, len(_HEADER))[0]
        base = None if header.base is None else Version(*header.base)
        chunks.append(Chunk(number, base, Version(*header.target), header.deleted, header.positions))
    return chunks


def old_values(family: Any, chunk: Chunk) -> list[tuple[bytes, bytes | None]]:
    """The keys that a chunk wrote, each with its value from before."""
    return _read_old_values(family.get(_OLD_VALUES + _NUMBER.pack(chunk.number)))


class UndoBatch:
    """One write of entries together with undo records and the version, all or nothing."""

    def __init__(self, rdict: Rdict) -> None:
        self._rdict = rdict
        self._batch = WriteBatch(raw_mode=True)
        # The database counts as open for as long as someone holds this.
        self._family: Any = rdict.get_column_family_handle(FAMILY)

    def set(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            self._batch.delete(key)
        else:
            self._batch.put(key, value)

    def delete_spans(self, spans: list[Span]) -> None:
        for start, end in spans:
            self._batch.delete_range(start, end)

    def set_version(self, version: Version | None) -> None:
        if version is None:
            self._batch.delete(_VERSION, self._family)
        else:
            self._batch.put(_VERSION, _dump(version), self._family)

    def add_record(self, chunk: Chunk, before: list[tuple[bytes, bytes | None]]) -> None:
        place = _NUMBER.pack(chunk.number)
        self._batch.put(_HEADER + place, _dump(_Header(*chunk[1:])), self._family)
        self._batch.put(_OLD_VALUES + place, _dump(before), self._family)

    def drop_record(self, chunk: Chunk) -> None:
        place = _NUMBER.pack(chunk.number)
        self._batch.delete(_HEADER + place, self._family)
        self._batch.delete(_OLD_VALUES + place, self._family)

    @property
    def size(self) -> int:
        return self._batch.size_in_bytes()

    def write(self) -> None:
        if not self._batch.is_empty():
            self._rdict.write(self._batch)
        self._family = None
