"""What survives a power loss: the medium under the broker's directory, and what of the rest is at risk.

Files and names count as safe once ``os.fsync`` was called for them or for their directory. At a power loss the seed
decides, one by one, what becomes of the others: a file that was created may be missing, a removed one may be back,
bytes that were written may be there in part or be garbage. SQLite promises that a transaction committed with
``synchronous=FULL`` survives; one that is under way may leave any part of its write-ahead log. Databases of stores
are never flushed but when they are opened: their logs may lose any tail, their directories may be gone as a whole.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

SECTOR = 512
_CATALOG = "catalog.db"
_LOG = "catalog.db-wal"


class Medium:
    """Knows what is safe below ``root``, which has a ``broker`` and directories of state."""

    def __init__(self, root: Path, trace: Callable[[str], None]) -> None:
        self.root = root
        self._trace = trace
        self._contents: dict[str, bytes] = {}
        self._names: dict[str, set[str]] = {"": {"broker"}}
        self._safe_catalog: tuple[bytes, bytes] | None = None
        self._safe_logs: dict[str, int] = {}

    # What is told while the world runs

    def flushed(self, descriptor: int) -> None:
        """Somebody called ``fsync``."""
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if self.root not in (path, *path.parents):
            return
        place = self._place(path)
        if path.is_dir():
            self._names[place] = set(os.listdir(path))
        else:
            self._contents[place] = path.read_bytes()

    def catalog_synced(self) -> None:
        """A transaction is on the medium; SQLite has also flushed the directory in which it made its log."""
        self._safe_catalog = None
        names = self._names.setdefault("broker", set())
        names.update(name for name in os.listdir(self.root / "broker") if name != "topics")

    def catalog_not_synced(self, before: tuple[bytes, bytes]) -> None:
        """A transaction was committed that is not on the medium; ``before`` is what was there before."""
        if self._safe_catalog is None:
            self._safe_catalog = before

    def log_synced(self, path: Path) -> None:
        """The log of a database is on the medium as far as it goes."""
        self._safe_logs[self._place(path)] = path.stat().st_size

    def catalog(self) -> tuple[bytes, bytes]:
        """The bytes of the catalog and of its log as they are now."""
        directory = self.root / "broker"
        return _bytes(directory / _CATALOG), _bytes(directory / _LOG)

    # What happens to a copy of the root

    def tear_catalog(self, image: Path, before: tuple[bytes, bytes], random: Random, *, in_order: bool) -> None:
        """Let the transaction that was committed last be half written in ``image``."""
        (image / "broker" / _CATALOG).write_bytes(before[0])
        log = image / "broker" / _LOG
        log.write_bytes(_torn(before[1], _bytes(log), random, in_order=in_order))

    def lose_power(self, image: Path, random: Random) -> None:
        """Take from ``image`` what was not safe."""
        if self._safe_catalog is not None:
            self.tear_catalog(image, self._safe_catalog, random, in_order=False)
        if (image / "broker").exists():
            self._lose_names(image, "broker", random)
            self._lose_contents(image, random)
        shutil.rmtree(image / "shm", ignore_errors=True)
        for task in sorted(path for path in image.glob("state-*/*/*") if path.is_dir()):
            self._lose_state(task, image, random)

    def settle(self) -> None:
        """After a power loss everything that is left is on the medium."""
        self._contents, self._names, self._safe_logs = {}, {}, {}
        self._safe_catalog = None
        for directory, names, files in os.walk(self.root):
            place = self._place(Path(directory))
            self._names[place] = {*names, *files}
            if place.startswith("broker/topics"):
                self._contents.update((f"{place}/{name}", Path(directory, name).read_bytes()) for name in files)

    def _lose_names(self, image: Path, place: str, random: Random) -> None:
        here = image / place
        live, safe = set(os.listdir(here)), self._names.get(place, set())
        for name in sorted(live - safe):
            if random.random() < 0.5:
                self._trace(f"    {place}/{name} is missing")
                _remove(here / name)
        for name in sorted(safe - live):
            if f"{place}/{name}" in self._contents and random.random() < 0.5:
                self._trace(f"    {place}/{name} is back")
                (here / name).write_bytes(self._contents[f"{place}/{name}"])
        for name in sorted(os.listdir(here)):
            if (here / name).is_dir():
                self._lose_names(image, f"{place}/{name}", random)

    def _lose_contents(self, image: Path, random: Random) -> None:
        for path in sorted((image / "broker" / "topics").rglob("*.arrow")):
            safe, live = self._contents.get(path.relative_to(image).as_posix(), b""), path.read_bytes()
            if safe != live:
                self._trace(f"    {path.relative_to(image)} is torn")
                path.write_bytes(_torn(safe, live, random, in_order=random.random() < 0.5))

    def _lose_state(self, task: Path, image: Path, random: Random) -> None:
        """A directory of a task: as it is, without the ends of its logs, without some of its parts, or gone."""
        fate = random.choice(("kept", "shorter", "shorter", "shorter", "partly", "gone"))
        self._trace(f"    {task.relative_to(image)} is {fate}")
        if fate == "shorter":
            for log in sorted(task.rglob("*.log")):
                safe = self._safe_logs.get(log.relative_to(image).as_posix(), 0)
                os.truncate(log, random.randint(min(safe, log.stat().st_size), log.stat().st_size))
        elif fate == "partly":
            for path in _parts_of(task):
                if random.random() < 0.5:
                    _remove(path)
        elif fate == "gone":
            _remove(task)

    def _place(self, path: Path) -> str:
        return "" if path == self.root else path.relative_to(self.root).as_posix()


def _parts_of(task: Path) -> Iterator[Path]:
    """What can go on its own: a database as a whole, or a file of the task's own."""
    yield from sorted((task / "rocksdb").glob("*"))
    yield from sorted(path for path in task.iterdir() if path.is_file())


def _torn(safe: bytes, live: bytes, random: Random, *, in_order: bool) -> bytes:
    """Some of what was written since: the first so many bytes, or any sectors."""
    size = random.randint(min(len(safe), len(live)), len(live))
    if in_order:
        cut = random.randint(0, size)
        return live[:cut] + safe[cut:]
    pieces = []
    for start in range(0, size, SECTOR):
        end = min(start + SECTOR, size)
        kept = live if random.random() < 0.7 else safe
        pieces.append(kept[start:end].ljust(end - start, b"\0"))
    return b"".join(pieces)


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
