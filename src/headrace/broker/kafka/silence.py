"""Says in the log that a cluster does not answer, while somebody still waits for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)

SECONDS = 5.0
"""How long somebody waits before it is said."""


class SilenceWatch:
    """Says once that the cluster does not answer, and once that it does again. Safe in threads."""

    def __init__(self, address: str, patience: float, ask: Callable[[], str | None]) -> None:
        """``ask`` asks the cluster anything: why it does not answer, None where it does.

        ``patience``: for how many seconds an answer is waited for.
        """
        self._address, self._patience, self._ask = address, patience, ask
        self._is_told = False
        self._lock = threading.Lock()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """An answer is waited for until the end of the block. What only takes long, while others come, is not told."""
        is_over = threading.Event()
        timer = threading.Timer(SECONDS, self._look, (is_over,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            is_over.set()
        self._answered()

    def _look(self, is_over: threading.Event) -> None:
        reason = self._ask()
        with self._lock:
            if reason is None or self._is_told or is_over.is_set():
                return
            self._is_told = True
        what = "Kafka at %s has not answered for %g s: waiting up to %g s (%s)"
        log.warning(what, self._address, SECONDS, self._patience, reason)

    def _answered(self) -> None:
        with self._lock:
            was_told, self._is_told = self._is_told, False
        if was_told:
            log.warning("Kafka at %s answers again", self._address)
