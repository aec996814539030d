"""Commands that errors recommend. They name the broker: the one that the command takes by itself may be another."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from headrace.libraries import LIBRARIES

PROGRAM_MODULE = "headrace_program"
"""The name of the module that ``headrace run`` makes of a program."""


def command(text: str, address: str) -> str:
    """A command to be pasted.

    >>> command("topics list", "embedded:my data")
    "headrace topics list --broker 'embedded:my data'"
    """
    return f"headrace {text} --broker {shlex.quote(address)}"


def reset(address: str) -> str:
    """Starts the application of this program over; where its file is not known, the user has to say which one it is."""
    return command(f"reset {shlex.quote(_program())}", address)


def _program() -> str:
    module = sys.modules.get(PROGRAM_MODULE) or sys.modules.get("__main__")
    file = getattr(module, "__file__", None)
    if file is None or Path(file).suffix != ".py" or file.startswith(LIBRARIES):
        return "app.py"
    path = Path(file).absolute()
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
