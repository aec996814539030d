"""What the program can import, its workers can import too."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_VARIABLE = "PYTHONPATH"
# Every Python knows its own: another one must not be given ours.
_OF_PYTHON = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib"))


@contextmanager
def shared_import_path() -> Iterator[None]:
    """Processes that are started inside the block find the modules that this one finds.

    Functions of modules travel as names, so a worker has to import what stands beside the program.
    """
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = os.pathsep.join(str(path) for path in _own_places())
    try:
        yield
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before


def _own_places() -> Iterator[Path]:
    for path in map(Path.absolute, map(Path, sys.path)):
        if not any(path.is_relative_to(place) for place in _OF_PYTHON):
            yield path
