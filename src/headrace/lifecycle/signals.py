"""SIGTERM and Ctrl-C as requests to end after the current batch, while a program waits for an application.

The first one is only noted; the second Ctrl-C is a KeyboardInterrupt at once. Handlers are in place inside the block
only, and only in the main thread: elsewhere Python gives no signals.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_STOPPING = (signal.SIGINT, signal.SIGTERM)


class StopWish:
    """Whether somebody wants the application to end. No lock: a handler runs between any two statements."""

    is_there = False


@contextmanager
def stop_signals() -> Iterator[StopWish]:
    """Note SIGTERM and Ctrl-C until the block ends."""
    wish = StopWish()
    if threading.current_thread() is not threading.main_thread():
        yield wish
        return
    interrupts = 0

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal interrupts
        wish.is_there = True
        interrupts += number == signal.SIGINT
        if interrupts > 1:
            raise KeyboardInterrupt

    earlier = {number: signal.signal(number, note) for number in _STOPPING}
    try:
        yield wish
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


@contextmanager
def signals_later() -> Iterator[None]:
    """Let SIGTERM and Ctrl-C come when the block has ended: for what is short, and must be done whole."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    earlier: dict[int, Any] = {
        each: signal.signal(each, lambda *signalled: came.append(signalled)) for each in _STOPPING
    }
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
        for number, frame in came:
            _handle(earlier[number], number, frame)


def _handle(handler: Any, number: int, frame: FrameType | None) -> None:
    """As it would have been when the signal came."""
    if callable(handler):
        handler(number, frame)
    else:
        signal.raise_signal(number)
