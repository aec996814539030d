"""The serde of lists, in Kafka's two layouts."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.errors import SerializationError
from headrace.serde.contract import Serde, shorten, wrong_type
from headrace.serde.defaults import SerdeSettings, known_inner, resolve_inner
from headrace.serde.primitives import FloatingSerde, IntegerSerde, UuidSerde

_CONSTANT_SIZE, _VARIABLE_SIZE = 0, 1
_NULL_ENTRY = -1
_INT = struct.Struct(">i")
_FIXED_SIZE_SERDES = IntegerSerde, FloatingSerde, UuidSerde


@dataclass(frozen=True, slots=True)
class ListSerde:
    """A list whose entries ``inner`` writes; entries may be None.

    Entries of one size (numbers, UUIDs) stand back to back, after the positions of the None among them;
    any others carry their length.
    """

    inner: Serde[Any] | None

    def __repr__(self) -> str:
        return f"serdes.list({'' if self.inner is None else repr(self.inner)})"

    def serialize(self, topic: str, value: Sequence[Any] | None) -> bytes | None:
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            raise wrong_type("list()", "list", value)
        inner = known_inner(self.inner, "list()")
        entries = [None if entry is None else inner.serialize(topic, entry) for entry in value]
        return _join_variable(entries) if _entry_size(inner) is None else _join_constant(entries)

    def deserialize(self, topic: str, data: bytes | None) -> list[Any] | None:
        if data is None:
            return None
        inner = known_inner(self.inner, "list()")
        try:
            entries = _split(data, _entry_size(inner))
        except (struct.error, IndexError):
            raise _malformed(data) from None
        return [None if entry is None else inner.deserialize(topic, entry) for entry in entries]

    def with_defaults(self, config: SerdeSettings, is_key: bool) -> ListSerde:
        """The same serde with its inner one filled in, from ``default.list.key.serde.inner`` or its sister."""
        if self.inner is None:
            return replace(self, inner=config.default_list_inner_serde(is_key=is_key))
        return replace(self, inner=resolve_inner(self.inner, config, is_key=is_key))


def _entry_size(inner: Serde[Any]) -> int | None:
    return inner.fixed_size if isinstance(inner, _FIXED_SIZE_SERDES) else None


def _join_variable(entries: list[bytes | None]) -> bytes:
    parts = [bytes((_VARIABLE_SIZE,)), _INT.pack(len(entries))]
    for entry in entries:
        parts.append(_INT.pack(_NULL_ENTRY if entry is None else len(entry)))
        if entry is not None:
            parts.append(entry)
    return b"".join(parts)


def _join_constant(entries: list[bytes | None]) -> bytes:
    nulls = [index for index, entry in enumerate(entries) if entry is None]
    head = struct.pack(f">bi{len(nulls)}ii", _CONSTANT_SIZE, len(nulls), *nulls, len(entries))
    return head + b"".join(entry for entry in entries if entry is not None)


def _split(data: bytes, entry_size: int | None) -> list[bytes | None]:
    if data[0] == _VARIABLE_SIZE:
        return _split_variable(data)
    if data[0] == _CONSTANT_SIZE and entry_size is not None:
        return _split_constant(data, entry_size)
    raise _malformed(data)


def _split_variable(data: bytes) -> list[bytes | None]:
    entries: list[bytes | None] = []
    position = 5
    for _ in range(_INT.unpack_from(data, 1)[0]):
        size = _INT.unpack_from(data, position)[0]
        position += _INT.size
        entries.append(None if size == _NULL_ENTRY else _slice(data, position, size))
        position += max(size, 0)
    return entries


def _split_constant(data: bytes, entry_size: int) -> list[bytes | None]:
    null_count = _INT.unpack_from(data, 1)[0]
    if null_count < 0:
        raise _malformed(data)
    *nulls, size = struct.unpack_from(f">{null_count}ii", data, 5)
    missing = set(nulls)
    position = 5 + 4 * null_count + 4
    entries: list[bytes | None] = []
    for index in range(size):
        if index in missing:
            entries.append(None)
        else:
            entries.append(_slice(data, position, entry_size))
            position += entry_size
    return entries


def _slice(data: bytes, start: int, size: int) -> bytes:
    if size < 0 or start + size > len(data):
        raise _malformed(data)
    return data[start : start + size]


def _malformed(data: bytes) -> SerializationError:
    message = f"list() cannot read the bytes {shorten(data)}"
    return SerializationError(message, hint="Was the topic written with another serde, or with another inner serde?")
