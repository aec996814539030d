"""The command line: ``headrace`` and its commands, one module each. It needs the extra ``headrace[cli]``.

Importing the commands takes a second or two. This module imports nothing of ours before ``main`` is called, so that
Ctrl-C ends the program without a traceback meanwhile.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

__all__ = ["main"]

_INTERRUPTED = 130  # That of headrace.cli.exits, which is yet to be imported.


def main() -> None:
    """What the console script ``headrace`` runs; it ends the process with an exit code of ``headrace.cli.exits``."""
    earlier = signal.getsignal(signal.SIGINT)
    if earlier is signal.default_int_handler:  # Otherwise it is ignored: in the background of a shell.
        signal.signal(signal.SIGINT, _leave)
    run = _imported()
    signal.signal(signal.SIGINT, earlier)
    run()


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    # No exception: one that is raised while modules are imported may be swallowed, or printed as ignored.
    os._exit(_INTERRUPTED)


def _imported() -> Callable[[], None]:
    from headrace.errors import UnsupportedError  # noqa: PLC0415
    from headrace.optional import extra_for  # noqa: PLC0415

    try:
        with extra_for("the command line"):
            from headrace.cli.app import run  # noqa: PLC0415
    except UnsupportedError as error:
        sys.exit(f"error: {error}")
    return run
