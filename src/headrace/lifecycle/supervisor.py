"""Keeps an engine as it is wanted: running, paused, with so many threads, and running again after a failure.

A broker that does not answer is no failure of the application: it is waited for, as in Kafka Streams.

All that starts or stops the engine happens here, one thing at a time. Failures are dealt with in a thread of their own,
because whoever reports one is part of what has to be stopped.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

from headrace.errors import BrokerUnreachableError, HeadraceError, OutcomeUnknownError
from headrace.lifecycle.engine import Engine
from headrace.lifecycle.failures import (
    Backoff,
    StreamThreadExceptionResponse,
    UncaughtExceptionHandler,
    response_to,
    without_internals,
)
from headrace.lifecycle.states import StateMachine, StreamsState
from headrace.waiting import LONGEST_SECONDS, LimitedLock

log = logging.getLogger(__name__)

_LOOK_SECONDS = 30.0
_ANSWER_SECONDS = 30.0
_LONGEST_PAUSE = 2.0
"""Between two questions whether the broker answers again; each of them waits for itself, too."""


class Supervisor:
    def __init__(
        self,
        engine: Engine,
        states: StateMachine,
        handler: UncaughtExceptionHandler,
        *,
        threads: int,
        is_paused: bool,
        give_up: Callable[[BaseException], None],
    ) -> None:
        self._engine = engine
        self._states = states
        self._handler = handler
        self._threads = threads
        self._is_paused = is_paused
        self._give_up = give_up
        self._backoff = Backoff()
        self._operating = LimitedLock("starting or stopping the engine", LONGEST_SECONDS)
        self._closing = threading.Event()
        self._answering = threading.Condition()
        self._unanswered = 0
        self._failures: SimpleQueue[BaseException | None] = SimpleQueue()
        self._watching = threading.Thread(target=self._watch, name="headrace-supervisor", daemon=True)
        self._is_on = False
        self.waiting_for: str | None = None
        """Which broker does not answer, and since when; None where nothing is waited for."""

    def start(self) -> None:
        """Let the engine run, unless it is paused or has no threads."""
        self._watching.start()
        with self._operating:
            self._apply()

    def set_paused(self, is_paused: Callable[[], bool]) -> None:
        """Stop between two batches, or go on: as is wanted by the time it is done."""
        with self._operating:
            self._is_paused = is_paused()
            self._apply()

    def set_threads(self, count: int) -> None:
        """Go on with another number of threads; none at all is like a pause."""
        with self._operating:
            self._threads = count
            if count and not self._closing.is_set():
                self._engine.set_threads(count)
            self._apply()

    def follow_topics(self) -> None:
        """Go on with the topics and partitions there are now. Where that cannot be, it is a failure of the engine."""
        with self._operating:
            if self._closing.is_set() or not self._engine.has_new_topics:
                return
            self._states.try_to_become(StreamsState.REBALANCING)
            try:
                self._is_on = False
                self._engine.lay_out_again()
                self._apply()
            except Exception as error:
                self.failed(error)
            else:
                self._states.try_to_become(StreamsState.RUNNING)

    def run_until_idle(self) -> int:
        """Wait until nothing is due; how many batches that took. 0 while it is paused.

        A failure is raised when it has been answered: whoever closes the application because of it hides nothing.
        """
        try:
            return self._engine.run_until_idle() if self._is_on else 0
        except Exception:
            with self._answering:
                self._answering.wait_for(lambda: not self._unanswered or self._closing.is_set(), _ANSWER_SECONDS)
            raise

    def failed(self, error: BaseException) -> None:
        with self._answering:
            self._unanswered += 1
        self._failures.put(error)

    def batch_done(self) -> None:
        self._backoff.reset()

    def close(self) -> None:
        with self._answering:
            self._closing.set()
            self._answering.notify_all()
        self._failures.put(None)
        with self._operating:
            self._is_on = False
            self._engine.close()

    def _apply(self) -> None:
        wanted = not self._is_paused and self._threads > 0 and not self._closing.is_set()
        if wanted and not self._is_on:
            self._engine.start()
        elif self._is_on and not wanted:
            self._engine.stop()
        self._is_on = wanted

    def _watch(self) -> None:
        """Answer failures until it is closed; those that came before are answered, too."""
        while True:
            with suppress(Empty):
                error = self._failures.get(timeout=_LOOK_SECONDS)
                if error is None:
                    return
                self._respond_or_give_up(error)

    def _respond_or_give_up(self, error: BaseException) -> None:
        """Whatever is raised meanwhile, by a listener, a handler or the log: a failure never goes without an answer."""
        try:
            self._respond(error)
        except BaseException:
            with suppress(BaseException):
                log.exception("answering a failure failed itself: the application ends")
            with suppress(BaseException):
                self._give_up(error)

    def _respond(self, error: BaseException) -> None:
        if isinstance(error, BrokerUnreachableError | OutcomeUnknownError):
            self._answered()
            self._wait_for_broker(error)
            return
        response = response_to(error, self._handler)
        if response is not StreamThreadExceptionResponse.REPLACE_THREAD:
            self._give_up(error)
        self._answered()
        if response is StreamThreadExceptionResponse.REPLACE_THREAD:
            self._replace(error)

    def _answered(self) -> None:
        """It is decided what follows from a failure."""
        with self._answering:
            self._unanswered -= 1
            self._answering.notify_all()

    def _replace(self, error: BaseException) -> None:
        pause = self._backoff.next()
        log.error("the batch runs again in %g s, because it failed", pause, exc_info=without_internals(error))
        self._states.try_to_become(StreamsState.REBALANCING)
        if not self._closing.wait(pause):
            self._start_again()

    def _start_again(self) -> None:
        try:
            with self._operating:
                self._engine.stop()
                self._is_on = False
                self._apply()
        except Exception as again:
            self.failed(again)
        else:
            self._states.try_to_become(StreamsState.RUNNING)

    def _wait_for_broker(self, error: HeadraceError) -> None:
        """Ask again and again, until it answers or the application is closed."""
        since = time.strftime("%H:%M:%S")
        self.waiting_for = f"{error.message} (since {since})"
        log.warning("waiting: %s", self.waiting_for)
        self._states.try_to_become(StreamsState.REBALANCING)
        pauses = Backoff(limit=_LONGEST_PAUSE)
        while not self._closing.wait(pauses.next()):
            try:
                self._engine.renew_lease()
            except BrokerUnreachableError:
                continue
            except Exception as other:
                self.failed(other)
            else:
                log.warning("the broker answers again, which it did not since %s", since)
                self._start_again()
            break
        self.waiting_for = None
