"""SIGTERM and Ctrl-C as requests to end after the current batch, while a program waits for an application.

The first one is only noted; the second Ctrl-C is a KeyboardInterrupt at once. Handlers are in place inside the block
only, and only in the main thread: elsewhere Python gives no signals.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
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
        _restore(earlier)


@contextmanager
def signals_later() -> Iterator[None]:
    """Let SIGTERM and Ctrl-C come when the block has ended: for what must be done whole. The second comes at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if len(came) > 1:
            signal.signal(number, earlier[signal.Signals(number)])
            signal.raise_signal(number)

    earlier: dict[signal.Signals, Any] = {number: signal.signal(number, note) for number in _STOPPING}
    try:
        yield
    finally:
        _restore(earlier)
        # SIGTERM first: Ctrl-C raises, and nothing that stands behind it would be done.
        for number in sorted(set(came), reverse=True):
            signal.raise_signal(number)


def _restore(earlier: Mapping[signal.Signals, Any]) -> None:
    """Ctrl-C last: once it has its handler it may raise here."""
    for number in reversed(_STOPPING):
        signal.signal(number, earlier[number])
