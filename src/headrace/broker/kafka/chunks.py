"""Staged records in columns, a chunk for each partition, and chunks as bytes that can be verified."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import IO

import msgspec

from headrace.errors import CorruptLogError
from headrace.records import Headers, RawRecord

_FRAME = struct.Struct(">II")
_encode = msgspec.msgpack.Encoder().encode


class Chunk(msgspec.Struct, frozen=True, array_like=True):
    """Records of one partition, in columns."""

    topic: str
    partition: int
    timestamps: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    headers: list[list[tuple[str, bytes | None]]] | None
    """None where no record has any."""


_decode_chunk = msgspec.msgpack.Decoder(Chunk).decode


def frames_of(chunks: Iterable[Chunk]) -> Iterator[bytes]:
    """Chunks as bytes, each with its length and checksum."""
    for chunk in chunks:
        data = _encode(chunk)
        yield _FRAME.pack(len(data), zlib.crc32(data))
        yield data


def chunks_in(stream: IO[bytes], where: str) -> Iterator[Chunk]:
    """The chunks of a file; an error where they are not what was written."""
    while head := stream.read(_FRAME.size):
        data = b""
        if len(head) == _FRAME.size:
            length, checksum = _FRAME.unpack(head)
            data = stream.read(length)
        if len(head) < _FRAME.size or len(data) < length or zlib.crc32(data) != checksum:
            message = f"staged output is damaged: {where}"
            raise CorruptLogError(message, hint="Bring the file back from a copy, or reset the application.")
        yield _decode_chunk(data)


def frames_in(data: bytes) -> Iterator[Chunk]:
    """The chunks of a handover."""
    return chunks_in(io.BytesIO(data), "a handover")


def raw_records(chunk: Chunk, first: int) -> list[RawRecord]:
    """The records of a chunk, as a log would give them."""
    headers = chunk.headers or [[]] * len(chunk.keys)
    return [
        (chunk.topic, chunk.partition, first + number, timestamp, key, value, Headers(given))
        for number, (timestamp, key, value, given) in enumerate(
            zip(chunk.timestamps, chunk.keys, chunk.values, headers, strict=True)
        )
    ]
