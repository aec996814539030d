"""What the program can import, its workers can import too."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from headrace.python_path import python_path

# Every Python finds its own packages; a worker with another Python must not be given ours.
_OF_PYTHON = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def shared_import_path() -> AbstractContextManager[None]:
    """Processes that are started inside the block find the modules that this one finds.

    Functions of modules travel as names, so a worker has to import what stands beside the program.
    """
    return python_path(_own_places())


def _own_places() -> Iterator[Path]:
    for path in map(Path.absolute, map(Path, sys.path)):
        if not any(path.is_relative_to(place) for place in _OF_PYTHON):
            yield path
