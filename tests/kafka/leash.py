"""Starts a program that ends with the process that asked for it, however that ends: ``leash.py PARENT PROGRAM ...``.

Linux only, where a process can ask for a signal when its parent dies, and keeps that wish when it becomes another
program. Elsewhere the program is started without a leash.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_SET_PARENT_DEATH_SIGNAL = 1

if __name__ == "__main__":
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != int(sys.argv[1]):
            sys.exit("the parent has gone already")
    os.execvp(sys.argv[2], sys.argv[2:])
