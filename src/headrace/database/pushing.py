"""Push queries: applications in this process that end with whoever asked."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from queue import Empty, SimpleQueue
from typing import Any

from headrace.broker.port import Broker
from headrace.database.answers import Row
from headrace.database.forgetting import forget
from headrace.database.positions import commit_starts, starts_from_now
from headrace.sql.push.plan import PushPlan
from headrace.streams import Streams
from headrace.topology import Topology

_LOOK_SECONDS = 0.05


class Told:
    """Where a running query puts its rows."""

    def __init__(self, plan: PushPlan) -> None:
        self._plan = plan
        self._queue: SimpleQueue[Row] = SimpleQueue()

    def __call__(self, key: Any, row: list[Any] | None) -> None:
        if row is not None:
            self._queue.put(Row(row))
        elif self._plan.is_table:
            self._queue.put(Row(self._plan.gone(key), is_gone=True))

    def next(self, seconds: float) -> Row | None:
        """The next row; None where none comes within that time."""
        try:
            return self._queue.get(timeout=seconds) if seconds else self._queue.get_nowait()
        except Empty:
            return None


class PushRows:
    """The rows of a push query that runs since this was made. ``ends``: it ends where its stream ends now."""

    def __init__(
        self,
        told: Told,
        topology: Topology,
        config: dict[str, Any],
        broker: Broker,
        *,
        limit: int | None = None,
        ends: bool = False,
    ) -> None:
        self._told, self._limit, self._ends = told, limit, ends
        with ExitStack() as undoing:
            directory = undoing.enter_context(tempfile.TemporaryDirectory(prefix="headrace-push-"))
            self._config = {**config, "state.dir": directory}
            commit_starts(broker, config["application.id"], starts_from_now(broker, topology))
            undoing.callback(forget, broker, self._config)
            self._app = Streams(topology, self._config, engine="local")
            undoing.callback(self._app.close)
            self._app.start()
            self._undoing = undoing.pop_all()

    def __iter__(self) -> Iterator[Row]:
        left = self._limit
        if self._ends:
            self._app.run_until_idle()
        while left is None or left > 0:
            row = self._next()
            if row is None:
                return
            yield row
            left = None if left is None else left - 1

    def close(self) -> None:
        """End the query; nothing of it stays on the broker."""
        self._undoing.close()

    def _next(self) -> Row | None:
        if self._ends:
            return self._told.next(0)
        while (row := self._told.next(_LOOK_SECONDS)) is None:
            if self._app.state.has_ended:
                if self._app.failure is not None:
                    raise self._app.failure
                return None
        return row
