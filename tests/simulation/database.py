"""A stand-in for RocksDB that opens in no time and loses what RocksDB would lose.

Entries are kept in dicts. A write goes to a log, batch by batch, with a checksum; opening replays the log up to the
first batch that is not whole, and then writes a table that counts as flushed, as RocksDB does. Only what the stores'
databases call is here.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

_DEFAULT = "default"
_Change = tuple[str, str, bytes, bytes | None]
"""Column family, what to do (``put``, ``delete``, ``delete_range``), key, value or end."""

_encode = msgspec.msgpack.Encoder().encode
_read_batch = msgspec.msgpack.Decoder(list[_Change]).decode
_read_table = msgspec.msgpack.Decoder(dict[str, list[tuple[bytes, bytes]]]).decode


class FakeBatch:
    """Changes that are written together."""

    def __init__(self, raw_mode: bool = True) -> None:
        self.changes: list[_Change] = []

    def put(self, key: bytes, value: bytes, family: str = _DEFAULT) -> None:
        self.changes.append((family, "put", key, value))

    def delete(self, key: bytes, family: str = _DEFAULT) -> None:
        self.changes.append((family, "delete", key, None))

    def delete_range(self, start: bytes, end: bytes, family: str = _DEFAULT) -> None:
        self.changes.append((family, "delete_range", start, end))

    def is_empty(self) -> bool:
        return not self.changes

    def size_in_bytes(self) -> int:
        return len(_encode(self.changes))


class FakeCursor:
    """Behind the last entry, and nothing went wrong on the way."""

    def seek(self, key: bytes) -> None: ...

    seek_for_prev = seek

    def seek_to_last(self) -> None: ...

    next = prev = seek_to_last

    def valid(self) -> bool:
        return False

    def status(self) -> None: ...


class FakeFamily:
    """One column family for reading."""

    def __init__(self, entries: dict[bytes, bytes]) -> None:
        self.entries = entries

    def get(self, key: bytes | list[bytes]) -> Any:
        return [self.entries.get(each) for each in key] if isinstance(key, list) else self.entries.get(key)

    def items(self, backwards: bool = False, from_key: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """The entries from a key on, as they are now."""
        keys = sorted(self.entries)
        if backwards:
            end = len(keys) if from_key is None else bisect_left(keys, from_key + b"\0")
            keys = keys[:end][::-1]
        elif from_key is not None:
            keys = keys[bisect_left(keys, from_key) :]
        return iter([(key, self.entries[key]) for key in keys])

    def iter(self) -> FakeCursor:
        return FakeCursor()

    def close(self) -> None:
        """Nothing is held."""


class FakeDatabase(FakeFamily):
    """An open database. ``on_synced`` is told when its log was flushed."""

    on_synced: Callable[[Path], None] | None = None

    def __init__(self, path: str, options: Any = None, column_families: dict[str, Any] | None = None) -> None:
        directory = Path(path)
        directory.mkdir(exist_ok=True)
        self._table, self._log = directory / "000001.sst", directory / "000002.log"
        self._families: dict[str, dict[bytes, bytes]] = {_DEFAULT: {}}
        self._families.update({name: {} for name in column_families or {}})
        super().__init__(self._families[_DEFAULT])
        if self._table.exists():
            for name, entries in _read_table(self._table.read_bytes()).items():
                self._families[name].update(entries)
        if self._log.exists() and self._replay(self._log.read_bytes()):
            self._write_table()
        self._log.write_bytes(b"")
        self.flush_wal(True)

    def get_column_family(self, name: str) -> FakeFamily:
        return FakeFamily(self._families[name])

    def get_column_family_handle(self, name: str) -> str:
        return name

    def write(self, batch: FakeBatch) -> None:
        data = _encode(batch.changes)
        with self._log.open("ab") as log:
            log.write(len(data).to_bytes(4, "big") + zlib.crc32(data).to_bytes(4, "big") + data)
        self._apply(batch.changes)

    def flush_wal(self, sync: bool) -> None:
        if sync and FakeDatabase.on_synced is not None:
            FakeDatabase.on_synced(self._log)

    def property_int_value(self, name: str) -> int:
        return len(self.entries)

    def _replay(self, data: bytes) -> bool:
        at = 0
        while at + 8 <= len(data):
            size, checksum = int.from_bytes(data[at : at + 4], "big"), int.from_bytes(data[at + 4 : at + 8], "big")
            body = data[at + 8 : at + 8 + size]
            if len(body) < size or zlib.crc32(body) != checksum:
                break
            self._apply(_read_batch(body))
            at += 8 + size
        return at > 0

    def _apply(self, changes: list[_Change]) -> None:
        for name, kind, key, value in changes:
            entries = self._families[name]
            if kind == "put":
                assert value is not None
                entries[key] = value
            elif kind == "delete":
                entries.pop(key, None)
            else:
                assert value is not None
                for each in [each for each in entries if key <= each < value]:
                    del entries[each]

    def _write_table(self) -> None:
        draft = self._table.with_suffix(".draft")
        draft.write_bytes(_encode({name: list(entries.items()) for name, entries in self._families.items()}))
        draft.replace(self._table)
