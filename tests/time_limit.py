"""A limit for work that is either done at once or never."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


@contextmanager
def time_limit(seconds: float = 60) -> Iterator[None]:
    """Fail where the block takes longer. In the main thread only."""

    def give_up(*_: object) -> NoReturn:
        message = f"still at work after {seconds} s"
        raise TimeoutError(message)

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
