"""The memory of the Python processes below this one, watched while something runs."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from headrace.spark.host_wire import directory_of, process_at

_EVERY_SECONDS = 0.2


class PeakMemory:
    """The most that the Python workers of Spark held together, in MB; this process and the JVM are not counted.

    Memory that processes share, as all workers share what they were forked with, is divided among them.
    """

    def __init__(self) -> None:
        self.megabytes = 0.0
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        self._watcher.join()

    def _watch(self) -> None:
        while not self._ended.wait(_EVERY_SECONDS):
            held = sum(_megabytes(pid) for pid in _below(os.getpid()) if "python" in _command(pid))
            self.megabytes = max(self.megabytes, held)


def _below(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []
    return children + [each for child in children for each in _below(child)]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[0]
    except OSError:
        return ""


def _megabytes(pid: int, kind: str = "Pss") -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{kind}:")), 0.0)


def host_processes(run: str) -> list[int]:
    """The processes that keep the tasks of a run open."""
    found = (process_at(file.with_suffix("")) for file in directory_of(run).glob("*.pid"))
    return sorted(filter(None, found))


def resident_megabytes(processes: Iterable[int]) -> list[float]:
    """What each of them has in memory, with what it shares with others."""
    return [_megabytes(pid, "Rss") for pid in processes]
