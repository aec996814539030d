"""Processes below one: which there are, what they run, what they listen on."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from headrace.waiting import all_stacks

Found = TypeVar("Found")

_LISTEN = "0A"
LOOPBACK = ("0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000")
"""127.0.0.1 as /proc/net shows it, and the same in IPv6."""


def tree(root: int) -> list[int]:
    """The process and all below it."""
    children: dict[int, list[int]] = {}
    for process, parent in _parents():
        children.setdefault(parent, []).append(process)
    found = [root]
    for process in found:
        found += children.get(process, [])
    return found


def command_of(process: int) -> str:
    """Its command line; empty where it is gone."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
    except OSError:
        return ""


def below(root: int, *words: str) -> list[int]:
    """The processes below ``root`` whose command line has one of the words."""
    return [each for each in tree(root)[1:] if any(word in command_of(each) for word in words)]


def marked(variable: str, value: str) -> list[int]:
    """The processes that were started with this in their environment, also those whose parents are gone."""
    return [process for process, _ in _parents() if f"{variable}={value}" in _environment_of(process)]


def state_of(process: int) -> str:
    """R, S, T, Z …; empty where it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return ""


def parent_of(process: int) -> int:
    """The process that made it, or has taken it over; 0 where it is gone."""
    return dict(_parents()).get(process, 0)


def listening(root: int) -> Iterator[tuple[int, str]]:
    """Every address, in hexadecimal, that a process of the tree listens on."""
    addresses = dict(_listening_sockets())
    for process in tree(root):
        for inode in _sockets(process):
            if inode in addresses:
                yield process, addresses[inode]


def wait_for(look: Callable[[], Found | None], what: str, seconds: float = 240) -> Found:
    """What ``look`` finds, as soon as it finds something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    message = f"waited {seconds:g} s for {what}"
    raise TimeoutError(message)


@contextmanager
def stacks_noted(file: Path, others: Callable[[], Iterable[int]], seconds: float = 120) -> Iterator[None]:
    """Note in ``file`` what all processes below this one, and ``others``, are doing if the block takes so long.

    Whoever ends the tests because of it finds the file; a machine that is merely busy shows that, too.
    """
    timer = threading.Timer(seconds, lambda: file.write_text(_stacks({*tree(os.getpid()), *others()})))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _stacks(processes: Iterable[int]) -> str:
    noted = [f"load {os.getloadavg()}", all_stacks()]
    for process in sorted(processes):
        noted.append(f"--- {process} {state_of(process)} {command_of(process)[:200]}")
        for tool in (["py-spy", "dump", "--pid"], ["jstack"]):
            if shutil.which(tool[0]) and ("java" in command_of(process)) == (tool[0] == "jstack"):
                done = subprocess.run([*tool, str(process)], capture_output=True, text=True, timeout=30, check=False)
                noted.append(done.stdout + done.stderr)
        for name in ("wchan", "syscall"):
            with suppress(OSError):
                noted.append(f"{name}: {Path(f'/proc/{process}/{name}').read_text()}")
    return "\n".join(noted)


def _environment_of(process: int) -> list[str]:
    try:
        return Path(f"/proc/{process}/environ").read_text(errors="replace").split("\0")
    except OSError:
        return []


def _parents() -> Iterator[tuple[int, int]]:
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            yield int(entry), int(fields[1])


def _listening_sockets() -> Iterator[tuple[str, str]]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if Path(table).exists():
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTEN:
                    yield fields[9], fields[1].partition(":")[0]


def _sockets(process: int) -> Iterator[str]:
    try:
        descriptors = list(Path(f"/proc/{process}/fd").iterdir())
    except OSError:
        return
    for descriptor in descriptors:
        try:
            target = os.readlink(descriptor)
        except OSError:
            continue
        if target.startswith("socket:["):
            yield target[8:-1]
