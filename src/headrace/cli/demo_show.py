"""What ``headrace demo`` shows: a growing table of the most frequent words; without a terminal a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

_TOP = 12
_BAR = 40


class Frame:
    """One moment: the counts, and how the batches go."""

    def __init__(self, counts: Mapping[str, int], latest: str, said: str) -> None:
        self.counts, self.latest, self.said = counts, latest, said

    @property
    def top(self) -> list[tuple[str, int]]:
        return sorted(self.counts.items(), key=lambda entry: (-entry[1], entry[0]))[:_TOP]


class Show(Protocol):
    """Where frames go."""

    def say(self, text: str) -> None:
        """One line that stays."""

    def run(self, frame: Callable[[], Frame], seconds: float) -> None:
        """Show frame after frame for some seconds."""


class LinesShow:
    """For logs: three lines a run are enough to see it grow."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say

    def run(self, frame: Callable[[], Frame], seconds: float) -> None:
        """A line every third of the time."""
        for _ in range(3):
            time.sleep(seconds / 3)
            now = frame()
            top = ", ".join(f"{word} {count:,}" for word, count in now.top[:5])
            self.say(f"  {now.said}; {top}")


class TerminalShow:
    """For people."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, text: str) -> None:
        self._console.print(text)

    def run(self, frame: Callable[[], Frame], seconds: float) -> None:
        """A table that is drawn twice a second."""
        end = time.monotonic() + seconds
        with Live(console=self._console, auto_refresh=False, vertical_overflow="crop") as live:
            while time.monotonic() < end:
                live.update(_picture(frame()), refresh=True)
                time.sleep(0.5)
            live.update(_picture(frame()), refresh=True)


def _picture(frame: Frame) -> Group:
    table = Table(title=frame.said, title_justify="left")
    table.add_column("word", style="bold cyan", min_width=10)
    table.add_column("count", justify="right", min_width=8)
    table.add_column("", style="cyan", min_width=_BAR)
    top = frame.top
    for word, count in top:
        table.add_row(word, f"{count:,}", "█" * max(1, round(_BAR * count / top[0][1])))
    return Group(Text(f"> {frame.latest}", style="italic", no_wrap=True, overflow="ellipsis"), table)
