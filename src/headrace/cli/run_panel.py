"""What ``headrace run`` shows on a terminal: a few lines that are redrawn, 80 columns wide or as wide as there is."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from headrace.cli.output import clean, redacted
from headrace.cli.run_screen import reasons
from headrace.lifecycle.restores import RestoreEvent, RestoreStep
from headrace.lifecycle.states import StreamsState

if TYPE_CHECKING:
    from headrace.batch.reports import BatchReport

_FRAMES_PER_SECOND = 8
_RATE_SECONDS = 10.0
_LAG_SECONDS = 0.5
_TENTHS_BELOW = 10.0
_COLUMNS = ("BATCH", "MS", "READ", "RECORDS/S", "WRITTEN", "LAG")
_DOING = {
    StreamsState.CREATED: "checking topics …",
    StreamsState.REBALANCING: "starting Spark …",
    StreamsState.PENDING_SHUTDOWN: "stopping after this batch … (Ctrl-C again: at once)",
    StreamsState.PENDING_ERROR: "ending because of an error …",
}


class Panel:
    """What is going on now, each restore under way, and above it what was noted and printed."""

    def __init__(self, program: str, console: Console, clock: Callable[[], float] = time.time) -> None:
        self._console, self._clock = console, clock
        self._name = clean(program)
        self._app: Any = None
        self._state = StreamsState.CREATED
        self._has_run = False
        self._last: BatchReport | None = None
        self._totals: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._recent: deque[tuple[float, int]] = deque()
        self._lag: int | None = None
        self._lag_is_of = -_LAG_SECONDS
        self._spinner = Spinner("dots")
        self._restores: dict[tuple[str, str, int], str] = {}
        self.is_stopping: Callable[[], bool] = lambda: False

    @contextmanager
    def shown(self) -> Iterator[None]:
        """On the screen until the end of the block. What is printed meanwhile, by whomever, appears above."""
        live = Live(get_renderable=self.render, console=self._console, refresh_per_second=_FRAMES_PER_SECOND)
        with live:
            try:
                yield
            finally:
                # Of one that never began there is nothing to keep: the error says it all.
                live.transient = self._state is StreamsState.CREATED

    def watch(self, app: Any) -> None:
        self._app, self._name = app, clean(app.application_id)

    def state(self, new: StreamsState, old: StreamsState) -> None:
        self._state = new
        self._has_run |= new is StreamsState.RUNNING

    def batch(self, report: BatchReport) -> None:
        self._last = report
        self._totals.update(read=report.records, written=report.written)
        self._dropped.update(report.dropped)
        self._recent.append((self._clock(), report.records))
        self._lag_is_of = -_LAG_SECONDS

    def restore(self, event: RestoreEvent) -> None:
        place = (event.store, event.topic, event.partition)
        if event.step is RestoreStep.END or event.start_offset is None or event.end_offset is None:
            self._restores.pop(place, None)
            return
        total, done = event.end_offset - event.start_offset, (event.offset or 0) - event.start_offset
        percent = 100 * done // total if total else 100
        self._restores[place] = f"restoring {event.store} {event.partition}: {done:,} of {total:,} ({percent}%)"

    def note(self, text: str) -> None:
        self._console.print(Text(clean(redacted(text)), "dim", overflow="fold"))

    def render(self) -> RenderableType:
        parts: list[RenderableType] = [self._headline()]
        if self._app is not None:
            parts.append(self._numbers())
        if self._dropped:
            parts.append(Text(clean(f"dropped: {reasons(self._dropped)}"), overflow="fold"))
        parts += [Text(clean(line), overflow="fold") for line in list(self._restores.values())]
        return Group(*parts)

    def rate(self) -> float:
        """Records per second over the last seconds."""
        now = self._clock()
        while self._recent and self._recent[0][0] < now - _RATE_SECONDS:
            self._recent.popleft()
        return sum(records for _, records in self._recent) / _RATE_SECONDS

    def _headline(self) -> Text:
        name, state = (self._name, "bold"), (str(self._state), "cyan")
        if self._state.has_ended:
            return Text.assemble(name, "  ", state, overflow="fold")
        frame = self._spinner.render(self._clock())
        return Text.assemble(name, "  ", state, "  ", str(frame), " ", (self._doing(), "dim"), overflow="fold")

    def _doing(self) -> str:
        if self.is_stopping() and not self._state.is_shutting_down:
            return _DOING[StreamsState.PENDING_SHUTDOWN]
        if self._app is None:
            return "loading …"
        if self._app.waiting_for is not None and self._state.is_running_or_rebalancing:
            return f"waiting: {clean(self._app.waiting_for)}"
        if self._state is StreamsState.REBALANCING and self._has_run:
            return "starting again …"
        if self._state in _DOING:
            return _DOING[self._state]
        if self._restores:
            return "restoring …"
        return self._batch_under_way() or "Ctrl-C ends it"

    def _batch_under_way(self) -> str:
        batch = self._app.batch_under_way
        if batch is None:
            return "first batch …" if self._last is None and self._present_lag() else ""
        return f"batch {batch.number:,}: {batch.records:,} records, {self._clock() - batch.since:.0f} s …"

    def _numbers(self) -> Table:
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
        for name in _COLUMNS:
            table.add_column(name, justify="right", min_width=8, overflow="fold")
        last, lag, rate = self._last, self._present_lag(), self.rate()
        table.add_row(
            "-" if last is None else f"{last.batch_id:,}",
            "-" if last is None else f"{last.duration_ms:,}",
            f"{self._totals['read']:,}",
            f"{rate:,.0f}" if rate >= _TENTHS_BELOW else f"{rate:.1f}",
            f"{self._totals['written']:,}",
            "-" if lag is None else f"{lag:,}",
        )
        return table

    def _present_lag(self) -> int | None:
        """As it is now; of an application that has ended, or is ending, the last that was known."""
        now = self._clock()
        if now - self._lag_is_of >= _LAG_SECONDS and self._state.is_running_or_rebalancing:
            self._lag_is_of = now
            # The picture is drawn in a thread of its own, also while the application is being closed.
            with suppress(Exception):
                found = [value for name, value in self._app.metrics().items() if name.name == "records-lag"]
                self._lag = int(sum(found)) if found else self._lag
        return self._lag
