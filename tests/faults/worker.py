"""A process that runs the scene's application until nothing is due. Errors end it with code 1 and are told on stderr.

``worker.py DIRECTORY [limit=BYTES] [memory=BYTES] [user=NUMBER] [batch=RECORDS] [stop=FAILPOINT:NTH]``

``limit`` is for files, ``memory`` counts from what the process has at its start; ``stop`` is a SIGSTOP.
"""

from __future__ import annotations

import codecs
import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from headrace import failpoints
from headrace.batch.local import LocalEngine
from headrace.errors import HeadraceError
from tests.faults.scene import Scene, topology


def main(directory: Path, options: dict[str, str]) -> None:
    scene = Scene(directory)
    more = {"max.records.per.batch": int(options.get("batch", "10"))}
    if "memory" in options:
        resource.setrlimit(resource.RLIMIT_AS, (_address_space() + int(options["memory"]),) * 2)
    if "stop" in options:
        failpoints.on_reached = _stopping(*options["stop"].split(":"))
    if "user" in options:
        for encoding in ("ascii", "utf-16-be"):  # loaded now: the library may not be readable later
            codecs.lookup(encoding)
        os.setgid(int(options["user"]))
        os.setuid(int(options["user"]))
    with closing(scene.broker()) as broker:
        if "limit" in options:
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(options["limit"]),) * 2)
        with LocalEngine(topology(), scene.settings(**more), broker) as engine:
            engine.run_until_idle()


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _stopping(point: str, nth: str) -> Callable[[str], None]:
    reached: list[str] = []

    def on_reached(name: str) -> None:
        reached.append(name)
        if name == point and reached.count(point) == int(nth):
            os.kill(os.getpid(), signal.SIGSTOP)

    return on_reached


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), dict(argument.split("=", 1) for argument in sys.argv[2:]))
    except (HeadraceError, MemoryError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)
