"""One RocksDB database: bytes to bytes, ordered by key. Everything persistent is kept in such a one."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from rocksdict import Options, Rdict

from headrace.errors import ArgumentError
from headrace.state.bytes_stores import next_prefix

if TYPE_CHECKING:
    from headrace.state.contracts import StoreContext

__all__ = ["Database", "next_prefix", "raw_options"]


class Database:
    """An open RocksDB database. Scans see the entries as they were when the scan began."""

    __slots__ = ("_rdict", "_scans", "get")

    def __init__(self, path: Path, options: Options | None = None) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._rdict = Rdict(str(path), options or raw_options())
        self._scans: WeakSet[Generator[tuple[bytes, bytes], None, None]] = WeakSet()
        self.get: Callable[[bytes], bytes | None] = self._rdict.get
        """``get(key)``: its value or None."""

    @classmethod
    def open(cls, name: str, context: StoreContext) -> Database:
        """The database of the store ``name`` below the task's directory; the user may tune its options."""
        _check_file_name(name)
        options = raw_options()
        tune = context.config["rocksdb.config.setter"]
        if tune is not None:
            tune(name, options, context.config.originals)
        # A task whose state has versions has databases that can go back.
        visited = getattr(context, "databases", None)
        if visited is not None:
            return visited.open(name, options)  # type: ignore[no-any-return]
        return cls(context.state_dir / "rocksdb" / name, options)

    def put(self, key: bytes, value: bytes | None) -> None:
        """Write ``value``; None deletes."""
        if value is None:
            self._rdict.delete(key)
        else:
            self._rdict.put(key, value)

    def scan(
        self, start: bytes = b"", end: bytes | None = None, *, reverse: bool = False
    ) -> Generator[tuple[bytes, bytes], None, None]:
        """The entries with ``start <= key < end``, in order of their keys."""
        scan = backward(self._rdict, start, end) if reverse else forward(self._rdict, start, end)
        self._scans.add(scan)
        return scan

    def first_key(self, start: bytes, end: bytes | None = None) -> bytes | None:
        """The first key of the span."""
        return next((key for key, _ in self.scan(start, end)), None)

    def delete_prefix(self, prefix: bytes) -> None:
        end = next_prefix(prefix)
        if end is not None:
            self._rdict.delete_range(prefix, end)
            return
        for key, _ in self.scan(prefix):
            self._rdict.delete(key)

    def approximate_num_entries(self) -> int:
        """About how many entries there are; an overwritten one may count twice."""
        return self._rdict.property_int_value("rocksdb.estimate-num-keys") or 0

    def flush(self) -> None:
        """Hand what was written to the operating system; a crash of the process then loses nothing."""
        self._rdict.flush_wal(False)

    def close(self) -> None:
        """Close the files, and the scans that would keep them open; files that somebody removed are closed as well."""
        self.close_scans()
        path = Path(self._rdict.path())
        try:
            self._rdict.close()
        except Exception:  # the only class that rocksdict raises
            # Closing flushes, and there is nothing left to flush to.
            if path.exists():
                raise

    def close_scans(self) -> None:
        """End all scans that are under way."""
        for scan in list(self._scans):
            scan.close()


def raw_options() -> Options:
    """Options of a database whose keys and values are bytes as they are."""
    options = Options(raw_mode=True)
    # A new one begins whenever a database is opened, which is at every visit: a thousand would be kept.
    options.set_keep_log_file_num(1)
    return options


def _check_file_name(name: str) -> None:
    if name in ("", ".", "..") or any(character in name for character in "/\\\0"):
        message = f"a persistent store cannot be called {name!r}: its name is the name of its directory"
        raise ArgumentError(message, hint="Use letters, digits, '.', '_' and '-' only.")


def forward(rdict: Any, start: bytes, end: bytes | None = None) -> Generator[tuple[bytes, bytes], None, None]:
    """The entries with ``start <= key < end``, as they are now. What cannot be read is an exception, not the end."""
    return _forward(rdict, rdict.items(from_key=start), start, end)


def backward(rdict: Any, start: bytes, end: bytes | None) -> Generator[tuple[bytes, bytes], None, None]:
    """The same, from the last to the first."""
    return _backward(rdict, rdict.items(backwards=True, from_key=end), start, end)


def _forward(rdict: Any, entries: Any, start: bytes, end: bytes | None) -> Generator[tuple[bytes, bytes], None, None]:
    last = start
    for entry in entries:
        last = entry[0]
        if end is not None and last >= end:
            return
        yield entry
    cursor = rdict.iter()
    cursor.seek(last)
    _check_end(cursor, cursor.next)


def _backward(rdict: Any, entries: Any, start: bytes, end: bytes | None) -> Generator[tuple[bytes, bytes], None, None]:
    last = end
    for entry in entries:
        last = entry[0]
        if last < start:
            return
        if end is None or last < end:
            yield entry
    cursor = rdict.iter()
    if last is None:
        cursor.seek_to_last()
    else:
        cursor.seek_for_prev(last)
    _check_end(cursor, cursor.prev)


def _check_end(cursor: Any, step: Callable[[], None]) -> None:
    """Raise where there is more that cannot be read: iteration ends there as if it were the end."""
    if cursor.valid():
        step()
    cursor.status()
