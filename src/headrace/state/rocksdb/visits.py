"""RocksDB databases that can go back: the writes of a visit reach them together with what undoes them.

What a task does in a micro-batch is a *visit*. It starts from the version that was committed last and ends at a new
one. Until the batch is committed by its driver nobody knows whether that version will ever count. So it must be
possible to go back, in another process too.

What is written during a visit waits in memory and goes to RocksDB in chunks. Each chunk is one write batch with its
own undo record: the values there were before. The last chunk carries the version.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

import msgspec
from rocksdict import Options, Rdict

from headrace.errors import InternalError
from headrace.failpoints import reach
from headrace.state.bytes_stores import next_prefix
from headrace.state.memory.sorted_map import SortedMap
from headrace.state.rocksdb.database import Database, raw_options
from headrace.state.rocksdb.failures import explained, explanation, is_corruption
from headrace.state.rocksdb.manifest import is_manifest_damaged, seal_manifest
from headrace.state.rocksdb.undo import FAMILY, Chunk, Span, UndoBatch, chunks_in, old_values, version_in
from headrace.state.version import Version, Visit

log = logging.getLogger(__name__)

CHUNK_BYTES = 8 << 20
CHUNK_KEYS = 50_000
"""What a database holds in memory at most before it writes a chunk."""

_ENTRY_BYTES = 64
_GONE: Any = object()


class VisitedDatabase(Database):
    """A database during one visit. Reads and scans see what the visit wrote; ``close`` without ``commit`` undoes it.

    A deleted prefix is deleted for good when the next batch begins; until then its keys cannot be written again.
    """

    __slots__ = (
        "_base",
        "_can_restore_from",
        "_chunk_bytes",
        "_chunks",
        "_deleted",
        "_entries",
        "_family",
        "_is_corrupt",
        "_is_open",
        "_next_number",
        "_overlay",
        "_path",
        "_positions",
        "_read",
        "_size",
        "_target",
        "_to_delete",
        "found",
        "found_positions",
        "is_stale",
    )

    def __init__(
        self,
        path: Path,
        options: Options,
        visit: Visit,
        *,
        chunk_bytes: int = CHUNK_BYTES,
        can_restore_from: Callable[[Version], bool] = lambda version: True,
        positions: Mapping[tuple[str, int], int] | None = None,
    ) -> None:
        """``can_restore_from`` tells whether it is known up to where changelogs were applied at that version.

        ``positions`` says it for the base of this visit.
        """
        with explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._is_corrupt = False
        self._can_restore_from = can_restore_from
        self._base, self._target = visit.base, visit.target
        self._positions = _packed(positions)
        self._chunk_bytes = chunk_bytes
        self._overlay: SortedMap[bytes, Any] = SortedMap()
        self._entries = self._overlay.entries
        self._size = 0
        self._deleted: list[Span] = []
        self._to_delete: list[Span] = []
        self.is_stale = False
        """Whether the database is not at the visit's base: it has to be brought there before the visit begins."""
        self.found: Version | None = None
        """For a stale one: the committed version that it is at; None where it is empty."""
        self.found_positions: dict[tuple[str, int], int] = {}
        """Up to where changelogs are applied there, where the database itself knows."""
        self._attach(_open(path, options))
        try:
            if not self._is_of_use():
                self._wipe(path, options)
        except BaseException:
            self.close()
            raise

    def _attach(self, rdict: Rdict) -> None:
        self._is_open = True
        self._rdict = rdict
        self._scans = WeakSet()
        self._family: Any = rdict.get_column_family(FAMILY)
        self._read: Callable[[bytes], bytes | None] = rdict.get
        self.get = self._get
        self._next_number = 0
        self._chunks: list[Chunk] = []

    # What stores do

    def _get(self, key: bytes) -> bytes | None:
        value = self._entries.get(key)
        if value is None:
            try:
                return None if self._deleted and self._is_deleted(key) else self._read(key)
            except Exception as error:
                raise self._failed(error) from error
        return None if value is _GONE else value

    def put(self, key: bytes, value: bytes | None) -> None:
        """Write ``value``; None deletes."""
        if self._deleted and self._is_deleted(key):
            if value is None:
                return
            message = "a key was written again in the batch in which its prefix was deleted"
            raise InternalError(message, detail=f"key {key!r}")
        entries = self._entries
        held = entries.get(key)
        if held is None:
            self._overlay.put(key, _GONE if value is None else value)
            self._size += len(key) + _ENTRY_BYTES
        else:
            entries[key] = _GONE if value is None else value
            if held is not _GONE:
                self._size -= len(held)
        if value is not None:
            self._size += len(value)
        if self._size > self._chunk_bytes or len(entries) >= CHUNK_KEYS:
            self._write_chunk()

    def scan(
        self, start: bytes = b"", end: bytes | None = None, *, reverse: bool = False
    ) -> Generator[tuple[bytes, bytes], None, None]:
        """The entries with ``start <= key < end``, in order of their keys, as they are now."""
        written = self._written(start, end, reverse)
        beneath = self._explained(super().scan(start, end, reverse=reverse))
        if not written and not self._deleted:
            self._scans.add(beneath)
            return beneath
        scan = _merged(iter(written), self._without_deleted(beneath), reverse)
        self._scans.add(scan)
        return scan

    def delete_prefix(self, prefix: bytes) -> None:
        end = next_prefix(prefix)
        if end is None:
            for key, _ in self.scan(prefix):
                self.put(key, None)
            return
        for key, _ in self._written(prefix, end, False):
            self._overlay.remove(key)
        self._deleted.append((prefix, end))
        self._to_delete.append((prefix, end))

    def approximate_num_entries(self) -> int:
        """About how many entries there are; an overwritten one may count twice."""
        return super().approximate_num_entries() + len(self._entries)

    def flush(self) -> None:
        """Nothing to do: what is written is of use only together with the version."""

    def close(self) -> None:
        """Close the files. What was written since the last ``commit`` is undone when they are opened again."""
        if self._is_open:
            self._is_open = False
            self.close_scans()
            try:
                self._family.close()
                self._rdict.close()
            finally:
                # Closing flushes, which may fail. RocksDB holds its lock for as long as anyone can reach the database.
                self._rdict = self._family = self._read = self.get = None  # type: ignore[assignment]
            if self._is_corrupt:
                shutil.rmtree(self._path, ignore_errors=True)
            else:
                with suppress(OSError):  # best effort: without a seal the next open has one check less
                    seal_manifest(self._path)

    # What the task does

    def settle(self) -> None:
        """What was written up to now brought a stale database to the visit's base: the visit can begin."""
        self._write_plainly(self._base)
        self.is_stale = False

    def commit(self) -> None:
        """Write what is left, and the version."""
        reach("state.before-version")
        self._write_chunk(self._target)
        reach("state.after-version")

    def begin(self, visit: Visit, positions: Mapping[tuple[str, int], int] | None = None) -> None:
        """Go on with a visit that starts from the version just written."""
        self._base, self._target = visit.base, visit.target
        self._positions = _packed(positions)
        self._deleted = []
        self._forget(self._chunks)

    # Opening

    def _is_of_use(self) -> bool:
        try:
            return self._go_back()
        except msgspec.MsgspecError as error:
            log.warning("removing the database %s: it was written by another Headrace (%s)", self._path, error)
        except Exception as error:
            if not is_corruption(error):
                raise explanation(error, self._path) from error
            log.warning("removing the database %s: %s", self._path, error)
        return False

    def _go_back(self) -> bool:
        """Undo what was not committed; False where that is not possible and the database must be filled again."""
        version, chunks = version_in(self._family), chunks_in(self._family)
        start = len(chunks) if version == self._base else None
        start = next((at for at, chunk in enumerate(chunks) if chunk.base == self._base), start)
        if start is not None:
            self._undo(chunks[start:])
            self._forget(chunks[:start])
            return True
        # The version before the oldest undo record was the committed one when that visit began.
        found = chunks[0].base if chunks else version
        if self._base is None or (found is not None and found >= self._base):
            log.warning(
                "removing the database %s: it is at %s, which was never committed; committed is %s",
                self._path,
                found,
                self._base,
            )
            return False
        if chunks:
            self.found_positions = {(topic, number): offset for topic, number, offset in chunks[0].positions}
        if found is not None and not (self.found_positions or self._can_restore_from(found)):
            log.warning("removing the database %s: its changelog position at %s is not known", self._path, found)
            return False
        self._undo(chunks)
        self.is_stale, self.found = True, found
        # Without a version, the content may be incomplete.
        return found is not None or self.first_key(b"") is None

    def _wipe(self, path: Path, options: Options) -> None:
        self.close()
        with explained(path):
            shutil.rmtree(path)
        self._attach(_open(path, options))
        self.is_stale, self.found = self._base is not None, None

    def _undo(self, chunks: list[Chunk]) -> None:
        for chunk in reversed(chunks):
            batch = UndoBatch(self._rdict)
            for key, value in old_values(self._family, chunk):
                batch.set(key, value)
            batch.drop_record(chunk)
            batch.set_version(chunk.base)
            batch.write()
            reach("state.after-undo")

    def _forget(self, chunks: list[Chunk]) -> None:
        """A new batch begins, so earlier ones are committed: remove what they deleted, and their undo records."""
        batch = UndoBatch(self._rdict)
        self._chunks = []
        for chunk in chunks:
            self._next_number = chunk.number + 1
            if chunk.target.batch >= self._target.batch:
                self._deleted += chunk.deleted
                self._chunks.append(chunk)
                continue
            batch.delete_spans(chunk.deleted)
            batch.drop_record(chunk)
        batch.write()
        reach("state.after-forget")

    # Writing

    def _write_chunk(self, version: Version | None = None) -> None:
        if self.is_stale:
            self._write_plainly(None)
            return
        reach("state.before-chunk")
        keys = list(self._entries)
        before = list(zip(keys, self._multi_get(keys), strict=True)) if keys else []
        batch = UndoBatch(self._rdict)
        chunk = Chunk(self._next_number, self._base, self._target, self._to_delete, self._positions)
        batch.add_record(chunk, before)
        self._chunks.append(chunk)
        self._write(batch, version)
        self._next_number += 1
        reach("state.after-chunk")

    def _write_plainly(self, version: Version | None) -> None:
        batch = UndoBatch(self._rdict)
        batch.delete_spans(self._to_delete)
        self._write(batch, version)
        self._deleted = []

    def _write(self, batch: UndoBatch, version: Version | None) -> None:
        for key, value in self._entries.items():
            batch.set(key, None if value is _GONE else value)
        if version is not None:
            batch.set_version(version)
        with explained(self._path, batch.size):
            batch.write()
        self._overlay.clear()
        self._size = 0
        self._to_delete = []

    def _multi_get(self, keys: list[bytes]) -> list[bytes | None]:
        read: Any = self._rdict.get
        try:
            return read(keys)  # type: ignore[no-any-return]
        except Exception as error:
            raise self._failed(error) from error

    # Reading

    def _failed(self, error: Exception) -> Exception:
        """What to raise; a corrupt database goes when it is closed, so that the next visit restores it."""
        self._is_corrupt = self._is_corrupt or is_corruption(error)
        return explanation(error, self._path)

    def _explained(
        self, scan: Generator[tuple[bytes, bytes], None, None]
    ) -> Generator[tuple[bytes, bytes], None, None]:
        try:
            yield from scan
        except Exception as error:
            raise self._failed(error) from error

    def _written(self, start: bytes, end: bytes | None, reverse: bool) -> list[tuple[bytes, Any]]:
        if not self._entries:
            return []
        entries = self._entries
        keys = self._overlay.keys(start, end, forward=not reverse)
        return [(key, entries[key]) for key in keys if key != end]

    def _is_deleted(self, key: bytes) -> bool:
        return any(start <= key < end for start, end in self._deleted)

    def _without_deleted(self, entries: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        if not self._deleted:
            return entries
        return (entry for entry in entries if not self._is_deleted(entry[0]))


def _packed(positions: Mapping[tuple[str, int], int] | None) -> list[tuple[str, int, int]]:
    return [(*partition, offset) for partition, offset in (positions or {}).items()]


def _open(path: Path, options: Options) -> Rdict:
    options.create_missing_column_families(True)
    try:
        if is_manifest_damaged(path):
            raise RuntimeError("Corruption: the list of files is not the one that was written")
        return Rdict(str(path), options, column_families={FAMILY: raw_options()})
    except Exception as error:
        if not any(sign in str(error) for sign in _UNREADABLE):
            raise explanation(error, path) from error
        # Its content comes back from the changelog.
        log.warning("removing the database %s: %s", path, error)
    with explained(path):
        shutil.rmtree(path)
        return Rdict(str(path), options, column_families={FAMILY: raw_options()})


_UNREADABLE = ("Corruption", "No such file", "Invalid argument", "Not implemented")
"""What RocksDB says of files that are damaged, missing, or of a format that it does not know."""


def _merged(
    written: Iterator[tuple[bytes, Any]], beneath: Iterator[tuple[bytes, bytes]], reverse: bool
) -> Generator[tuple[bytes, bytes], None, None]:
    """Both in order; where both have a key, what was written counts."""
    upper, lower = next(written, None), next(beneath, None)
    while upper is not None or lower is not None:
        if upper is None or (lower is not None and (lower[0] > upper[0] if reverse else lower[0] < upper[0])):
            assert lower is not None
            yield lower
            lower = next(beneath, None)
            continue
        if lower is not None and lower[0] == upper[0]:
            lower = next(beneath, None)
        if upper[1] is not _GONE:
            yield upper
        upper = next(written, None)
