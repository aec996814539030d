"""Prints how cases went on an engine: by family, what was left out and why, and where something differs."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.conformance import left_out
from tests.conformance.engine_verdicts import EngineVerdict
from tests.conformance.on_batches import Layout


def report(verdicts: Sequence[EngineVerdict], layouts: Sequence[Layout], *, details: bool) -> None:
    """A table by family, the reasons, the differences."""
    console = Console(width=None if sys.stdout.isatty() else 150)
    table = Table("family", "cases", "left out", *map(_title, layouts), title="conformance on the engine")
    families: dict[str, list[EngineVerdict]] = {}
    for verdict in verdicts:
        families.setdefault(verdict.family, []).append(verdict)
    for family, members in sorted(families.items()):
        table.add_row(family, *_cells(members, layouts))
    table.add_section()
    table.add_row("all", *_cells(verdicts, layouts))
    console.print(table)
    for reason, count in Counter(each.left_out for each in verdicts if each.left_out).items():
        console.print(f"left out {count}: {reason}: {getattr(left_out, reason).__doc__}", highlight=False)
    for verdict in verdicts:
        _print_differences(console, verdict, details=details)


def as_json(verdicts: Sequence[EngineVerdict]) -> Any:
    """The same as plain data."""
    return [
        {
            "name": verdict.name,
            "family": verdict.family,
            "left_out": verdict.left_out,
            "runs": [{**vars(layout), "differences": found} for layout, found in verdict.runs.items()],
        }
        for verdict in verdicts
    ]


def _title(layout: Layout) -> str:
    caches = ", caches" if layout.caches else ""
    return f"{layout.partitions} partition{'s' if layout.partitions > 1 else ''}{caches}, seed {layout.seed}"


def _cells(verdicts: Sequence[EngineVerdict], layouts: Sequence[Layout]) -> list[str]:
    ran = [[each.runs[layout] for each in verdicts if layout in each.runs] for layout in layouts]
    return [
        str(len(verdicts)),
        str(sum(each.left_out is not None for each in verdicts)),
        *(f"{sum(not found for found in runs)}/{len(runs)}" if runs else "" for runs in ran),
    ]


def _print_differences(console: Console, verdict: EngineVerdict, *, details: bool) -> None:
    for layout, found in verdict.runs.items():
        if found:
            console.print(f"[red]{verdict.family} {verdict.name}[/red]: {_title(layout)}", highlight=False)
        for difference in found if details else ():
            console.print(json.dumps(difference, indent=2, default=str), markup=False, highlight=False)
