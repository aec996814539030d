"""An engine that runs nothing: it notes what is asked of it, and fails when it is told to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from headrace.application.layout import lay_out
from headrace.batch.reports import BatchReport
from headrace.errors import IllegalStateError


class EngineDouble:
    """Takes the place of SparkEngine in tests of the states. ``last`` is the one that was made last."""

    last: EngineDouble

    def __init__(
        self,
        topology: Any,
        settings: Mapping[str, Any],
        broker: Any,
        *,
        session: Any = None,
        on_batch: Callable[[BatchReport], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        EngineDouble.last = self
        self.application = lay_out(topology, settings, broker, is_to_run=False)
        self.on_batch, self.on_failure = on_batch, on_failure
        self.is_on = self.is_closed = False
        self.has_new_topics = False
        self.batch_under_way = None
        self.starts = 0
        self.threads = [self.application.config["num.stream.threads"]]
        self.stopped = threading.Event()
        self._batch = threading.Lock()
        self.may_close = threading.Event()
        self.may_close.set()
        self.renewed = threading.Event()
        self.fenced: BaseException | None = None
        self.fails_to_start: list[Exception] = []

    def start(self) -> None:
        if self.is_on or self.is_closed:
            raise IllegalStateError("an engine cannot be started twice")
        if self.fails_to_start:
            raise self.fails_to_start.pop()
        self.is_on = True
        self.starts += 1

    def stop(self, timeout: float | None = None) -> bool:
        with self._batch:
            self.is_on = False
        self.stopped.set()
        return True

    def run_batch(self, report: BatchReport) -> None:
        """A batch; stopping waits for its end, as that of a real engine does."""
        with self._batch:
            self.on_batch(report)

    def set_threads(self, count: int) -> None:
        self.threads.append(count)

    def lay_out_again(self) -> None:
        self.stop()
        self.has_new_topics = False

    def run_until_idle(self) -> int:
        return 0

    def renew_lease(self) -> None:
        self.renewed.set()
        if self.fenced is not None:
            raise self.fenced

    def close(self) -> None:
        self.may_close.wait(30)
        self.stop()
        self.is_on, self.is_closed = False, True

    def fail(self, error: BaseException) -> None:
        """What the engine does when a batch cannot be run."""
        self.is_on = False
        self.on_failure(error)
