"""Lets batches begin one after another until it is closed.

A batch is run by a callback that Spark's stream thread waits for, and ending the query waits for that thread. So nobody
may call Spark while holding a lock that the callback needs: here the lock is held for moments only.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class BatchGate:
    """Whether a batch is under way, and whether another one may begin."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_closed = self._is_awaited = False
        self._thread: threading.Thread | None = None

    @contextmanager
    def batch(self) -> Iterator[bool]:
        """One batch, to its end; False where it may not begin any more."""
        with self._changed:
            may_begin = not self._is_closed and self._thread is None
            if may_begin:
                self._thread = threading.current_thread()
        try:
            yield may_begin
        finally:
            if may_begin:
                with self._changed:
                    self._thread = None
                    self._changed.notify_all()

    def closes_within(self, seconds: float) -> bool:
        """Wait so long, or until somebody hurries, or until no batch may begin any more; whether the last is so."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._is_awaited, seconds)
            self._is_awaited = False
            return self._is_closed

    def hurry(self) -> None:
        """End the wait for the next batch, or else the one that comes next."""
        with self._changed:
            self._is_awaited = True
            self._changed.notify_all()

    @property
    def is_busy(self) -> bool:
        """Whether a batch is under way."""
        return self._thread is not None

    @property
    def is_inside(self) -> bool:
        """Whether the one who asks runs the batch."""
        return self._thread is threading.current_thread()

    def close(self, timeout: float) -> bool:
        """Let no batch begin, and wait for the one under way; False where it takes longer than ``timeout`` seconds.

        A batch cannot wait for its own end: called from within it, the answer is False at once.
        """
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            if self.is_inside:
                return False
            return self._changed.wait_for(lambda: self._thread is None, timeout)
