"""Named places where a test can end the process, to show that nothing is lost or doubled there.

``HEADRACE_FAILPOINT=name[:nth[:action]]`` arms one place: at its ``nth`` visit (the first unless told) the process gets
SIGKILL (``kill``, the default), an OSError (``raise``: EIO, ``enospc``: disk full), SIGSTOP (``stop``) or a pause of a
minute (``sleep``). Where ``HEADRACE_FAILPOINT_ONCE`` names a file, only the process that makes it acts, and writes its
id there: of a task that is tried again after its worker was killed, the second try is let alone.

Nothing happens where the variable is not set. A simulation inside one process sets ``on_reached`` instead. The names of
the places stand where the places are.
"""

from __future__ import annotations

import errno
import os
import signal
import threading
import time
from collections.abc import Callable

VARIABLE = "HEADRACE_FAILPOINT"
ONCE_VARIABLE = "HEADRACE_FAILPOINT_ONCE"

_SLEEP_SECONDS = 60.0

on_reached: Callable[[str], None] | None = None
"""Called at every failpoint where it is set."""

_armed = os.environ.get(VARIABLE)
_visits = 0


def arm(text: str | None) -> None:
    """Arm a place as the environment variable would, or none; visits count from here on."""
    global _armed, _visits
    _armed, _visits = text, 0


def reach(name: str) -> None:
    """Do what is armed for the place ``name``, most often nothing."""
    if on_reached is not None:
        on_reached(name)
    if _armed is not None:
        _visit(name, _armed)


def _visit(name: str, armed: str) -> None:
    global _visits
    wanted, _, rest = armed.partition(":")
    nth, _, action = rest.partition(":")
    if name != wanted:
        return
    _visits += 1
    if _visits == int(nth or 1) and _is_first():
        _act(name, action or "kill")


def _is_first() -> bool:
    once = os.environ.get(ONCE_VARIABLE)
    if once is None:
        return True
    try:
        file = os.open(once, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return False
    os.write(file, str(os.getpid()).encode())
    os.close(file)
    return True


def _act(name: str, action: str) -> None:
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action == "stop":
        # Sent to the process, it could reach another thread first, and this one would run on for a moment.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
    elif action == "sleep":
        time.sleep(_SLEEP_SECONDS)
    else:
        number = errno.ENOSPC if action == "enospc" else errno.EIO
        raise OSError(number, os.strerror(number), f"failpoint {name}")
