"""What ``headrace run`` shows: a panel that is redrawn on a terminal, lines elsewhere, JSON for programs."""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from headrace.cli.output import Output, clean
from headrace.lifecycle.restores import RestoreEvent, RestoreStep

if TYPE_CHECKING:
    from rich.progress import TaskID

    from headrace.batch.reports import BatchReport
    from headrace.lifecycle.states import StreamsState

_RATE_SECONDS = 10.0


class RunScreen(Protocol):
    """Is told what happens."""

    def state(self, new: StreamsState, old: StreamsState) -> None:
        """The state has changed."""

    def batch(self, report: BatchReport) -> None:
        """A batch is committed."""

    def restore(self, event: RestoreEvent) -> None:
        """A store is being restored."""


class Silence:
    """For ``--quiet``."""

    def state(self, new: StreamsState, old: StreamsState) -> None:
        """Nothing."""

    def batch(self, report: BatchReport) -> None:
        """Nothing."""

    def restore(self, event: RestoreEvent) -> None:
        """Nothing."""


class JsonLines:
    """An object per line: ``{"state": …}``, ``{"batch": …}``, ``{"restore": …}``."""

    def __init__(self, out: Output) -> None:
        self._out = out

    def state(self, new: StreamsState, old: StreamsState) -> None:
        """The state as an object."""
        self._write({"state": str(new), "before": str(old)})

    def batch(self, report: BatchReport) -> None:
        """The report as an object."""
        self._write(
            {
                "batch": report.batch_id,
                "records": report.records,
                "written": report.written,
                "duration_ms": report.duration_ms,
                "dropped": dict(report.dropped),
            }
        )

    def restore(self, event: RestoreEvent) -> None:
        """The event as an object."""
        place = {"store": event.store, "topic": event.topic, "partition": event.partition}
        offsets = {"offset": event.offset, "end_offset": event.end_offset}
        self._write({"restore": event.step.value, **place, "restored": event.restored, **offsets})

    def _write(self, data: dict[str, Any]) -> None:
        self._out.text(json.dumps(data, ensure_ascii=False) + "\n")


class Lines:
    """A sentence per event, where there is no terminal."""

    def __init__(self, out: Output) -> None:
        self._out = out

    def state(self, new: StreamsState, old: StreamsState) -> None:
        """The state as a line."""
        self._out.note(f"state {new}")

    def batch(self, report: BatchReport) -> None:
        """The report as a line."""
        dropped = f", dropped {_reasons(report.dropped)}" if report.dropped else ""
        self._out.line(
            f"batch {report.batch_id}: {report.records:,} records read, {report.written:,} written"
            f"{dropped}, {report.duration_ms / 1000:.2f} s"
        )

    def restore(self, event: RestoreEvent) -> None:
        """The beginning and the end of a restore as lines."""
        if event.step is not RestoreStep.BATCH:
            done = f", {event.restored:,} records" if event.step is RestoreStep.END else ""
            self._out.note(f"restore of {event.store} from {event.topic}-{event.partition}: {event.step.value}{done}")


class Panel:
    """A table of what is going on now, and a bar for each restore under way."""

    def __init__(self, title: str, lag: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:
        self._title, self._lag, self._clock = title, lag, clock
        self._state = "CREATED"
        self._last: BatchReport | None = None
        self._totals: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._recent: deque[tuple[float, int]] = deque()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns)
        self._bars: dict[tuple[str, str, int], TaskID] = {}

    def state(self, new: StreamsState, old: StreamsState) -> None:
        """Show another state."""
        self._state = str(new)

    def batch(self, report: BatchReport) -> None:
        """Count a batch."""
        self._last = report
        self._totals.update(read=report.records, written=report.written)
        self._dropped.update(report.dropped)
        self._recent.append((self._clock(), report.records))

    def restore(self, event: RestoreEvent) -> None:
        """Move a bar."""
        place = (event.store, event.topic, event.partition)
        if event.step is RestoreStep.END or event.start_offset is None or event.end_offset is None:
            bar = self._bars.pop(place, None)
            if bar is not None:
                self._progress.remove_task(bar)
            return
        if place not in self._bars:
            name = clean(f"restoring {event.store} {event.partition}")
            self._bars[place] = self._progress.add_task(name, total=event.end_offset - event.start_offset)
        self._progress.update(self._bars[place], completed=(event.offset or 0) - event.start_offset)

    def render(self) -> RenderableType:
        """The picture of this moment."""
        table = Table(title=clean(self._title), title_justify="left")
        table.add_column("STATE")
        for name in ("BATCH", "MS", "READ", "RECORDS/S", "WRITTEN", "LAG"):
            table.add_column(name, justify="right", min_width=8)
        table.add_column("DROPPED")
        last = self._last
        table.add_row(
            self._state,
            "-" if last is None else f"{last.batch_id:,}",
            "-" if last is None else f"{last.duration_ms:,}",
            f"{self._totals['read']:,}",
            f"{self.rate():,.0f}",
            f"{self._totals['written']:,}",
            f"{self._lag():,}",
            clean(_reasons(self._dropped)) if self._dropped else "-",
        )
        return Group(table, self._progress) if self._bars else table

    def rate(self) -> float:
        """Records per second over the last seconds."""
        now = self._clock()
        while self._recent and self._recent[0][0] < now - _RATE_SECONDS:
            self._recent.popleft()
        return sum(records for _, records in self._recent) / _RATE_SECONDS


def _reasons(dropped: Any) -> str:
    return ", ".join(f"{count:,} ({reason})" for reason, count in dropped.items())
