"""Whether this thread is inside a listener. The end of an application waits for those, so they may not wait for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from headrace.errors import IllegalStateError


class _Depth(threading.local):
    value = 0


_depth = _Depth()


@contextmanager
def inside_listener() -> Iterator[None]:
    """A listener is called inside the block."""
    _depth.value += 1
    try:
        yield
    finally:
        _depth.value -= 1


def is_inside_listener() -> bool:
    """Whether a listener made this call."""
    return _depth.value > 0


def check_outside_listener(what: str) -> None:
    """Refuse what would wait for the listener that asks for it."""
    if is_inside_listener():
        message = f"{what} cannot be called in a listener: it would wait for the listener itself"
        raise IllegalStateError(message, hint="Call it in another thread.")
