"""Whose a file is, by what its name begins with: Headrace's, a library's, or else the user's program."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

PACKAGE = str(Path(__file__).parent) + os.sep
_PLACES = ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
LIBRARIES = (*sorted({path + os.sep for name in _PLACES if (path := sysconfig.get_path(name))}), "<frozen ")
"""Where Python keeps what is installed; the commands of a library are files of its own, too."""
