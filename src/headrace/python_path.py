"""Where processes that are started by this one look for modules."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_VARIABLE = "PYTHONPATH"


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
