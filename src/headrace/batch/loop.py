"""A thread that runs batch after batch, and looks again after a while where nothing is due."""

from __future__ import annotations

import threading
from collections.abc import Callable

from headrace.waiting import BATCH_SECONDS, join


class BatchLoop:
    """Started when it is made. It ends with ``stop``, or when a batch fails: ``on_failure`` hears why."""

    def __init__(
        self, run_batch: Callable[[], bool], poll_seconds: float, on_failure: Callable[[BaseException], None]
    ) -> None:
        """``run_batch`` says whether anything was due."""
        self._run_batch, self._poll_seconds, self._on_failure = run_batch, poll_seconds, on_failure
        self._changed = threading.Condition()
        self._is_stopping = False
        self._asked = self._answered = 0
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="headrace-batches", daemon=True)
        self._thread.start()

    @property
    def is_active(self) -> bool:
        """Whether batches are run."""
        return self._thread.is_alive() and self._failure is None

    def stop(self, timeout: float | None = None) -> bool:
        """End after the batch that is under way; False where that takes longer than ``timeout`` seconds.

        Without a ``timeout`` it waits for as long as a batch may take; then it is an error. A batch cannot wait for its
        own end: called from within it, the answer is False at once.
        """
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        if self._thread is threading.current_thread():
            return False
        if timeout is not None:
            self._thread.join(timeout)
            return not self._thread.is_alive()
        join(self._thread, BATCH_SECONDS)
        return True

    def wait_until_idle(self) -> None:
        """Wait until nothing is due; raises what made a batch fail."""
        with self._changed:
            self._asked += 1
            asked = self._asked
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._answered >= asked or not self._thread.is_alive() or self._is_stopping)
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            while not self._is_stopping:
                asked = self._asked
                if not self._run_batch():
                    self._rest(asked)
        except BaseException as error:
            self._failure = error
            # Before those who wait hear of it: they may close everything at once.
            self._on_failure(error)
        finally:
            with self._changed:
                self._is_stopping = True
                self._changed.notify_all()

    def _rest(self, asked: int) -> None:
        """Nothing was due: tell those who had asked before it was looked for, and wait."""
        with self._changed:
            self._answered = asked
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_stopping or self._asked > asked, self._poll_seconds)
