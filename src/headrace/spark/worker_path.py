"""Where processes that are started by this one look for modules."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

_VARIABLE = "PYTHONPATH"
# Every Python finds its own packages; a worker with another Python must not be given ours.
_OF_PYTHON = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib"))


@contextmanager
def python_path(places: Iterable[object]) -> Iterator[None]:
    """Processes that are started inside the block get these places as their ``PYTHONPATH``, in place of ours.

    >>> with python_path(["/lib/one", "/lib/two"]):
    ...     os.environ["PYTHONPATH"]
    '/lib/one:/lib/two'
    """
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = os.pathsep.join(str(place) for place in places)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before


def shared_import_path() -> AbstractContextManager[None]:
    """Processes that are started inside the block find the modules that this one finds.

    Functions of modules travel as names, so a worker has to import what stands beside the program.
    """
    return python_path(_own_places())


def _own_places() -> Iterator[Path]:
    for path in map(Path.absolute, map(Path, sys.path)):
        if not any(path.is_relative_to(place) for place in _OF_PYTHON):
            yield path
