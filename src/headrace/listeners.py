"""Calling the listeners of a program.

The end of an application waits for listeners that are being called, so they may not wait for it: each thread knows
whether it is inside of one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

from headrace.errors import IllegalStateError

log = logging.getLogger(__name__)


class _Depth(threading.local):
    value = 0


_depth = _Depth()


def tell(what: str, listeners: Iterable[Callable[..., object]], *event: object) -> None:
    """Call each of the ``what`` listeners with the event. What one raises is logged and changes nothing else."""
    for listener in listeners:
        _depth.value += 1
        try:
            listener(*event)
        except Exception:
            # A handler of the log may fail as the listener did: both write to what nobody reads any more.
            with suppress(Exception):
                log.exception("a %s listener failed at %s", what, ", ".join(map(str, event)))
        finally:
            _depth.value -= 1


def is_inside_listener() -> bool:
    return _depth.value > 0


def check_outside_listener(what: str) -> None:
    """Refuse what would wait for the listener that asks for it."""
    if is_inside_listener():
        message = f"{what} cannot be called in a listener: it would wait for the listener itself"
        raise IllegalStateError(message, hint="Call it in another thread.")
