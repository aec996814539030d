"""Calls listeners in a thread of their own, so that one that never returns cannot keep an application from ending."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue

from headrace.waiting import stack_of

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.1
PATIENCE_SECONDS = 30.0
"""How long the end of an application waits for a listener."""
SEEN_SECONDS = 60.0
"""How long a batch waits for a listener before the log tells of it."""


class _Call:
    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self.is_over = threading.Event()
        self.raised: BaseException | None = None

    def make(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self.raised = error
        self.is_over.set()


class ListenerThread:
    """One thread for all calls. ``is_ending`` says whether the application is to end."""

    def __init__(self, name: str, is_ending: Callable[[], bool]) -> None:
        self._name, self._is_ending = name, is_ending
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def run(self, work: Callable[[], object]) -> None:
        """Wait until ``work`` is done; what it raises is raised. When the application is to end, wait for a while."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._make_calls, name=self._name, daemon=True)
            self._thread.start()
        call = _Call(work)
        self._calls.put(call)
        if self._is_over(call, self._thread) and call.raised is not None:
            raise call.raised

    def _is_over(self, call: _Call, thread: threading.Thread) -> bool:
        """Wait for it. It may take its time while the application runs, but not unseen."""
        left, unseen = PATIENCE_SECONDS, 0.0
        while not call.is_over.wait(_LOOK_SECONDS):
            left -= _LOOK_SECONDS if self._is_ending() else 0.0
            unseen += _LOOK_SECONDS
            if left <= 0:
                told = "a listener does not return; the application ends without waiting for it any longer:\n%s"
                log.error(told, stack_of(thread))
                return False
            if unseen >= SEEN_SECONDS:
                unseen = 0.0
                log.warning("the next batch waits for a listener, which has not returned yet:\n%s", stack_of(thread))
        return True

    def close(self) -> None:
        """Let the thread end. Nobody waits for it: a listener may never return."""
        self._calls.put(None)

    def _make_calls(self) -> None:
        while (call := self._calls.get()) is not None:
            call.make()
