"""What ``headrace run`` prints where there is no terminal: lines, or JSON for programs. See ``run_panel`` for one."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from headrace.cli.output import Output, counted, is_unread
from headrace.lifecycle.restores import RestoreEvent, RestoreStep

if TYPE_CHECKING:
    from headrace.batch.reports import BatchReport
    from headrace.lifecycle.states import StreamsState


LONG_SECONDS = 10.0
"""How long a batch runs before a line tells of it, and how long until the next line."""
LOOK_SECONDS = 1.0


class RunScreen(Protocol):
    """Is told what happens."""

    is_stopping: Callable[[], bool]
    """Whether somebody wants the application to end; while it starts, its state does not say so."""

    def watch(self, app: Any) -> None: ...

    def state(self, new: StreamsState, old: StreamsState) -> None: ...

    def batch(self, report: BatchReport) -> None: ...

    def restore(self, event: RestoreEvent) -> None: ...

    def note(self, text: str) -> None: ...


class _Events:
    """Only events are told, each when it happens; notes go to the standard error, as those of all commands."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self.note = out.note
        self.is_stopping: Callable[[], bool] = lambda: False

    def watch(self, app: Any) -> None: ...


class Silence(_Events):
    """For ``--quiet``. The program itself may print: where nobody reads that any more, the run ends as others do."""

    def state(self, new: StreamsState, old: StreamsState) -> None: ...

    def batch(self, report: BatchReport) -> None:
        if is_unread(sys.stdout):
            raise BrokenPipeError("nobody reads the output")

    def restore(self, event: RestoreEvent) -> None: ...


class JsonLines(_Events):
    """An object per line: ``{"state": …}``, ``{"batch": …}``, ``{"restore": …}``."""

    def state(self, new: StreamsState, old: StreamsState) -> None:
        self._write({"state": str(new), "before": str(old)})

    def batch(self, report: BatchReport) -> None:
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
        place = {"store": event.store, "topic": event.topic, "partition": event.partition}
        offsets = {"offset": event.offset, "end_offset": event.end_offset}
        self._write({"restore": event.step.value, **place, "restored": event.restored, **offsets})

    def _write(self, data: dict[str, Any]) -> None:
        self._out.text(json.dumps(data, ensure_ascii=False) + "\n")
        sys.stdout.flush()


class Lines(_Events):
    """A sentence per event, where there is no terminal; of a long batch, and of a long start, also while it runs."""

    def watch(self, app: Any) -> None:
        """Look at it until it has ended."""
        threading.Thread(target=self._look, args=(app,), name="headrace-long-batches", daemon=True).start()

    def _look(self, app: Any) -> None:
        number, told, is_told_to_stop = -1, 0, False
        while not app.state.has_ended:
            time.sleep(LOOK_SECONDS)
            if self.is_stopping() and not is_told_to_stop:
                is_told_to_stop = True
                if not app.state.is_shutting_down:
                    self._note("stopping … (Ctrl-C again: at once)")
            batch = app.batch_under_way
            if batch is None:
                continue
            if batch.number != number:
                number, told = batch.number, 0
            seconds = time.time() - batch.since
            if seconds >= LONG_SECONDS * (told + 1):
                told = int(seconds // LONG_SECONDS)
                self._note(f"batch {number}: {counted(batch.records, 'record')}, {seconds:.0f} s …")

    def _note(self, text: str) -> None:
        # Where nobody reads it, the next event ends the command.
        with suppress(OSError):
            self._out.note(text)

    def state(self, new: StreamsState, old: StreamsState) -> None:
        self._out.note(f"state {new}")

    def batch(self, report: BatchReport) -> None:
        """A line, unless there is nothing to tell: a wall-clock punctuator may be due each second."""
        if not (report.records or report.written or report.dropped):
            return
        dropped = f", dropped {reasons(report.dropped)}" if report.dropped else ""
        self._out.line(
            f"batch {report.batch_id}: {counted(report.records, 'record')} read, {report.written:,} written"
            f"{dropped}, {report.duration_ms / 1000:.2f} s"
        )

    def restore(self, event: RestoreEvent) -> None:
        """The beginning and the end of a restore as lines."""
        if event.step is not RestoreStep.BATCH:
            done = f", {counted(event.restored, 'record')}" if event.step is RestoreStep.END else ""
            self._out.note(f"restore of {event.store} from {event.topic}-{event.partition}: {event.step.value}{done}")


def reasons(dropped: Any) -> str:
    return ", ".join(f"{count:,} ({reason})" for reason, count in dropped.items())
