"""How a function may end the host that it runs in, and what is known of it then.

``os._exit`` is an error of the function, as ``sys.exit`` is. What crashes the interpreter itself leaves a note beside
the host's socket: what the host was doing, and Python's own traceback.
"""

from __future__ import annotations

import faulthandler
import os
import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from headrace.task.failures import line_in

_SUFFIX = ".crash"
_FATAL = "Fatal Python error: "
_FRAME = re.compile(r'  File "(.*)", line (\d+) in ')


@dataclass(frozen=True)
class Crash:
    """The end of a host, as far as its note tells."""

    cause: str | None
    """What the interpreter said; None where it had no time to: the process was killed."""
    at: str
    """The line of the user's program, where it is known, and what the host was doing."""


class CrashNote:
    """The note of this process, which is a host. It stays where the process does not end in good order."""

    def __init__(self, host: Path) -> None:
        self._file = host.with_suffix(_SUFFIX).open("w", encoding="utf-8")
        faulthandler.enable(self._file, all_threads=False)

    def doing(self, what: str) -> None:
        """From now on it does this. What comes behind it in the file is the interpreter's."""
        self._file.seek(0)
        self._file.truncate()
        self._file.write(f"{what}\n")
        self._file.flush()


def read_crash(host: Path) -> Crash:
    """What the last host that listened there has left."""
    try:
        doing, *said = host.with_suffix(_SUFFIX).read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, ValueError):
        return Crash(None, "")
    cause = next((line.removeprefix(_FATAL) for line in said if line.startswith(_FATAL)), None)
    # The innermost comes first there.
    frames = [(found[1], int(found[2])) for line in reversed(said) if (found := _FRAME.match(line))]
    return Crash(cause, ", ".join(each for each in (line_in(frames), doing) if each))


def raise_exits() -> None:
    """Let ``os._exit`` raise SystemExit in the thread that runs functions: then it is told which one it was.

    Processes that functions fork end as they want to; so does the host itself where another thread ends it.
    """
    host, leave = os.getpid(), os._exit

    def exit_or_raise(status: int) -> NoReturn:
        if os.getpid() == host and threading.current_thread() is threading.main_thread():
            raise SystemExit(status)
        leave(status)

    os._exit = exit_or_raise
